//! The other systems, by name and version from their package index: Python packages that generate code, and sources that are compiled.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, answer, succeed};
use crate::toolchain::{Tool, ensure};

/// Scripts and harnesses.
pub(crate) const FOLDER: &str = "dst-bench/peers/firmware";

/// Places of what was installed.
pub(crate) struct Peers {
    /// Python with the packages.
    pub(crate) python: PathBuf,
    /// Unpacked source distributions.
    sources: PathBuf,
    /// Lines of `requirements.txt` and `sources.txt`.
    pub(crate) versions: Vec<String>,
}

impl Peers {
    /// Installs what is missing; an error begins with the name of the system.
    pub(crate) fn install(cargo: &Cargo) -> Result<Self, String> {
        ensure(&[Tool::new("/usr/include/eigen3/Eigen/Core", "libeigen3-dev")])?;
        let folder = cargo.target_folder("firmware/peers");
        let peers = Self {
            python: folder.join("python/bin/python"),
            sources: folder.join("sources"),
            versions: [
                lines(cargo, "requirements.txt")?,
                lines(cargo, "sources.txt")?,
            ]
            .concat(),
        };
        let stamp = folder.join("installed.txt");
        let wanted = peers.versions.join("\n");
        if std::fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
            return Ok(peers);
        }
        eprintln!(
            "installing the packages of {FOLDER} into {}",
            folder.display()
        );
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(folder.join("python"));
        succeed(&mut venv).map_err(|e| {
            format!("no Python environment ({e}); Debian: apt-get install python3-venv")
        })?;
        for package in lines(cargo, "requirements.txt")? {
            peers.pip(&package, &["install", "--quiet", &package])?;
        }
        for package in lines(cargo, "sources.txt")? {
            peers.fetch(&package)?;
        }
        std::fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
        Ok(peers)
    }

    /// Names and versions, each once.
    pub(crate) fn names(&self) -> String {
        let mut names = self.versions.clone();
        names.sort();
        names.dedup();
        names.join(", ").replace("==", " ")
    }

    /// Folder of an unpacked source distribution.
    pub(crate) fn source(&self, package: &str) -> Result<PathBuf, String> {
        let wanted = format!("{package}==");
        let line = self.versions.iter().rev().find(|v| v.starts_with(&wanted));
        let line = line.ok_or_else(|| format!("{package}: not in sources.txt"))?;
        Ok(self.sources.join(line.replace("==", "-")))
    }

    fn pip(&self, package: &str, arguments: &[&str]) -> Result<(), String> {
        let mut pip = Command::new(&self.python);
        pip.args(["-m", "pip", "--disable-pip-version-check"])
            .args(arguments);
        answer(&mut pip)
            .map(drop)
            .map_err(|e| format!("{package} cannot be installed: {e}"))
    }

    /// Downloads and unpacks the source distribution.
    fn fetch(&self, package: &str) -> Result<(), String> {
        let name = package.split("==").next().unwrap_or(package);
        let to = self.sources.to_string_lossy().into_owned();
        let download = ["download", "--no-deps", "--no-binary", name, package];
        self.pip(package, &[&download[..], &["--dest", &to]].concat())?;
        let archive = format!("{}.tar.gz", package.replace("==", "-"));
        let mut tar = Command::new("tar");
        tar.current_dir(&self.sources).args(["xzf", &archive]);
        succeed(&mut tar).map_err(|e| format!("{package} cannot be unpacked: {e}"))
    }

    /// Runs one of the scripts and returns its output.
    pub(crate) fn script(
        &self,
        cargo: &Cargo,
        name: &str,
        case: &Path,
        arguments: &[String],
    ) -> Result<String, String> {
        let mut command = Command::new(&self.python);
        command
            .current_dir(cargo.root().join(FOLDER))
            // No compiled scripts in the repository.
            .args(["-B", name, "--case"])
            .arg(case)
            .args(arguments);
        answer(&mut command)
    }
}

/// Lines of a file that are not comments.
fn lines(cargo: &Cargo, file: &str) -> Result<Vec<String>, String> {
    let path = cargo.root().join(FOLDER).join(file);
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{FOLDER}/{file}: {e}"))?;
    let lines = text.lines().map(str::trim);
    let packages = lines.filter(|l| !l.is_empty() && !l.starts_with('#'));
    Ok(packages.map(str::to_owned).collect())
}
