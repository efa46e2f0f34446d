//! `dst validate`.

use crate::support::{Scratch, json, no_result, usage};

#[test]
fn the_json_object_is_complete() {
    let report = json(&[
        "validate", "--dim", "20", "--step", "0.05", "--eps", "1e-2", "--seed", "3", "--json",
    ]);
    for name in [
        "steps",
        "time_gradient_norm",
        "x0_gradient_norm",
        "truth_time",
        "relative_error",
        "forward_evaluations",
        "ode_evaluations",
        "nfe_ratio",
        "seconds_gradient",
        "peak_rss_mb",
    ] {
        assert!(
            report[name].as_f64().is_some_and(|v| v > 0.0),
            "{name}: {report}"
        );
    }
    assert!(report["relative_error"].as_f64().unwrap() < 0.2, "{report}");
    assert!(
        report["slots"] == "all" && report["dense"] == true,
        "{report}"
    );
    let other = json(&[
        "validate",
        "--dim",
        "20",
        "--step",
        "0.05",
        "--eps",
        "1e-2",
        "--no-truth",
        "--basis",
        "hh2",
        "--slots",
        "3",
        "--json",
    ]);
    assert!(
        other["relative_error"].is_null()
            && other["basis"] == "hh2"
            && other["dense"] == false
            && other["slots"] == 3
            && other["integrator"] == "euler"
            && other["crossing"] == "paper",
        "{other}"
    );
    assert_eq!(
        other["trajectory_mb"].as_f64(),
        // x and Qx in each of the three slots.
        Some(3.0 * 2.0 * 20.0 * 8.0 / 1e6)
    );
}

#[test]
fn the_gradient_file_has_all_digits() {
    let scratch = Scratch::new("gradient");
    let name = scratch.path("gradient.txt");
    let report = json(&[
        "validate",
        "--dim",
        "7",
        "--no-truth",
        "--gradient-out",
        &name,
        "--json",
    ]);
    let text = std::fs::read_to_string(&name).unwrap();
    let values: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), 70);
    let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert_eq!(report["time_gradient_norm"].as_f64(), Some(norm));
}

#[test]
fn bad_values_and_hopeless_runs_are_refused() {
    for case in [
        usage(
            &["--dim", "many"],
            "--dim must be a whole number, got 'many'",
        ),
        usage(&["--dim", "1"], "--dim must be at least 2"),
        usage(&["--dim", "-5"], "--dim must be at least 2"),
        usage(
            &["--step", "-0.1"],
            "--step must be a positive number, got '-0.1'",
        ),
        usage(&["--eps", "nan"], "--eps must be a positive number"),
        usage(&["--basis", "hh0"], "--basis must be haar, or hhM"),
        usage(&["--slots", "0"], "--slots must be at least 1, or all"),
        usage(
            &["--integrator", "leapfrog"],
            "--integrator must be one of euler, heun, rk4",
        ),
        usage(&["--crossing", "none"], "--crossing must be one of paper"),
        usage(&["--rtol", "0"], "--rtol must be from"),
        usage(&["--threads", "0"], "--threads must be at least 1"),
        no_result(
            &["--dim", "10000000"],
            "of it for a dense 10000000 × 10000000 matrix; use --basis hh8",
        ),
        no_result(
            &["--dim", "100000000000", "--basis", "hh8"],
            "use a smaller --dim",
        ),
        no_result(&["--dim", "20", "--eps", "1e9"], "lower --eps"),
        no_result(&["--dim", "20", "--step", "3"], "lower --step"),
        no_result(&["--dim", "20", "--max-steps", "5"], "within 5 steps"),
        no_result(
            &["--dim", "20", "--gradient-out", "/no/such/folder/g.txt"],
            "--gradient-out '/no/such/folder/g.txt' cannot be written: no such file or directory",
        ),
    ] {
        case.check("validate");
    }
}
