//! Calls of cargo and rustup, in the root of the workspace.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

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

    /// Makes sure that a component of the toolchain is there; `probe` is the subcommand that needs it.
    pub(crate) fn component(&self, probe: &str, component: &str) -> Result<(), String> {
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

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.root);
        command
    }
}
