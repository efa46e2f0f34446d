//! Known answers, then derivatives against differences; the guarantees about deadlines are in `deadline`.

mod deadline;

use std::vec;
use std::vec::Vec;

use super::*;
use crate::checkpoint::{Mark, Slots};
use crate::qp::*;
use crate::solve::{Borrowed, Cursor};
use crate::{Argument, Error, Point, Scalar, System};
use crate::{Map, Mode};

/// Double integrator with one input, bounded position and velocity, four stages and two blocks: small and not symmetric.
struct Example<S> {
    shape: Shape,
    hessian: Vec<S>,
    outputs: Vec<S>,
    free: Vec<S>,
    linear: Vec<S>,
    lower: Vec<S>,
    upper: Vec<S>,
}

fn list<S: Scalar>(values: impl IntoIterator<Item = f64>) -> Vec<S> {
    values.into_iter().map(S::from_f64).collect()
}

const STAGES: usize = 4;
const TOLERANCE: f64 = 1e-4;

impl<S: Scalar> Example<S> {
    fn new() -> Self {
        let shape = Shape {
            inputs: 1,
            outputs: 2,
            stages: STAGES,
            blocks: 2,
        };
        let h = 0.3;
        let hessian = (0..STAGES * STAGES).map(|k| {
            let (i, j) = (k / STAGES, k % STAGES);
            if i == j {
                2.0 + 0.3 * i as f64
            } else {
                0.2 / (1.0 + i.abs_diff(j) as f64)
            }
        });
        let outputs = (0..STAGES)
            .flat_map(|j| (0..STAGES - j).flat_map(move |k| [h * h * (k as f64 + 0.5), h]));
        let free = (0..STAGES).flat_map(|_| [1.0, 0.0]);
        let free = free.chain((1..=STAGES).flat_map(|k| [k as f64 * h, 1.0]));
        let linear = [-3.0, -2.0, -4.0, -1.0, 2.0, 3.5, 1.0, 0.5];
        let bounds = |sign: f64| {
            move |block: usize| {
                let (p, v) = [(0.4, 0.3), (-0.5, 0.2)][block];
                let inputs = core::iter::repeat_n(sign * 1.2, STAGES);
                let states = (1..=STAGES)
                    .flat_map(move |k| [sign * 0.9 - p - k as f64 * 0.3 * v, sign * 0.8 - v]);
                inputs.chain(states)
            }
        };
        Self {
            shape,
            hessian: list(hessian),
            outputs: list(outputs),
            free: list(free),
            linear: list(linear),
            lower: list((0..2).flat_map(bounds(-1.0))),
            upper: list((0..2).flat_map(bounds(1.0))),
        }
    }

    fn qp(&self) -> Qp<'_, S> {
        Qp::new(self.shape, &self.outputs).unwrap()
    }

    fn instance(&self) -> Instance<'_, S> {
        Instance {
            linear: &self.linear,
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    fn inverses(&self, params: &[S]) -> Vec<S> {
        let phases = params.len() / self.shape.phase_params();
        let mut inverses = vec![S::ZERO; phases * self.shape.prepared_entries()];
        let mut row = vec![S::ZERO; STAGES];
        assert!(Inversion::of_phases(
            &self.qp(),
            &self.hessian,
            params,
            &mut inverses,
            &mut row
        ));
        inverses
    }

    /// Three different phases.
    fn params(&self) -> Vec<S> {
        let phase = |p: usize| {
            let weights = (0..12).map(move |i| 1.0 + 0.15 * i as f64 + 0.4 * p as f64);
            weights.chain([1.0 + 0.2 * p as f64])
        };
        list((0..3).flat_map(phase))
    }
}

fn tolerance<S: Scalar>() -> Tolerance<S> {
    Tolerance {
        primal: S::from_f64(TOLERANCE),
        dual: S::from_f64(TOLERANCE),
        dual_relative: S::ZERO,
    }
}

const SWITCHES: [usize; 2] = [3, 7];

