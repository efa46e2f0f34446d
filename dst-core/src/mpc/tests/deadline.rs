//! Guarantees about deadlines: a tick, its budget, the memory it leaves, and a tuner run in small budgets.

use super::*;
use crate::qp::*;

fn controller<'a, S: Scalar>(
    example: &'a Example<S>,
    params: &'a [S],
    inverses: &'a [S],
    bounds: &'a (Vec<S>, Vec<S>),
) -> AdmmController<'a, S> {
    AdmmController {
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
    let mut memory = vec![0.0; AdmmTick::<f64>::len(example.shape)];
    let mut tick = AdmmTick::new(example.shape, &mut memory).unwrap();
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
    // The next tick starts warm: the inputs planned for the second stage come first. After a reset it starts from zero.
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
    let planned = |tick: &mut AdmmTick<'_, f64>| {
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

/// A sensor may report 3·10³⁸ for "no value": the state is finite, but the program overflows. Tested with F, with E, and with
/// both.
#[test]
fn an_overflowing_tick_is_not_solved_and_does_not_affect_the_next() {
    let example = Example::<f32>::new();
    let (params, bounds) = (example.params(), bounds());
    let inverses = example.inverses(&params);
    let linear: Vec<f32> = list((0..8).map(|i| f64::from(i) - 2.5));
    for (linear, free) in [
        (&linear[..], &[][..]),
        (&[], &example.free),
        (&linear, &example.free),
    ] {
        let controller = AdmmController {
            linear,
            free,
            ..controller(&example, &params, &inverses, &bounds)
        };
        let mut memory = vec![0.0; AdmmTick::<f32>::len(example.shape)];
        let mut tick = AdmmTick::new(example.shape, &mut memory).unwrap();
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
                // The overflow leaves no trace: the next tick starts cold, or warm from finite values.
                let next = controller.tick(&mut tick, &x, &[], 500).unwrap();
                assert!(next.solved, "{sentinel} {place}: {next:?}");
                for (a, b) in tick.inputs().iter().zip(&inputs) {
                    assert!((a - b).abs() < 1e-3, "{sentinel} {place}: {a} {b}");
                }
            }
        }
    }
}

/// Zero may be outside the bounds of the inputs.
#[test]
fn without_any_iteration_the_inputs_keep_their_bounds() {
    let example = Example::<f32>::new();
    let params = example.params();
    let inverses = example.inverses(&params);
    let bounds = (list([0.5, -0.9, -0.8]), list([1.2, 0.9, 0.8]));
    let controller = controller(&example, &params, &inverses, &bounds);
    let mut memory = vec![0.0; AdmmTick::<f32>::len(example.shape)];
    let mut tick = AdmmTick::new(example.shape, &mut memory).unwrap();
    let outcome = controller.tick(&mut tick, &[0.0; 4], &[], 0).unwrap();
    assert_eq!((outcome.iterations, outcome.solved), (0, false));
    assert_eq!(tick.inputs(), [0.5; 2]);
}

/// A NaN must not count as a small residual in the differentiated system.
#[test]
fn a_nan_iterate_is_not_a_stop() {
    let example = Example::<f64>::new();
    let params = example.params();
    let inverses = vec![f64::NAN; 84];
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
    let controller = AdmmController {
        states: 0,
        free: &[],
        ..controller(&example, &params, &inverses, &bounds)
    };
    controller.check().unwrap();
    let mut memory = vec![0.0; AdmmTick::<f64>::len(example.shape)];
    let mut tick = AdmmTick::new(example.shape, &mut memory).unwrap();
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
        let mut memory = vec![0.0; AdmmTick::<f32>::len(example.shape)];
        let mut tick = AdmmTick::new(example.shape, &mut memory).unwrap();
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
    let mut memory = vec![0.0; AdmmTick::<f32>::len(example.shape)];
    assert!(AdmmTick::new(example.shape, &mut memory[1..]).is_err());
    let mut tick = AdmmTick::new(example.shape, &mut memory).unwrap();
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
        let controller = AdmmController {
            tolerance: bad,
            ..good
        };
        assert_eq!(controller.check(), refused, "{bad:?}");
    }
}

/// A step so long that the weights overflow is not taken, and θ still matches the current K.
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
    // Neither is a step from a program that overflows.
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
fn a_tuner_in_small_budgets_has_the_same_result_and_stops_sooner() {
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
        // The parameters used for control are those of θ.
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
