//! The C library: a folder to copy into a project, or to install; the content of an archive of `cargo xtask dist`.
//!
//! `include` has the headers; `lib` has the library with what pkg-config and CMake need, which find the folder by themselves, wherever
//! it is copied to.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_header::{CPP_HEADER, HEADER};
use super::licences;
use crate::cargo::{Cargo, MESSAGES, answer, compile};
use crate::static_library;
use crate::toolchain::RustFor;

/// Build settings of the library: no unwinding (a static library without std has none), one unit, so that what is not used
/// is seen to be unused.
const PROFILE: &[&str] = &[
    "profile.release.panic='abort'",
    "profile.release.lto='fat'",
    "profile.release.codegen-units=1",
    "profile.release.debug=0",
];

/// Extent of the library.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All of it.
    Full,
    /// Euler and symplectic Euler, and the adjoint: what fits a small microcontroller.
    Small,
}

/// Makes the folder for this machine, or for another target; returns where it is.
pub(crate) fn run(
    cargo: &Cargo,
    target: Option<String>,
    scope: Scope,
    out: Option<PathBuf>,
) -> Result<PathBuf, String> {
    // Leaked: a target lives as long as the program, and there is one.
    let rust = match target {
        Some(target) => Some(RustFor::new(cargo, target.leak())?),
        None => None,
    };
    let folder = out.unwrap_or_else(|| folder(cargo, rust.as_ref(), scope));
    package(cargo, rust.as_ref(), scope, &folder)?;
    Ok(folder)
}

/// Default folder: a small library does not replace a full one.
pub(crate) fn folder(cargo: &Cargo, rust: Option<&RustFor>, scope: Scope) -> PathBuf {
    let target = rust.map_or("host", |rust| rust.target);
    let name = match scope {
        Scope::Full => target.to_owned(),
        Scope::Small => format!("{target}-small"),
    };
    cargo.target_folder("c-lib").join("packages").join(name)
}

/// Builds the library and puts everything into the folder.
pub(crate) fn package(
    cargo: &Cargo,
    rust: Option<&RustFor>,
    scope: Scope,
    folder: &Path,
) -> Result<(), String> {
    let Built { library, manifests } = build(cargo, rust, scope, &[])?;
    let [include, lib] = ["include", "lib"].map(|name| folder.join(name));
    let fill = || {
        fs::create_dir_all(&include)?;
        fs::create_dir_all(lib.join("cmake/dst"))?;
        fs::create_dir_all(lib.join("pkgconfig"))?;
        fs::copy(&library, lib.join("libdst.a"))?;
        for header in [HEADER, CPP_HEADER].map(|file| cargo.root().join(file)) {
            fs::copy(
                &header,
                include.join(header.file_name().unwrap_or_default()),
            )?;
        }
        for file in [
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "CHANGELOG.md",
            "dst-core/ffi/README.md",
        ] {
            let from = cargo.root().join(file);
            fs::copy(&from, folder.join(from.file_name().unwrap_or_default()))?;
        }
        for (file, text) in FILES {
            let text = text.replace("@VERSION@", VERSION);
            fs::write(
                folder.join(file),
                text.replace("@COMPATIBLE@", &compatible()),
            )?;
        }
        Ok(())
    };
    fill().map_err(|e: io::Error| format!("{}: {e}", folder.display()))?;
    let target = match rust {
        Some(rust) => rust.target.to_owned(),
        None => cargo.host()?,
    };
    licences::write(
        cargo,
        "dst-ffi",
        &target,
        &manifests,
        &folder.join("THIRD-PARTY.md"),
    )?;
    let ours = lib.join("libdst.a");
    match rust {
        Some(_) => static_library::weaken(&ours),
        None => {
            only_ours(&ours)?;
            shared(&library.with_extension("so"), &lib)
        }
    }
}

/// Files of the folder with their texts.
const FILES: [(&str, &str); 5] = [
    (
        "CMakeLists.txt",
        include_str!("../../../dst-core/ffi/package/CMakeLists.txt"),
    ),
    (
        "lib/cmake/dst/dst-config.cmake",
        include_str!("../../../dst-core/ffi/package/dst-config.cmake"),
    ),
    (
        "lib/cmake/dst/dst-config-version.cmake",
        include_str!("../../../dst-core/ffi/package/dst-config-version.cmake"),
    ),
    (
        "lib/pkgconfig/dst.pc",
        include_str!("../../../dst-core/ffi/package/dst.pc"),
    ),
    (
        "lib/pkgconfig/dst-static.pc",
        include_str!("../../../dst-core/ffi/package/dst-static.pc"),
    ),
];

