//! The oldest Rust that the manifests name: the crates to publish compile with it.
//!
//! rustup gets that toolchain. Without rustup, or without a way to its servers, the summary says so; then clippy's lint
//! `incompatible_msrv` is the only guard.

use std::process::{Command, Stdio};

use crate::cargo::{Cargo, FEATURES, succeed};
use crate::toolchain::installing;

/// Packages to publish.
const PACKAGES: [&str; 4] = ["dst-core", "dst-ffi", "dst-mpi", "dst-std"];

/// Checks them.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let version = oldest(cargo)?;
    if !is_there(&version) {
        return Ok(format!("not run: no toolchain {version}"));
    }
    let mut check = Command::new("rustup");
    check
        .current_dir(cargo.root())
        .args(["run", &version, "cargo", "check", "--quiet", "--locked"])
        .args(["--lib", "--bins", FEATURES])
        .args(PACKAGES.iter().flat_map(|name| ["--package", name]))
        .env("CARGO_TARGET_DIR", cargo.target_folder("msrv"));
    // Those of the cargo that started us would be taken instead.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        check.env_remove(variable);
    }
    succeed(&mut check)?;
    Ok(format!("{} with Rust {version}", PACKAGES.join(", ")))
}

/// The version in the manifest of the workspace.
fn oldest(cargo: &Cargo) -> Result<String, String> {
    let file = cargo.root().join("Cargo.toml");
    let complain = |e: &dyn std::fmt::Display| format!("{}: {e}", file.display());
    let text = std::fs::read_to_string(&file).map_err(|e| complain(&e))?;
    let manifest: toml::Table = text.parse().map_err(|e| complain(&e))?;
    let package = manifest.get("workspace").and_then(|w| w.get("package"));
    let version = package.and_then(|p| p.get("rust-version")?.as_str());
    version
        .map(str::to_owned)
        .ok_or_else(|| complain(&"no workspace.package.rust-version"))
}

/// True if the toolchain is installed, or could be.
fn is_there(version: &str) -> bool {
    let _alone = installing();
    let rustup = |arguments: &[&str]| {
        let mut rustup = Command::new("rustup");
        rustup.args(arguments).stdout(Stdio::null());
        rustup
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if rustup(&["run", version, "rustc", "--version"]) {
        return true;
    }
    eprintln!("Rust {version} is missing: rustup toolchain install {version}");
    rustup(&[
        "toolchain",
        "install",
        version,
        "--profile",
        "minimal",
        "--no-self-update",
    ])
}
