//! Common mistakes in a formula: each fails to compile, with a message that names the remedy.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A small package that depends on dst-core with these features.
fn package(name: &str, features: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let core = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dst-core");
    std::fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\ndst-core = {{ path = {core:?}, \
         default-features = false, features = [{features}] }}\n[workspace]\n"
    );
    std::fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The versions of this workspace, which are there without a network.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Cargo.lock");
    std::fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    folder
}

/// Output of the compiler for the body of `main`; `None` if it compiles.
fn message(folder: &Path, body: &str) -> Option<String> {
    let text = format!(
        "#![allow(unused)]\nuse dst_core::{{Euler, Memory, formula, objective}};\nfn main() {{\n{body}\n}}\n"
    );
    std::fs::write(folder.join("src/main.rs"), text).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--color", "never"])
        .current_dir(folder)
        .env_remove("RUSTFLAGS")
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then_some(text)
}

fn fails_with(folder: &Path, body: &str, expected: &[&str]) {
    let text = message(folder, body).unwrap_or_else(|| panic!("compiles: {body}"));
    for part in expected {
        assert!(text.contains(part), "{part:?} is missing in\n{text}");
    }
}

#[test]
fn mistakes_name_their_remedy() {
    let folder = package("mistakes", "\"libm\"");
    let right = "let flow = formula!(|theta: 1, x: 1, t| [theta[0] * x[0].sin() + t], |x| x[0]);";
    assert_eq!(message(&folder, right), None);

    // No criterion.
    fails_with(
        &folder,
        "let flow = formula!(|theta: 1, x: 1, t| [x[0]]);",
        &["expected formula!(|theta: P, x: D, t| [A_1, ..., A_D], |x| J)"],
    );
    // No length.
    fails_with(
        &folder,
        "let f = objective!(|x| x[0]);",
        &["expected objective!(|x: D| f)"],
    );
    // A captured variable without `with`.
    fails_with(
        &folder,
        "let mass = 2.0; let flow = formula!(|theta: 1, x: 1, t| [x[0] / mass], |x| x[0]);",
        &["E0434", "can't capture dynamic environment"],
    );
    // A captured number of another type.
    fails_with(
        &folder,
        "let mass = 2.0_f32; let flow = formula!(with m = mass; |theta: 1, x: 1, t| [x[0] / m], |x| x[0]);",
        &["E0308", "expected `f64`, found `f32`"],
    );
    // Fewer rates than states.
    fails_with(
        &folder,
        "let flow = formula!(|theta: 1, x: 2, t| [x[0]], |x| x[0]);",
        &["E0308", "an array with a size of 2"],
    );
    // An integer among the numbers.
    fails_with(
        &folder,
        "let flow = formula!(|theta: 1, x: 1, t| [2 * x[0]], |x| x[0]);",
        &["E0277", "cannot multiply `{integer}` by `Number<A>`"],
    );
}

#[test]
fn without_libm_the_message_names_the_feature() {
    let folder = package("without-libm", "");
    let right =
        "let flow = formula!(|theta: 1, x: 1, t| [theta[0] * x[0].powi(3).max(0.1)], |x| x[0]);";
    assert_eq!(message(&folder, right), None);
    for call in [
        "x[0].sin()",
        "x[0].sqrt()",
        "x[0].atan2(1.0)",
        "x[0].powf(0.5)",
    ] {
        fails_with(
            &folder,
            &format!("let flow = formula!(|theta: 1, x: 1, t| [{call}], |x| x[0]);"),
            &["elementary functions need the feature `libm` of dst-core"],
        );
    }
}
