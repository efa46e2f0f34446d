//! Known answers of the dual active set, then the conditions of optimality on random programs.

use std::vec;
use std::vec::Vec;

use crate::qp::*;
use crate::{Argument, Error, Scalar};

/// A program in memory of its own.
struct Solved<S> {
    outcome: Outcome,
    u: Vec<S>,
}

struct Small<'a, S> {
    hessian: &'a [S],
    rows: &'a [S],
    linear: &'a [S],
    lower: &'a [S],
    upper: &'a [S],
    caps: &'a [S],
    lifts: &'a [S],
}

impl<S: Scalar> Small<'_, S> {
    fn solve(&self, budget: usize) -> Result<Solved<S>, Error> {
        let (n, m) = (self.linear.len(), self.lower.len());
        let mut constants = vec![S::ZERO; Dense::<S>::numbers(n, m)];
        let tolerance = S::from_f64(8.0) * S::EPSILON;
        let program = Dense::prepare(
            self.hessian,
            self.rows,
            self.caps,
            self.lifts,
            tolerance,
            &mut constants,
        )?;
        let capacity = m.min(n) + 1;
        let mut numbers = vec![S::ZERO; DenseMemory::<S>::numbers(n, m, capacity)];
        let mut words = vec![0; DenseMemory::<S>::words(capacity)];
        let mut memory = DenseMemory::new(n, m, capacity, &mut numbers, &mut words)?;
        let bounds = Bounds {
            lower: self.lower,
            upper: self.upper,
        };
        let outcome = program.solve(&mut memory, self.linear, bounds, budget)?;
        Ok(Solved {
            outcome,
            u: memory.variables().to_vec(),
        })
    }
}

const NONE: f64 = f64::INFINITY;

/// min ½(u₁² + u₂²) − u₁ − 2u₂ with u₁ + u₂ ≤ 1: u = (0, 1).
const PLAIN: Small<'static, f64> = Small {
    hessian: &[1.0, 0.0, 0.0, 1.0],
    rows: &[1.0, 1.0],
    linear: &[-1.0, -2.0],
    lower: &[-NONE],
    upper: &[1.0],
    caps: &[],
    lifts: &[],
};

#[test]
fn one_row() {
    let found = PLAIN.solve(10).unwrap();
    assert_eq!(found.outcome.status, Status::Solved);
    assert!((found.u[0]).abs() < 1e-14 && (found.u[1] - 1.0).abs() < 1e-14);
}

#[test]
fn soft_rows_have_closed_forms() {
    // λ = 1 without a cap. With a cap of ½: u = (1 − ½, 2 − ½).
    let capped = Small {
        caps: &[0.5],
        ..PLAIN
    };
    let found = capped.solve(10).unwrap();
    assert_eq!(found.outcome.status, Status::Softened);
    assert!((found.u[0] - 0.5).abs() < 1e-14 && (found.u[1] - 1.5).abs() < 1e-14);
    // ρ = 1: λ(2 + 1) = 3 − 1, u = (1 − ⅔, 2 − ⅔).
    let lifted = Small {
        lifts: &[1.0],
        ..PLAIN
    };
    let found = lifted.solve(10).unwrap();
    assert_eq!(found.outcome.status, Status::Softened);
    assert!((found.u[0] - 1.0 / 3.0).abs() < 1e-14, "{:?}", found.u);
    // A cap that is not reached changes nothing.
    let loose = Small {
        caps: &[2.0],
        ..PLAIN
    };
    let found = loose.solve(10).unwrap();
    assert_eq!(found.outcome.status, Status::Solved);
    assert!(found.u[0].abs() < 1e-14);
}

#[test]
fn contradictions_are_infeasible() {
    let rows = Small {
        rows: &[1.0, 1.0, 1.0, 1.0],
        lower: &[2.0, -NONE],
        upper: &[NONE, 1.0],
        ..PLAIN
    };
    assert_eq!(rows.solve(10).unwrap().outcome.status, Status::Infeasible);
    let empty = Small {
        lower: &[2.0],
        ..PLAIN
    };
    assert_eq!(empty.solve(10).unwrap().outcome.status, Status::Infeasible);
    // The same rows without the contradiction depend on each other, and have a solution.
    let dependent = Small {
        lower: &[0.5, -NONE],
        ..rows
    };
    let found = dependent.solve(10).unwrap();
    assert_eq!(found.outcome.status, Status::Solved);
    assert!(found.u[0].abs() < 1e-14);
}

#[test]
fn bad_data_is_refused() {
    let indefinite = Small {
        hessian: &[1.0, 2.0, 2.0, 1.0],
        ..PLAIN
    };
    assert_eq!(
        indefinite.solve(10).err(),
        Some(Error::Invalid(Argument::Model))
    );
    let poisoned = Small {
        linear: &[f64::NAN, 0.0],
        ..PLAIN
    };
    assert_eq!(
        poisoned.solve(10).err(),
        Some(Error::Invalid(Argument::Model))
    );
    let bounds = Small {
        upper: &[f64::NAN],
        ..PLAIN
    };
    assert_eq!(
        bounds.solve(10).err(),
        Some(Error::Invalid(Argument::Bounds))
    );
}

fn random(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as f64) / f64::from(1u32 << 30) - 1.0
}

/// Largest violation of the bounds, and the distance of u from the minimiser of the Lagrangian at the nearest multipliers, both
/// by plain definitions: a point is optimal iff no small move within the bounds improves it.
#[test]
fn random_boxes_are_solved_to_the_fixed_point_of_projected_gradient() {
    let mut state = 5;
    for case in 0..300 {
        let n = 2 + case % 12;
        let root: Vec<f64> = (0..n * n).map(|_| random(&mut state)).collect();
        let entry = |i: usize, j: usize| {
            let sum: f64 = (0..n).map(|k| root[i * n + k] * root[j * n + k]).sum();
            sum + if i == j { 0.3 } else { 0.0 }
        };
        let hessian: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let rows: Vec<f64> = (0..n * n).map(|k| f64::from(k / n == k % n)).collect();
        let linear: Vec<f64> = (0..n).map(|_| 6.0 * random(&mut state)).collect();
        let upper: Vec<f64> = (0..n).map(|_| 1.05 + random(&mut state)).collect();
        let lower: Vec<f64> = upper
            .iter()
            .map(|u| u - 1.05 - random(&mut state))
            .collect();
        let program = Small {
            hessian: &hessian,
            rows: &rows,
            linear: &linear,
            lower: &lower,
            upper: &upper,
            caps: &[],
            lifts: &[],
        };
        let found = program.solve(200).unwrap();
        assert_eq!(found.outcome.status, Status::Solved, "case {case}");
        for i in 0..n {
            let slope: f64 = (0..n).map(|j| entry(i, j) * found.u[j]).sum::<f64>() + linear[i];
            let moved = clip(found.u[i] - slope, lower[i], upper[i]);
            let off = (moved - found.u[i]).abs();
            assert!(off < 1e-10, "case {case}, variable {i}: {off:e}");
        }
    }
}
