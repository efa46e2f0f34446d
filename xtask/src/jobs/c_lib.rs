//! The C library: a folder to copy into a firmware project.
//!
//! `libdst.a`, `dst.h`, `dst.hpp`, `dst.pc` for pkg-config and `dst-config.cmake` for CMake, side by side. Both find their folder
//! by themselves, wherever it is copied to.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_header::{CPP_HEADER, HEADER};
use crate::cargo::{Cargo, answer};
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
    let library = build(cargo, rust, scope, &[])?;
    let fill = || {
        fs::create_dir_all(folder)?;
        fs::copy(library, folder.join("libdst.a"))?;
        fs::copy(cargo.root().join(HEADER), folder.join("dst.h"))?;
        fs::copy(cargo.root().join(CPP_HEADER), folder.join("dst.hpp"))?;
        fs::write(
            folder.join("dst.pc"),
            PKG_CONFIG.replace("@VERSION@", VERSION),
        )?;
        fs::write(folder.join("dst-config.cmake"), CMAKE)?;
        fs::write(
            folder.join("dst-config-version.cmake"),
            CMAKE_VERSION.replace("@VERSION@", VERSION),
        )
    };
    fill().map_err(|e| format!("{}: {e}", folder.display()))?;
    match rust {
        Some(_) => Ok(()),
        None => without_builtins(&folder.join("libdst.a")),
    }
}

/// Removes `compiler_builtins` from the library for this machine. It defines functions of libm (`cbrt`, `fma`) that need
/// Rust's unwinder, so that a C program that calls one of them does not link. This machine's C library has all that the engine
/// needs.
fn without_builtins(library: &Path) -> Result<(), String> {
    let members = answer(Command::new("ar").arg("t").arg(library))?;
    let builtins: Vec<&str> = members
        .lines()
        .filter(|name| name.starts_with("compiler_builtins"))
        .collect();
    if builtins.is_empty() {
        return Ok(());
    }
    answer(Command::new("ar").arg("d").arg(library).args(builtins)).map(drop)
}

/// Builds the library alone, with these flags for the compiler; returns where it is.
pub(crate) fn build(
    cargo: &Cargo,
    rust: Option<&RustFor>,
    scope: Scope,
    flags: &[&str],
) -> Result<PathBuf, String> {
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
    // A microcontroller has little flash.
    let level = if rust.is_some_and(|rust| rust.target.contains("none")) {
        "profile.release.opt-level='s'"
    } else {
        "profile.release.opt-level=3"
    };
    command
        .args(["--quiet", "--release", "--package", "dst-ffi", "--lib"])
        .args(["--crate-type", "staticlib"])
        .args((scope == Scope::Small).then_some("--no-default-features"))
        .args(PROFILE.iter().chain([&level]).flat_map(|c| ["--config", c]))
        .arg("--target-dir")
        .arg(&builds)
        .args(["--", "--cfg", "dst_staticlib"])
        .args(flags);
    answer(&mut command)?;
    let release = match rust {
        Some(rust) => builds.join(rust.target).join("release"),
        None => builds.join("release"),
    };
    Ok(release.join("libdst_ffi.a"))
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

const PKG_CONFIG: &str = "\
Name: dst
Description: Differentiate how long an iterative algorithm runs until it stops
Version: @VERSION@
Cflags: -I${pcfiledir}
Libs: -L${pcfiledir} -ldst
";

const CMAKE: &str = "\
# find_package(dst CONFIG) gives the target dst::dst.
if(NOT TARGET dst::dst)
    add_library(dst::dst STATIC IMPORTED)
    set_target_properties(dst::dst PROPERTIES
        IMPORTED_LOCATION \"${CMAKE_CURRENT_LIST_DIR}/libdst.a\"
        INTERFACE_INCLUDE_DIRECTORIES \"${CMAKE_CURRENT_LIST_DIR}\")
endif()
";

const CMAKE_VERSION: &str = "\
set(PACKAGE_VERSION \"@VERSION@\")
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
elseif(PACKAGE_FIND_VERSION VERSION_LESS PACKAGE_VERSION)
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
else()
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
endif()
";

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
