//! Known answers first, then derivatives against differences, then the promises about deadlines.

use std::vec;
use std::vec::Vec;

use super::*;
use crate::checkpoint::{Mark, Slots};
use crate::{Argument, Error, Point, Scalar, System};
use crate::{Euler, Integrator, Mode, Workspace, params_len, rows_len, slots_len};

/// A double integrator with one input, position and velocity bounded, four stages, two blocks: small and not symmetric.
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
        let mut inverses = vec![S::ZERO; phases * self.shape.inverse_entries()];
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

    /// Three phases that differ.
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

/// N\* and, with slots, its gradient.
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
    let plan = Euler::new(1.0).until(0.0).at_most(500).mode(Mode::Adjoint);
    let mut rows = vec![0.0; rows_len(dims, 1)];
    let mut param_rows = vec![0.0; params_len(dims)];
    let mut store = vec![0.0; slots_len(dims, 1, slots, slots & 1 == 0)];
    let mut marks = vec![Mark::EMPTY; slots];
    let start = vec![0.0; dims.states];
    let workspace = Workspace {
        rows: &mut rows,
        params: &mut param_rows,
        marks: &mut marks,
        store: Slots::new(&mut store),
    };
    let s = plan
        .sensitivity(&system, params, &start, workspace)
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
            // Complementarity: a multiplier has the side of its bound.
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
        "{touched}: the example should meet its bounds"
    );
}

#[test]
fn the_gradient_is_that_of_differences() {
    let example = Example::<f64>::new();
    let params = example.params();
    let (steps, gradient) = stopping(&example, &params, 6);
    assert!(steps > 8.0, "{steps}: the last phase should take part");
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
        let (mut rows, mut param_rows) = (vec![0.0; rows_len(dims, 1)], [0.0; 4]);
        let mut store = vec![0.0; slots_len(dims, 1, 4, false)];
        let mut marks = [Mark::EMPTY; 4];
        let workspace = Workspace {
            rows: &mut rows,
            params: &mut param_rows,
            marks: &mut marks,
            store: Slots::new(&mut store),
        };
        let plan = Euler::new(1.0).until(0.0).at_most(500).mode(Mode::Adjoint);
        let s = plan
            .sensitivity(&system, &theta, &[0.0; 16], workspace)
            .unwrap();
        // At the stop: bounds where the gradient pushes, zero gradient elsewhere.
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

fn controller<'a, S: Scalar>(
    example: &'a Example<S>,
    params: &'a [S],
    inverses: &'a [S],
    bounds: &'a (Vec<S>, Vec<S>),
) -> Controller<'a, S> {
    Controller {
        shape: example.shape,
        states: 2,
        outputs: &example.outputs,
        linear: &[],
        free: &example.free,
        lower: &bounds.0,
        upper: &bounds.1,
        params,
        inverses,
        switches: &SWITCHES,
        tolerance: tolerance(),
    }
}

fn bounds<S: Scalar>() -> (Vec<S>, Vec<S>) {
    (list([-1.2, -0.9, -0.8]), list([1.2, 0.9, 0.8]))
}

#[test]
fn a_tick_is_the_system_until_its_stop() {
    let example = Example::<f64>::new();
    let (params, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&params);
    let controller = controller(&example, &params, &inverses, &bounds);
    controller.check().unwrap();
    let mut memory = vec![0.0; Tick::<f64>::len(example.shape)];
    let mut tick = Tick::new(example.shape, &mut memory).unwrap();
    let x = [0.4, 0.3, -0.5, 0.2];
    let outcome = controller
        .tick(&mut tick, &x, &example.linear, 500)
        .unwrap();
    assert!(outcome.solved && outcome.ratio <= 1.0);
    for (a, b) in tick.instance().lower.iter().zip(&example.lower) {
        assert!((a - b).abs() < 1e-15, "{a} {b}");
    }
    let (steps, _) = stopping(&example, &params, 3);
    assert_eq!(outcome.iterations, steps.ceil() as usize + 1);
    assert!(tick.inputs().iter().all(|u| u.abs() <= 1.2));
    // The next tick starts warm: what was planned for the second stage comes first. After a reset it starts from zero.
    let phases = Phases {
        params: &params,
        inverses: &inverses,
        switches: &SWITCHES,
    };
    let solver = Solver::new(example.qp(), tick.instance(), tolerance()).unwrap();
    let (mut z, mut y, mut rows) = (vec![0.0; 24], vec![0.0; 24], vec![0.0; 24]);
    let mut scratch = vec![0.0; example.shape.scratch()];
    for k in 0..outcome.iterations {
        let phase = phases.at(example.shape, k);
        solver.iterate(phase, &mut z, &mut y, &mut rows, &mut scratch);
    }
    assert_eq!(tick.inputs(), [z[0], z[12]]);
    let planned = |tick: &mut Tick<'_, f64>| {
        let outcome = controller.tick(tick, &x, &example.linear, 0).unwrap();
        assert_eq!((outcome.iterations, outcome.solved), (0, false));
        tick.inputs().to_vec()
    };
    assert!(z[1] != 0.0 && z[13] != 0.0, "{z:?}");
    assert_eq!(planned(&mut tick), [z[1], z[13]]);
    tick.reset();
    assert_eq!(planned(&mut tick), [0.0; 2]);
    let again = controller
        .tick(&mut tick, &x, &example.linear, 500)
        .unwrap();
    assert_eq!(again, outcome);
}

