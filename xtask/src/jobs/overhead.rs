//! Instructions per step, dst-core against a loop by hand; see dst-bench.

use crate::cargo::Cargo;
use crate::toolchain::{VALGRIND, ensure};

/// Fails if dst-core takes more than the limit that dst-bench sets.
pub(crate) fn run(cargo: &Cargo) -> Result<(), String> {
    ensure(&[VALGRIND])?;
    // Both programs first: the one that counts starts the other.
    let bench = ["--release", "--package", "dst-bench"];
    cargo.run(&[["build"].as_slice(), &bench, &["--bins"]].concat())?;
    cargo.run(
        &[
            ["run", "--quiet"].as_slice(),
            &bench,
            &["--bin", "overhead", "--", "--check"],
        ]
        .concat(),
    )
}
