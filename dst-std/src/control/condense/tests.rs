//! W and M against dense condensing in the inputs, costs against simulation, and the spectrum of W in single precision.

use super::*;
use crate::control::program::Program;
use crate::control::{OutputBound, Reference, Softness, StateBound, Terminal};
use crate::random::normal;
use dst_core::Scalar;

macro_rules! model {
    ($name:literal) => {
        Model::from_json(include_str!(concat!(
            "../../../tests/models/",
            $name,
            ".json"
        )))
        .unwrap()
    };
}

/// A stable plant with everything that a model can have.
fn everything(seed: u64, terminal: Terminal) -> Model {
    let (nx, nu) = (3, 2);
    let number = |k: usize| normal(seed, k as u64);
    let rows = |rows: usize, columns: usize, from: usize, size: f64| -> Vec<Vec<f64>> {
        let entry = |i: usize, j: usize| size * number(from + i * columns + j);
        let row = |i: usize| (0..columns).map(|j| entry(i, j)).collect();
        (0..rows).map(row).collect()
    };
    let square = |n: usize, from: usize, least: f64| -> Vec<Vec<f64>> {
        let m = Matrix::from_fn(n, n, |i, j| number(from + i * n + j));
        let m = m.times(&m.transposed());
        let entry = |i: usize, j: usize| m.at(i, j) + if i == j { least } else { 0.0 };
        (0..n)
            .map(|i| (0..n).map(|j| entry(i, j)).collect())
            .collect()
    };
    Model {
        a: rows(nx, nx, 0, 0.3),
        b: rows(nx, nu, 20, 1.0),
        q: square(nx, 40, 0.0).into(),
        r: square(nu, 60, 0.3).into(),
        terminal,
        references: vec![Reference {
            state: 2,
            range: Limits::between(-1.0, 1.0),
        }],
        inputs: vec![Limits::between(-1.0, 2.0), Limits::FREE],
        rates: vec![Limits::FREE, Limits::between(-0.2, 0.3)],
        states: vec![StateBound::from((0, -1.0, f64::INFINITY))],
        outputs: vec![OutputBound {
            c: vec![1.0, -2.0, 0.5],
            limits: Limits::between(-2.0, 1.0),
            soft: Softness::Hard,
            name: None,
        }],
        start: vec![1.0; 3].into(),
        horizon: 6,
        ..Model::default()
    }
}

fn models() -> Vec<Model> {
    let given = Terminal::Given(vec![3.0, 0.0, 1.0].into());
    let nothing = Terminal::Given(vec![0.0; 3].into());
    (0..4)
        .map(|seed| everything(seed, Terminal::Riccati))
        .chain([everything(5, given), everything(6, nothing)])
        .collect()
}

/// W and M of an ADMM program, rows stage by stage.
fn dense(program: &Program<f64>, skip: usize) -> (Matrix, Matrix) {
    let shape = program.shape;
    let (n, outputs, kinds) = (
        shape.variables(),
        shape.outputs,
        shape.inputs + shape.outputs,
    );
    let m = kinds * shape.stages;
    let place = |j: usize| match (j / kinds, j % kinds) {
        (stage, kind) if kind < shape.inputs => stage * shape.inputs + kind,
        (stage, kind) => n + stage * outputs + kind - shape.inputs,
    };
    let rows = program.constraint_rows();
    let g = Matrix::from_fn(m, n, |i, j| rows[place(i)][j]);
    let h = Matrix::from_fn(n, n, |i, j| program.hessian[i * n + j]);
    let f = Matrix::from_fn(n, program.states, |i, j| {
        program.linear.get(j * n + i).copied().unwrap_or(0.0)
    });
    let free = Matrix::from_fn(m, program.states, |i, j| match place(i).checked_sub(n) {
        Some(row) => program.free[j * outputs * shape.stages + row],
        None => 0.0,
    });
    // The inverse of a positive definite matrix without row exchanges does not depend on the units of the variables.
    let inverse = h.inverse().unwrap();
    let w = g.times(&inverse).times(&g.transposed());
    let m = free.minus(&g.times(&inverse).times(&f));
    // Identity rows of v are not rows of the active set.
    let kept: Vec<usize> = (0..w.rows).filter(|j| j % kinds >= skip).collect();
    (
        Matrix::from_fn(kept.len(), kept.len(), |i, j| w.at(kept[i], kept[j])),
        Matrix::from_fn(kept.len(), m.columns, |i, j| m.at(kept[i], j)),
    )
}

