//! Dependencies: their licences are allowed, they are used, and who receives a program or a library receives their texts.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::cargo::{Cargo, answer};

/// Licences under which parts of what we hand out may be.
const ALLOWED: [&str; 7] = [
    "MIT",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "Zlib",
    "Unicode-3.0",
    "Unlicense",
];

/// Licences of tools that are compiled and run here, and not handed out.
const TOOLS_ONLY: [&str; 2] = ["MPL-2.0", "ISC"];

/// Names that licence files begin with.
const BEGINNINGS: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "UNLICENSE", "NOTICE"];

/// A crate that others wrote, or one of ours.
struct Dependency {
    name: String,
    version: String,
    /// SPDX expression.
    licence: String,
}

/// Checks the licences of all dependencies, and that each is used.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let all = dependencies(cargo, &["--workspace", "--all-features"])?;
    let tools = [ALLOWED.as_slice(), &TOOLS_ONLY].concat();
    refuse(&all, &tools)?;
    let mut handed_out = 0;
    let host = cargo.host()?;
    for package in ["dst-ffi", "dst-std"] {
        let some = dependencies(cargo, &of_package(package, &host))?;
        refuse(&some, &ALLOWED)?;
        handed_out += some.len();
    }
    let mut metadata = cargo.command();
    metadata.args(["metadata", "--quiet", "--locked", "--no-deps"]);
    let metadata = answer(metadata.args(["--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|e| e.to_string())?;
    let unused = unused(&metadata)?;
    if !unused.is_empty() {
        return Err(format!("unused: {}", unused.join("; ")));
    }
    Ok(format!(
        "{} dependencies, {handed_out} of them handed out",
        all.len()
    ))
}

/// Writes the licences of all that is linked into a package for a target. Their texts are beside the manifests that were compiled.
pub(crate) fn write(
    cargo: &Cargo,
    package: &str,
    target: &str,
    manifests: &[PathBuf],
    file: &Path,
) -> Result<(), String> {
    let all = dependencies(cargo, &of_package(package, target))?;
    refuse(&all, &ALLOWED)?;
    let title = format!("# Licences of what is linked into {package} for {target}");
    let text = page(&title, &all, manifests)?;
    fs::write(file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// Arguments of `cargo tree` for what is linked into a package.
fn of_package<'a>(package: &'a str, target: &'a str) -> [&'a str; 6] {
    [
        "--package",
        package,
        "--target",
        target,
        "--edges",
        "normal,no-proc-macro",
    ]
}

/// Dependencies that `cargo tree` finds with these arguments.
fn dependencies(cargo: &Cargo, arguments: &[&str]) -> Result<Vec<Dependency>, String> {
    let mut tree = cargo.command();
    tree.args([
        "tree",
        "--quiet",
        "--locked",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    tree.args(["--format", "{p}|{l}"]).args(arguments);
    let mut found = BTreeMap::new();
    for line in answer(&mut tree)?.lines().filter(|line| !line.is_empty()) {
        let (package, licence) = line.split_once('|').unwrap_or((line, ""));
        let mut words = package.split(' ');
        let name = words.next().unwrap_or_default().to_owned();
        let version = words
            .next()
            .unwrap_or_default()
            .trim_start_matches('v')
            .to_owned();
        found.insert((name, version), licence.to_owned());
    }
    let all = found.into_iter();
    Ok(all
        .map(|((name, version), licence)| Dependency {
            name,
            version,
            licence,
        })
        .collect())
}

/// Fails if a licence is none of these.
fn refuse(dependencies: &[Dependency], allowed: &[&str]) -> Result<(), String> {
    let bad: Vec<String> = dependencies
        .iter()
        .filter(|d| !is_allowed(&d.licence, allowed))
        .map(|d| format!("{} {}: '{}'", d.name, d.version, d.licence))
        .collect();
    if bad.is_empty() {
        return Ok(());
    }
    Err(format!(
        "licences that xtask/src/jobs/licences.rs does not allow: {}",
        bad.join("; ")
    ))
}

/// True if the expression can be met by these licences. `/` is an old way to write `OR`.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest, allowed) && rest.is_empty()
}

/// Alternatives; a malformed expression leaves words over.
fn either(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut met = both(rest, allowed);
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        met |= both(rest, allowed);
    }
    met
}

fn both(rest: &mut &[&str], allowed: &[&str]) -> bool {
    let mut met = one(rest, allowed);
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        met &= one(rest, allowed);
    }
    met
}

fn one(rest: &mut &[&str], allowed: &[&str]) -> bool {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let met = either(rest, allowed);
            match *rest {
                [")", after @ ..] => {
                    *rest = after;
                    met
                }
                _ => false,
            }
        }
        // An exception gives permissions beyond the licence.
        [name, "WITH", _, after @ ..] | [name, after @ ..] => {
            *rest = after;
            allowed.contains(name)
        }
        [] => false,
    }
}

