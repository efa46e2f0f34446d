//! `dst validate`.

use super::{json, refusal};

#[test]
fn validate_gives_one_object() {
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
        Some(3.0 * 20.0 * 8.0 / 1e6)
    );
}

#[test]
fn validate_writes_the_gradient_with_all_its_digits() {
    let file = std::env::temp_dir().join(format!("dst-gradient-{}.txt", std::process::id()));
    let name = file.to_str().unwrap();
    let report = json(&[
        "validate",
        "--dim",
        "7",
        "--no-truth",
        "--gradient-out",
        name,
        "--json",
    ]);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let values: Vec<f64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(values.len(), 70);
    let norm = values.iter().map(|v| v * v).sum::<f64>().sqrt();
    assert_eq!(report["time_gradient_norm"].as_f64(), Some(norm));
}

#[test]
fn validate_refuses_in_one_sentence() {
    for (arguments, code, words) in [
        (
            &["--dim", "many"][..],
            2,
            "--dim must be a whole number, got 'many'",
        ),
        (&["--dim", "1"], 2, "--dim must be at least 2"),
        (&["--dim", "-5"], 2, "--dim must be at least 2"),
        (
            &["--step", "-0.1"],
            2,
            "--step must be a positive number, got '-0.1'",
        ),
        (&["--eps", "nan"], 2, "--eps must be a positive number"),
        (&["--basis", "hh0"], 2, "--basis must be haar, or hhM"),
        (&["--slots", "0"], 2, "--slots must be at least 1, or all"),
        (
            &["--integrator", "leapfrog"],
            2,
            "--integrator must be euler, heun or rk4",
        ),
        (&["--crossing", "none"], 2, "--crossing must be paper"),
        (&["--rtol", "0"], 2, "--rtol must be from"),
        (&["--threads", "0"], 2, "--threads must be at least 1"),
        (
            &["--dim", "10000000"],
            1,
            "a dense 10000000 × 10000000 matrix needs 364 TiB",
        ),
        (
            &["--dim", "100000000000", "--basis", "hh8"],
            1,
            "use a smaller --dim",
        ),
        (&["--dim", "20", "--eps", "1e9"], 1, "lower --eps"),
        (&["--dim", "20", "--step", "3"], 1, "lower --step"),
        (&["--dim", "20", "--max-steps", "5"], 1, "within 5 steps"),
        (
            &["--dim", "20", "--gradient-out", "/no/such/folder/g.txt"],
            1,
            "--gradient-out '/no/such/folder/g.txt' cannot be written: no such file or directory",
        ),
    ] {
        let all: Vec<&str> = ["validate"].iter().chain(arguments).copied().collect();
        let (found, text) = refusal(&all);
        assert!(
            found == code && text.contains(words),
            "{arguments:?}: {found} {text}"
        );
    }
}
