//! Lints: the whole workspace with every feature, and dst-core with each feature alone.

use crate::cargo::Cargo;

/// Everything at once.
pub(crate) fn workspace(cargo: &Cargo) -> Result<(), String> {
    cargo.component("clippy", "clippy")?;
    cargo.run(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "-D",
        "warnings",
    ])
}

/// dst-core with no feature and with each alone: firmware picks few of them, and a build with all features does not
/// notice what is missing then.
pub(crate) fn features(cargo: &Cargo) -> Result<(), String> {
    cargo.component("clippy", "clippy")?;
    let choices = ["", "libm", "std", "nalgebra", "defmt"].map(|name| format!("--features={name}"));
    let failed: Vec<_> = choices
        .iter()
        .filter_map(|choice| {
            let one = [
                "clippy",
                "--package",
                "dst-core",
                "--lib",
                "--no-default-features",
                choice,
                "--",
                "-D",
                "warnings",
            ];
            cargo.run(&one).err()
        })
        .collect();
    if failed.is_empty() {
        Ok(())
    } else {
        Err(failed.join("; "))
    }
}