/// The elements of an array; none of what is no array.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A page with every dependency and the texts of its licences, each text once.
fn page(title: &str, all: &[Dependency], manifests: &[PathBuf]) -> Result<String, String> {
    let mut page =
        format!("{title}\n\n- Rust's standard library: MIT OR Apache-2.0; by the Rust project\n");
    let mut packages = BTreeMap::new();
    for manifest in manifests {
        let text = fs::read_to_string(manifest).unwrap_or_default();
        let table: toml::Table = text
            .parse()
            .map_err(|e| format!("{}: {e}", manifest.display()))?;
        let key = |key: &str| Some(table.get("package")?.get(key)?.clone());
        let text = |name: &str| key(name).and_then(|v| Some(v.as_str()?.to_owned()));
        let authors: Vec<String> = key("authors")
            .and_then(|authors| authors.try_into().ok())
            .unwrap_or_default();
        if let (Some(name), Some(version)) = (text("name"), text("version")) {
            packages.insert((name, version), (manifest, authors));
        }
    }
    let mut by_text = BTreeMap::<String, Vec<String>>::new();
    for dependency in all.iter().filter(|d| !d.name.starts_with("dst-")) {
        let Dependency {
            name,
            version,
            licence,
        } = dependency;
        let (manifest, authors) = packages
            .get(&(name.clone(), version.clone()))
            .ok_or_else(|| format!("{name} {version} was not compiled"))?;
        let by = match authors.as_slice() {
            [] => "its authors".to_owned(),
            some => some.join(", "),
        };
        let _ = writeln!(page, "- {name} {version}: {licence}; by {by}");
        for text in licence_files(manifest.parent().unwrap_or(Path::new("")))? {
            let names = by_text.entry(text).or_default();
            names.push(format!("{name} {version}"));
        }
    }
    page.push_str(
        "\nA crate without a text below has none in its package; its licence is the one named above, and the texts of MIT and \
         Apache-2.0 are in LICENSE-MIT and LICENSE-APACHE.\n",
    );
    let mut texts: Vec<_> = by_text.into_iter().map(|(t, names)| (names, t)).collect();
    texts.sort();
    for (mut names, text) in texts {
        names.dedup();
        let (names, text) = (names.join(", "), text.trim_end());
        let _ = write!(page, "\n## {names}\n\n```text\n{text}\n```\n");
    }
    Ok(page)
}

/// Texts of the licence files of a package.
fn licence_files(folder: &Path) -> Result<Vec<String>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .to_uppercase();
            path.is_file()
                && BEGINNINGS
                    .iter()
                    .any(|beginning| name.starts_with(beginning))
        })
        .collect();
    files.sort();
    let read =
        |path: &PathBuf| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    files.iter().map(read).collect()
}

/// Dependencies of our packages that no Rust file of the package names.
fn unused(metadata: &Value) -> Result<Vec<String>, String> {
    let mut unused = Vec::new();
    for package in list(&metadata["packages"]) {
        // Without a source: ours.
        if !package["source"].is_null() {
            continue;
        }
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap_or_default());
        let mut sources = String::new();
        collect(manifest.parent().unwrap_or(Path::new("")), &mut sources)?;
        for dependency in list(&package["dependencies"]) {
            let name = dependency["rename"]
                .as_str()
                .or_else(|| dependency["name"].as_str());
            let name = name.unwrap_or_default().replace('-', "_");
            if !names(&sources, &name) {
                unused.push(format!("{name} in {}", manifest.display()));
            }
        }
    }
    Ok(unused)
}

/// True if the text has the name as a word of its own.
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    })
}

/// Code of the Rust files of a package, without its comments, and without the packages inside its folder.
fn collect(folder: &Path, text: &mut String) -> Result<(), String> {
    let complain = |e: std::io::Error| format!("{}: {e}", folder.display());
    for entry in fs::read_dir(folder).map_err(complain)? {
        let path = entry.map_err(complain)?.path();
        if path.is_dir() && !path.join("Cargo.toml").exists() && !path.ends_with("target") {
            collect(&path, text)?;
        } else if path.extension().is_some_and(|kind| kind == "rs") {
            let code = fs::read_to_string(&path).map_err(complain)?;
            for line in code.lines() {
                text.push_str(line.split("//").next().unwrap_or_default());
                text.push('\n');
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{is_allowed, names};

    #[test]
    fn an_expression_is_met_by_one_alternative_of_every_part() {
        let allowed = ["MIT", "Zlib"];
        let met = |expression| is_allowed(expression, &allowed);
        assert!(met("MIT") && met("GPL-3.0 OR MIT") && met("GPL-3.0/MIT"));
        assert!(met("(GPL-3.0 OR MIT) AND Zlib") && met("MIT WITH Some-exception OR X"));
        assert!(!met("GPL-3.0") && !met("MIT AND GPL-3.0") && !met(""));
        assert!(!met("(GPL-3.0 OR MIT) AND X") && !met("MIT )") && !met("( MIT"));
    }

    #[test]
    fn a_name_is_a_word() {
        assert!(names("use serde::Serialize;", "serde"));
        assert!(!names("use serde_json::Value;", "serde") && !names("observed", "serde"));
    }
}
