//! Archives for those who have no Rust: the C library for this machine and for four targets, and the program `dst`.
//!
//! Two archives of the same files are the same, byte by byte: entries are sorted, and have one time and no owner.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_lib::{Scope, package};
use super::cross::TARGETS;
use super::licences;
use crate::cargo::{Cargo, MESSAGES, answer, compile};
use crate::toolchain::RustFor;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Time of all files, in seconds since 1970: the first of January 2026.
const TIME: &str = "1767225600";
/// Checksums of all archives, as `sha256sum --check` reads them.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// Way of compiling the program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Program {
    /// Without the paths of this machine. Compiles all dependencies once more.
    Released,
    /// As for the tests, which is quick.
    AsBuilt,
}

/// An archive, with the target that its content is for.
pub(crate) struct Archive {
    pub(crate) path: PathBuf,
    /// `None`: this machine.
    pub(crate) target: Option<&'static str>,
}

impl Archive {
    /// Name of the folder inside.
    pub(crate) fn name(&self) -> String {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        name.trim_end_matches(".tar.gz").to_owned()
    }
}

/// All archives of a release.
pub(crate) struct Archives {
    /// Archives of the C library.
    pub(crate) libraries: Vec<Archive>,
    /// Archive of the program.
    pub(crate) program: Archive,
}

/// Makes everything for a release; returns the folder.
pub(crate) fn run(cargo: &Cargo, out: Option<PathBuf>) -> Result<PathBuf, String> {
    let folder = out.unwrap_or_else(|| cargo.target_folder("dist"));
    make(cargo, &folder, Program::Released)?;
    Ok(folder)
}

/// Makes the archives and their checksums in a folder.
pub(crate) fn make(cargo: &Cargo, folder: &Path, kind: Program) -> Result<Archives, String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let staging = cargo.target_folder("dist-staging");
    let _ = fs::remove_dir_all(&staging);
    let host = cargo.host()?;
    let mut libraries = vec![library(cargo, &staging, folder, None, &host)?];
    for target in TARGETS.map(|machine| machine.target) {
        let rust = RustFor::new(cargo, target)?;
        libraries.push(library(cargo, &staging, folder, Some(&rust), target)?);
    }
    let program = program(cargo, &staging, folder, kind, &host)?;
    let mut sums = Command::new("sha256sum");
    sums.current_dir(folder);
    for archive in libraries.iter().chain([&program]) {
        sums.arg(archive.path.file_name().unwrap_or_default());
    }
    let file = folder.join(SUMS);
    fs::write(&file, answer(&mut sums)?).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(Archives { libraries, program })
}

/// The archive of the C library for one target.
fn library(
    cargo: &Cargo,
    staging: &Path,
    folder: &Path,
    rust: Option<&RustFor>,
    target: &str,
) -> Result<Archive, String> {
    eprintln!("libdst for {target}");
    let name = format!("libdst-{VERSION}-{target}");
    package(cargo, rust, Scope::Full, &staging.join(&name))?;
    let path = folder.join(format!("{name}.tar.gz"));
    pack(staging, &name, &path)?;
    Ok(Archive {
        path,
        target: rust.map(|rust| rust.target),
    })
}

/// The archive of the program.
fn program(
    cargo: &Cargo,
    staging: &Path,
    folder: &Path,
    kind: Program,
    host: &str,
) -> Result<Archive, String> {
    eprintln!("dst for {host}");
    let (binary, manifests) = build(cargo, kind)?;
    let name = format!("dst-{VERSION}-{host}");
    let inside = staging.join(&name);
    let fill = || {
        fs::create_dir_all(inside.join("bin"))?;
        fs::copy(binary, inside.join("bin/dst"))?;
        for file in [
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "CHANGELOG.md",
            "dst-std/README.md",
        ] {
            let from = cargo.root().join(file);
            fs::copy(&from, inside.join(from.file_name().unwrap_or_default()))?;
        }
        Ok(())
    };
    fill().map_err(|e: std::io::Error| format!("{}: {e}", inside.display()))?;
    answer(Command::new("strip").arg(inside.join("bin/dst")))?;
    licences::write(
        cargo,
        "dst-std",
        host,
        &manifests,
        &inside.join("THIRD-PARTY.md"),
    )?;
    let path = folder.join(format!("{name}.tar.gz"));
    pack(staging, &name, &path)?;
    Ok(Archive { path, target: None })
}

/// Compiles the program; returns its file, and the manifests of what is in it.
fn build(cargo: &Cargo, kind: Program) -> Result<(PathBuf, Vec<PathBuf>), String> {
    let mut build = cargo.command();
    build.args([
        "build",
        "--quiet",
        "--locked",
        "--release",
        "--package",
        "dst-std",
        "--bin",
        "dst",
    ]);
    let folder = match kind {
        Program::AsBuilt => cargo.target_folder(""),
        Program::Released => {
            let folder = cargo.target_folder("dist-program");
            let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
            let home =
                home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
            let places = home.iter().map(|home| (home.as_path(), "cargo"));
            let mut flags = vec![];
            for (from, to) in places.chain([(cargo.root(), "dst")]) {
                flags.push(format!("--remap-path-prefix={}={to}", from.display()));
            }
            build
                .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
                .arg("--target-dir")
                .arg(&folder);
            folder
        }
    };
    let manifests = compile(build.arg(MESSAGES))?;
    Ok((folder.join("release/dst"), manifests))
}

/// Packs a folder.
pub(crate) fn pack(parent: &Path, name: &str, archive: &Path) -> Result<(), String> {
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--format=gnu", "--mode=u=rwX,go=rX"])
        .args(["--owner=0", "--group=0", "--numeric-owner"])
        .arg(format!("--mtime=@{TIME}"))
        .args(["--use-compress-program", "gzip -9n", "-cf"])
        .arg(archive)
        .arg("-C")
        .arg(parent)
        .arg(name);
    answer(&mut tar).map(drop)
}

/// Unpacks an archive into a folder; returns the folder that was inside.
pub(crate) fn unpack(archive: &Archive, folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    answer(
        Command::new("tar")
            .arg("-C")
            .arg(folder)
            .arg("-xzf")
            .arg(&archive.path),
    )?;
    Ok(folder.join(archive.name()))
}
