//! The program as a user meets it: what it prints, where, and with which exit code.

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

/// A folder of its own for a test, with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("dst-cli-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, content) in files {
        std::fs::write(folder.join(file), content).unwrap();
    }
    folder
}

const SMALL: &str = "+1 1:1 3:1\n-1 2:1 3:1\n+1 1:1\n-1 2:1 # comment\n-1\n";

#[test]
fn ola_one_run() {
    let folder = folder("run", &[("small", SMALL), ("x0.txt", "0\n0 0\n0.5\n")]);
    let data = folder.join("small");
    let data = data.to_str().unwrap();
    let x0 = folder.join("x0.txt");
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
    // For people: what happened, and that it is said when it went wrong.
    let output = dst(&["ola", "--data", data, "--method", "gd", "--alpha0", "10"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("GD on small (5 x 4): DIVERGED"), "{text}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn ola_compares_and_writes_its_files_whole() {
    let folder = folder("compare", &[("small", SMALL)]);
    let (data, out) = (folder.join("small"), folder.join("out"));
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
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn ola_refuses_what_it_cannot_use() {
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
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let small = path("small");
    for (arguments, code, words) in [
        (
            vec!["--data", &path("bad.txt"), "--method", "adam"],
            1,
            "bad.txt:3:8: index 0 (LIBSVM indices start at 1)",
        ),
        (
            vec!["--data", &path("huge"), "--method", "adam"],
            1,
            "needs 32.0 GiB for every vector",
        ),
        (
            vec!["--data", &path("steep"), "--method", "adam"],
            1,
            "steep: the values are too large; scale the data",
        ),
        (
            vec![
                "--data",
                &small,
                "--method",
                "adam",
                "--x0",
                &path("x0.txt"),
            ],
            1,
            "has 2 numbers, but small has 4 variables",
        ),
        (
            vec!["--data", "no-such-set", "--out", &path("out")],
            1,
            "no data set 'no-such-set'",
        ),
        (
            vec!["--data", &small, "--alpha0", "0.1"],
            2,
            "--alpha0 is for one run; say which with --method",
        ),
        (
            vec!["--method", "adam", "--eta", "1"],
            2,
            "--eta does not go with --method adam",
        ),
        (
            vec!["--method", "adam", "--out", &path("out")],
            2,
            "--out does not go with --method adam",
        ),
        (
            vec!["--method", "adam-ola", "--guard", "log", "--window", "3"],
            2,
            "--window goes with --guard none",
        ),
        (vec!["--method", "sgd"], 2, "--method must be one of gd, hb"),
        (
            vec!["--method", "adam", "--alpha0", "0"],
            2,
            "--alpha0 must be a positive number or 1/L, got '0'",
        ),
        (
            vec!["--method", "adam", "--tolerance", "-1"],
            2,
            "--tolerance must be a positive number",
        ),
    ] {
        let arguments: Vec<&str> = ["ola"].into_iter().chain(arguments).collect();
        let (exit, text) = refusal(&arguments);
        assert_eq!(exit, code, "{arguments:?}: {text}");
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
    assert!(!folder.join("out").exists());
    std::fs::remove_dir_all(folder).unwrap();
}