fn tables(active: &ActiveProgram<f64>) -> (Matrix, Matrix) {
    let m = active.rows();
    (
        Matrix::from_fn(m, m, |i, j| active.gram[i * m + j]),
        Matrix::from_fn(m, active.parameters, |i, j| active.response[j * m + i]),
    )
}

/// The same model with hard bounds, whose W is that of the plant alone.
fn hardened(model: &Model) -> Model {
    let mut hard = model.clone();
    hard.states.iter_mut().for_each(|s| s.soft = Softness::Hard);
    hard.outputs
        .iter_mut()
        .for_each(|o| o.soft = Softness::Hard);
    hard
}

#[test]
fn default_soft_bounds_yield_by_a_known_part() {
    let model = model!("pendulum");
    let (soft, hard) = [&model, &hardened(&model)]
        .map(|m| tables(&m.active_program().unwrap()).0)
        .into();
    let kinds = model.active_program().unwrap().kinds;
    let largest = |kind: usize| {
        let own = (0..hard.rows).filter(|j| j % kinds == kind);
        own.fold(0.0, |m: f64, j| m.max(hard.at(j, j)))
    };
    for i in 0..hard.rows {
        for j in 0..hard.rows {
            let (w, found) = (hard.at(i, j), soft.at(i, j));
            let soft_row = i == j && i % kinds >= 1;
            let part = if soft_row {
                1e-4 * (w * largest(i % kinds)).sqrt()
            } else {
                0.0
            };
            assert!(
                (found - w - part).abs() <= 1e-12 * w.abs(),
                "{i} {j}: {found} {w}"
            );
        }
    }
}

/// The largest differences, relative to √(W_ii·W_jj) and to the largest entry of the column.
fn compare(found: &(Matrix, Matrix), exact: &(Matrix, Matrix)) -> (f64, f64) {
    let m = exact.0.rows;
    let scale = |j: usize| match exact.0.at(j, j) > 0.0 {
        true => 1.0 / exact.0.at(j, j).sqrt(),
        false => 1.0,
    };
    let scale: Vec<f64> = (0..m).map(scale).collect();
    let gram = found
        .0
        .scaled(&scale, &scale)
        .distance(&exact.0.scaled(&scale, &scale));
    let ones = vec![1.0; exact.1.columns];
    let (found, exact) = (found.1.scaled(&scale, &ones), exact.1.scaled(&scale, &ones));
    (gram, found.distance(&exact) / exact.largest())
}

#[test]
fn w_and_m_are_those_of_dense_condensing() {
    for (i, model) in models().iter().enumerate() {
        let active = hardened(model).active_program().unwrap();
        assert_eq!((active.kinds, active.parameters), (5, 3 + 1 + 2));
        let (gram, response) = compare(&tables(&active), &dense(&model.program().unwrap(), 0));
        assert!(gram < 1e-10 && response < 1e-10, "{i}: {gram} {response}");
    }
    for model in [model!("masses"), model!("units"), model!("stiff")] {
        let active = hardened(&model).active_program().unwrap();
        let (gram, response) = compare(&tables(&active), &dense(&model.program().unwrap(), 0));
        assert!(gram < 1e-10 && response < 1e-10, "{gram} {response}");
    }
}

