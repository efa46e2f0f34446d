//! Budgets of 0, 1, 2 … steps: inputs within their bounds, and afterwards the right answer from the same memory.

use dst_core::Scalar;
use dst_core::qp::Status;
use dst_tests::interior_point::{Verdict, decide};
use dst_tests::programs::{Precision, program};

use super::adapter::{Data, Prepared, distance, outside};
use super::sensitivity::is_sensitive;

fn budgets<S: Scalar>(precision: Precision, accuracy: f64) {
    let (mut late, mut finished) = (0, 0);
    for seed in 3_000_000..3_000_400 {
        let program = program(seed, precision);
        let data = Data::<S>::of(&program);
        let prepared = Prepared::<S>::new(&program);
        let full = prepared.solve(&data);
        let verdict = decide(&program);
        if full.outcome.status == Status::Late {
            continue;
        }
        let most = full.outcome.steps;
        for budget in (0..=most).filter(|&b| b < 6 || b + 3 > most) {
            let mut memory = prepared.memory(prepared.capacity());
            let mut solver = memory.solver();
            let first = solver.solve(&data, budget).unwrap();
            let place = format!("seed {seed} budget {budget} of {most}");
            assert_eq!(outside(&program, &data, &first.u), 0, "{place}");
            assert!(first.u.iter().all(|u| u.is_finite()), "{place}");
            assert!(
                first.outcome.steps <= budget,
                "{place}: {:?}",
                first.outcome
            );
            if budget < most {
                assert_eq!(first.outcome.status, Status::Late, "{place}");
                late += 1;
            } else {
                assert_eq!(first, full, "{place}");
                finished += 1;
            }
            let second = solver.solve(&data, prepared.patience()).unwrap();
            let status = second.outcome.status;
            match &verdict {
                Verdict::Infeasible { .. } => assert_eq!(status, Status::Infeasible, "{place}"),
                Verdict::Solution(exact) => {
                    assert!(status.is_solved(), "{place}: {status:?}");
                    let error = distance(&second.u, &exact.u);
                    let fine = error <= accuracy || is_sensitive::<S>(&program, exact, error);
                    assert!(fine, "{place}: {error:.1e}");
                }
                Verdict::Undecided => panic!("{place}: no certificate"),
            }
        }
    }
    println!("{late} late, {finished} finished");
    assert!(late > 1000 && finished > 300);
}

#[test]
fn any_budget_in_f64() {
    budgets::<f64>(Precision::Double, 1e-9);
}

#[test]
fn any_budget_in_f32() {
    budgets::<f32>(Precision::Single, 1e-4);
}

/// A set without room for the active rows is late; it is never called infeasible, and its inputs are within their bounds.
#[test]
fn too_small_a_capacity_is_late() {
    let mut late = 0;
    for seed in 4_000_000..4_000_300 {
        let program = program(seed, Precision::Double);
        let Verdict::Solution(exact) = decide(&program) else {
            continue;
        };
        let data = Data::<f64>::of(&program);
        let prepared = Prepared::new(&program);
        let active = exact.multipliers.iter().filter(|&&l| l != 0.0).count();
        for capacity in [0, 1, 2, 3, 5, 8] {
            let mut memory = prepared.memory(capacity);
            let mut solver = memory.solver();
            for solve in 0..2 {
                let answer = solver.solve(&data, prepared.patience()).unwrap();
                let place = format!("seed {seed} capacity {capacity} solve {solve}");
                assert_eq!(outside(&program, &data, &answer.u), 0, "{place}");
                match answer.outcome.status {
                    Status::Infeasible => panic!("{place}: infeasible"),
                    Status::Late => late += 1,
                    _ => assert!(distance(&answer.u, &exact.u) < 1e-9, "{place}"),
                }
                // Without any room, a row that touches its bound may be beyond it by rounding.
                if active == 0 && capacity > 0 {
                    assert!(answer.outcome.status.is_solved(), "{place}");
                }
            }
        }
    }
    println!("{late} late");
    assert!(late > 500);
}