/// The oldest version with the same interface. Before 1.0 a minor version may break it.
pub(crate) fn compatible() -> String {
    let numbers: Vec<&str> = VERSION.split('.').collect();
    let kept = if numbers.first() == Some(&"0") { 2 } else { 1 };
    numbers
        .iter()
        .take(kept)
        .copied()
        .collect::<Vec<_>>()
        .join(".")
}

/// Removes everything but dst-ffi from the library for this machine: its C compiler and its C library have the rest. Rust's
/// `compiler_builtins` defines functions of libm (`cbrt`, `fma`) that need Rust's unwinder, so that a C program that calls one of
/// them would not link.
fn only_ours(library: &Path) -> Result<(), String> {
    let members = answer(Command::new("ar").arg("t").arg(library))?;
    let others: Vec<&str> = members
        .lines()
        .filter(|name| !name.starts_with("dst_ffi"))
        .collect();
    if others.is_empty() {
        return Ok(());
    }
    answer(Command::new("ar").arg("dD").arg(library).args(others)).map(drop)
}

/// The shared library under its three names: with its version, as programs load it, as linkers look for it.
fn shared(library: &Path, folder: &Path) -> Result<(), String> {
    let names = [
        format!("libdst.so.{VERSION}"),
        format!("libdst.so.{}", compatible()),
        "libdst.so".to_owned(),
    ];
    fs::copy(library, folder.join(&names[0])).map_err(|e| format!("{}: {e}", library.display()))?;
    for pair in names.windows(2) {
        let mut link = Command::new("ln");
        link.current_dir(folder).args(["-sf", &pair[0], &pair[1]]);
        answer(&mut link)?;
    }
    Ok(())
}

/// A library that was built.
pub(crate) struct Built {
    /// The static library; the shared one is beside it.
    pub(crate) library: PathBuf,
    /// Manifests of what is in it.
    manifests: Vec<PathBuf>,
}

/// Builds the library alone, with these flags for the compiler.
pub(crate) fn build(
    cargo: &Cargo,
    rust: Option<&RustFor>,
    scope: Scope,
    flags: &[&str],
) -> Result<Built, String> {
    let mut command = match rust {
        Some(rust) => rust.command(cargo, cargo.root(), "rustc"),
        None => {
            let mut command = cargo.command();
            command.arg("rustc");
            command
        }
    };
    // A folder of its own: the compiler for other targets may be another one.
    let builds = cargo.target_folder("c-lib");
    // This machine gets a shared library, too. Without std it is linked with nothing, so it names the C library itself.
    let crate_types = if rust.is_none() {
        "staticlib,cdylib"
    } else {
        "staticlib"
    };
    let soname = format!("link-arg=-Wl,-soname,libdst.so.{}", compatible());
    let soname = ["-C", &soname, "-C", "link-arg=-lc", "-C", "link-arg=-s"];
    // A microcontroller has little flash.
    let level = if rust.is_some_and(|rust| rust.target.contains("none")) {
        "profile.release.opt-level='s'"
    } else {
        "profile.release.opt-level=3"
    };
    command
        .args([
            "--quiet",
            MESSAGES,
            "--release",
            "--package",
            "dst-ffi",
            "--lib",
        ])
        .args(["--crate-type", crate_types])
        .args((scope == Scope::Small).then_some("--no-default-features"))
        .args(PROFILE.iter().chain([&level]).flat_map(|c| ["--config", c]))
        .arg("--target-dir")
        .arg(&builds)
        .args(["--", "--cfg", "dst_staticlib"])
        .args(if rust.is_none() { &soname[..] } else { &[] })
        .args(flags);
    let manifests = compile(&mut command)?;
    let release = match rust {
        Some(rust) => builds.join(rust.target).join("release"),
        None => builds.join("release"),
    };
    let library = release.join("libdst_ffi.a");
    Ok(Built { library, manifests })
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_a_folder_of_its_own() {
        let cargo = Cargo::new();
        let folders = [Scope::Full, Scope::Small].map(|scope| folder(&cargo, None, scope));
        assert_ne!(folders[0], folders[1]);
        assert!(folders[0].ends_with("c-lib/packages/host"), "{folders:?}");
    }
}
