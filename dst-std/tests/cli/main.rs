//! The program as a user meets it: what it prints, where, and with which exit code.

mod ola;
mod readme;
#[path = "../scratch/mod.rs"]
mod scratch;
mod validate;

use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn dst(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_dst"))
        .args(arguments)
        .output()
        .unwrap()
}

fn json(arguments: &[&str]) -> Value {
    let output = dst(arguments);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The exit code and the only line on standard error.
fn refusal(arguments: &[&str]) -> (i32, String) {
    let output = dst(arguments);
    assert!(output.stdout.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(text.lines().count(), 1, "{text}");
    (output.status.code().unwrap(), text.trim_end().to_owned())
}

fn checkpoints(slots: &str, steps: &str) -> [u64; 5] {
    let report = json(&["checkpoints", "--slots", slots, "--steps", steps, "--json"]);
    [
        "slots",
        "steps",
        "forward_steps",
        "optimum",
        "max_repetitions",
    ]
    .map(|name| report[name].as_u64().unwrap())
}

#[test]
fn checkpoints_known_values() {
    let [slots, steps, forward, optimum, _] = checkpoints("3", "10");
    assert_eq!((slots, steps, optimum), (3, 10, 16));
    assert!(forward >= optimum);
    assert_eq!(checkpoints("1", "5"), [1, 5, 11, 11, 4]);
    assert_eq!(checkpoints("5", "3"), [5, 3, 3, 3, 1]);
    assert_eq!(checkpoints("2", "0"), [2, 0, 0, 0, 0]);
    assert_eq!(checkpoints("2", "1"), [2, 1, 1, 1, 1]);
}

#[test]
fn checkpoints_with_room_for_everything_needs_no_memory_for_it() {
    let billion = 1_000_000_000;
    assert_eq!(
        checkpoints("18446744073709551615", "1000000000"),
        [u64::MAX, billion, billion, billion, 1]
    );
    let [_, _, forward, optimum, repetitions] = checkpoints("500000000", "700000000");
    assert!(forward == optimum || forward == optimum + 1);
    assert_eq!(repetitions, 2);
}

#[test]
fn checkpoints_refuses_what_would_take_for_ever() {
    for (slots, steps) in [
        ("1", "100000"),
        ("8", "100000000"),
        ("5", "18446744073709551615"),
        ("18446744073709551615", "1000000001"),
    ] {
        let (code, text) = refusal(&["checkpoints", "--slots", slots, "--steps", steps]);
        assert_eq!(code, 1);
        assert!(text.contains("1000000000"), "{text}");
    }
}

#[test]
fn checkpoints_for_people() {
    let output = dst(&["checkpoints", "--slots", "3", "--steps", "10"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("optimum") && text.contains("16"), "{text}");
}

#[test]
fn bad_values_are_one_sentence_and_code_2() {
    for (arguments, sentence) in [
        (
            ["checkpoints", "--slots", "0", "--steps", "3"].as_slice(),
            "error: --slots must be at least 1, got '0'",
        ),
        (
            &["checkpoints", "--slots", "-3", "--steps", "3"],
            "error: --slots must be at least 1, got '-3'",
        ),
        (
            &["checkpoints", "--slots", "3", "--steps", "-3"],
            "error: --steps must be at least 0, got '-3'",
        ),
        (
            &["checkpoints", "--slots", "many", "--steps", "3"],
            "error: --slots must be a whole number, got 'many'",
        ),
        (
            &["checkpoints", "--slots", "3", "--steps", "1.5"],
            "error: --steps must be a whole number, got '1.5'",
        ),
        (
            &[
                "checkpoints",
                "--slots",
                "3",
                "--steps",
                "18446744073709551616",
            ],
            "error: --steps must be at most 18446744073709551615, got '18446744073709551616'",
        ),
        (
            &["illustrate", "--step", "-0.1"],
            "error: --step must be a positive number, got '-0.1'",
        ),
        (
            &["illustrate", "--eps", "0"],
            "error: --eps must be a positive number, got '0'",
        ),
        (
            &["illustrate", "--theta", "inf"],
            "error: --theta must be a finite number, got 'inf'",
        ),
        (
            &["illustrate", "--slots", "0"],
            "error: --slots must be at least 1, got '0'",
        ),
    ] {
        assert_eq!(refusal(arguments), (2, sentence.to_owned()));
    }
}

#[test]
fn bad_usage_is_code_2() {
    for arguments in [
        [].as_slice(),
        &["checkpoints"],
        &["checkpoints", "--slots", "3"],
        &["nonsense"],
        &["illustrate", "extra"],
    ] {
        assert_eq!(dst(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn help_and_version() {
    for arguments in [
        ["--help"].as_slice(),
        &["checkpoints", "--help"],
        &["illustrate", "--help"],
    ] {
        let output = dst(arguments);
        assert_eq!(output.status.code(), Some(0));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Examples:"), "{text}");
    }
    let version = String::from_utf8(dst(&["--version"]).stdout).unwrap();
    assert_eq!(
        version.trim_end(),
        concat!("dst ", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    for arguments in [["illustrate"].as_slice(), &["--help"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dst"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

/// The relative error of an integrator with a crossing.
fn relative_error(report: &Value, integrator: &str, crossing: &str) -> f64 {
    report["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["integrator"] == integrator && run["crossing"] == crossing)
        .unwrap()["relative_error"]
        .as_f64()
        .unwrap()
}

#[test]
fn illustrate_the_default() {
    let report = json(&["illustrate", "--json"]);
    assert_eq!(report["runs"].as_array().unwrap().len(), 12);
    assert_eq!(report["runs"][0]["steps"], 118);
    let time = report["exact"]["time"].as_f64().unwrap();
    // At theta = 1/4 both states fall alike: 17·e^{−2T} = 1e-4.
    assert!((time - 0.5 * 17e4f64.ln()).abs() < 1e-9, "{time}");
    for (one, two) in [("Paper", "Interpolated"), ("Slope", "Hermite")] {
        assert!(relative_error(&report, "RK4", two) < relative_error(&report, "RK4", one));
    }
}

#[test]
fn illustrate_where_both_states_matter() {
    let fine = ["illustrate", "--theta", "0.25", "--step", "0.01", "--json"];
    let report = json(&fine);
    assert!(relative_error(&report, "RK4", "Hermite") < 1e-5);
    assert!(relative_error(&report, "Heun", "Slope") < 1e-3);
    assert!(relative_error(&report, "Euler", "Paper") < 2e-2);
    // Order 1 against order 3: a step five times as long costs a factor of 5 or of 125.
    let coarse = json(&["illustrate", "--theta", "0.25", "--json"]);
    let growth = |integrator, crossing| {
        relative_error(&coarse, integrator, crossing)
            / relative_error(&report, integrator, crossing)
    };
    assert!(growth("RK4", "Hermite") > 25.0);
    assert!(growth("Euler", "Paper") < 25.0);
}

#[test]
fn illustrate_gives_the_same_gradient_with_any_slots() {
    let gradient = |slots| {
        let report = json(&["illustrate", "--slots", slots, "--json"]);
        report["runs"][3]["time_gradient"].as_f64().unwrap()
    };
    let one = gradient("1");
    assert_eq!(one, gradient("8"));
    assert_eq!(one, gradient("18446744073709551615"));
}

#[test]
fn illustrate_says_why_there_is_no_answer() {
    for (arguments, word) in [
        (["--theta", "0"].as_slice(), "--theta above 0"),
        (&["--theta", "-1"], "--theta above 0"),
        (&["--step", "3"], "lower --step"),
        (&["--step", "1e3"], "lower --step"),
        (&["--eps", "17"], "--eps below 17"),
        (&["--step", "1e-9"], "raise --step"),
        (&["--step", "1e-4", "--slots", "1"], "raise --slots"),
    ] {
        let arguments: Vec<_> = ["illustrate"].iter().chain(arguments).copied().collect();
        let (code, text) = refusal(&arguments);
        assert_eq!(code, 1, "{text}");
        assert!(text.contains(word), "{text}");
    }
}
