//! The commands of the pages: all of them parse, and those of the README are run.

use std::path::Path;

use crate::support::{Scratch, dst};

/// Pages whose commands are parsed; those of the first are run too.
const PAGES: [&str; 7] = [
    "README.md",
    "CONTRIBUTING.md",
    "dst-bench/RESULTS.md",
    "dst-std/README.md",
    "dst-core/src/guide/choosing.md",
    "dst-std/src/guide/tuning.md",
    "dst-std/src/guide/online_adaptation.md",
];

/// Commands of the README that are not run as they stand: the arguments that are run instead, or the reason.
const OTHERWISE: &[(&str, Result<&[&str], &str>)] = &[
    (
        "reproduce --quick",
        Err("tests/reproduce.rs runs it, one experiment at a time"),
    ),
    (
        "control export --model FILE",
        Err("tests/cli/control.rs runs it; it needs a file"),
    ),
    (
        "validate --dim 1000",
        Ok(&["validate", "--dim", "100", "--quiet"]),
    ),
    (
        "l2o test",
        Ok(&[
            "l2o",
            "test",
            "--dim",
            "16",
            "--problems",
            "4",
            "--steps",
            "20",
            "--quiet",
        ]),
    ),
];

/// Arguments of every `dst …` and `cargo run --release -- …` of a page: lines of code blocks, and text between backticks.
fn commands(page: &str) -> Vec<String> {
    let (mut found, mut fenced) = (Vec::new(), false);
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            found.push(line.split(" #").next().unwrap_or_default());
        } else {
            found.extend(line.split('`').skip(1).step_by(2));
        }
    }
    let arguments = |text: &str| {
        let text = text.trim();
        let ours = text
            .strip_prefix("cargo run --release -- ")
            .or_else(|| text.strip_prefix("dst "))?;
        // Options between brackets are taken as given.
        Some(ours.replace(['[', ']'], ""))
    };
    found.into_iter().filter_map(arguments).collect()
}

fn read(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Parses without running: `--help` comes last, so that a wrong argument before it is refused first.
fn parses(command: &str) -> bool {
    let mut words: Vec<&str> = command.split_whitespace().collect();
    words.push("--help");
    dst(&words).status.code() == Some(0)
}

#[test]
fn commands_of_the_pages_parse() {
    for name in PAGES {
        let commands = commands(&read(name));
        assert!(!commands.is_empty(), "{name}");
        for command in commands {
            assert!(parses(&command), "{name}: dst {command}");
        }
    }
    assert!(!parses("tune --metod nesterov"));
    assert!(!parses("tune --tolerance -1"));
}

#[test]
fn commands_of_the_readme_run() {
    let scratch = Scratch::new("readme-commands");
    let mut commands = commands(&read("README.md"));
    commands.sort();
    commands.dedup();
    assert!(commands.len() >= 5, "{commands:?}");
    for (listed, _) in OTHERWISE {
        assert!(
            commands.iter().any(|command| command == listed),
            "the README has no 'dst {listed}'"
        );
    }
    for command in &commands {
        let listed = OTHERWISE.iter().find(|(name, _)| name == command);
        let words: Vec<&str> = match listed {
            Some((_, Ok(instead))) => instead.to_vec(),
            Some((_, Err(_))) => continue,
            None => command.split_whitespace().collect(),
        };
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_dst"))
            .args(&words)
            .current_dir(&scratch.0)
            .env_remove("DST_DATA")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "dst {command}: {output:?}");
        assert!(!output.stdout.is_empty(), "dst {command}");
    }
}
