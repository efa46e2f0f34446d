//! `dst ola`.

use crate::support::{Scratch, json, no_result, text, usage};

/// A directory with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new(name);
    for (file, content) in files {
        std::fs::write(scratch.0.join(file), content).unwrap();
    }
    scratch
}

const SMALL: &str = "+1 1:1 3:1\n-1 2:1 3:1\n+1 1:1\n-1 2:1 # comment\n-1\n";

#[test]
fn one_run_reports_its_end_and_its_costs() {
    let folder = folder("run", &[("small", SMALL), ("x0.txt", "0\n0 0\n0.5\n")]);
    let data = folder.0.join("small");
    let data = data.to_str().unwrap();
    let x0 = folder.0.join("x0.txt");
    for extra in [
        &["--method", "adam-ola", "--eta", "1e-3", "--descent", "1e-4"][..],
        &["--method", "adam-ola", "--guard", "log"],
        &["--method", "adam-ola", "--window", "4"],
        &["--method", "g-ola", "--x0", x0.to_str().unwrap()],
        &["--method", "n-ola", "--alpha0", "1/L", "--reg", "0.1"],
        &["--method", "hb", "--momentum", "0.5"],
    ] {
        let report = json(&[&["ola", "--data", data, "--json"], extra].concat());
        assert_eq!(
            (&report["rows"], &report["variables"]),
            (&5.into(), &4.into())
        );
        for name in ["f", "grad_inf", "alpha_final", "seconds"] {
            assert!(report[name].is_f64(), "{extra:?}: {name} of {report}");
        }
        let iterations = report["iterations"].as_u64().unwrap();
        assert!((1..=1000).contains(&iterations), "{report}");
        assert!(report["adaptations"].is_u64() && report["synthetic"] == false);
        let small = report["grad_inf"].as_f64().unwrap() < 1e-4;
        assert_eq!(report["converged"], small, "{extra:?}: {report}");
    }
    let text = text(&["ola", "--data", data, "--method", "gd", "--alpha0", "10"]);
    assert!(text.starts_with("GD on small (5 x 4): DIVERGED"), "{text}");
}

/// Weights that were saved are a starting point at which the run has converged.
#[test]
fn saved_weights_are_the_end_of_the_run() {
    let folder = folder("weights", &[("small", SMALL)]);
    let path = |name: &str| folder.0.join(name).to_str().unwrap().to_owned();
    let (data, file) = (path("small"), path("w.txt"));
    let run = |extra: &[&str]| {
        json(&[&["ola", "--data", &data, "--reg", "0.1", "--json"], extra].concat())
    };
    for method in ["gd", "adam", "g-ola", "n-ola", "adam-ola"] {
        let first = run(&["--method", method, "--save-weights", &file]);
        let again = run(&["--method", method, "--x0", &file]);
        let f = |report: &serde_json::Value| report["f"].as_f64().unwrap();
        if first["converged"] == true {
            assert_eq!(
                (&again["iterations"], f(&again)),
                (&1.into(), f(&first)),
                "{method}"
            );
        } else {
            assert!(f(&again) <= f(&first), "{method}: {first} {again}");
        }
    }
    usage(
        &["--save-weights", &file],
        "--save-weights is for one run; say which with --method",
    )
    .check_between(&["ola"], &[]);
    no_result(
        &["--method", "gd", "--save-weights", "nowhere/w.txt"],
        "nowhere/w.txt",
    )
    .check_between(&["ola", "--data", &data], &[]);
}

#[test]
fn the_comparison_writes_its_figures_and_tables() {
    let folder = folder("compare", &[("small", SMALL)]);
    let (data, out) = (folder.0.join("small"), folder.0.join("out"));
    let (data, out) = (data.to_str().unwrap(), out.to_str().unwrap());
    let report = json(&[
        "ola",
        "--data",
        data,
        "--out",
        out,
        "--json",
        "--max-iterations",
        "50",
    ]);
    assert_eq!(
        report["comparisons"][0]["runs"].as_array().unwrap().len(),
        67
    );
    for name in [
        "ola-gap.svg",
        "ola-sensitivity.svg",
        "ola-iterations.csv",
        "ola-cost.csv",
        "ola-runs.csv",
    ] {
        let content = std::fs::read_to_string(std::path::Path::new(out).join(name)).unwrap();
        assert!(content.len() > 100, "{name}");
    }
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    let bad = "+1 1:1\n-1 2:1\n+1 3:1 0:1\n";
    let folder = folder(
        "refuse",
        &[
            ("small", SMALL),
            ("bad.txt", bad),
            ("x0.txt", "1\n2\n"),
            ("huge", "1 4294967295:1\n-1 1:1\n"),
            ("steep", "1 1:1e160 2:1\n-1 1:1\n"),
        ],
    );
    let [small, bad, x0, huge, steep, out] =
        ["small", "bad.txt", "x0.txt", "huge", "steep", "out"].map(|name| folder.path(name));
    for case in [
        no_result(
            &["--data", &bad, "--method", "adam"],
            "bad.txt:3:8: index 0 (LIBSVM indices start at 1)",
        ),
        no_result(
            &["--data", &huge, "--method", "adam"],
            "renumber the features 1, 2, ...",
        ),
        no_result(
            &["--data", &steep, "--method", "adam"],
            "steep: the values are too large; scale the data",
        ),
        no_result(
            &["--data", &small, "--method", "adam", "--x0", &x0],
            "has 2 numbers, but small has 4 variables",
        ),
        no_result(
            &["--data", "no-such-set", "--out", &out],
            "no data set 'no-such-set'",
        ),
        usage(
            &["--data", &small, "--alpha0", "0.1"],
            "--alpha0 is for one run; say which with --method",
        ),
        usage(
            &["--method", "adam", "--eta", "1"],
            "--eta does not go with --method adam",
        ),
        usage(
            &["--method", "adam", "--out", &out],
            "--out does not go with --method adam",
        ),
        usage(
            &["--method", "adam-ola", "--guard", "log", "--window", "3"],
            "--window goes with --guard none",
        ),
        usage(&["--method", "sgd"], "--method must be one of gd, hb"),
        usage(
            &["--method", "adam", "--alpha0", "0"],
            "--alpha0 must be a positive number or 1/L, got '0'",
        ),
        usage(
            &["--method", "adam", "--tolerance", "-1"],
            "--tolerance must be a positive number",
        ),
    ] {
        case.check("ola");
    }
    assert!(!folder.0.join("out").exists());
}
