//! Public names at the root of dst-core: at most 41, each listed in the crate's documentation.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            found.push(path);
        }
    }
}

fn core() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dst-core/src")
}

/// Every name that `pub use`, `pub mod` and `#[macro_export]` put at the root of a build. The guide is text, in no build.
fn root_names(text: &str) -> Vec<String> {
    let code: String = text.lines().filter(|l| !l.starts_with("//!")).collect();
    let mut names = vec!["formula!".to_owned(), "objective!".to_owned()];
    for item in code.split(';') {
        if item.contains("#[cfg(any(doc, doctest))]") {
            continue;
        }
        if let Some((_, name)) = item.rsplit_once("pub mod ") {
            names.push(name.trim().to_owned());
        } else if let Some((_, path)) = item.rsplit_once("pub use ") {
            let list = path.rsplit("::").next().unwrap();
            let list = list.trim_matches(|c: char| "{} ".contains(c));
            names.extend(list.split(',').map(|n| n.trim().to_owned()));
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

#[test]
fn at_most_41_root_names_all_listed() {
    let text = fs::read_to_string(core().join("lib.rs")).unwrap();
    let names = root_names(&text);
    assert!(names.len() <= 41, "{} names: {names:?}", names.len());
    assert!(names.len() > 30, "the list is incomplete: {names:?}");
    let begin = text.find("//! # The names").unwrap();
    let listed = &text[begin..][..text[begin..].find("//! # Good to know").unwrap()];
    for name in &names {
        assert!(
            listed.contains(&format!("`{name}`")),
            "{name} is not listed"
        );
    }
}

#[test]
fn no_trace_of_the_previous_engine() {
    let mut files = Vec::new();
    sources(&core(), &mut files);
    assert!(files.len() > 40);
    let gone = [
        "suspend",
        "resume",
        "Recorder",
        "Vacant",
        "InPlace",
        "Tableau",
        "RunState",
        "AdjointState",
        "TangentState",
        "ScheduleState",
        "ReversalState",
    ];
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for word in gone {
            assert!(!text.contains(word), "{word} in {}", file.display());
        }
    }
}
