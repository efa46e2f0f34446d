//! `dst illustrate`.

use std::fs;

use serde_json::Value;

use crate::support::{Scratch, json, no_result, program, succeeds, usage};

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
fn the_default_has_twelve_runs_and_the_exact_time() {
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
fn errors_fall_with_the_order_where_both_states_matter() {
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
fn the_gradient_is_the_same_with_any_slots() {
    let gradient = |slots| {
        let report = json(&["illustrate", "--slots", slots, "--json"]);
        report["runs"][3]["time_gradient"].as_f64().unwrap()
    };
    let one = gradient("1");
    assert_eq!(one, gradient("8"));
    assert_eq!(one, gradient("18446744073709551615"));
}

#[test]
fn a_problem_without_a_result_says_why() {
    for case in [
        no_result(&["--theta", "0"], "--theta above 0"),
        no_result(&["--theta", "-1"], "--theta above 0"),
        no_result(&["--step", "3"], "lower --step"),
        no_result(&["--step", "1e3"], "lower --step"),
        no_result(&["--eps", "17"], "--eps below 17"),
        no_result(&["--step", "1e-9"], "raise --step"),
        no_result(&["--step", "1e-4", "--slots", "1"], "raise --slots"),
    ] {
        case.check("illustrate");
    }
}

#[test]
fn bad_values_are_usage_errors() {
    for case in [
        usage(
            &["--step", "-0.1"],
            "error: --step must be a positive number, got '-0.1'",
        ),
        usage(
            &["--eps", "0"],
            "error: --eps must be a positive number, got '0'",
        ),
        usage(
            &["--theta", "inf"],
            "error: --theta must be a finite number, got 'inf'",
        ),
        usage(
            &["--slots", "0"],
            "error: --slots must be at least 1, got '0'",
        ),
    ] {
        case.check("illustrate");
    }
}

#[test]
fn files_are_written_only_with_out() {
    let scratch = Scratch::new("illustrate");
    let run = |arguments: &[&str]| {
        let mut command = program();
        command.arg("illustrate").args(arguments);
        succeeds(command.current_dir(&scratch.0).output().unwrap())
    };
    let plain = run(&["--json"]);
    assert!(scratch.names().is_empty());
    let with_files = run(&["--json", "--out", "pictures"]);
    assert_eq!(plain, with_files);
    assert_eq!(scratch.names(), ["pictures"]);
    let text = run(&["--theta", "0.4", "--out", "pictures"]);
    let written: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("written: "))
        .collect();
    assert_eq!(written.len(), 7, "{text}");
    for file in written {
        assert!(scratch.0.join(file).is_file(), "{file}");
    }
    let svg = fs::read_to_string(scratch.0.join("pictures/illustration-figure-1.svg")).unwrap();
    assert!(svg.contains("θ = 0.4"));
}