/// N\* and, if there are slots, its gradient.
fn stopping(example: &Example<f64>, params: &[f64], slots: usize) -> (f64, Vec<f64>) {
    let inverses = example.inverses(params);
    let system = Admm::new(
        example.qp(),
        example.instance(),
        tolerance(),
        &inverses,
        &SWITCHES,
    )
    .unwrap();
    let dims = System::<f64>::dims(&system);
    let plan = Map.until(0.0).at_most(500).mode(Mode::Adjoint);
    let mut rows = vec![0.0; dims.rows_len(1)];
    let mut param_rows = vec![0.0; dims.params_len()];
    let mut store = vec![0.0; dims.slots_len(1, slots, slots & 1 == 0)];
    let mut marks = vec![Mark::EMPTY; slots];
    let start = vec![0.0; dims.states];
    let mut workspace = Borrowed {
        rows: &mut rows,
        params: &mut param_rows,
        marks: &mut marks,
        slots: Slots::Memory(&mut store),
        cursor: &mut Cursor::new(),
    };
    let s = plan
        .sensitivity(&system, params, &start, &mut workspace)
        .unwrap();
    (s.stop.steps, s.steps_gradient().to_vec())
}

#[test]
fn an_inverse_is_an_inverse() {
    let example = Example::<f64>::new();
    let params = example.params();
    let inverses = example.inverses(&params);
    let mut matrix = vec![0.0; 16];
    example
        .qp()
        .normal_matrix(&example.hessian, &params[..12], &mut matrix);
    for i in 0..4 {
        for j in 0..4 {
            let sum: f64 = (0..4)
                .map(|k| matrix[4 * i + k] * inverses[4 * k + j])
                .sum();
            assert!(
                (sum - f64::from(u8::from(i == j))).abs() < 1e-13,
                "{i} {j} {sum}"
            );
        }
    }
    for mut indefinite in [
        [1.0, 2.0, 2.0, 1.0],
        [f64::NAN, 0.0, 0.0, 1.0],
        [1.0, 0.0, 0.0, f64::INFINITY],
    ] {
        let mut inversion = Inversion::new(2);
        assert!(
            !inversion.advance(&mut indefinite, &mut [0.0; 2], 9) && inversion.failed(),
            "{indefinite:?}"
        );
    }
}

#[test]
fn the_solution_meets_the_conditions_of_optimality() {
    let example = Example::<f64>::new();
    let params = example.params();
    let inverses = example.inverses(&params);
    let phases = Phases {
        params: &params,
        inverses: &inverses,
        switches: &SWITCHES,
    };
    phases.check(example.shape).unwrap();
    let tight = Tolerance {
        primal: 1e-11,
        dual: 1e-11,
        dual_relative: 0.0,
    };
    let solver = Solver::new(example.qp(), example.instance(), tight).unwrap();
    let (mut z, mut y, mut rows) = (vec![0.0; 24], vec![0.0; 24], vec![0.0; 24]);
    let mut scratch = vec![0.0; example.shape.scratch()];
    let mut iterations = 0;
    while solver
        .iterate(
            phases.at(example.shape, iterations),
            &mut z,
            &mut y,
            &mut rows,
            &mut scratch,
        )
        .ratio()
        > 1.0
    {
        iterations += 1;
        assert!(iterations < 5000);
    }
    let mut touched = 0;
    for block in 0..2 {
        let (z, y, g) = (
            &z[12 * block..][..12],
            &y[12 * block..][..12],
            &example.linear[4 * block..][..4],
        );
        let u = &rows[12 * block..][..4];
        let mut gty = [0.0; 4];
        example.qp().transposed(y, &mut gty);
        for i in 0..4 {
            let hu: f64 = (0..4).map(|j| example.hessian[4 * i + j] * u[j]).sum();
            assert!((hu + g[i] + gty[i]).abs() < 1e-9, "{block} {i}");
        }
        for i in 0..12 {
            let (lo, hi) = (example.lower[12 * block + i], example.upper[12 * block + i]);
            assert!((z[i] - rows[12 * block + i]).abs() < 1e-10);
            // Complementarity: the sign of a multiplier matches its active bound.
            if y[i] > 1e-7 {
                assert!((z[i] - hi).abs() < 1e-9);
                touched += 1;
            } else if y[i] < -1e-7 {
                assert!((z[i] - lo).abs() < 1e-9);
                touched += 1;
            }
        }
    }
    assert!(
        touched >= 2,
        "{touched}: the bounds should be active in the example"
    );
}

#[test]
fn gradient_matches_finite_differences() {
    let example = Example::<f64>::new();
    let params = example.params();
    let (steps, gradient) = stopping(&example, &params, 6);
    assert!(steps > 8.0, "{steps}: the run should reach the last phase");
    let largest = gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
    for (j, &exact) in gradient.iter().enumerate() {
        let at = |d: f64| {
            let mut moved = params.clone();
            moved[j] += d;
            stopping(&example, &moved, 1).0
        };
        let h = 1e-6;
        let difference = (at(h) - at(-h)) / (2.0 * h);
        assert!(
            (difference - exact).abs() < 1e-6 * largest,
            "{j}: {difference} {exact}"
        );
    }
}

