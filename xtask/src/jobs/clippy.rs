//! Lints: the whole workspace with every feature, dst-core with each feature alone, and dst-std as a plain library.

use crate::cargo::{Cargo, FEATURES};

/// Everything at once.
pub(crate) fn workspace(cargo: &Cargo) -> Result<(), String> {
    cargo.component("clippy", "clippy")?;
    cargo.run(&[
        "clippy",
        "--workspace",
        "--all-targets",
        FEATURES,
        "--",
        "-D",
        "warnings",
    ])
}

/// dst-core with no feature and with each alone, and dst-std without its program. Users pick few features, and a build with
/// all of them does not notice what is missing then.
pub(crate) fn features(cargo: &Cargo) -> Result<(), String> {
    cargo.component("clippy", "clippy")?;
    let core = ["", "libm", "std", "nalgebra", "defmt"].map(|name| ("dst-core", name));
    let choices = core.into_iter().chain([("dst-std", "")]);
    let failed: Vec<_> = choices
        .filter_map(|(package, name)| {
            let features = format!("--features={name}");
            let one = [
                "clippy",
                "--package",
                package,
                "--lib",
                "--no-default-features",
                &features,
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
