//! Instructions per step, dst-core against a loop by hand, and per pullback of a formula and of a method; see dst-bench.

use crate::cargo::{Cargo, succeed};
use crate::toolchain::{VALGRIND, ensure};

/// Fails if dst-core takes more than the limits that dst-bench sets.
pub(crate) fn run(cargo: &Cargo) -> Result<(), String> {
    ensure(&[VALGRIND])?;
    succeed(cargo.measure("overhead")?.arg("--check"))?;
    succeed(cargo.measure("formulas")?.arg("--check"))?;
    succeed(cargo.measure("methods")?.arg("--check"))
}
