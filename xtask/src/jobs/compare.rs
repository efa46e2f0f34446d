//! Ours beside other systems: installs them, then lets `dst-bench` do the comparing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::cargo::{Cargo, succeed};

/// Packages that the other systems need.
const REQUIREMENTS: &str = "dst-bench/peers/requirements.txt";

pub(crate) fn run(
    cargo: &Cargo,
    quick: bool,
    only: Option<&str>,
    python: Option<PathBuf>,
) -> Result<(), String> {
    let python = match python {
        Some(python) => python,
        None => installed(cargo)?,
    };
    let made = cargo.target_folder("compare");
    let out = if quick {
        made.clone()
    } else {
        cargo.root().join("dst-bench")
    };
    let mut compare = cargo.measure("compare")?;
    compare
        .arg("--python")
        .arg(python)
        .arg("--peers")
        .arg(cargo.root().join("dst-bench/peers"))
        .arg("--out")
        .arg(out)
        .arg("--scratch")
        .arg(made.join("scratch"));
    if let Some(programs) = programs(cargo) {
        compare.arg("--programs").arg(programs);
    }
    if quick {
        compare.arg("--quick");
    }
    if let Some(only) = only {
        compare.args(["--only", only]);
    }
    succeed(&mut compare).map_err(|_| "the comparison failed; the reason is above".to_owned())
}

/// Families of quadratic programs that are compared, which are not part of the repository.
const PROGRAMS: [&str; 2] = ["lipmwalk.npz", "whlipbal.npz"];

/// Folder of the families: `DST_QP_DATA`, or the one beside the repository. None if a file is missing.
pub(crate) fn programs(cargo: &Cargo) -> Option<PathBuf> {
    let beside = cargo.root().join("../shared/data/qp");
    let folder = std::env::var_os("DST_QP_DATA").map_or(beside, PathBuf::from);
    let there = PROGRAMS.iter().all(|name| folder.join(name).is_file());
    there.then_some(folder)
}

/// A Python environment of our own with the others in it, made on first use.
fn installed(cargo: &Cargo) -> Result<PathBuf, String> {
    let requirements = cargo.root().join(REQUIREMENTS);
    let folder = cargo.target_folder("peers");
    let python = folder.join("bin/python");
    let stamp = folder.join("installed.txt");
    let wanted = fs::read_to_string(&requirements).map_err(|e| format!("{REQUIREMENTS}: {e}"))?;
    if fs::read_to_string(&stamp).is_ok_and(|there| there == wanted) {
        return Ok(python);
    }
    eprintln!(
        "installing {REQUIREMENTS} into {} (some minutes, 6 GB)",
        folder.display()
    );
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&folder);
    succeed(&mut venv).map_err(|e| {
        format!(
            "no Python environment can be made ({e}); install Python 3 with venv and pip (Debian: apt-get install python3-venv), \
             or name one that has the packages of {REQUIREMENTS} with --python"
        )
    })?;
    let mut pip = Command::new(&python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--requirement",
    ])
    .arg(&requirements);
    succeed(&mut pip).map_err(|e| {
        format!(
            "pip cannot install {REQUIREMENTS} ({e}); it needs a package index within reach and 6 GB, or --python and a Python that has \
             them already"
        )
    })?;
    fs::write(&stamp, wanted).map_err(|e| format!("{}: {e}", stamp.display()))?;
    Ok(python)
}
