//! `dst checkpoints`.

use crate::support::{json, no_result, text, usage};

/// Slots, steps, forward steps, optimum and repetitions.
fn counts(slots: &str, steps: &str) -> [u64; 5] {
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
fn counts_of_small_runs_are_known() {
    let [slots, steps, forward, optimum, _] = counts("3", "10");
    assert_eq!((slots, steps, optimum), (3, 10, 16));
    assert!(forward >= optimum);
    assert_eq!(counts("1", "5"), [1, 5, 11, 11, 4]);
    assert_eq!(counts("5", "3"), [5, 3, 3, 3, 1]);
    assert_eq!(counts("2", "0"), [2, 0, 0, 0, 0]);
    assert_eq!(counts("2", "1"), [2, 1, 1, 1, 1]);
}

#[test]
fn a_slot_for_every_step_takes_no_memory() {
    let billion = 1_000_000_000;
    assert_eq!(
        counts("18446744073709551615", "1000000000"),
        [u64::MAX, billion, billion, billion, 1]
    );
    let [_, _, forward, optimum, repetitions] = counts("500000000", "700000000");
    assert!(forward == optimum || forward == optimum + 1);
    assert_eq!(repetitions, 2);
}

#[test]
fn a_reversal_of_over_a_billion_steps_is_refused() {
    for (slots, steps) in [
        ("1", "100000"),
        ("8", "100000000"),
        ("5", "18446744073709551615"),
        ("18446744073709551615", "1000000001"),
    ] {
        no_result(&["--slots", slots, "--steps", steps], "1000000000").check("checkpoints");
    }
}

#[test]
fn the_text_names_the_optimum() {
    let text = text(&["checkpoints", "--slots", "3", "--steps", "10"]);
    assert!(text.contains("optimum") && text.contains("16"), "{text}");
}

#[test]
fn bad_values_are_usage_errors() {
    for case in [
        usage(
            &["--slots", "0", "--steps", "3"],
            "error: --slots must be at least 1, got '0'",
        ),
        usage(
            &["--slots", "-3", "--steps", "3"],
            "error: --slots must be at least 1, got '-3'",
        ),
        usage(
            &["--slots", "3", "--steps", "-3"],
            "error: --steps must be at least 0, got '-3'",
        ),
        usage(
            &["--slots", "many", "--steps", "3"],
            "error: --slots must be a whole number, got 'many'",
        ),
        usage(
            &["--slots", "3", "--steps", "1.5"],
            "error: --steps must be a whole number, got '1.5'",
        ),
        usage(
            &["--slots", "3", "--steps", "18446744073709551616"],
            "error: --steps must be at most 18446744073709551615, got '18446744073709551616'",
        ),
    ] {
        case.check("checkpoints");
    }
}