#[test]
fn admm_gets_the_same_rows_of_an_unstable_plant() {
    for model in [
        model!("pendulum"),
        model!("double_pendulum"),
        model!("unstable"),
    ] {
        let active = hardened(&model).active_program().unwrap();
        let program = model.program().unwrap();
        assert_eq!(program.shape.outputs, active.kinds);
        let nu = active.inputs;
        let (gram, response) = compare(&tables(&active), &dense(&program, nu));
        assert!(gram < 1e-12 && response < 1e-12, "{gram} {response}");
        // The map to the first inputs is −K.
        let map = model.input_map().unwrap().unwrap();
        let (_, m) = tables(&active);
        assert!((0..nu * 2).all(|k| map[k] == m.at(k / active.parameters, k % active.parameters)));
    }
    assert_eq!(model!("masses").input_map().unwrap(), None);
}

/// The cost of inputs by simulation.
fn cost(checked: &Checked, horizon: usize, p: &[f64], u: &[f64]) -> f64 {
    let (nx, nu) = (checked.b.rows, checked.b.columns);
    let mut x = p[..nx].to_vec();
    let r = product(&checked.references, &p[nx..nx + checked.references.columns]);
    let r = if r.is_empty() { vec![0.0; nx] } else { r };
    let mut sum = 0.0;
    for (k, u) in u.chunks_exact(nu).enumerate() {
        let next = product(&checked.a, &x)
            .into_iter()
            .zip(product(&checked.b, u));
        x = next.map(|(a, b)| a + b).collect();
        let weight = if k + 1 == horizon {
            &checked.terminal
        } else {
            &checked.q
        };
        let e: Vec<f64> = x.iter().zip(&r).map(|(x, r)| x - r).collect();
        sum += 0.5 * (dot(&e, &product(weight, &e)) + dot(u, &product(&checked.r, u)));
    }
    sum
}

/// The rows of inputs in the unconstrained solution.
fn free_inputs(active: &ActiveProgram<f64>, p: &[f64]) -> Vec<f64> {
    let s = product(&tables(active).1, p);
    let stages = s.chunks_exact(active.kinds);
    stages
        .flat_map(|stage| stage[..active.inputs].to_vec())
        .collect()
}

#[test]
fn the_unconstrained_solution_is_the_cheapest_by_simulation() {
    let mut all = models();
    all.extend([
        model!("pendulum"),
        model!("double_pendulum"),
        model!("stiff"),
    ]);
    for (i, model) in all.iter().enumerate() {
        let (checked, active) = (model.check().unwrap(), model.active_program().unwrap());
        let p: Vec<f64> = (0..active.parameters)
            .map(|j| normal(9, j as u64))
            .collect();
        let best = free_inputs(&active, &p);
        let at = |u: &[f64]| cost(&checked, model.horizon, &p, u);
        let least = at(&best);
        for trial in 0..10 {
            let step: Vec<f64> = (0..best.len()).map(|j| normal(trial, j as u64)).collect();
            let moved = |h: f64| {
                let u: Vec<f64> = best.iter().zip(&step).map(|(u, s)| u + h * s).collect();
                at(&u) - least
            };
            // The cost is quadratic: without a linear part both sides are the same, up to rounding of the sums.
            let (right, left) = (moved(1.0), moved(-1.0));
            assert!(right > 0.0 && left > 0.0, "{i}: {right} {left}");
            assert!(
                (right - left).abs() < 1e-8 * (right + left),
                "{i}: {right} {left}"
            );
        }
    }
}

#[test]
fn the_least_cost_is_that_of_the_regulator() {
    for model in [
        model!("pendulum"),
        model!("double_pendulum"),
        model!("unstable"),
        model!("masses"),
    ] {
        let (checked, active) = (model.check().unwrap(), model.active_program().unwrap());
        let p = model.draw(3, 0);
        let least = cost(&checked, model.horizon, &p, &free_inputs(&active, &p));
        // The first gain again and again, for 5000 stages.
        let nu = active.inputs;
        let gain = Matrix::from_fn(nu, active.parameters, |i, j| tables(&active).1.at(i, j));
        let (mut x, mut sum) = (p.clone(), 0.0);
        for _ in 0..5000 {
            let u = product(&gain, &x);
            let next = product(&checked.a, &x)
                .into_iter()
                .zip(product(&checked.b, &u));
            x = next.map(|(a, b)| a + b).collect();
            sum += 0.5 * (dot(&x, &product(&checked.q, &x)) + dot(&u, &product(&checked.r, &u)));
        }
        assert!((sum - least).abs() < 1e-9 * sum, "{sum} {least}");
    }
}

