//! Formatting.

use crate::cargo::Cargo;

/// Fails if `cargo fmt` would change anything.
pub(crate) fn run(cargo: &Cargo) -> Result<(), String> {
    cargo.component("fmt", "rustfmt")?;
    cargo.run(&["fmt", "--all", "--check"])
}
