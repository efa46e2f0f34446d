//! How cost grows; see `dst-bench/src/bin/growth.rs`.

use crate::cargo::Cargo;

pub(crate) fn run(cargo: &Cargo, quick: bool) -> Result<(), String> {
    let out = if quick {
        cargo.target_folder("growth")
    } else {
        cargo.root().join("dst-bench")
    };
    // All programs first: the one that measures starts another.
    cargo.run(&["build", "--release", "--package", "dst-bench", "--bins"])?;
    let out = out.to_string_lossy();
    let program = ["run", "--quiet", "--release", "--package", "dst-bench"];
    let mut arguments = [
        program.as_slice(),
        &["--bin", "growth", "--", "--out", &out],
    ]
    .concat();
    if quick {
        arguments.push("--quick");
    }
    cargo.run(&arguments)
}
