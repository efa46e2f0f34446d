//! Growth of cost; see `dst-bench/src/bin/growth.rs`, and `ranks.rs` beside it.

use crate::cargo::{Cargo, succeed};
use crate::jobs::ranks;

/// Measures everything, or the ranks of an MPI job only.
pub(crate) fn run(cargo: &Cargo, quick: bool, only_ranks: bool) -> Result<(), String> {
    let out = if quick {
        cargo.target_folder("growth")
    } else {
        cargo.root().join("dst-bench")
    };
    let program = ranks::program(cargo)?;
    let mut over_ranks = cargo.measure("ranks")?;
    over_ranks.arg("--program").arg(program);
    let mut growth = cargo.measure("growth")?;
    let all = [&mut growth, &mut over_ranks];
    for command in all.into_iter().skip(usize::from(only_ranks)) {
        command.arg("--out").arg(&out);
        if quick {
            command.arg("--quick");
        }
        succeed(command)?;
    }
    Ok(())
}
