//! Gradients of the stopping time of ADMM with every kind of set, against differences: by α, and by R, tied where rows are
//! coupled.

use std::vec;
use std::vec::Vec;

use super::conditions::Example;
use crate::checkpoint::{Mark, Slots};
use crate::qp::*;
use crate::solve::{Borrowed, Cursor};
use crate::system::{Bar, Seed};
use crate::{Map, Mode, Point, System};

const SWITCHES: [usize; 1] = [3];

fn tolerance() -> Tolerance<f64> {
    Tolerance {
        primal: 1e-5,
        dual: 1e-5,
        dual_relative: 0.0,
    }
}

/// N\* and its gradient.
fn stopping<P: Projection<f64>>(example: &Example, params: &[f64], sets: P) -> (f64, Vec<f64>) {
    let inverses = example.inverses(params);
    let (qp, instance) = (example.qp(), example.instance());
    let system = Admm::with(qp, instance, tolerance(), &inverses, &SWITCHES, sets).unwrap();
    let dims = System::<f64>::dims(&system);
    let (mut rows, mut param_rows) = (vec![0.0; dims.rows_len(1)], vec![0.0; dims.params_len()]);
    let mut store = vec![0.0; dims.slots_len(1, 5, false)];
    let mut marks = vec![Mark::EMPTY; 5];
    let start = vec![0.0; dims.states];
    let mut workspace = Borrowed {
        rows: &mut rows,
        params: &mut param_rows,
        marks: &mut marks,
        slots: Slots::Memory(&mut store),
        cursor: &mut Cursor::new(),
    };
    let plan = Map.until(0.0).at_most(2000).mode(Mode::Adjoint);
    let found = plan
        .sensitivity(&system, params, &start, &mut workspace)
        .unwrap();
    (found.stop.steps, found.steps_gradient().to_vec())
}

/// Compares with differences; every list of `tied` rows moves together, in one phase.
fn differences<P: Projection<f64>>(name: &str, example: &Example, sets: P, tied: &[&[usize]]) {
    let m = example.shape.rows();
    let phase = |p: usize| {
        let mut weights: Vec<f64> = (0..m)
            .map(|i| 0.8 + 0.1 * i as f64 + 0.3 * p as f64)
            .collect();
        for rows in tied {
            for &i in *rows {
                weights[i] = weights[rows[0]];
            }
        }
        weights.push(1.1 + 0.2 * p as f64);
        weights
    };
    let params: Vec<f64> = (0..2).flat_map(phase).collect();
    let (steps, gradient) = stopping(example, &params, sets);
    assert!(steps > 5.0, "{name}: {steps}, the run should reach phase 1");
    let mut directions: Vec<Vec<usize>> = vec![vec![m]];
    directions.extend(tied.iter().map(|rows| rows.to_vec()));
    let alone = |i: &usize| !tied.iter().any(|rows| rows.contains(i));
    directions.extend((0..m).filter(alone).map(|i| vec![i]));
    let largest = gradient.iter().fold(0.0, |l: f64, g| l.max(g.abs()));
    for p in 0..2 {
        for rows in &directions {
            let places = || rows.iter().map(|i| p * (m + 1) + i);
            let exact: f64 = places().map(|k| gradient[k]).sum();
            let at = |d: f64| {
                let mut moved = params.clone();
                places().for_each(|k| moved[k] += d);
                stopping(example, &moved, sets).0
            };
            // Fourth order with a long step. N* carries rounding of 1e-11, which a step of 1e-6 would turn into errors of
            // 1e-6 and more; they fall as 1/h.
            let h = 1e-4;
            let near = 8.0 * (at(h) - at(-h));
            let difference = (near - at(2.0 * h) + at(-2.0 * h)) / (12.0 * h);
            assert!(
                (difference - exact).abs() < 1e-6 * largest,
                "{name} {p} {rows:?}: {difference} {exact}, largest {largest}"
            );
        }
    }
}

