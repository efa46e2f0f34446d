//! Documentation.

use crate::cargo::{Cargo, FEATURES};

/// Fails on broken links and other warnings of rustdoc.
pub(crate) fn run(cargo: &Cargo) -> Result<(), String> {
    cargo.run_with(
        &["doc", "--workspace", "--no-deps", FEATURES],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )
}
