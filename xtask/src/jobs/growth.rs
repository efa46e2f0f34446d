//! Growth of cost; see `dst-bench/src/bin/growth.rs`.

use crate::cargo::{Cargo, succeed};

pub(crate) fn run(cargo: &Cargo, quick: bool) -> Result<(), String> {
    let out = if quick {
        cargo.target_folder("growth")
    } else {
        cargo.root().join("dst-bench")
    };
    let mut growth = cargo.measure("growth")?;
    growth.arg("--out").arg(out);
    if quick {
        growth.arg("--quick");
    }
    succeed(&mut growth)
}