/// 3·10³⁸ is a finite state, but what is made of it overflows: a sensor that says "no value" in this way. F takes part, and so does E.
#[test]
fn a_tick_that_overflows_is_not_solved_and_does_not_reach_the_next() {
    let example = Example::<f32>::new();
    let (params, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&params);
    let linear: Vec<f32> = list((0..8).map(|i| f64::from(i) - 2.5));
    for (linear, free) in [
        (&linear[..], &[][..]),
        (&[], &example.free),
        (&linear, &example.free),
    ] {
        let controller = Controller {
            linear,
            free,
            ..controller(&example, &params, &inverses, &bounds)
        };
        let mut memory = vec![0.0; Tick::<f32>::len(example.shape)];
        let mut tick = Tick::new(example.shape, &mut memory).unwrap();
        let x = [0.4, 0.3, -0.5, 0.2];
        let cold = controller.tick(&mut tick, &x, &[], 500).unwrap();
        let inputs = tick.inputs().to_vec();
        assert!(cold.solved, "{cold:?}");
        for sentinel in [3e38, -3e38] {
            for place in 0..4 {
                for budget in [0, 1, 2, 30] {
                    let mut bad = x;
                    bad[place] = sentinel;
                    let outcome = controller.tick(&mut tick, &bad, &[], budget).unwrap();
                    let case = (sentinel, place, budget);
                    assert!(
                        !outcome.solved && outcome.ratio > 1.0,
                        "{case:?}: {outcome:?}"
                    );
                    let within = |u: &f32| (-1.2..=1.2).contains(u);
                    assert!(
                        tick.inputs().iter().all(within),
                        "{case:?}: {:?}",
                        tick.inputs()
                    );
                }
                // Nothing of it is left: as from the beginning, or warm from what is finite.
                let next = controller.tick(&mut tick, &x, &[], 500).unwrap();
                assert!(next.solved, "{sentinel} {place}: {next:?}");
                for (a, b) in tick.inputs().iter().zip(&inputs) {
                    assert!((a - b).abs() < 1e-3, "{sentinel} {place}: {a} {b}");
                }
            }
        }
    }
}

/// Zero need not be an input that is allowed.
#[test]
fn without_any_iteration_the_inputs_keep_their_bounds() {
    let example = Example::<f32>::new();
    let params = example.params();
    let inverses = example.inverses(&params);
    let bounds = (list([0.5, -0.9, -0.8]), list([1.2, 0.9, 0.8]));
    let controller = controller(&example, &params, &inverses, &bounds);
    let mut memory = vec![0.0; Tick::<f32>::len(example.shape)];
    let mut tick = Tick::new(example.shape, &mut memory).unwrap();
    let outcome = controller.tick(&mut tick, &[0.0; 4], &[], 0).unwrap();
    assert_eq!((outcome.iterations, outcome.solved), (0, false));
    assert_eq!(tick.inputs(), [0.5; 2]);
}

