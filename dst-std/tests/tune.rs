//! `dst tune` as a user meets it: what it prints and writes, the errors, Ctrl-C, and the paper's data where it is present.

mod markup;
mod scratch;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use scratch::Scratch;
use serde_json::Value;

/// Without the data sets of whoever runs the tests.
fn dst(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dst"))
        .arg("tune")
        .args(arguments)
        .env_remove("DST_DATA")
        .output()
        .unwrap()
}

#[test]
fn plain_tune_is_instructive() {
    let scratch = Scratch::new("plain");
    let output = dst(&["--out", scratch.text()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    // No terminal, no bars.
    assert!(output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for words in [
        "heavy-ball on quadratic (100 variables): ",
        "α 0.1 → ",
        "β 0.9 → ",
        "held-out (32): median",
        "cost of tuning: ",
        "grid search: ",
        "had no part in the tuning: ",
        "times fewer iterations",
        "plot: ",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(scratch.names(), ["tune-quadratic-heavy-ball.svg"]);
    let svg = fs::read_to_string(scratch.0.join("tune-quadratic-heavy-ball.svg")).unwrap();
    markup::check(&svg).unwrap();
}

fn json(arguments: &[&str]) -> Value {
    let output = dst(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_json_object() {
    let scratch = Scratch::new("json");
    let common = [
        "--json", "--method", "adam", "--rounds", "5", "--starts", "4",
    ];
    let with = |threads: &str| {
        let rest = [
            "--held-out",
            "6",
            "--threads",
            threads,
            "--out",
            scratch.text(),
        ];
        json(&[&common[..], &rest].concat())
    };
    let report = with("1");
    assert_eq!(report["problem"], "quadratic");
    assert_eq!(report["method"], "adam");
    assert_eq!(report["criterion"], "gradient-max");
    assert_eq!(report["parameters"].as_array().unwrap().len(), 3);
    assert_eq!(report["tolerance"], 1e-4);
    assert_eq!(report["max_steps"], 2000);
    for setting in ["before", "tuned", "grid"] {
        let setting = &report[setting];
        assert_eq!(setting["theta"].as_array().unwrap().len(), 3);
        for (set, count) in [("training", 4), ("held_out", 6)] {
            assert_eq!(setting[set]["steps"].as_array().unwrap().len(), count);
            assert!(setting[set]["reached"].is_number(), "{setting}");
            for name in ["median", "worst", "mean", "residual"] {
                assert!(setting[set].get(name).is_some(), "{name}");
            }
        }
    }
    let spent = &report["tuned"]["work"];
    assert!(spent["gradients"].as_u64() > spent["products"].as_u64());
    let rounds = report["rounds"].as_array().unwrap();
    assert!((2..=6).contains(&rounds.len()));
    assert!(rounds.iter().zip(0..).all(|(r, i)| r["round"] == i));
    assert!(["rounds", "no-gain"].contains(&report["end"].as_str().unwrap()));
    assert!(Path::new(report["plot"].as_str().unwrap()).is_file());
    for threads in ["2", "3"] {
        assert_eq!(with(threads), report, "{threads} threads");
    }
}

/// The exit code and the only line on standard error; nothing on standard output, no file.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let scratch = Scratch::new(&format!("refusal{}", arguments.concat().len()));
    let output = dst(&[arguments, &["--out", scratch.text()]].concat());
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(scratch.names().is_empty(), "{:?}", scratch.names());
    (output.status.code().unwrap(), text.trim_end().to_owned())
}

#[test]
fn errors_are_one_sentence() {
    let scratch = Scratch::new("data");
    let write = |name: &str, text: &str| {
        let path = scratch.0.join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let broken = write("broken", "1 0:1\n");
    let single = write("single", "3 1:1\n3 2:1\n");
    let steep = write("steep", "1 1:1e160 2:1\n-1 1:1\n");
    for (arguments, code, words) in [
        (
            ["--method", "newton"].as_slice(),
            2,
            "--method must be one of gd, heavy-ball, nesterov, adam, preconditioned, got 'newton'",
        ),
        (
            &["--problem", "lasso"],
            2,
            "--problem must be one of quadratic",
        ),
        (
            &["--criterion", "x"],
            2,
            "--criterion must be one of gradient-max",
        ),
        (
            &["--tolerance", "-1"],
            2,
            "--tolerance must be a positive number, got '-1'",
        ),
        (
            &["--beta", "1"],
            2,
            "--beta must be a number between 0 and 1",
        ),
        (&["--alpha", "0"], 2, "--alpha must be a positive number"),
        (&["--starts", "0"], 2, "--starts must be at least 1"),
        (
            &["--reg", "-2", "--problem", "svm"],
            2,
            "--reg must be zero or a positive number",
        ),
        (
            &["--reg", "1"],
            2,
            "--reg is for the problems logistic and svm",
        ),
        (
            &["--method", "gd", "--beta", "0.5"],
            2,
            "--beta is for methods with momentum",
        ),
        (
            &["--problem", "quadratic", "--data", &broken],
            2,
            "--data is for",
        ),
        (&["--data", "nowhere"], 1, "no data set 'nowhere'"),
        (&["--data", &broken], 1, ":1:3: index 0"),
        (&["--data", &single], 1, "every label is 3"),
        (
            &["--data", &steep],
            1,
            "steep: the values are too large; scale the data",
        ),
        (&["--tolerance", "1e6"], 1, "lower --tolerance"),
        (
            &["--tolerance", "1e-9", "--max-steps", "20"],
            1,
            "raise --max-steps or --tolerance",
        ),
    ] {
        let (got, text) = refusal(arguments);
        assert_eq!(got, code, "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_refused() {
    let scratch = Scratch::new("taken");
    let file = scratch.0.join("file");
    fs::write(&file, "x").unwrap();
    let output = dst(&["--out", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("choose another with --out"), "{text}");
}

#[test]
fn no_gain_is_said() {
    let scratch = Scratch::new("no-gain");
    // The best step of gradient descent on this spectrum, to a per cent.
    let output = dst(&[
        "--method",
        "gd",
        "--alpha",
        "0.196",
        "--out",
        scratch.text(),
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("the tuning: no gain"), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_best_so_far() {
    let scratch = Scratch::new("interrupt");
    let child = Command::new(env!("CARGO_BIN_EXE_dst"))
        .args([
            "tune",
            "--method",
            "preconditioned",
            "--problem",
            "logistic",
        ])
        .args(["--starts", "8", "--held-out", "2", "--max-steps", "200"])
        .args(["--rounds", "1000000", "--tolerance", "1", "--reg", "0.1"])
        .args(["--threads", "1", "--out", scratch.text()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let id = child.id().to_string();
    let killed = Command::new("kill").args(["-INT", &id]).status().unwrap();
    let output = child.wait_with_output().unwrap();
    // A machine quick enough to be done by then has nothing to interrupt; one too slow for a first look has nothing to keep.
    match (killed.success(), output.status.code()) {
        (_, Some(0)) => println!("finished before the interrupt"),
        (_, Some(130)) => {
            let (files, text) = (scratch.names(), String::from_utf8_lossy(&output.stdout));
            assert_eq!(
                files.len(),
                usize::from(text.contains("plot: ")),
                "{output:?}"
            );
            assert!(
                files.iter().all(|name| !name.ends_with(".tmp")),
                "{files:?}"
            );
        }
        other => panic!("{other:?}: {output:?}"),
    }
}

/// From the textbook's values to ones that stop, on the data set of the paper's Table 1.
#[test]
fn the_papers_data() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/libsvm");
    let folder = std::env::var_os("DST_DATA").map_or(beside, PathBuf::from);
    if !folder.join("a1a").is_file() {
        println!("skipped: no a1a in {}; set DST_DATA", folder.display());
        return;
    }
    let scratch = Scratch::new("a1a");
    let output = Command::new(env!("CARGO_BIN_EXE_dst"))
        .args(["tune", "--data", "a1a", "--tolerance", "1e-1", "--json"])
        .args(["--starts", "2", "--held-out", "4", "--max-steps", "1000"])
        .args(["--out", scratch.text()])
        .env("DST_DATA", &folder)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["size"], "1605 × 120");
    assert!(report["before"]["held_out"]["median"].is_null());
    let tuned = &report["tuned"]["held_out"];
    println!("a1a: {tuned}");
    assert_eq!(tuned["reached"], 1.0, "{tuned}");
    assert!(tuned["worst"].as_u64().unwrap() < 700, "{tuned}");
}
