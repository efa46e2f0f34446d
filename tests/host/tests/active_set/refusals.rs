//! NaN and infinities in q, l and h: refused with an error, and no trace of them in the next solve.

use dst_core::Scalar;
use dst_tests::programs::{Draw, Precision, program};

use super::adapter::{Data, Prepared, outside};

/// Replaces a number of q, l or h; the second part is true if the result has to be an error.
fn broken<S: Scalar>(data: &Data<S>, draw: &mut Draw, case: usize) -> (Data<S>, bool) {
    let mut bad = data.clone();
    let (i, j) = (draw.below(bad.linear.len()), draw.below(bad.lower.len()));
    match case {
        0 => bad.linear[i] = S::NAN,
        1 => bad.linear[i] = S::INFINITY,
        2 => bad.linear[i] = -S::INFINITY,
        3 => bad.lower[j] = S::NAN,
        4 => bad.upper[j] = S::NAN,
        5 => bad.lower[j] = S::INFINITY,
        6 => bad.upper[j] = -S::INFINITY,
        7 => bad.linear[i] = S::MAX,
        _ => (bad.lower[j], bad.upper[j]) = (S::MAX, S::MAX),
    }
    (bad, case < 7)
}

fn refusals<S: Scalar>(precision: Precision) {
    let mut errors = 0;
    for seed in 5_000_000..5_000_200 {
        let program = program(seed, precision);
        let data = Data::<S>::of(&program);
        let prepared = Prepared::<S>::new(&program);
        let mut draw = Draw::new(seed);
        for case in 0..9 {
            let (bad, refused) = broken(&data, &mut draw, case);
            let place = format!("seed {seed} case {case}");
            let (mut memory, mut twin) = (
                prepared.memory(prepared.capacity()),
                prepared.memory(prepared.capacity()),
            );
            let (mut solver, mut clean) = (memory.solver(), twin.solver());
            let patience = prepared.patience();
            let before = solver.solve(&data, patience);
            assert_eq!(before, clean.solve(&data, patience), "{place}");
            match solver.solve(&bad, patience) {
                Err(_) => {
                    errors += 1;
                    // Not a bit differs from a memory that never saw the bad numbers.
                    let (after, expected) =
                        (solver.solve(&data, patience), clean.solve(&data, patience));
                    assert_eq!(after, expected, "{place}");
                }
                Ok(answer) => {
                    assert!(!refused, "{place}: accepted");
                    assert!(answer.u.iter().all(|u| !u.is_nan()), "{place}: NaN");
                    assert_eq!(outside(&program, &bad, &answer.u), 0, "{place}");
                    let after = solver.solve(&data, patience).unwrap();
                    let before = before.unwrap();
                    assert_eq!(after.outcome.status, before.outcome.status, "{place}");
                }
            }
        }
    }
    println!("{errors} errors");
    assert!(errors >= 1000);
}

#[test]
fn bad_numbers_leave_no_trace_in_f64() {
    refusals::<f64>(Precision::Double);
}

#[test]
fn bad_numbers_leave_no_trace_in_f32() {
    refusals::<f32>(Precision::Single);
}
