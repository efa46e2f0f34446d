//! `dst qp`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Scratch, dst, interrupt, json, no_result, program, text, usage};

/// Two boxed variables with a coupling, q on a circle: eight instances.
const BOXES: &str = include_str!("../../../tests/c/programs/boxes.json");

fn tune<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let first = ["qp", "tune", "--quiet", "--quick", "--problem", file];
    [&first[..], more].concat()
}

#[test]
fn a_family_is_tuned_certified_and_exported() {
    let scratch = Scratch::new("qp-tune");
    let file = scratch.path("boxes.json");
    std::fs::write(&file, BOXES).unwrap();
    let out = scratch.path("out");
    let found = json(&tune(
        &file,
        &["--json", "--out", &out, "--accuracy", "1e-4"],
    ));
    assert_eq!(found["solver"], "active set");
    assert_eq!(found["accuracy"], 1e-4);
    assert_eq!(found["held_out"]["ticks"], 4);
    assert_eq!(found["held_out"]["unsolved"], 0);
    assert!(found.get("loop").is_none() && found.get("cold").is_none());
    assert_eq!(found["late"]["runs"], 4);
    assert_eq!(found["late"]["late_runs"], 0);
    // 1 − 0.05^(1/4)
    let bound = found["late"]["bound"].as_f64().unwrap();
    assert!((bound - 0.527_129).abs() < 1e-6, "{bound}");
    assert!(found["input_error"]["max"].as_f64().unwrap() <= 1e-4);
    assert_eq!(found["baselines"].as_array().unwrap().len(), 3);
    let warnings = found["warnings"].to_string();
    assert!(
        warnings.contains("that takes 299 without a late one"),
        "{warnings}"
    );
    // Single precision is enough here; both languages have the same numbers.
    let [rust, c, certificate] = ["boxes.rs", "boxes.h", "boxes_certificate.json"]
        .map(|name| std::fs::read_to_string(format!("{out}/{name}")).unwrap());
    assert!(
        rust.contains("pub static PROGRAM: Dense<'static, f32>"),
        "{rust}"
    );
    assert!(rust.contains("boxed: 2"), "{rust}");
    let numbers = |text: &str| -> Vec<u32> {
        let words = text.split([',', '\n']).map(str::trim);
        let words = words.filter(|w| w.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
        words
            .filter_map(|w| w.trim_end_matches('f').parse::<f32>().ok())
            .map(f32::to_bits)
            .collect()
    };
    let arrays = rust.split_once("static FACTOR").unwrap().1;
    let prepared = c.split_once("_prepared[").unwrap().1;
    assert_eq!(numbers(arrays).len(), 1 + 2 + 6 + 9 + 3);
    // In C the number of boxed variables is the last constant.
    let boxed = 2.0_f32.to_bits();
    assert_eq!([numbers(arrays), vec![boxed]].concat(), numbers(prepared));
    let certificate: serde_json::Value = serde_json::from_str(&certificate).unwrap();
    assert_eq!(certificate, found);
    // The same seed, the same text on any number of threads.
    let one = text(&tune(&file, &["--threads", "1"]));
    assert_eq!(one, text(&tune(&file, &["--threads", "2"])));
    assert!(one.starts_with("active set in "), "{one}");
    let admm = json(&tune(
        &file,
        &["--json", "--solver", "admm", "--accuracy", "1e-4"],
    ));
    assert_eq!(admm["solver"], "admm");
    assert_eq!(admm["baselines"][0]["name"], "active set");
    assert!(admm["input_error"]["max"].as_f64().unwrap() <= 1e-3);
}

/// The files that `tests/c/own_program.c` and `tests/host/tests/own_program` compile and run are exports.
#[test]
fn the_programs_that_are_compiled_are_exports() {
    let scratch = Scratch::new("qp-own");
    let file = scratch.path("boxes.json");
    std::fs::write(&file, BOXES).unwrap();
    let out = scratch.path("out");
    text(&tune(&file, &["--out", &out, "--accuracy", "1e-4"]));
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests");
    for (name, folder) in [
        ("boxes.h", "c/programs"),
        ("boxes.rs", "host/tests/own_program"),
    ] {
        let found = std::fs::read_to_string(format!("{out}/{name}")).unwrap();
        let path = format!("{tests}/{folder}/{name}");
        if std::env::var_os("DST_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            found == committed,
            "{name} is not what is exported; DST_BLESS=1 writes it anew"
        );
    }
}

/// A family of 40 variables and 80 rows, in which no row is that of a single variable.
fn large() -> String {
    let (n, m, instances) = (40, 80, 200);
    let number = |k: usize| (k as f64 * 0.7391).sin();
    let list = |numbers: &mut dyn Iterator<Item = f64>| {
        let words: Vec<String> = numbers.map(|v| v.to_string()).collect();
        format!("[{}]", words.join(", "))
    };
    let matrix = |rows: usize, entry: &dyn Fn(usize, usize) -> f64| {
        let rows: Vec<String> = (0..rows)
            .map(|i| list(&mut (0..n).map(|j| entry(i, j))))
            .collect();
        format!("[{}]", rows.join(", "))
    };
    let hessian = matrix(n, &|i, j| if i == j { 1.0 + i as f64 } else { 0.01 });
    let rows = matrix(m, &|i, j| number(i * n + j));
    let linear = matrix(instances, &|i, j| 20.0 * number(7 + i * n + j));
    let ones = list(&mut std::iter::repeat_n(1.0, m));
    let minus = list(&mut std::iter::repeat_n(-1.0, m));
    format!(r#"{{"P": {hessian}, "A": {rows}, "q": {linear}, "l": [{minus}], "u": [{ones}]}}"#)
}

#[test]
fn an_interrupt_ends_a_tuning_within_two_seconds() {
    let scratch = Scratch::new("qp-interrupted");
    let file = scratch.path("large.json");
    std::fs::write(&file, large()).unwrap();
    let out = scratch.path("out");
    let mut child = program()
        .args(["qp", "tune", "--quiet", "--problem", &file, "--out", &out])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let before = Instant::now();
    if !interrupt(&child) {
        child.kill().unwrap();
        child.wait().unwrap();
        return;
    }
    let output = child.wait_with_output().unwrap();
    println!("{:?} after the interrupt", before.elapsed());
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    // Two seconds on an idle machine; tests share it.
    assert!(before.elapsed() < Duration::from_secs(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert!(!std::fs::exists(&out).unwrap());
}

#[test]
fn a_budget_that_is_too_small_is_late() {
    let scratch = Scratch::new("qp-late");
    let file = scratch.path("boxes.json");
    // Another order of the rows: a cold start does not guess the set.
    std::fs::write(&file, BOXES.replace("[[1, 1, 1.5]]", "[[1, 1, 0.2]]")).unwrap();
    let arguments = [
        "qp",
        "tune",
        "--quiet",
        "--quick",
        "--json",
        "--problem",
        &file,
    ];
    let free = json(&arguments);
    let most = free["held_out"]["max"].as_u64().unwrap();
    assert!(most > 1, "{free}");
    let tight = json(&[&arguments[..], &["--budget", "1"]].concat());
    assert_eq!(tight["budget"], 1);
    assert!(tight["late"]["late_runs"].as_u64().unwrap() > 0, "{tight}");
    assert!(tight["late"]["bound"].as_f64().unwrap() > free["late"]["bound"].as_f64().unwrap());
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let scratch = Scratch::new("qp-bad");
    let file = scratch.path("bad.json");
    let out = scratch.path("out");
    no_result(&["tune", "--problem", &file], "bad.json' cannot be read").check("qp");
    for (content, words) in [
        ("{".to_owned(), "is not a program"),
        (
            BOXES.replace("[0.5, 1]", "[0.4, 1]"),
            "'P' that is not symmetric in row 1, column 0",
        ),
        (
            BOXES.replace("[[2, 0.5], [0.5, 1]]", "[[1, 1], [1, 1]]"),
            "'P' that is not positive definite",
        ),
        (
            BOXES.replace("\"A\": [[1, 0], [0, 1], [1, 1]]", "\"A\": [[1, 0]]"),
            "'l' of shape [1, 3]",
        ),
        (
            BOXES
                .replace("[[-1, -1, null]]", "[[-1, -1, 5]]")
                .replace("1.5", "6"),
            "no instance with a solution",
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let arguments = ["tune", "--quiet", "--problem", &file, "--out", &out];
        no_result(&arguments, words).check("qp");
        assert!(!std::fs::exists(&out).unwrap(), "{words}");
    }
    let text = scratch.path("bad.txt");
    std::fs::write(&text, BOXES).unwrap();
    no_result(&["tune", "--problem", &text], "must end with .npz or .json").check("qp");
    for (argument, value) in [
        ("--late", "0"),
        ("--confidence", "1"),
        ("--accuracy", "-1"),
        ("--budget", "0"),
        ("--solver", "x"),
    ] {
        usage(&["tune", "--problem", &file, argument, value], argument).check("qp");
    }
    assert_eq!(dst(&["qp"]).status.code(), Some(2));
}
