//! `dst control`.

use crate::support::{Scratch, dst, no_result, text, usage};

const MOTOR: &str = include_str!("../../../tests/c/controllers/motor.json");

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
            "--model",
            &model,
            "--out",
            &out,
            "--threads",
            threads,
        ]);
        assert!(text.starts_with("motor: mean "), "{text}");
        ["motor.rs", "motor.h", "dst_controller.h"]
            .map(|name| std::fs::read_to_string(format!("{out}/{name}")).unwrap())
    };
    let [rust, c, runtime] = export("one", "1");
    assert_eq!(export("two", "2"), [rust.clone(), c.clone(), runtime]);
    // The header that the C program is compiled with is this one.
    assert_eq!(c, include_str!("../../../tests/c/controllers/motor.h"));
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
    let in_rust = numbers(&rust, "static INVERSES: [f32");
    assert_eq!(in_rust.len(), 5 * 12 * 12);
    assert_eq!(in_rust, numbers(&c, "motor_inverses["));
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
    assert_eq!(dst(&["control", "export"]).status.code(), Some(2));
}
