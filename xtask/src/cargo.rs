//! Calls of cargo and rustup, in the root of the workspace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::toolchain::installing;

/// The cargo that started us, so that a toolchain chosen with `+` is kept.
pub(crate) struct Cargo {
    program: OsString,
    root: PathBuf,
}

impl Cargo {
    pub(crate) fn new() -> Self {
        let manifest = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        Self {
            program: std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
            root: manifest.parent().map_or(manifest.clone(), PathBuf::from),
        }
    }

    /// Runs cargo with these arguments.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<(), String> {
        self.run_with(arguments, &[])
    }

    /// The same with environment variables.
    pub(crate) fn run_with(
        &self,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<(), String> {
        let line = arguments.join(" ");
        let status = self
            .command()
            .args(arguments)
            .envs(variables.iter().copied())
            .status()
            .map_err(|e| format!("cargo does not start: {e}"))?;
        if status.success() {
            return Ok(());
        }
        let variables: String = variables
            .iter()
            .map(|(name, value)| format!("{name}='{value}' "))
            .collect();
        Err(format!("{variables}cargo {line}: {status}"))
    }

    /// A measuring program of dst-bench, to which arguments can be added.
    pub(crate) fn measure(&self, program: &str) -> Result<Command, String> {
        let bench = ["--release", "--package", "dst-bench"];
        // All of them first: the one that measures starts others.
        self.run(&[["build"].as_slice(), &bench, &["--bins"]].concat())?;
        let mut command = self.command();
        command
            .args(["run", "--quiet"])
            .args(bench)
            .args(["--bin", program, "--"]);
        Ok(command)
    }

    /// A program of the workspace that is compiled when it is first needed; arguments can be added.
    pub(crate) fn program(&self, package: &str) -> Command {
        let mut command = self.command();
        command.args(["run", "--quiet", "--package", package, "--"]);
        command
    }

    /// Makes sure that a component of the toolchain is there; `probe` is the subcommand that needs it.
    pub(crate) fn component(&self, probe: &str, component: &str) -> Result<(), String> {
        let _alone = installing();
        if self.answers(probe) {
            return Ok(());
        }
        eprintln!("{component} is missing: rustup component add {component}");
        let added = Command::new("rustup")
            .args(["component", "add", component])
            .current_dir(&self.root)
            .status()
            .is_ok_and(|status| status.success());
        if added && self.answers(probe) {
            Ok(())
        } else {
            Err(format!(
                "{component} is missing; install it with: rustup component add {component}"
            ))
        }
    }

    fn answers(&self, subcommand: &str) -> bool {
        self.command()
            .args([subcommand, "--version"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }

    /// A program of the toolchain that our cargo belongs to.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        let beside = PathBuf::from(&self.program).with_file_name(name);
        if beside.is_file() {
            beside
        } else {
            name.into()
        }
    }

    /// Output of rustc, the one that belongs to our cargo, for these arguments.
    pub(crate) fn rustc(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new(self.beside("rustc"))
            .args(arguments)
            .current_dir(&self.root)
            .output()
            .map_err(|e| format!("rustc does not start: {e}"))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            Err(format!(
                "rustc {}: {}",
                arguments.join(" "),
                String::from_utf8_lossy(&output.stderr).trim()
            ))
        }
    }

    /// The target triple of this machine.
    pub(crate) fn host(&self) -> Result<String, String> {
        let version = self.rustc(&["-vV"])?;
        let host = version.lines().find_map(|line| line.strip_prefix("host: "));
        host.map(str::to_owned)
            .ok_or_else(|| format!("rustc names no host: {version}"))
    }

    /// The root of the workspace.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of this name inside the target folder.
    pub(crate) fn target_folder(&self, name: &str) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        self.root.join(target).join(name)
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.root);
        // Everything is compiled once there: nothing is gained by the records of an incremental build.
        if std::env::var_os("CI").is_some() && std::env::var_os("CARGO_INCREMENTAL").is_none() {
            command.env("CARGO_INCREMENTAL", "0");
        }
        command
    }
}

/// Every feature of the workspace but `mpi`: what is compiled with it needs an MPI library. The defaults come on their own.
pub(crate) const FEATURES: &str =
    "--features=dst-core/std,dst-core/nalgebra,dst-core/defmt,dst-core/heapless";

/// Asks cargo to tell [`compile`] what it compiled.
pub(crate) const MESSAGES: &str = "--message-format=json-render-diagnostics";

/// Compiles with a command of cargo that has [`MESSAGES`] among its arguments; returns the manifests of everything that was compiled, now or before.
pub(crate) fn compile(command: &mut Command) -> Result<Vec<PathBuf>, String> {
    let messages = answer(command)?;
    let mut manifests: Vec<PathBuf> = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| Some(message.get("manifest_path")?.as_str()?.into()))
        .collect();
    manifests.sort();
    manifests.dedup();
    Ok(manifests)
}

/// Fails if a committed file does not say this, and tells the first difference. `DST_BLESS=1` writes it instead.
pub(crate) fn bless(file: &Path, text: &str) -> Result<(), String> {
    if std::env::var_os("DST_BLESS").is_some_and(|v| v == "1") {
        return std::fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()));
    }
    let committed =
        std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    if committed == text {
        return Ok(());
    }
    let (old, new) = (lines(&committed), lines(text));
    let gone = old.difference(&new).map(|line| format!("\n- {line}"));
    let come = new.difference(&old).map(|line| format!("\n+ {line}"));
    let changes: String = gone.chain(come).take(40).collect();
    Err(format!(
        "{} differs (DST_BLESS=1 accepts it):{changes}",
        file.display()
    ))
}

fn lines(text: &str) -> std::collections::BTreeSet<&str> {
    text.lines().collect()
}

/// Runs a command to its end; an error repeats it. What it prints is for people.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(e) => Err(format!("{command:?}: {e}")),
    }
}

/// Runs a command and returns what it prints; an error has the whole command and its output.
pub(crate) fn answer(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|e| format!("{} does not start: {e}", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(text.into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    // The first lines say what went wrong; a sanitiser can go on for thousands.
    let errors = errors.lines().take(60).collect::<Vec<_>>().join("\n");
    Err(format!("{command:?}: {}\n{text}{errors}", output.status))
}

#[cfg(test)]
mod tests {
    use super::{Cargo, FEATURES};

    /// A new feature is tested, too: `FEATURES` has all that are neither defaults nor `mpi`.
    #[test]
    fn no_feature_is_left_out() {
        let mut found = Vec::new();
        for package in ["dst-core", "dst-core/ffi", "dst-std", "dst-std/mpi"] {
            let file = Cargo::new().root().join(package).join("Cargo.toml");
            let manifest: toml::Table = std::fs::read_to_string(file).unwrap().parse().unwrap();
            let features = manifest["features"].as_table().unwrap();
            let defaults = features["default"].as_array().unwrap();
            let other = features.keys().filter(|name| {
                let default = defaults.iter().any(|d| d.as_str() == Some(name.as_str()));
                !default && *name != "default" && *name != "mpi"
            });
            found.extend(other.map(|name| format!("{package}/{name}")));
        }
        let mut listed: Vec<&str> = FEATURES
            .trim_start_matches("--features=")
            .split(',')
            .collect();
        listed.sort_unstable();
        found.sort();
        assert_eq!(found, listed);
    }
}
