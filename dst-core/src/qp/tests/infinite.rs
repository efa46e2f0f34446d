//! Infinite bounds: a row without a bound is never clipped, and adds nothing to the solution.

use std::vec;
use std::vec::Vec;

use super::conditions::Example;
use crate::mpc::{AdmmController, AdmmTick};
use crate::qp::*;
use crate::{Argument, Error};

const FREE: (f64, f64) = (f64::NEG_INFINITY, f64::INFINITY);

fn tolerance<S: crate::Scalar>() -> Tolerance<S> {
    Tolerance {
        primal: S::from_f64(1e-5),
        dual: S::from_f64(1e-5),
        dual_relative: S::ZERO,
    }
}

/// Bounds at the wrong infinity leave no value for the row.
#[test]
fn a_bound_at_the_wrong_infinity_is_refused() {
    let mut example = Example::new(2, 0);
    for (lower, upper) in [
        (f64::INFINITY, f64::INFINITY),
        (f64::NEG_INFINITY, f64::NEG_INFINITY),
        (f64::NAN, 1.0),
    ] {
        (example.lower[1], example.upper[1]) = (lower, upper);
        let refused = Solver::new(example.qp(), example.instance(), tolerance());
        let bounds = Err(Error::Invalid(Argument::Bounds));
        assert_eq!(refused.map(|_| ()), bounds, "{lower} {upper}");
    }
}

/// Solution of a tick without any bound is −H⁻¹g, for infinite bounds and for the largest number, as exported; one-sided bounds
/// hold on their side.
#[test]
fn a_controller_without_bounds_solves_the_linear_system() {
    let hessian = [2.0_f32, 0.3, 0.3, 3.0];
    let outputs = [0.8_f32, -0.5];
    let shape = Shape {
        inputs: 2,
        outputs: 1,
        stages: 1,
        blocks: 1,
    };
    let params = [1.0_f32, 1.2, 0.7, 1.3];
    let qp = Qp::new(shape, &outputs).unwrap();
    let mut inverses = vec![0.0; shape.prepared_entries()];
    let prepared = Inversion::of_phases(&qp, &hessian, &params, &mut inverses, &mut [0.0; 2]);
    assert!(prepared);
    // −H⁻¹g for g = (1e3, −2e3)
    let free = [-3600.0 / 5.91, 4300.0 / 5.91].map(|u: f64| u as f32);
    let tick = |lower: &[f32], upper: &[f32]| {
        let controller = AdmmController {
            shape,
            states: 1,
            outputs: &outputs,
            linear: &[1.0, -2.0],
            free: &[1.0],
            lower,
            upper,
            params: &params,
            inverses: &inverses,
            switches: &[],
            tolerance: Tolerance {
                primal: 1e-3,
                dual: 1e-3,
                dual_relative: 0.0,
            },
        };
        controller.check().unwrap();
        let mut memory = vec![0.0; AdmmTick::<f32>::len(shape)];
        let mut tick = AdmmTick::new(shape, &mut memory).unwrap();
        let outcome = controller.tick(&mut tick, &[1e3], &[], 2000).unwrap();
        assert!(outcome.solved, "{outcome:?}");
        tick.inputs().to_vec()
    };
    for none in [f32::INFINITY, f32::MAX] {
        for (u, expected) in tick(&[-none; 3], &[none; 3]).iter().zip(free) {
            assert!((u - expected).abs() < 1e-2, "{u} {expected}");
        }
        let sided = tick(&[-5.0, -none, -none], &[none; 3]);
        assert_eq!(sided[0], -5.0);
        // −(g₁ + H₁₀·u₀)/H₁₁
        assert!((sided[1] - 2001.5 / 3.0).abs() < 1e-2, "{sided:?}");
    }
}

/// Rows that are free, or free on the side where they are, have no multiplier.
#[test]
fn free_rows_have_no_multiplier() {
    let mut example = Example::new(3, 2);
    (example.lower[0], example.upper[0]) = (-0.1, f64::INFINITY);
    (example.lower[4], example.upper[4]) = FREE;
    let params: Vec<f64> = vec![1.0, 1.1, 1.2, 0.9, 0.8, 1.3];
    let inverses = example.inverses(&params);
    let (qp, instance) = (example.qp(), example.instance());
    let solver = Solver::new(qp, instance, tolerance()).unwrap();
    let phases = Phases {
        params: &params,
        inverses: &inverses,
        switches: &[],
    };
    let (mut z, mut y, mut rows) = (vec![0.0; 5], vec![0.0; 5], vec![0.0; 5]);
    let mut scratch = vec![0.0; example.shape.scratch()];
    for _ in 0..200 {
        let phase = phases.at(example.shape, 0);
        solver.iterate(phase, &mut z, &mut y, &mut rows, &mut scratch);
        // y⁺ = R(t − z⁺): zero up to rounding where nothing is clipped.
        for i in 1..5 {
            assert!(y[i].abs() < 1e-14, "{i} {y:?}");
        }
    }
}