/// A NaN must not look like a small residual to whoever differentiates.
#[test]
fn an_iterate_of_nan_is_no_stop() {
    let example = Example::<f64>::new();
    let params = example.params();
    let inverses = vec![f64::NAN; 48];
    let system = Admm::new(
        example.qp(),
        example.instance(),
        tolerance(),
        &inverses,
        &SWITCHES,
    );
    let (mut rate, mut tape) = ([0.0; 48], [0.0; 24]);
    let mut scratch = vec![0.0; example.shape.scratch()];
    let at = Point {
        theta: &params,
        x: &[0.0; 48],
        t: 0.0,
    };
    let reading = system.unwrap().rate(at, &mut rate, &mut tape, &mut scratch);
    assert!(reading.criterion.is_nan(), "{reading:?}");
    let shape = Shape {
        outputs: 0,
        ..example.shape
    };
    let instance = Instance {
        linear: &example.linear,
        lower: &[-1.2; 8],
        upper: &[1.2; 8],
    };
    let hessian = [f64::NAN; 16];
    let system = ProjectedMomentum::new(shape, &hessian, instance, tolerance()).unwrap();
    for theta in [[0.2, 0.1], [f64::NAN, 0.1]] {
        let at = Point {
            theta: &theta,
            x: &[0.0; 16],
            t: 0.0,
        };
        let reading = system.rate(at, &mut rate[..16], &mut tape[..8], &mut []);
        assert!(reading.criterion.is_nan(), "{reading:?}");
    }
}

#[test]
fn a_block_without_states_has_its_bounds() {
    let example = Example::<f64>::new();
    let (params, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&params);
    let controller = Controller {
        states: 0,
        free: &[],
        ..controller(&example, &params, &inverses, &bounds)
    };
    controller.check().unwrap();
    let mut memory = vec![0.0; Tick::<f64>::len(example.shape)];
    let mut tick = Tick::new(example.shape, &mut memory).unwrap();
    let outcome = controller
        .tick(&mut tick, &[], &example.linear, 500)
        .unwrap();
    let block = [1.2, 1.2, 1.2, 1.2, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9, 0.8];
    assert_eq!(tick.instance().upper, [block, block].concat());
    assert!(outcome.solved, "{outcome:?}");
    assert!(tick.inputs().iter().all(|&u| u != 0.0));
}

#[test]
fn a_deadline_returns_the_best_iterate() {
    let example = Example::<f32>::new();
    let (params, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&params);
    let controller = controller(&example, &params, &inverses, &bounds);
    let mut last = f32::INFINITY;
    let mut unsolved = 0;
    for budget in 0..60 {
        let mut memory = vec![0.0; Tick::<f32>::len(example.shape)];
        let mut tick = Tick::new(example.shape, &mut memory).unwrap();
        let x = [0.4, 0.3, -0.5, 0.2];
        let outcome = controller
            .tick(&mut tick, &x, &example.linear, budget)
            .unwrap();
        assert!(
            outcome.iterations <= budget && outcome.ratio <= last,
            "{budget}: {outcome:?}"
        );
        assert_eq!(outcome.solved, outcome.ratio <= 1.0);
        assert!(
            tick.inputs().iter().all(|u| u.abs() <= 1.2),
            "{budget}: {:?}",
            tick.inputs()
        );
        last = outcome.ratio;
        unsolved += usize::from(!outcome.solved);
    }
    assert!(unsolved > 5 && last <= 1.0, "{unsolved} {last}");
}

#[test]
fn bad_input_is_named() {
    let example = Example::<f32>::new();
    let (params, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&params);
    let good = controller(&example, &params, &inverses, &bounds);
    let mut memory = vec![0.0; Tick::<f32>::len(example.shape)];
    assert!(Tick::new(example.shape, &mut memory[1..]).is_err());
    let mut tick = Tick::new(example.shape, &mut memory).unwrap();
    for (x, extra) in [
        (&[0.0; 3][..], &[][..]),
        (&[0.0; 4], &[0.0; 3]),
        (&[0.0, f32::NAN, 0.0, 0.0], &[]),
        (&[0.0; 4], &[f32::INFINITY; 8]),
    ] {
        assert!(
            good.tick(&mut tick, x, extra, 5).is_err(),
            "{x:?} {extra:?}"
        );
    }
    let crossed = (bounds.1.clone(), bounds.0.clone());
    assert!(
        controller(&example, &params, &inverses, &crossed)
            .check()
            .is_err()
    );
    assert!(
        controller(&example, &params[1..], &inverses, &bounds)
            .check()
            .is_err()
    );
    assert!(
        controller(&example, &params, &inverses[1..], &bounds)
            .check()
            .is_err()
    );
    for entry in [f32::NAN, f32::INFINITY] {
        let linear = [0.0, 0.0, 0.0, entry, 0.0, 0.0, 0.0, 0.0];
        let instance = Instance {
            linear: &linear,
            ..example.instance()
        };
        assert_eq!(
            Solver::new(example.qp(), instance, tolerance()).map(|_| ()),
            Err(Error::Invalid(Argument::Model))
        );
    }
    let usual = tolerance::<f32>();
    for bad in [
        Tolerance {
            primal: 0.0,
            ..usual
        },
        Tolerance {
            primal: f32::NAN,
            ..usual
        },
        Tolerance { dual: 0.0, ..usual },
        Tolerance {
            dual: f32::INFINITY,
            ..usual
        },
        Tolerance {
            dual_relative: f32::NAN,
            ..usual
        },
        Tolerance {
            dual_relative: -1.0,
            ..usual
        },
    ] {
        let refused = Err(Error::Invalid(Argument::Tolerance));
        let solver = Solver::new(example.qp(), example.instance(), bad);
        assert_eq!(solver.map(|_| ()), refused, "{bad:?}");
        let controller = Controller {
            tolerance: bad,
            ..good
        };
        assert_eq!(controller.check(), refused, "{bad:?}");
    }
}

