//! The packages as a registry would hand them out: made by `cargo package`, unpacked, and installed from what is in them.
//!
//! `cargo package` would compile every package once more to verify it. That is left out: the installation compiles the same files,
//! with the dependencies that the release build of the workspace already has, and then runs the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, answer};

/// Packages to publish, each after those it depends on.
const PACKAGES: [&str; 4] = ["dst-core", "dst-ffi", "dst-mpi", "dst-std"];
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Files and keys of every package.
const FILES: [&str; 4] = ["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];
const KEYS: [&str; 7] = [
    "description",
    "keywords",
    "categories",
    "readme",
    "license",
    "rust-version",
    "metadata",
];

/// Makes, checks, installs and runs them.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let folder = unpacked(cargo)?;
    for package in PACKAGES {
        check(&folder.join(format!("{package}-{VERSION}")))?;
    }
    let program = install(cargo, &folder)?;
    work(&program, &folder)?;
    // The last one is a library for Rust, too.
    let mut build = cargo.command();
    build
        .current_dir(folder.join(format!("dst-ffi-{VERSION}")))
        .args(["check", "--quiet"])
        .args(patch(&folder));
    answer(build.arg("--target-dir").arg(cargo.target_folder("")))?;
    Ok(format!("{} installed and run", PACKAGES.join(", ")))
}

/// Makes the packages from the files of the working copy and unpacks them; returns the folder.
fn unpacked(cargo: &Cargo) -> Result<PathBuf, String> {
    let mut package = cargo.command();
    package.args(["package", "--quiet", "--no-verify", "--allow-dirty"]);
    answer(package.args(PACKAGES.iter().flat_map(|name| ["--package", name])))
        .map_err(|e| format!("{e}\n(packages that depend on each other need cargo 1.90)"))?;
    let folder = cargo.target_folder("packages");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for name in PACKAGES {
        let archive = cargo.target_folder("package");
        let archive = archive.join(format!("{name}-{VERSION}.crate"));
        answer(
            Command::new("tar")
                .arg("-C")
                .arg(&folder)
                .arg("-xzf")
                .arg(archive),
        )?;
    }
    Ok(folder)
}

/// Fails if something is missing that a registry shows or that a licence asks for, or if a dependency is a path.
fn check(package: &Path) -> Result<(), String> {
    let complain = |what: &str| Err(format!("{}: {what}", package.display()));
    for file in FILES {
        let kind = fs::symlink_metadata(package.join(file));
        if !kind.is_ok_and(|kind| kind.is_file() && kind.len() > 0) {
            return complain(&format!("no file {file}"));
        }
    }
    let text = fs::read_to_string(package.join("Cargo.toml")).unwrap_or_default();
    let manifest: toml::Table = text
        .parse()
        .map_err(|e| format!("{}: {e}", package.display()))?;
    let about = manifest.get("package").and_then(toml::Value::as_table);
    for key in KEYS {
        if about.is_none_or(|about| !about.contains_key(key)) {
            return complain(&format!("no {key} in Cargo.toml"));
        }
    }
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        let table = manifest.get(kind).and_then(toml::Value::as_table);
        for (name, how) in table.into_iter().flatten() {
            if how.get("path").is_some() || how.get("version").is_none() {
                return complain(&format!("{name} has a path or no version"));
            }
        }
    }
    Ok(())
}

/// Takes the packages that others depend on from their folders, since no registry has them yet.
fn patch(folder: &Path) -> [String; 4] {
    let from = |name: &str| {
        let package = folder.join(format!("{name}-{VERSION}"));
        format!("patch.crates-io.{name}.path='{}'", package.display())
    };
    let with = || "--config".to_owned();
    [with(), from("dst-core"), with(), from("dst-mpi")]
}

/// Installs the program `dst` from its package; returns it.
fn install(cargo: &Cargo, folder: &Path) -> Result<PathBuf, String> {
    let root = folder.join("installed");
    let mut install = cargo.command();
    install
        .current_dir(folder)
        .args([
            "install",
            "--quiet",
            "--path",
            &format!("dst-std-{VERSION}"),
        ])
        .args(patch(folder))
        // The dependencies as the workspace compiles them; our own crates quickly.
        .args(["--config", "profile.release.debug=1"])
        .args(["--config", "profile.release.package.dst-core.opt-level=0"])
        .args(["--config", "profile.release.package.dst-mpi.opt-level=0"])
        .args(["--config", "profile.release.package.dst-std.opt-level=0"])
        .arg("--root")
        .arg(&root)
        .arg("--target-dir")
        .arg(cargo.target_folder(""));
    answer(&mut install)?;
    Ok(root.join("bin/dst"))
}

/// Runs the installed program, with weights and templates that are in it, in a folder without anything else.
pub(crate) fn work(program: &Path, folder: &Path) -> Result<(), String> {
    let folder = folder.join("elsewhere");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let dst = |line: &str| {
        let mut command = Command::new(program);
        command.current_dir(&folder).args(line.split(' '));
        answer(command.env_clear())
    };
    let expect = |line: &str, part: &str| match dst(line)? {
        output if output.contains(part) => Ok(()),
        output => Err(format!("dst {line}: no '{part}' in\n{output}")),
    };
    expect("--version", &format!("dst {VERSION}"))?;
    expect("illustrate --json", "\"")?;
    let networks = "l2o test --weights rnnprop-1 --dim 8 --samples 8 --problems 2 --steps 20";
    expect(&format!("{networks} --learned-only --json"), "rnnprop-1")?;
    expect("control template", "\"horizon\"")
}