/// Smallest and largest eigenvalue of W, rows of the first kinds scaled to one.
fn spectrum<S: Scalar>(active: &ActiveProgram<S>, kinds: usize) -> (f64, f64) {
    let m = active.rows();
    let kept: Vec<usize> = (0..m).filter(|j| j % active.kinds < kinds).collect();
    let scaled = Matrix::from_fn(kept.len(), kept.len(), |i, j| {
        let (i, j) = (kept[i], kept[j]);
        active.gram[i * m + j].to_f64() * active.scale[i].to_f64() * active.scale[j].to_f64()
    });
    let values = scaled.symmetric_eigenvalues();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.into_iter().fold(0.0, f64::max))
}

#[test]
fn w_is_positive_in_single_precision() {
    for (name, model) in [
        ("pendulum", model!("pendulum")),
        ("double pendulum", model!("double_pendulum")),
        ("unstable", model!("unstable")),
        ("stiff", model!("stiff")),
        ("masses", model!("masses")),
        ("units", model!("units")),
        ("integrators", model!("integrators")),
    ] {
        let active = model.active_program().unwrap();
        let small = active.cast::<f32>();
        let rounding = active.rows() as f64 * f64::from(f32::EPSILON);
        for kinds in [active.inputs, active.kinds] {
            let (double, single) = (spectrum(&active, kinds), spectrum(&small, kinds));
            println!(
                "{name}, {kinds} of {} kinds: {double:?} {single:?}",
                active.kinds
            );
            assert!(double.0 > -1e-13 * double.1, "{name}: {double:?}");
            assert!(single.0 > -rounding, "{name}: {single:?}");
            let moved = (double.0 - single.0).abs().max((double.1 - single.1).abs());
            assert!(moved < rounding, "{name}: {double:?} {single:?}");
        }
        println!("{name}: caps {:?}", active.caps);
    }
}

#[test]
fn units_do_not_change_the_scaled_program() {
    let (plain, units) = (
        model!("masses").active_program().unwrap(),
        model!("units").active_program().unwrap(),
    );
    let m = plain.rows();
    let correlation = |p: &ActiveProgram<f64>| {
        Matrix::from_fn(m, m, |i, j| p.gram[i * m + j] * p.scale[i] * p.scale[j])
    };
    assert!(correlation(&plain).distance(&correlation(&units)) < 1e-9);
}

#[test]
fn rows_of_zeros_have_a_scale_of_one_and_lifts_are_on_the_diagonal() {
    let model = model!("integrators");
    let active = model.active_program().unwrap();
    assert_eq!(active.lifts, [0.0, 0.0, 1e-4]);
    assert!(active.caps.is_empty());
    assert_eq!(active.soft, [2]);
    let m = active.rows();
    for j in 0..m {
        let expected = 1.0 / active.gram[j * m + j].sqrt();
        assert!((active.scale[j] - expected).abs() <= 1e-15 * expected);
    }
    // Two stages pass until the input moves the first state.
    let mut delayed = model.clone();
    delayed.b = vec![vec![0.0], vec![0.0], vec![0.1]];
    delayed.a[0][2] = 0.0;
    delayed.states = vec![StateBound {
        soft: Softness::Hard,
        ..StateBound::from((0, -1.0, 1.0))
    }];
    let active = delayed.active_program().unwrap();
    let m = active.rows();
    for stage in 0..4 {
        let j = 2 * stage + 1;
        let zero = active.gram[j * m..(j + 1) * m].iter().all(|w| *w == 0.0);
        assert_eq!(zero, stage < 2, "stage {stage}");
        assert_eq!(active.scale[j] == 1.0, stage < 2, "stage {stage}");
    }
}