/// A step so long that the weights overflow: it is not taken, and θ still belongs to the K at hand.
#[test]
fn a_step_without_inverse_is_not_taken() {
    let example = Example::<f64>::new();
    let (start, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&start);
    let controller = controller(&example, &start, &inverses, &bounds);
    let (base, basis) = (vec![1.0; 12], vec![1.0; 12]);
    let knobs = Knobs::new(&base, &basis, 3).unwrap();
    let theta = [0.0; 6];
    let qp = example.qp();
    let mut memory = vec![0.0; Tuner::len(&qp, &knobs, 3)];
    let mut marks = vec![Mark::EMPTY; 3];
    let tuner = Tuner::new(
        &controller,
        &example.hessian,
        knobs,
        &theta,
        &mut memory,
        &mut marks,
    );
    let mut tuner = tuner.unwrap().rate(4e3);
    let phases = (
        tuner.phases().params.to_vec(),
        tuner.phases().inverses.to_vec(),
    );
    assert!(tuner.observe(example.instance(), &[]).unwrap());
    let mut inverted = false;
    while tuner.advance(1).unwrap() != TunerStage::Idle {
        inverted |= tuner.stage() == TunerStage::Inverting;
    }
    assert!(inverted, "the program should be differentiated");
    // Nor is one from a program that overflows.
    let linear = [1e308; 8];
    let huge = Instance {
        linear: &linear,
        ..example.instance()
    };
    assert!(tuner.observe(huge, &[]).unwrap());
    while tuner.advance(1).unwrap() != TunerStage::Idle {}
    assert_eq!((tuner.theta(), tuner.adaptations()), (&theta[..], 0));
    assert_eq!(tuner.phases().params, phases.0);
    assert_eq!(tuner.phases().inverses, phases.1);
}

#[test]
fn a_tuner_in_small_portions_does_what_it_does_at_once_and_stops_sooner() {
    let example = Example::<f64>::new();
    let (start, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&start);
    let controller = controller(&example, &start, &inverses, &bounds);
    let base = vec![1.0; 12];
    let basis: Vec<f64> = (0..36)
        .map(|i| f64::from(u8::from(i % 3 == (i / 3 / 4) % 3)))
        .collect();
    let knobs = Knobs::new(&base, &basis, 3).unwrap();
    let theta = vec![0.0; knobs.len()];
    let qp = example.qp();
    let run = |portion: usize| {
        let mut memory = vec![0.0; Tuner::len(&qp, &knobs, 3)];
        let mut marks = vec![Mark::EMPTY; 3];
        let tuner = Tuner::new(
            &controller,
            &example.hessian,
            knobs,
            &theta,
            &mut memory,
            &mut marks,
        );
        let mut tuner = tuner.unwrap().rate(0.05);
        let mut counts = Vec::new();
        for _ in 0..60 {
            assert!(tuner.observe(example.instance(), &[]).unwrap());
            assert!(!tuner.observe(example.instance(), &[]).unwrap(), "busy");
            let mut calls = 0;
            while tuner.advance(portion).unwrap() != TunerStage::Idle {
                calls += 1;
                assert!(calls < 10_000);
            }
            counts.push(tuner.iterations());
        }
        assert_eq!(tuner.adaptations(), 60);
        // What it would control with is what θ says.
        let mut params = vec![0.0; 39];
        knobs.params(tuner.theta(), &mut params);
        assert_eq!(tuner.phases().params, params);
        assert_eq!(tuner.phases().inverses, example.inverses(&params));
        (tuner.theta().to_vec(), counts)
    };
    let (theta_at_once, counts) = run(usize::MAX);
    let (first, last) = (counts[0], counts[59]);
    assert!(last < 0.8 * first, "{first} {last}");
    for portion in [1, 4] {
        assert!(run(portion).0 == theta_at_once, "{portion}");
    }
}
