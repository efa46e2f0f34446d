//! Tests on this machine.

use crate::cargo::Cargo;

/// Unit tests, integration tests and examples. The kinds of targets are named because
/// `--all-targets` would run the benchmarks too.
pub(crate) fn tests(cargo: &Cargo) -> Result<(), String> {
    cargo.run(&[
        "test",
        "--workspace",
        "--all-features",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
        "--examples",
    ])
}

/// The examples in the documentation.
pub(crate) fn doctests(cargo: &Cargo) -> Result<(), String> {
    cargo.run(&[
        "test",
        "--doc",
        "--workspace",
        "--all-features",
        "--no-fail-fast",
    ])
}