#[test]
fn gradients_match_differences() {
    let mut inputs = Example::new(3, 0);
    inputs.lower = vec![0.3, -0.2, 0.1];
    let all: &[usize] = &[0, 1, 2];
    differences("ball", &inputs, Ball { radius: 0.8 }, &[all]);
    differences("cone", &inputs, Cone, &[all]);
    let mut example = Example::new(3, 4);
    for i in 3..7 {
        (example.lower[i], example.upper[i]) = (-0.05, 0.05);
    }
    for i in 0..3 {
        (example.lower[i], example.upper[i]) = (-0.4, 0.4);
    }
    let quadratic = SoftBounds::quadratic(0.9);
    differences("quadratic", &example, quadratic, &[]);
    differences("capped", &example, SoftBounds::capped(0.5), &[]);
    let cap = 0.35;
    differences("Huber", &example, SoftBounds { cap, ..quadratic }, &[]);
    let mut sided = Example::new(3, 4);
    (sided.lower[0], sided.upper[5]) = (-0.1, 0.05);
    differences("infinite bounds", &sided, Clip, &[]);
    let ball = Set::Ball(Ball { radius: 0.5 });
    let groups = [
        (1, Set::Clip),
        (2, ball),
        (3, Set::Cone),
        (1, Set::Soft(quadratic)),
    ];
    let tied: [&[usize]; 2] = [&[1, 2], &[3, 4, 5]];
    differences("groups", &example, Sets(&groups), &tied);
}

/// [`Sets`] with bounds only is [`Clip`], bit by bit: the pass that projects and the pass that does not agree.
#[test]
fn both_passes_have_the_same_bits() {
    let mut example = Example::new(3, 4);
    example.lower.fill(-0.2);
    example.upper.fill(0.25);
    let params: Vec<f64> = (0..16).map(|i| 0.9 + 0.07 * f64::from(i)).collect();
    let (plain, groups) = (Clip, [(2, Set::Clip), (5, Set::Clip)]);
    let bits = |(steps, gradient): (f64, Vec<f64>)| {
        let bits = gradient.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        (steps.to_bits(), bits)
    };
    let one = bits(stopping(&example, &params, plain));
    assert!(one == bits(stopping(&example, &params, Sets(&groups))));
}

/// One step, by every entry of x and by α, for a seed on the state and on J: no entry of the pullback hides behind a small
/// stopping-time gradient.
#[test]
fn the_pullback_of_one_step_matches_differences() {
    let mut example = Example::new(3, 4);
    example.lower.fill(-0.1);
    example.upper.fill(0.15);
    let ball = Set::Ball(Ball { radius: 0.3 });
    let soft = Set::Soft(SoftBounds::capped(0.4));
    let groups = [(1, soft), (2, ball), (3, Set::Cone), (1, Set::Clip)];
    let params = [1.1, 1.3, 1.3, 0.9, 0.9, 0.9, 1.7, 1.45];
    let inverses = example.inverses(&params);
    let (qp, instance) = (example.qp(), example.instance());
    let system = Admm::with(qp, instance, tolerance(), &inverses, &[], Sets(&groups)).unwrap();
    let x: Vec<f64> = (0..14).map(|i| 0.9 * (1.9 * f64::from(i)).sin()).collect();
    let seed: Vec<f64> = (0..14).map(|i| (0.7 * f64::from(i)).cos()).collect();
    let dims = System::<f64>::dims(&system);
    for weight in [0.0, 1.0] {
        let value = |x: &[f64], theta: &[f64]| {
            let (mut next, mut tape) = (vec![0.0; 14], vec![0.0; 7]);
            let mut scratch = vec![0.0; dims.scratch];
            let at = Point { theta, x, t: 0.0 };
            let reading = system.rate(at, &mut next, &mut tape, &mut scratch);
            let sum: f64 = next.iter().zip(&seed).map(|(a, b)| a * b).sum();
            (sum + weight * reading.criterion, tape)
        };
        let (_, tape) = value(&x, &params);
        let (mut x_bar, mut theta_bar) = (vec![0.0; 14], vec![0.0; 8]);
        let mut scratch = vec![f64::NAN; dims.scratch];
        let at = Point {
            theta: &params,
            x: &x,
            t: 0.0,
        };
        let seeds = Seed {
            rate: &seed,
            criterion: weight,
            loss: 0.0,
        };
        let bar = Bar::new(&mut theta_bar, &mut x_bar);
        system.pullback(at, &tape, seeds, bar, &mut scratch);
        let h = 1e-6;
        for (j, exact) in x_bar.iter().enumerate() {
            let moved = |d: f64| {
                let mut x = x.clone();
                x[j] += d;
                value(&x, &params).0
            };
            let difference = (moved(h) - moved(-h)) / (2.0 * h);
            assert!(
                (difference - exact).abs() < 1e-7,
                "{j}: {difference} {exact}"
            );
        }
        let moved = |d: f64| {
            let mut theta = params;
            theta[7] += d;
            value(&x, &theta).0
        };
        let difference = (moved(h) - moved(-h)) / (2.0 * h);
        assert!(
            (difference - theta_bar[7]).abs() < 1e-7,
            "α: {difference} {}",
            theta_bar[7]
        );
    }
}
