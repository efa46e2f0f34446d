//! Tests on this machine.

use crate::cargo::{Cargo, FEATURES};

/// Unit and integration tests. The kinds of targets are named because `--all-targets` would run the benchmarks too, and compile the
/// examples, which a job of their own runs.
pub(crate) fn tests(cargo: &Cargo) -> Result<(), String> {
    cargo.run(&[
        "test",
        "--workspace",
        FEATURES,
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
    ])
}

/// The examples in the documentation.
pub(crate) fn doctests(cargo: &Cargo) -> Result<(), String> {
    cargo.run(&["test", "--doc", "--workspace", FEATURES, "--no-fail-fast"])
}
