//! The public API of the libraries, compared with the listing that is committed: a change of it is seen by who reads the change.
//!
//! `DST_BLESS=1` writes the listings anew. The API for C is `dst.h`, which is compared with its source by `cargo xtask c-header --check`.

mod listing;
mod types;

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::cargo::{Cargo, FEATURES, answer, bless};

/// Crates with the files of their listings.
const CRATES: [(&str, &str); 2] = [
    ("dst-core", "dst-core/api.txt"),
    ("dst-std", "dst-std/api.txt"),
];

/// Compares all of them.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let mut notes = Vec::new();
    for (package, file) in CRATES {
        let path = document(cargo, package)?;
        let complain = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
        let text = fs::read_to_string(&path).map_err(|e| complain(&e))?;
        let json: Value = serde_json::from_str(&text).map_err(|e| complain(&e))?;
        let lines = listing::lines(&json)
            .map_err(|e| format!("{package}: {e} (format {})", json["format_version"]))?;
        bless(&cargo.root().join(file), &(lines.join("\n") + "\n"))?;
        notes.push(format!("{package} {} lines", lines.len()));
    }
    Ok(notes.join(", "))
}

/// Writes rustdoc's JSON with all features; returns the file.
///
/// JSON is an unstable option of rustdoc. Only rustdoc is started with `RUSTC_BOOTSTRAP`: in the environment of cargo it would compile
/// every dependency again.
fn document(cargo: &Cargo, package: &str) -> Result<PathBuf, String> {
    let folder = cargo.target_folder("api");
    let wrapper = folder.join("rustdoc.sh");
    let script = format!(
        "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec '{}' \"$@\"\n",
        cargo.beside("rustdoc").display()
    );
    // The same file if it says the same: cargo looks at its time.
    if fs::read_to_string(&wrapper).ok().as_deref() != Some(&script) {
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&wrapper, script));
        written.map_err(|e| format!("{}: {e}", wrapper.display()))?;
        answer(std::process::Command::new("chmod").arg("+x").arg(&wrapper))?;
    }
    let mut rustdoc = cargo.command();
    rustdoc
        .args(["rustdoc", "--quiet", "--package", package, "--lib"])
        .args([FEATURES, "--"])
        .args(["-Zunstable-options", "--output-format", "json"])
        .env("RUSTDOC", &wrapper);
    answer(&mut rustdoc)?;
    let name = package.replace('-', "_");
    Ok(cargo.target_folder("doc").join(format!("{name}.json")))
}
