//! The systems and their settings: what is prepared, and what is compiled.

use std::path::{Path, PathBuf};

use super::install::{FOLDER, Peers};
use super::program::Sources;
use crate::cargo::Cargo;

/// One system with one setting.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Setting {
    /// Ours, as it is exported.
    Ours,
    Daqp {
        tolerance: f64,
        /// Constants of its source in single precision.
        single: bool,
    },
    Osqp {
        form: &'static str,
        rho: f64,
        tolerance: f64,
        check: u32,
        adaptive: bool,
    },
    TinyMpc {
        rho: f64,
        most: u32,
    },
}

impl Setting {
    pub(crate) fn system(&self) -> &'static str {
        match self {
            Self::Ours => "dst",
            Self::Daqp { .. } => "DAQP",
            Self::Osqp { .. } => "OSQP",
            Self::TinyMpc { .. } => "TinyMPC",
        }
    }

    /// The numbers of the setting.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Ours => "active set, C".to_owned(),
            Self::Daqp { tolerance, single } => {
                let constants = if *single { ", float constants" } else { "" };
                format!("primal_tol {tolerance:e}{constants}")
            }
            Self::Osqp {
                form,
                rho,
                tolerance,
                check,
                adaptive,
            } => {
                let adaptive = if *adaptive { "adaptive from " } else { "" };
                format!("{form}, ρ {adaptive}{rho}, ε {tolerance:e}, check every {check}")
            }
            Self::TinyMpc { rho, most } => format!("ρ {rho}, at most {most}"),
        }
    }

    /// Prepares the sources in `out` for the case in `case`.
    pub(crate) fn sources(
        &self,
        cargo: &Cargo,
        peers: &Peers,
        case: &Path,
        out: &Path,
    ) -> Result<Sources, String> {
        std::fs::create_dir_all(out).map_err(|e| format!("{}: {e}", out.display()))?;
        let harness = |name: &str| cargo.root().join(FOLDER).join(name);
        let to = ["--out".to_owned(), out.display().to_string()];
        let prepare = |script: &str, more: &[String]| {
            let arguments = [&to, more].concat();
            peers
                .script(cargo, script, case, &arguments)
                .map_err(|e| format!("{}: {e}", self.system()))
        };
        match self {
            Self::Ours => Ok(ours(cargo, case)),
            Self::Daqp { tolerance, single } => {
                prepare("prepare_daqp.py", &pair("--primal-tolerance", tolerance))?;
                let source = peers.source("daqp")?.join("csrc");
                let names = ["daqp", "auxiliary", "factorization", "utils", "api"];
                let mut files = vec![harness("daqp.c")];
                files.extend(names.map(|name| source.join("src").join(format!("{name}.c"))));
                let single = single.then(|| "-fsingle-precision-constant".to_owned());
                Ok(Sources {
                    files,
                    include: vec![source.join("include"), out.to_owned()],
                    flags: std::iter::once("-DDAQP_SINGLE_PRECISION".to_owned())
                        .chain(single)
                        .collect(),
                })
            }
            Self::Osqp {
                form,
                rho,
                tolerance,
                check,
                adaptive,
            } => {
                let arguments = [
                    pair("--form", form),
                    pair("--rho", rho),
                    pair("--tolerance", tolerance),
                    pair("--check", check),
                    pair("--adaptive", &u8::from(*adaptive)),
                ];
                prepare("prepare_osqp.py", &arguments.concat())?;
                let mut files = vec![harness("osqp.c"), out.join("workspace.c")];
                files.extend(sources_in(&out.join("src"))?);
                let include = ["inc/public", "inc/private", ""].map(|folder| out.join(folder));
                Ok(Sources {
                    files,
                    include: include.to_vec(),
                    flags: Vec::new(),
                })
            }
            Self::TinyMpc { rho, most } => {
                let inside = "src/tinympc/codegen/codegen_src/tinympc";
                let source = peers.source("tinympc")?.join(inside);
                let arguments = [
                    pair("--source", &source.display()),
                    pair("--rho", rho),
                    pair("--most", most),
                ];
                prepare("prepare_tinympc.py", &arguments.concat())?;
                Ok(Sources {
                    files: vec![harness("tinympc.cpp"), out.join("admm.cpp")],
                    include: vec![out.to_owned(), PathBuf::from("/usr/include/eigen3")],
                    flags: Vec::new(),
                })
            }
        }
    }
}

/// The two plants have committed controllers, all other cases one in their folder.
fn ours(cargo: &Cargo, case: &Path) -> Sources {
    let root = cargo.root();
    // A part of the ticks of a case has the controller of the case.
    let folder = match case.ends_with("few") {
        true => case.parent().unwrap_or(case),
        false => case,
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let (place, name) = match folder.join("controller.h").is_file() {
        true => (folder.to_owned(), "controller".into()),
        false => (root.join("tests/c/active_set"), name),
    };
    Sources {
        files: vec![root.join(FOLDER).join("ours.c")],
        include: vec![place, root.join("dst-std/src/control")],
        flags: vec![
            format!("-DHEADER=\"{name}.h\""),
            format!("-DCONTROLLER={name}"),
            format!("-DMEMORY={name}_memory"),
        ],
    }
}

fn pair(name: &str, value: &dyn std::fmt::Display) -> Vec<String> {
    vec![name.to_owned(), value.to_string()]
}

fn sources_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let complain = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(complain)? {
        let path = entry.map_err(complain)?.path();
        if path.extension().is_some_and(|e| e == "c") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
