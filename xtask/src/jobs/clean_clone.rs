//! A new user's first minutes: a fresh clone in an empty folder, an empty cargo home, and the two commands of the README.
//!
//! The commands are read from the README, so that it cannot say one thing and this check do another. What is cloned is the last
//! commit: a file that was never added is missed here, and nowhere else.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::cargo::{Cargo, succeed};
use crate::suite;

pub(crate) fn run(cargo: &Cargo, first: bool) -> ExitCode {
    let clone = match cloned(cargo) {
        Ok(clone) => clone,
        Err(reason) => return suite::exit_code(Err(reason)),
    };
    let commands = clone.1.iter().take(if first { 1 } else { 2 });
    let folder = clone.0.as_path();
    suite::each(commands.enumerate().map(|(i, line)| {
        let name = ["first command", "second command"][i];
        (name, move || run_line(folder, line).map(|()| line.clone()))
    }))
}

type Clone = (std::path::PathBuf, Vec<String>);

/// The folder of the clone, and the commands that its README names.
fn cloned(cargo: &Cargo) -> Result<Clone, String> {
    let folder = cargo.target_folder("clean-clone");
    let _ = fs::remove_dir_all(&folder);
    let mut git = Command::new("git");
    git.args(["clone", "--quiet", "--no-local"])
        .arg(cargo.root())
        .arg(folder.join("dst"));
    succeed(&mut git)?;
    let readme = fs::read_to_string(folder.join("dst/README.md")).map_err(|e| e.to_string())?;
    let lines = commands(&readme);
    match lines.len() {
        2 => Ok((folder, lines)),
        n => Err(format!("the README's 'Two commands' are {n}")),
    }
}

/// The lines between the first fences after the headline, without their comments.
fn commands(readme: &str) -> Vec<String> {
    let after = readme
        .split_once("## Two commands")
        .map_or("", |parts| parts.1);
    let block = after.split("```").nth(1).unwrap_or_default();
    block
        .lines()
        .map(|line| {
            line.split(" #")
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .filter(|line| line.starts_with("cargo "))
        .collect()
}

fn run_line(folder: &Path, line: &str) -> Result<(), String> {
    let home = folder.join("cargo-home");
    fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
    // Where packages come from is the machine's, not the stranger's: without it there may be no way to any.
    if let Some(old) = std::env::var_os("CARGO_HOME").or_else(default_home) {
        for name in ["config.toml", "config"] {
            let _ = fs::copy(Path::new(&old).join(name), home.join(name));
        }
    }
    let status = Command::new("sh")
        .args(["-c", line])
        .current_dir(folder.join("dst"))
        .env("CARGO_HOME", &home)
        .env_remove("CARGO_TARGET_DIR")
        // Set by the cargo that started us; they would lead back to this workspace.
        .env_remove("CARGO")
        .env_remove("CARGO_MANIFEST_DIR")
        .env_remove("DST_DATA")
        .status()
        .map_err(|e| format!("sh does not start: {e}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("'{line}' in a fresh clone: {status}"))
    }
}

fn default_home() -> Option<std::ffi::OsString> {
    let home = std::env::var_os("HOME")?;
    Some(Path::new(&home).join(".cargo").into_os_string())
}

#[cfg(test)]
mod tests {
    use super::commands;

    #[test]
    fn the_readme_names_two_commands() {
        let readme = include_str!("../../../README.md");
        let found = commands(readme);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found.iter().all(|line| !line.contains('#')), "{found:?}");
        assert!(found[1].starts_with("cargo xtask test"), "{found:?}");
    }
}
