//! Regressions: the hot paths of `dst-bench` against its baseline file, or against the build of an earlier commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, answer, succeed};
use crate::toolchain::{VALGRIND, ensure};

pub(crate) fn run(cargo: &Cargo, against: Option<&str>, write: bool) -> Result<(), String> {
    ensure(&[VALGRIND])?;
    let folder = cargo.target_folder("bench");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let old = match against {
        Some(commit) => Some(built(cargo, &folder, commit)?),
        None => None,
    };
    let mut slower = cargo.measure("slower")?;
    slower
        .arg("--baseline")
        .arg(cargo.root().join("dst-bench/baseline.txt"))
        .arg("--log")
        .arg(folder.join("complaints.log"));
    if let Some(old) = old {
        slower.arg("--old").arg(old);
    }
    if write {
        slower.arg("--write");
    }
    succeed(&mut slower)
}

/// The program `hot` of this commit, built in a folder of its own; a commit is built once.
fn built(cargo: &Cargo, folder: &Path, commit: &str) -> Result<PathBuf, String> {
    let name = format!("{commit}^{{commit}}");
    let hash = git(cargo, &["rev-parse", "--verify", "--quiet", &name])
        .map_err(|_| format!("--against: git knows no commit '{commit}'"))?;
    let tree = folder.join(hash.trim());
    if !tree.join("Cargo.toml").is_file() {
        unpacked(cargo, hash.trim(), &tree)?;
    }
    let program = tree.join("dst-bench/src/bin/hot.rs");
    if !program.is_file() {
        return Err(format!(
            "--against: commit '{commit}' has no {}; it is older than this comparison",
            "dst-bench/src/bin/hot.rs"
        ));
    }
    eprintln!("building {commit} in {}", tree.display());
    let target = tree.join("target");
    let mut build = cargo.command();
    build
        .current_dir(&tree)
        .env("CARGO_TARGET_DIR", &target)
        .args(["build", "--release", "--package", "dst-bench"])
        .args(["--bin", "hot"]);
    succeed(&mut build).map_err(|e| format!("commit '{commit}' does not build: {e}"))?;
    Ok(target.join("release/hot"))
}

/// The files of a commit, without git knowing of it: a work tree would have to be taken off its list again.
fn unpacked(cargo: &Cargo, hash: &str, tree: &Path) -> Result<(), String> {
    let archive = tree.with_extension("tar");
    let file = archive.to_string_lossy().into_owned();
    std::fs::create_dir_all(tree).map_err(|e| format!("{}: {e}", tree.display()))?;
    git(cargo, &["archive", "--format=tar", "--output", &file, hash])?;
    let mut tar = Command::new("tar");
    let unpacked = succeed(tar.arg("-xf").arg(&archive).arg("-C").arg(tree));
    let _ = std::fs::remove_file(archive);
    unpacked
}

/// Output of git.
fn git(cargo: &Cargo, arguments: &[&str]) -> Result<String, String> {
    let mut git = Command::new("git");
    answer(git.current_dir(cargo.root()).args(arguments))
}
