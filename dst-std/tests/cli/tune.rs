//! `dst tune`: the text, the JSON object, the picture, the errors, Ctrl-C.

use std::fs;
use std::path::Path;

use crate::support::{
    Scratch, dst, fails, interrupt, json, libsvm, markup, no_result, program, succeeds, text, usage,
};

#[test]
fn the_text_shows_values_counts_and_costs() {
    let scratch = Scratch::new("plain");
    // Without a terminal there are no bars on standard error.
    let text = text(&["tune", "--out", scratch.text()]);
    for words in [
        "heavy-ball on quadratic (100 variables): ",
        "α 0.1 → ",
        "β 0.9 → ",
        "held-out (32): median",
        "cost of tuning: ",
        "CMA-ES: ",
        "grid search: ",
        "  Polyak ",
        "  Chebyshev ",
        "≤ 0.01 of the start",
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

#[test]
fn the_json_object_is_complete_and_the_same_with_any_threads() {
    let scratch = Scratch::new("json");
    let common = [
        "tune", "--json", "--method", "adam", "--rounds", "5", "--starts", "4",
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
    assert_eq!(report["tolerance"], 1e-2);
    assert_eq!(report["absolute"], false);
    assert_eq!(report["max_steps"], 2000);
    for setting in ["before", "tuned", "cmaes", "grid"] {
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
    assert_eq!(report["known"][0]["name"], "Chebyshev");
    let rounds = report["rounds"].as_array().unwrap();
    assert!((1..=6).contains(&rounds.len()));
    assert!(rounds.iter().zip(0..).all(|(r, i)| r["round"] == i));
    assert!(["rounds", "no-gain"].contains(&report["end"].as_str().unwrap()));
    assert!(Path::new(report["plot"].as_str().unwrap()).is_file());
    for threads in ["2", "3"] {
        assert_eq!(with(threads), report, "{threads} threads");
    }
}

#[test]
fn bad_input_is_refused_and_nothing_is_written() {
    let scratch = Scratch::new("data");
    let write = |name: &str, text: &str| {
        let path = scratch.path(name);
        fs::write(&path, text).unwrap();
        path
    };
    let broken = write("broken", "1 0:1\n");
    let single = write("single", "3 1:1\n3 2:1\n");
    let steep = write("steep", "1 1:1e160 2:1\n-1 1:1\n");
    let theta = |name: &str, method: &str, theta: &str| {
        let text = format!(
            "{{\"method\":\"{method}\",\"theta\":{theta},\"problem\":\"p\",\"held_out_median\":null}}"
        );
        write(name, &text)
    };
    let other = theta("other", "gd", "[0.1]");
    let long = theta("long", "heavy-ball", "[0.1, 0.5, 0.9]");
    let wild = theta("wild", "heavy-ball", "[0.1, 1.5]");
    let out = Scratch::new("refused");
    for case in [
        usage(
            &["--method", "newton"],
            "--method must be one of gd, heavy-ball, nesterov, adam, preconditioned, got 'newton'",
        ),
        usage(
            &["--problem", "lasso"],
            "--problem must be one of quadratic",
        ),
        usage(
            &["--criterion", "x"],
            "--criterion must be one of gradient-max",
        ),
        usage(
            &["--tolerance", "-1"],
            "--tolerance must be a positive number, got '-1'",
        ),
        usage(&["--beta", "1"], "--beta must be a number between 0 and 1"),
        usage(&["--alpha", "0"], "--alpha must be a positive number"),
        usage(&["--starts", "0"], "--starts must be at least 1"),
        usage(
            &["--reg", "-2", "--problem", "svm"],
            "--reg must be zero or a positive number",
        ),
        usage(
            &["--reg", "1"],
            "--reg is for the problems logistic and svm",
        ),
        usage(
            &["--method", "gd", "--beta", "0.5"],
            "--beta is for methods with momentum",
        ),
        usage(
            &["--problem", "quadratic", "--data", &broken],
            "--data is for",
        ),
        no_result(&["--data", "nowhere"], "no data set 'nowhere'"),
        no_result(&["--data", &broken], ":1:3: index 0"),
        no_result(&["--data", &single], "every label is 3"),
        no_result(
            &["--data", &steep],
            "steep: the values are too large; scale the data",
        ),
        no_result(&["--tolerance", "1e6", "--absolute"], "lower --tolerance"),
        usage(
            &["--tolerance", "1"],
            "--tolerance is a factor below 1 on the value at the start, got 1",
        ),
        usage(&["--dim", "1"], "--dim must be at least 2"),
        usage(
            &["--dim", "5", "--problem", "svm"],
            "--dim is for the problems quadratic and rosenbrock, not for svm",
        ),
        no_result(
            &["--from", &broken],
            "not hyperparameters that --save wrote",
        ),
        no_result(
            &["--from", &other],
            "the values are those of gd, not of heavy-ball",
        ),
        no_result(&["--from", &long], "3 values, but heavy-ball has 2 here"),
        no_result(&["--from", &wild], "momenta between 0 and 1"),
        no_result(&["--from", "nowhere.json"], "nowhere.json: "),
        usage(
            &["--from", &other, "--alpha", "1"],
            "--from gives all initial values; leave out --alpha and --beta",
        ),
        no_result(
            &["--tolerance", "1e-9", "--max-steps", "20"],
            "raise --max-steps or --tolerance",
        ),
    ] {
        case.check_between(&["tune"], &["--out", out.text()]);
        assert!(out.names().is_empty(), "{:?}", out.names());
    }
}

#[test]
fn saved_values_are_those_to_begin_with() {
    let scratch = Scratch::new("saved");
    let (file, out) = (scratch.path("theta.json"), Scratch::new("saved-out"));
    let common = [
        "tune",
        "--json",
        "--dim",
        "12",
        "--starts",
        "4",
        "--held-out",
        "4",
    ];
    let with = |rest: &[&str]| json(&[&common[..], rest, &["--out", out.text()]].concat());
    let first = with(&["--save", &file]);
    assert_eq!(first["size"], "12 variables");
    let second = with(&["--from", &file, "--rounds", "1"]);
    assert_eq!(second["before"]["theta"], first["tuned"]["theta"]);
    assert_eq!(second["before"]["held_out"], first["tuned"]["held_out"]);
}

#[test]
fn an_out_that_is_a_file_is_refused() {
    let scratch = Scratch::new("taken");
    let file = scratch.path("file");
    fs::write(&file, "x").unwrap();
    let (code, text) = fails(dst(&["tune", "--out", &file]));
    assert_eq!(code, 1);
    assert!(text.contains("choose another with --out"), "{text}");
}

#[test]
fn the_best_step_size_has_no_gain() {
    let scratch = Scratch::new("no-gain");
    // The best step of gradient descent on this spectrum, to a per cent.
    let text = text(&[
        "tune",
        "--method",
        "gd",
        "--alpha",
        "0.196",
        "--tolerance",
        "1e-4",
        "--absolute",
        "--out",
        scratch.text(),
    ]);
    assert!(text.contains("the tuning: no gain"), "{text}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_the_best_so_far() {
    let scratch = Scratch::new("interrupt");
    let child = program()
        .args([
            "tune",
            "--method",
            "preconditioned",
            "--problem",
            "logistic",
        ])
        .args(["--starts", "8", "--held-out", "2", "--max-steps", "200"])
        .args([
            "--rounds",
            "1000000",
            "--tolerance",
            "1",
            "--absolute",
            "--reg",
            "0.1",
        ])
        .args(["--threads", "1", "--out", scratch.text()])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let interrupted = interrupt(&child);
    let output = child.wait_with_output().unwrap();
    // A fast machine may have finished; a slow one may have nothing to keep yet.
    match (interrupted, output.status.code()) {
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

mod papers_data {
    use super::*;

    fn a1a(folder: &Path, rest: &[&str]) -> serde_json::Value {
        let scratch = Scratch::new(&format!("a1a{}", rest.join("").replace(['.', '-'], "")));
        let output = program()
            // Quiet: a slow machine takes minutes, and says so.
            .args([
                "tune",
                "--data",
                "a1a",
                "--json",
                "--quiet",
                "--out",
                scratch.text(),
            ])
            .args(rest)
            .env("DST_DATA", folder)
            .output()
            .unwrap();
        serde_json::from_str(&succeeds(output)).unwrap()
    }

    /// a1a is the first data set of the paper's Table 1. A first try of every method has a result.
    #[test]
    #[ignore = "needs the LIBSVM files: cargo xtask test"]
    fn every_method_has_a_result_on_a1a() {
        let folder = libsvm::folder(&["a1a"]);
        for method in ["gd", "heavy-ball", "nesterov", "adam", "preconditioned"] {
            let report = a1a(&folder, &["--method", method]);
            assert_eq!(report["size"], "1605 × 120");
            let (before, tuned) = (&report["before"]["held_out"], &report["tuned"]["held_out"]);
            println!("{method}: {} to {}", before["median"], tuned["median"]);
            // 120 step sizes can overfit 16 starts: one of the held-out starts may not stop.
            let reached = if method == "preconditioned" { 0.9 } else { 1.0 };
            assert!(
                tuned["reached"].as_f64().unwrap() >= reached,
                "{method}: {tuned}"
            );
            let least = if method == "nesterov" { 0.8 } else { 0.6 };
            assert!(
                tuned["median"].as_f64().unwrap() < least * before["median"].as_f64().unwrap(),
                "{method}"
            );
        }
    }

    /// From five different first values, the tuned medians differ by at most 3 %.
    #[test]
    #[ignore = "needs the LIBSVM files: cargo xtask test"]
    fn the_first_values_hardly_matter_on_a1a() {
        let folder = libsvm::folder(&["a1a"]);
        let firsts = [
            ["8.6e-5", "0.9"],
            ["1e-5", "0.5"],
            ["3e-4", "0.3"],
            ["5e-5", "0.99"],
            ["1e-3", "0.9"],
        ];
        let medians: Vec<u64> = firsts
            .iter()
            .map(|[alpha, beta]| {
                let report = a1a(
                    &folder,
                    &["--alpha", alpha, "--beta", beta, "--tolerance", "1e-3"],
                );
                report["tuned"]["held_out"]["median"].as_u64().unwrap()
            })
            .collect();
        println!("{medians:?}");
        let (least, most) = (medians.iter().min().unwrap(), medians.iter().max().unwrap());
        assert!(*most as f64 <= 1.03 * *least as f64, "{medians:?}");
    }
}
