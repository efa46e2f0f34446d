//! The C header, generated from the comments of dst-ffi.
//!
//! The functions come from a macro, which cbindgen cannot look into. So the compiler expands it first, and cbindgen
//! reads what comes out.

use std::path::PathBuf;

use crate::cargo::{Cargo, answer};

/// Path of the header, from the root of the workspace.
pub(crate) const HEADER: &str = "dst-core/ffi/include/dst.h";

/// Path of the header for C++, which is written by hand.
pub(crate) const CPP_HEADER: &str = "dst-core/ffi/include/dst.hpp";

/// Writes the header.
pub(crate) fn write(cargo: &Cargo) -> Result<(), String> {
    let header = generate(cargo)?;
    let path = cargo.root().join(HEADER);
    std::fs::write(&path, header).map_err(|e| format!("{}: {e}", path.display()))
}

/// Fails if the header in the repository is not what the source says.
pub(crate) fn check(cargo: &Cargo) -> Result<(), String> {
    let path = cargo.root().join(HEADER);
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    if committed == generate(cargo)? {
        Ok(())
    } else {
        Err(format!(
            "{HEADER} is not what the source says; run: cargo xtask c-header"
        ))
    }
}

fn generate(cargo: &Cargo) -> Result<String, String> {
    let config = cargo.root().join("dst-core/ffi/cbindgen.toml");
    answer(
        cargo
            .program("xtask-header")
            .arg(config)
            .arg(expand(cargo)?),
    )
}

/// The crate as one file, with its macros expanded.
fn expand(cargo: &Cargo) -> Result<PathBuf, String> {
    let arguments = [
        "rustc",
        "--quiet",
        "--package",
        "dst-ffi",
        "--lib",
        "--",
        "-Zunpretty=expanded",
    ];
    let output = cargo
        .command()
        .args(arguments)
        // Printing the expanded source is an unstable option of the compiler; the build itself uses none.
        .env("RUSTC_BOOTSTRAP", "1")
        .output()
        .map_err(|e| format!("cargo does not start: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let folder = cargo.target_folder("c");
    let path = folder.join("expanded.rs");
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, output.stdout))
        .map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}