#[test]
fn the_gradient_has_the_same_bits_for_any_number_of_slots() {
    let example = Example::<f64>::new();
    let bits = |slots| {
        let (steps, gradient) = stopping(&example, &example.params(), slots);
        let bits = gradient.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        (steps.to_bits(), bits)
    };
    let one = bits(1);
    for slots in [2, 3, 5, 8, 40] {
        assert!(bits(slots) == one, "{slots}");
    }
}

#[test]
fn projected_momentum_is_differentiated_exactly() {
    let example = Example::<f64>::new();
    let shape = Shape {
        outputs: 0,
        ..example.shape
    };
    let (lower, upper) = ([-1.2; 8], [1.2; 8]);
    let instance = Instance {
        linear: &example.linear,
        lower: &lower,
        upper: &upper,
    };
    let run = |theta: [f64; 2]| {
        let system =
            ProjectedMomentum::new(shape, &example.hessian, instance, tolerance()).unwrap();
        let dims = System::<f64>::dims(&system);
        let (mut rows, mut param_rows) = (vec![0.0; dims.rows_len(1)], [0.0; 4]);
        let mut store = vec![0.0; dims.slots_len(1, 4, false)];
        let mut marks = [Mark::EMPTY; 4];
        let mut workspace = Borrowed {
            rows: &mut rows,
            params: &mut param_rows,
            marks: &mut marks,
            slots: Slots::Memory(&mut store),
            cursor: &mut Cursor::new(),
        };
        let plan = Map.until(0.0).at_most(500).mode(Mode::Adjoint);
        let s = plan
            .sensitivity(&system, &theta, &[0.0; 16], &mut workspace)
            .unwrap();
        // At the stop: an active bound where the gradient pushes against it, otherwise a zero gradient.
        for (i, x) in s.state[8..].iter().enumerate() {
            let h = &example.hessian[4 * (i % 4)..][..4];
            let block = &s.state[8 + 4 * (i / 4)..][..4];
            let g = example.linear[i] + h.iter().zip(block).map(|(h, x)| h * x).sum::<f64>();
            let free = x.abs() < 1.2;
            assert!(
                if free { g.abs() < 1e-3 } else { g * x < 0.0 },
                "{i} {x} {g}"
            );
        }
        (s.stop.steps, [s.steps_gradient()[0], s.steps_gradient()[1]])
    };
    let theta = [0.21, 0.17];
    let (_, gradient) = run(theta);
    for j in 0..2 {
        let at = |d: f64| {
            let mut moved = theta;
            moved[j] += d;
            run(moved).0
        };
        let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert!(
            (difference - gradient[j]).abs() < 1e-6 * gradient[j].abs().max(1.0),
            "{j}: {difference} {gradient:?}"
        );
    }
}

#[test]
fn knobs_and_back() {
    let base: Vec<f64> = (0..12).map(|i| 0.5 + 0.1 * f64::from(i)).collect();
    let basis: Vec<f64> = (0..24).map(|i| f64::sin(f64::from(i))).collect();
    let knobs = Knobs::new(&base, &basis, 2).unwrap();
    assert_eq!((knobs.per_phase(), knobs.len()), (2, 6));
    assert!((Knobs::logit(1.5_f64) - 3.0_f64.ln()).abs() < 1e-15);
    let theta = [0.2, -0.4, 1.0, -0.3, 0.1, -0.5];
    let bar: Vec<f64> = (0..26).map(|i| f64::cos(f64::from(i))).collect();
    let value = |theta: &[f64]| {
        let mut params = vec![0.0; 26];
        knobs.params(theta, &mut params);
        params
    };
    let mut found = [0.0; 6];
    knobs.pull(&value(&theta), &bar, &mut found);
    for j in 0..6 {
        let at = |d: f64| {
            let mut moved = theta;
            moved[j] += d;
            value(&moved)
                .iter()
                .zip(&bar)
                .map(|(a, b)| a * b)
                .sum::<f64>()
        };
        let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert!(
            (difference - found[j]).abs() < 1e-8,
            "{j} {difference} {}",
            found[j]
        );
    }
}
