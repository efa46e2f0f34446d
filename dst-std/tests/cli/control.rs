//! `dst control`.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Scratch, dst, interrupt, json, no_result, program, text, usage};

const MOTOR: &str = include_str!("../../../tests/c/controllers/motor.json");

/// The motor with a hard bound of its speed, and this start set.
fn hard_motor(start: &str) -> String {
    let hard = r#"[{"state": 1, "lower": -0.6, "upper": 0.6, "soft": false}], "names": {"states": ["position", "speed"], "inputs": ["voltage"]}"#;
    let text = MOTOR.replace("[[1, -0.6, 0.6]]", hard);
    assert_ne!(text, MOTOR);
    text.replace("[1.0, 0.6]", start)
}

#[test]
fn an_export_is_the_same_text_with_any_threads() {
    let scratch = Scratch::new("export");
    let model = scratch.path("motor.json");
    std::fs::write(&model, MOTOR).unwrap();
    let export = |out: &str, threads: &str| {
        let out = scratch.path(out);
        let text = text(&[
            "control",
            "export",
            "--quick",
            "--quiet",
            "--model",
            &model,
            "--out",
            &out,
            "--threads",
            threads,
        ]);
        for words in [
            "motor\n  active set, at most ",
            "fresh closed-loop runs of 100 ticks",
            "with 95 % confidence, budget ",
            "ADMM tuned by its stopping time: ",
            "Jacobi grid: ",
            "OSQP's defaults: ",
            "Cortex-M4F, estimated: ",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let names = [
            "motor.rs",
            "motor.h",
            "dst_active_set.h",
            "motor_certificate.json",
        ];
        names.map(|name| std::fs::read_to_string(format!("{out}/{name}")).unwrap())
    };
    let [rust, c, runtime, certificate] = export("one", "1");
    let same = [rust.clone(), c.clone(), runtime, certificate.clone()];
    assert_eq!(export("two", "2"), same);
    // The files begin with the call, the certificate and the bytes.
    for text in [&rust, &c] {
        let head: String = text.lines().take(12).collect();
        for words in [
            "_tick(&motor",
            "Certificate: P(",
            "bytes of flash",
            "bytes of RAM",
        ] {
            assert!(head.contains(words), "{words}: {head}");
        }
    }
    let certificate: serde_json::Value = serde_json::from_str(&certificate).unwrap();
    for field in [
        "model_hash",
        "seed",
        "runs",
        "late_runs",
        "budget",
        "bound",
        "confidence",
    ] {
        assert!(!certificate[field].is_null(), "{field}: {certificate}");
    }
    assert_eq!(certificate["does_not_cover"].as_array().unwrap().len(), 3);
    // Both languages have the same numbers.
    let numbers = |text: &str, from: &str| -> Vec<u32> {
        let body = text.split_once(from).unwrap().1.split_once(']').unwrap().1;
        let body = body.split_once(['[', '{']).unwrap().1;
        let end = body.find(['}', ']']).unwrap();
        body[..end]
            .split(',')
            .filter_map(|n| n.trim().trim_end_matches('f').parse::<f32>().ok())
            .map(f32::to_bits)
            .collect()
    };
    let in_rust = numbers(&rust, "static GRAM: [f32");
    assert_eq!(in_rust.len(), 24 * 24);
    assert_eq!(in_rust, numbers(&c, "motor_gram["));
}

/// The motor of `tests/c/own_controller.c` and of the templates is what its model gives: no edits by hand, no change of the exporter.
#[test]
fn the_controller_of_the_program_in_c_is_an_export() {
    let scratch = Scratch::new("own");
    let model = scratch.path("motor.json");
    std::fs::write(&model, MOTOR).unwrap();
    let out = scratch.path("out");
    text(&[
        "control", "export", "--quiet", "--model", &model, "--out", &out,
    ]);
    for (name, committed) in [
        ("motor.h", "c/controllers/motor.h"),
        ("motor.rs", "templates/firmware/src/motor.rs"),
    ] {
        let found = std::fs::read_to_string(format!("{out}/{name}")).unwrap();
        let path = format!("{}/../tests/{committed}", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("DST_BLESS").is_some() {
            std::fs::write(&path, &found).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap();
        assert!(
            found == committed,
            "{name} is not what is exported; DST_BLESS=1 writes it anew"
        );
    }
}

#[test]
fn the_template_is_a_model_that_can_be_exported() {
    let scratch = Scratch::new("template");
    let model = scratch.path("my_motor.json");
    std::fs::write(&model, text(&["control", "template"])).unwrap();
    let out = scratch.path("out");
    let found = text(&[
        "control",
        "export",
        "--quick",
        "--quiet",
        "--solver",
        "active-set",
        "--model",
        &model,
        "--out",
        &out,
    ]);
    assert!(found.starts_with("my_motor\n  active set, "), "{found}");
    assert!(std::fs::exists(format!("{out}/my_motor.h")).unwrap());
}

#[test]
fn json_has_all_fields() {
    let scratch = Scratch::new("json");
    let model = scratch.path("motor.json");
    std::fs::write(&model, MOTOR).unwrap();
    let found = json(&[
        "control",
        "export",
        "--quick",
        "--quiet",
        "--json",
        "--model",
        &model,
        "--accuracy",
        "1e-2",
        "--ticks",
        "40",
    ]);
    for path in [
        "/solver",
        "/budget",
        "/accuracy",
        "/late/bound",
        "/late/confidence",
        "/late/runs",
        "/late/late_runs",
        "/loop/ticks",
        "/loop/mean",
        "/loop/p99",
        "/loop/max",
        "/loop/unsolved",
        "/cold/ticks",
        "/cold/unsolved",
        "/input_error/mean",
        "/input_error/p99",
        "/input_error/max",
        "/baselines/0/name",
        "/baselines/0/loop/p99",
        "/baselines/0/cold/p99",
        "/flash",
        "/ram",
        "/instructions/mean",
        "/instructions/budget",
        "/warnings",
    ] {
        assert!(
            found.pointer(path).is_some_and(|v| !v.is_null()),
            "{path}: {found}"
        );
    }
    assert_eq!(found["solver"], "active set");
    assert_eq!(found["loop"]["ticks"], 300 * 40);
    assert_eq!(found["baselines"].as_array().unwrap().len(), 3);
    assert!(found["input_error"]["max"].as_f64().unwrap() <= 1e-2);
    // 300 runs without a late one.
    let bound = found["late"]["bound"].as_f64().unwrap();
    assert_eq!(found["late"]["late_runs"], 0);
    assert!((bound - 0.009_936).abs() < 1e-6, "{bound}");
}

#[test]
fn starts_without_a_solution_are_named() {
    let scratch = Scratch::new("starts");
    let model = scratch.path("hard.json");
    let start = r#"{"box": {"lower": [-1.0, -0.8], "upper": [1.0, 0.8]}}"#;
    std::fs::write(&model, hard_motor(start)).unwrap();
    let found = json(&[
        "control",
        "export",
        "--quick",
        "--quiet",
        "--json",
        "--solver",
        "active-set",
        "--model",
        &model,
    ]);
    let warnings = found["warnings"].to_string();
    for words in [
        "the start set",
        "speed -0.8 to 0.8",
        "hard bounds cannot be kept",
    ] {
        assert!(warnings.contains(words), "{words}: {warnings}");
    }
    assert!(found["late"]["late_runs"].as_u64().unwrap() > 0);
    // From far outside no tick has a solution.
    let start = r#"{"box": {"lower": [-1.0, 5.0], "upper": [1.0, 6.0]}}"#;
    std::fs::write(&model, hard_motor(start)).unwrap();
    let arguments = ["export", "--quick", "--quiet", "--model", &model];
    no_result(&arguments, "speed 5 to 6").check("control");
    no_result(&arguments, "hard bounds cannot be kept").check("control");
}

#[test]
fn an_accuracy_beyond_single_precision_is_refused() {
    let scratch = Scratch::new("accuracy");
    let model = scratch.path("motor.json");
    std::fs::write(&model, MOTOR).unwrap();
    no_result(
        &[
            "export",
            "--quick",
            "--quiet",
            "--model",
            &model,
            "--accuracy",
            "1e-9",
        ],
        "the smallest possible is",
    )
    .check("control");
}

#[test]
fn sixty_states_that_cannot_be_stabilised_are_refused_at_once() {
    let scratch = Scratch::new("sixty");
    let model = scratch.path("sixty.json");
    let row = |i: usize| -> Vec<f64> {
        let entry = |j: usize| {
            if i == j {
                1.01
            } else {
                0.001 * ((i * 7 + j * 3) % 5) as f64
            }
        };
        (0..60).map(entry).collect()
    };
    let file = serde_json::json!({
        "a": (0..60).map(row).collect::<Vec<_>>(),
        "b": vec![[0.0]; 60],
        "q": vec![1.0; 60],
        "r": [1.0],
        "inputs": [[-1.0, 1.0]],
        "start": vec![1.0; 60],
        "horizon": 20,
    });
    std::fs::write(&model, file.to_string()).unwrap();
    let before = Instant::now();
    no_result(
        &["export", "--quiet", "--model", &model],
        "cannot stabilise",
    )
    .check("control");
    // A second on an idle machine; tests share it.
    assert!(before.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_interrupt_ends_an_export_within_two_seconds() {
    let scratch = Scratch::new("interrupted");
    let out = scratch.path("out");
    let mut child = program()
        .args([
            "control", "export", "--late", "1e-5", "--quiet", "--out", &out,
        ])
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
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    assert!(before.elapsed() < Duration::from_secs(5));
    assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
    assert!(!std::fs::exists(&out).unwrap());
}

#[test]
fn bad_input_is_named_and_nothing_is_written() {
    let scratch = Scratch::new("bad");
    let model = scratch.path("bad.json");
    let out = scratch.path("out");
    no_result(&["export", "--model", &model, "--out", &out], "bad.json").check("control");
    for (text, words) in [
        ("{", "not a model"),
        (
            &MOTOR.replace("\"horizon\": 12", "\"horizon\": 0"),
            "horizon must be",
        ),
        (
            &MOTOR.replace("0.08", "0.0").replace("0.002", "0.0"),
            "Riccati",
        ),
        (
            &MOTOR.replace("20.0", "1e43"),
            "not finite in single precision",
        ),
    ] {
        std::fs::write(&model, text).unwrap();
        no_result(
            &["export", "--quick", "--model", &model, "--out", &out],
            words,
        )
        .check("control");
        assert!(!std::fs::exists(&out).unwrap(), "{words}");
    }
    usage(&["--threads", "0"], "--threads must be").check("control");
    for (argument, value, words) in [
        (
            "--accuracy",
            "0",
            "--accuracy must be a number between 0 and 1",
        ),
        ("--late", "1", "--late must be"),
        ("--confidence", "-1", "--confidence must be"),
        ("--ticks", "1000000", "--ticks must be at most"),
        (
            "--solver",
            "osqp",
            "--solver must be one of auto, active-set, admm",
        ),
    ] {
        usage(&["export", argument, value], words).check("control");
    }
    assert_eq!(
        dst(&["control", "export", "--model"]).status.code(),
        Some(2)
    );
    let help = text(&["control", "export", "--help"]);
    for words in ["Examples:", "own_controller.c", "own_plant.rs"] {
        assert!(help.contains(words), "{help}");
    }
}
