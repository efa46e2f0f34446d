//! The examples, as a user runs them: each must print what its header says.
//!
//! An example has in its documentation a line `Prints:` and then the output, between fences or, in C, to the end of the comment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{Cargo, FEATURES, answer};

/// Crates with an `examples` folder.
const PACKAGES: [&str; 2] = ["dst-core", "dst-std"];

pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    // With the features of the tests: the libraries are compiled already.
    cargo.run(&["build", "--quiet", "--workspace", FEATURES, "--examples"])?;
    let programs = cargo.target_folder("debug").join("examples");
    let mut count = 0;
    for package in PACKAGES {
        for source in sources(&cargo.root().join(package).join("examples"))? {
            let name = source.file_stem().unwrap_or_default();
            let mut example = Command::new(programs.join(name));
            check(&source, &answer(example.current_dir(cargo.root()))?)?;
            count += 1;
        }
    }
    Ok(format!("{count} examples print what they say"))
}

/// The examples of a crate, in the order of their names.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|kind| kind == "rs"))
        .collect();
    files.sort();
    Ok(files)
}

/// Fails if this is not what the source says it prints.
pub(crate) fn check(source: &Path, output: &str) -> Result<(), String> {
    let text = fs::read_to_string(source).map_err(|e| format!("{}: {e}", source.display()))?;
    let promised = promised(&text)
        .ok_or_else(|| format!("{} does not say what it prints", source.display()))?;
    if output.trim_end() == promised {
        return Ok(());
    }
    Err(format!(
        "{} says that it prints\n{promised}\nbut it prints\n{}",
        source.display(),
        output.trim_end()
    ))
}

/// The lines after `Prints:`.
fn promised(text: &str) -> Option<String> {
    let mut lines = text.lines().map(|line| {
        let line = line.trim_start();
        let bare = line.strip_prefix("//!").or_else(|| line.strip_prefix("*"));
        let bare = bare.unwrap_or(line);
        bare.strip_prefix(' ').unwrap_or(bare)
    });
    lines.by_ref().find(|line| line.trim() == "Prints:")?;
    let ends = |line: &str| line == "```" || line == "/" || line == "*/";
    let kept: Vec<&str> = lines
        .skip_while(|line| line.starts_with("```text"))
        .take_while(|line| !ends(line))
        .collect();
    Some(kept.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::promised;

    #[test]
    fn the_promise_is_found_in_rust_and_in_c() {
        let rust = "//! Title.\n//!\n//! Prints:\n//! ```text\n//! one\n//!   two\n//! ```\nfn main() {}\n";
        assert_eq!(promised(rust).as_deref(), Some("one\n  two"));
        let c = "/* Title.\n *\n * Prints:\n * one\n *   two\n */\nint main(void) {}\n";
        assert_eq!(promised(c).as_deref(), Some("one\n  two"));
        assert_eq!(promised("//! Title.\nfn main() {}\n"), None);
    }
}
