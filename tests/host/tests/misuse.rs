//! Misuse returns a typed error that names the argument; nothing panics.

use dst_core::adapt::{AdamOla, OlaConfig, OlaStatus, WindowedOla};
use dst_core::checkpoint::{Mark, Slots};
use dst_core::methods::{Constant, Decrease, GradientFlow, Projected};
use dst_core::solve::{Borrowed, Cursor};
use dst_core::system::Derived;
use dst_core::{
    Argument, Cost, Crossing, Error, Euler, HeapMemory, Map, Memory, Mode, Progress, Reading, Rk4,
    Seeds, Status, SymplecticEuler, formula,
};
use dst_models::{BouncingBall, Countdown, Decay, Figure1, Opaque, Quadratic};

type Small = Memory<f64, 2, 1, 4>;

fn stop() -> Seeds<f64> {
    Seeds::stop(Crossing::Interpolated)
}

fn flow() -> Derived<Figure1, 2, 1> {
    Derived::new(Figure1)
}

#[test]
fn wrong_lengths_name_the_argument() {
    let plan = Euler::new(0.05).until(1e-3);
    let e = plan
        .sensitivity(&flow(), &[1.0, 2.0], &[1.0, 1.0], &mut Small::new())
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Theta,
            needed: 1,
            given: 2
        }
    );
    assert_eq!(e.to_string(), "theta needs 1 entries, got 2");
    let e = plan
        .sensitivity(&flow(), &[1.0], &[1.0], &mut Small::new())
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::X0,
            needed: 2,
            given: 1
        }
    );
    // RK4 needs three stage states in each of two records: 13 rows of two numbers.
    let mut short = Memory::<f64, 2, 1, 4, 12>::new();
    let e = Rk4::new(0.05)
        .until(1e-3)
        .sensitivity(&flow(), &[1.0], &[1.0, 1.0], &mut short)
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Rows,
            needed: 26,
            given: 24
        }
    );
    let mut narrow = Memory::<f64, 2, 0, 4>::new();
    let e = plan
        .sensitivity(&flow(), &[1.0], &[1.0, 1.0], &mut narrow)
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Params,
            needed: 2,
            given: 0
        }
    );
    let mut thin = Memory::<f64, 2, 1, 4, 13, 1>::new();
    let e = plan
        .sensitivity(&flow(), &[1.0], &[1.0, 1.0], &mut thin)
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Slots,
            needed: 8,
            given: 4
        }
    );
}

#[test]
fn no_slots() {
    let mut memory = Memory::<f64, 2, 1, 0>::new();
    let e = Euler::new(0.05)
        .until(1e-3)
        .sensitivity(&flow(), &[1.0], &[1.0, 1.0], &mut memory)
        .unwrap_err();
    assert_eq!(e, Error::NoSlots);
    // A run without a gradient needs no slots, and its iterate is available.
    let plan = Euler::new(0.05).until(1e-3);
    let flow = flow();
    let problem = plan.on(&flow, &[1.0], &[1.0, 1.0]).unwrap();
    problem.start(&mut memory).unwrap();
    assert!(problem.complete(&mut memory).unwrap().is_reached());
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let problem = plan.mode(mode).on(&flow, &[1.0], &[1.0, 1.0]).unwrap();
        let refused = problem.differentiate(&mut memory, stop(), usize::MAX);
        assert_eq!(refused, Err(Error::NoSlots), "{mode:?}");
    }
    assert!(problem.iterate(&memory).unwrap().criterion <= 1e-3);
    // The same on the heap.
    let mut memory = HeapMemory::new(&plan, &flow, 0);
    let refused = plan.sensitivity(&flow, &[1.0], &[1.0, 1.0], &mut memory);
    assert_eq!(refused.map(|_| ()), Err(Error::NoSlots));
}

#[test]
fn numbers_out_of_range() {
    let attempt = |h: f64, epsilon: f64, t0: f64, theta: f64, x: f64| {
        let plan = Euler::new(h).until(epsilon).from_time(t0);
        plan.sensitivity(&flow(), &[theta], &[x, 1.0], &mut Small::new())
            .map(|_| ())
            .unwrap_err()
    };
    for h in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        assert_eq!(
            attempt(h, 1e-3, 0.0, 1.0, 1.0),
            Error::Invalid(Argument::StepSize),
            "{h}"
        );
    }
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            attempt(0.1, bad, 0.0, 1.0, 1.0),
            Error::Invalid(Argument::Epsilon)
        );
        assert_eq!(
            attempt(0.1, 1e-3, bad, 1.0, 1.0),
            Error::Invalid(Argument::StartTime)
        );
        assert_eq!(
            attempt(0.1, 1e-3, 0.0, bad, 1.0),
            Error::Invalid(Argument::Theta)
        );
        assert_eq!(
            attempt(0.1, 1e-3, 0.0, 1.0, bad),
            Error::Invalid(Argument::X0)
        );
    }
    let (flow, mut memory) = (flow(), Small::new());
    let plan = Euler::new(0.1).until(1e-3);
    let problem = plan.on(&flow, &[1.0], &[1.0, 1.0]).unwrap();
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let seeds = stop().times(bad) + Seeds::weighted(|_| Reading::loss(1.0));
        for result in [
            problem.adjoint(&mut memory, seeds, usize::MAX),
            problem.tangent(&mut memory, seeds, usize::MAX),
        ] {
            assert_eq!(result, Err(Error::Invalid(Argument::TimeWeight)));
        }
    }
}

#[test]
fn no_gradient_without_a_stop() {
    for mode in [Mode::Adjoint, Mode::Tangent, Mode::Auto] {
        let plan = Euler::new(0.05).until(1e-3).at_most(10).mode(mode);
        let e = plan
            .sensitivity(&flow(), &[1.0], &[1.0, 1.0], &mut Small::new())
            .unwrap_err();
        assert_eq!(e, Error::NotStopped { steps: 10 });
        // N = 0: the criterion holds at x0.
        let e = plan
            .sensitivity(&flow(), &[1.0], &[1e-3, 1e-3], &mut Small::new())
            .unwrap_err();
        assert_eq!(e, Error::StoppedAtStart);
    }
    // Before the run has begun, or halfway.
    let (mut memory, system) = (Small::new(), flow());
    let plan = Euler::new(0.05).until(1e-3);
    let problem = plan.on(&system, &[1.0], &[1.0, 1.0]).unwrap();
    problem.start(&mut memory).unwrap();
    let early = problem.adjoint(&mut memory, stop(), usize::MAX);
    assert_eq!(early, Err(Error::NotStopped { steps: 0 }));
    assert!(matches!(
        problem.advance(&mut memory, 3),
        Ok(Status::Running(_))
    ));
    let early = problem.tangent(&mut memory, stop(), usize::MAX);
    assert_eq!(early, Err(Error::NotStopped { steps: 3 }));
    // The rejected differentiation has not begun: the run continues.
    assert!(problem.complete(&mut memory).unwrap().is_reached());
}

#[test]
fn a_flat_crossing_is_rejected_at_every_scale() {
    for scale in [1e-250, 1.0, 1e250] {
        // J falls by a few units in the last place per step.
        let x0 = [scale];
        let slow = Euler::new(1e-15).until(scale * (1.0 - 3e-15));
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let mut memory = Memory::<f64, 1, 1, 3>::new();
            let plan = slow.mode(mode);
            let e = plan
                .sensitivity(&Derived::<_, 1, 1>::new(Decay), &[1.0], &x0, &mut memory)
                .unwrap_err();
            assert!(matches!(e, Error::FlatCrossing { .. }), "{scale}: {e}");
        }
        // A regular crossing at the same scale is accepted. Tangents never form ∇J, so their transversality is unknown.
        for (mode, known) in [(Mode::Adjoint, true), (Mode::Tangent, false)] {
            let mut memory = Memory::<f64, 1, 1, 3>::new();
            let plan = Euler::new(0.1).until(scale * 0.5).mode(mode);
            let s = plan
                .sensitivity(&Derived::<_, 1, 1>::new(Decay), &[1.0], &x0, &mut memory)
                .unwrap();
            let condition = s.stop.condition;
            assert!(condition.rounding > 1e12, "{condition:?}");
            assert_eq!(condition.transversality == 1.0, known);
            assert_eq!(condition.transversality.is_nan(), !known);
        }
    }
    // J rises at x_N although it fell over the step: the slope has the wrong sign.
    let bounce = formula!(|_theta: 1, x: 2, _t| [1.0 + x[0] * 0.0, x[1] * 0.0], |x| x[0] * x[0]);
    let plan = Euler::new(1.0).until(0.05).crossing(Crossing::Slope);
    let e = plan
        .sensitivity(&bounce, &[1.0], &[0.8, 0.0], &mut Small::new())
        .unwrap_err();
    assert_eq!(e, Error::FlatCrossing { step: 1 });
}

#[test]
fn symplectic_needs_pairs() {
    let mut memory = Memory::<f64, 1, 1, 3>::new();
    let plan = SymplecticEuler::new(0.1).until(0.5);
    let e = plan
        .sensitivity(&Derived::<_, 1, 1>::new(Decay), &[1.0], &[1.0], &mut memory)
        .unwrap_err();
    assert_eq!(e, Error::OddState { states: 1 });
    let mut memory = Memory::<f64, 2, 1, 3>::new();
    let plan = SymplecticEuler::new(0.1).until(0.0);
    assert!(
        plan.sensitivity(
            &Derived::<_, 2, 1>::new(BouncingBall),
            &[8.0],
            &[1.0, 0.0],
            &mut memory
        )
        .is_ok()
    );
}

#[test]
fn missing_derivatives_are_named() {
    let attempt = |cost: Cost, mode: Mode| {
        let mut memory = Memory::<f64, 1, 0, 3>::new();
        let plan = Euler::new(0.1).until(0.5).mode(mode);
        plan.sensitivity(&Opaque(cost), &[], &[1.0], &mut memory)
            .map(|_| ())
    };
    let only_pullback = Cost {
        pullback: Some(1),
        pushforward: None,
    };
    assert_eq!(attempt(only_pullback, Mode::Auto), Ok(()));
    assert_eq!(attempt(only_pullback, Mode::Adjoint), Ok(()));
    assert_eq!(
        attempt(only_pullback, Mode::Tangent),
        Err(Error::NoPushforward)
    );
    let nothing = Cost {
        pullback: None,
        pushforward: None,
    };
    assert_eq!(attempt(nothing, Mode::Adjoint), Err(Error::NoPullback));
    assert_eq!(attempt(nothing, Mode::Auto), Err(Error::NoPullback));
}

#[test]
fn divergence_is_reported_with_its_step() {
    // x grows and changes its sign in each step, until it overflows.
    let diverging = formula!(|theta: 1, x: 2, _t| [theta[0] * x[0], x[1] * 0.0], |x| x[0] * x[0]);
    let mut memory = Small::new();
    let problem = Euler::new(1.0)
        .until(1e-3)
        .on(&diverging, &[30.0], &[1.0, 1.0])
        .unwrap();
    problem.start(&mut memory).unwrap();
    let Err(e @ Error::NonFinite { step }) = problem.complete(&mut memory).map(|_| ()) else {
        panic!("no divergence")
    };
    // J = 29^(2k) overflows first, at 29^(2k) > 1.8e308.
    assert_eq!(step, 106);
    let again = problem.complete(&mut memory).map(|_| ());
    assert_eq!(again, Err(e), "an error is final");
    assert_eq!(problem.adjoint(&mut memory, stop(), usize::MAX), Err(e));
    assert_eq!(problem.tangent(&mut memory, stop(), usize::MAX), Err(e));
    // The memory can be used again.
    let (flow, plan) = (flow(), Euler::new(0.05).until(1e-3));
    let s = plan.sensitivity(&flow, &[1.0], &[1.0, 1.0], &mut memory);
    assert!(s.unwrap().steps > 10);
}

#[test]
fn the_best_iterate_survives_an_interruption() {
    // Undamped spring that passes its best point and moves away again.
    let swing = formula!(|_theta: 1, x: 2, _t| [-x[1], x[0] + 0.0], |x| x[0] * x[0]);
    let mut memory = Small::new();
    let problem = Euler::new(0.1)
        .until(1e-9)
        .at_most(40)
        .on(&swing, &[0.0], &[1.0, 0.0])
        .unwrap();
    problem.start(&mut memory).unwrap();
    let (mut best, mut best_state) = (f64::INFINITY, vec![]);
    loop {
        let status = problem.advance(&mut memory, 1).unwrap();
        let i = status.iterate();
        if i.steps == 1 {
            (best, best_state) = (1.0, vec![1.0, 0.0]);
        }
        if i.criterion < best {
            (best, best_state) = (i.criterion, i.state.to_vec());
        }
        assert_eq!(
            (i.best_criterion, i.best),
            (best, best_state.as_slice()),
            "step {}",
            i.steps
        );
        if let Status::StepLimit(i) = status {
            assert_eq!(i.steps, 40);
            assert!(i.best_criterion < 0.01 && i.criterion > i.best_criterion);
            break;
        }
    }
}

#[test]
fn a_limit_of_zero_steps_only_evaluates() {
    let (mut memory, flow) = (Small::new(), flow());
    let problem = Euler::new(0.1)
        .until(1e-3)
        .at_most(0)
        .on(&flow, &[1.0], &[1.0, 1.0])
        .unwrap();
    problem.start(&mut memory).unwrap();
    let Status::StepLimit(i) = problem.complete(&mut memory).unwrap() else {
        panic!()
    };
    assert_eq!((i.steps, i.criterion), (0, 17.0));
    assert!(i.previous.is_nan());
}

#[test]
fn adaptation_checks_its_arguments() {
    let bowl = Quadratic {
        lambda: [1.0, 2.0],
        coupling: 0.0,
    };
    let config = OlaConfig::new(0.1, 1e-3, 1e-3);
    let mut memory = [0.0; 10];
    let e = AdamOla::new(config, &bowl, &[1.0], &mut memory)
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::X0,
            needed: 2,
            given: 1
        }
    );
    let e = AdamOla::new(config, &bowl, &[1.0, 1.0], &mut memory[..9])
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Memory,
            needed: 10,
            given: 9
        }
    );
    let bad = OlaConfig {
        eta: f64::NAN,
        ..config
    };
    let e = AdamOla::new(bad, &bowl, &[1.0, 1.0], &mut memory)
        .map(|_| ())
        .unwrap_err();
    assert_eq!(e, Error::Invalid(Argument::Hyperparameter));
    let e = AdamOla::new(config, &bowl, &[f64::NAN, 1.0], &mut memory)
        .map(|_| ())
        .unwrap_err();
    assert_eq!(e, Error::NonFinite { step: 0 });
    let e = WindowedOla::new(config, &bowl, 1, &[1.0, 1.0], &mut memory[..5])
        .map(|_| ())
        .unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Memory,
            needed: 6,
            given: 5
        }
    );
}

#[test]
fn a_store_that_is_too_small_is_rejected() {
    let system = Derived::<_, 1, 0>::new(Countdown);
    let plan = Euler::new(1.0).until(0.0);
    let (mut rows, mut params, mut marks, mut slots) = ([0.0; 7], [], [Mark::EMPTY; 4], [0.0; 3]);
    let mut memory = Borrowed {
        rows: &mut rows,
        params: &mut params,
        slots: Slots::Memory(&mut slots),
        marks: &mut marks,
        cursor: &mut Cursor::new(),
    };
    let problem = plan.on(&system, &[], &[5.0]).unwrap();
    let e = problem.start(&mut memory).unwrap_err();
    assert_eq!(
        e,
        Error::Length {
            argument: Argument::Slots,
            needed: 4,
            given: 3
        }
    );
    // A rejected start does not count as a start.
    assert_eq!(
        problem.advance(&mut memory, 1).map(|_| ()),
        Err(Error::Order)
    );
    let mut memory = HeapMemory::new(&plan, &system, 1);
    let s = plan.sensitivity(&system, &[], &[5.0], &mut memory).unwrap();
    assert_eq!(s.steps, 5);
}

/// A fast state that does not affect J does not make a crossing flat: the condition does not mix units.
#[test]
fn a_fast_state_does_not_flatten_the_crossing() {
    let mixed = formula!(|theta: 1, x: 2, _t| [theta[0], theta[0] * 2e5 + x[1] * 0.0], |x| x[0]);
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let mut memory = Memory::<f32, 2, 1, 4>::new();
            let plan = Euler::new(0.125).until(0.0).crossing(crossing).mode(mode);
            let s = plan
                .sensitivity(&mixed, &[1.0], &[0.5, 0.0], &mut memory)
                .unwrap();
            assert!(
                (s.time_gradient()[0] + 0.5).abs() < 1e-5,
                "{crossing:?}: {:?}",
                s.time_gradient()
            );
        }
    }
}

/// A derivative that is not needed may be infinite.
#[test]
fn unused_infinite_derivatives_are_accepted() {
    let root =
        formula!(|theta: 1, x: 2, _t| [theta[0] * x[0], x[1] * 0.0], |x| x[0], |x| x[1].sqrt());
    for mode in [Mode::Adjoint, Mode::Tangent, Mode::Auto] {
        let plan = Euler::new(0.1).until(0.5).mode(mode);
        let s = plan
            .sensitivity(&root, &[1.0], &[1.0, 0.0], &mut Small::new())
            .map(|s| s.steps);
        assert_eq!(s, Ok(7), "{mode:?}");
    }
    // If it is needed, it is an error, even if no step is pulled back (N = 0).
    for x in [1.0, 0.1] {
        let (theta, x0, mut memory) = ([1.0], [x, 0.0], Small::new());
        let problem = Euler::new(0.1).until(0.5).on(&root, &theta, &x0).unwrap();
        problem.start(&mut memory).unwrap();
        problem.complete(&mut memory).unwrap();
        let seeds = Seeds::weighted(|_| Reading::loss(1.0));
        for result in [
            problem.adjoint(&mut memory, seeds, usize::MAX),
            problem.tangent(&mut memory, seeds, usize::MAX),
        ] {
            let e = result.unwrap_err();
            assert!(matches!(e, Error::NonFiniteGradient { .. }), "{e}");
        }
    }
}

#[test]
fn progress_counts_the_steps_that_are_left() {
    // All states kept: one operation per step.
    let countdown = Derived::<_, 1, 0>::new(Countdown);
    let mut memory = Memory::<f64, 1, 0, 8>::new();
    let problem = Euler::new(1.0)
        .until(0.0)
        .on(&countdown, &[], &[3.5])
        .unwrap();
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    let mut left = vec![];
    while let Progress::Running { remaining } = problem
        .adjoint(&mut memory, stop(), usize::from(!left.is_empty()))
        .unwrap()
    {
        left.push(remaining);
    }
    assert_eq!(left, [4, 3, 2, 1]);
}

#[test]
fn a_window_of_no_step_pulls_nothing_back() {
    let (mut memory, system) = (Small::new(), flow());
    let pullbacks = |memory: &mut Small, window: usize| {
        let plan = Euler::new(0.05).until(1e-3);
        let problem = plan.on(&system, &[0.3], &[1.0, 1.0]).unwrap();
        problem.start(memory).unwrap();
        problem.complete(memory).unwrap();
        problem
            .adjoint(memory, stop().through(window), usize::MAX)
            .unwrap();
        problem.gradient(memory).unwrap().evaluations.pullback
    };
    assert_eq!(
        [0, 1, 2, 5].map(|window| pullbacks(&mut memory, window)),
        [1, 2, 3, 6]
    );
    assert_eq!(
        pullbacks(&mut memory, usize::MAX),
        pullbacks(&mut memory, 1_000_000)
    );
}

#[test]
fn systems_reject_unsupported_use() {
    let bowl = Quadratic {
        lambda: [1.0, 2.0],
        coupling: 0.0,
    };
    let decrease = Decrease::new(GradientFlow::new(bowl, Constant), 1.0);
    let attempt = |result: Result<(), Error>| result.unwrap_err();
    let mut memory = Memory::<f64, 3, 1, 3>::new();
    let x0 = [1.0, 1.0, 9.0];
    for h in [0.1, 1.0] {
        let e = attempt(
            Euler::new(h)
                .until(1e-3)
                .sensitivity(&decrease, &[0.2], &x0, &mut memory)
                .map(|_| ()),
        );
        assert_eq!(e, Error::WrongStep);
    }
    let mut memory = Memory::<f64, 3, 1, 3, 30>::new();
    let e = attempt(
        Rk4::new(1.0)
            .until(1e-3)
            .sensitivity(&decrease, &[0.2], &x0, &mut memory)
            .map(|_| ()),
    );
    assert_eq!(e, Error::WrongStep);
    // The system is a map.
    let mut memory = Memory::<f64, 3, 1, 3>::new();
    let found = Map
        .until(1e-3)
        .sensitivity(&decrease, &[0.2], &x0, &mut memory);
    assert!(found.unwrap().steps > 3);
    let bowl_of_three = Quadratic {
        lambda: [1.0, 2.0, 3.0],
        coupling: 0.0,
    };
    let paired = Decrease::new(GradientFlow::new(bowl_of_three, Constant), 1.0);
    let e = attempt(
        SymplecticEuler::new(1.0)
            .until(1e-3)
            .sensitivity(
                &paired,
                &[0.2],
                &[1.0, 1.0, 1.0, 9.0],
                &mut Memory::<f64, 4, 1, 3>::new(),
            )
            .map(|_| ()),
    );
    assert_eq!(e, Error::WrongStep);
    for (lower, upper) in [([1.0, 0.0], [0.0, 1.0]), ([f64::NAN, 0.0], [1.0, 1.0])] {
        let boxed = Projected::new(bowl, &lower, &upper);
        let plan = Euler::new(1.0).until(1e-3);
        let e = attempt(
            plan.sensitivity(&boxed, &[0.2], &[1.0, 1.0], &mut Small::new())
                .map(|_| ()),
        );
        assert_eq!(e, Error::Invalid(Argument::Bounds));
    }
}

#[test]
fn adaptation_rejects_invalid_hyperparameters_and_errors_are_final() {
    let bowl = Quadratic {
        lambda: [1.0, 2.0],
        coupling: 0.0,
    };
    let good = OlaConfig::new(0.1, 1e-3, 1e-3);
    let mut memory = [0.0; 10];
    for bad in [
        OlaConfig { alpha: 0.0, ..good },
        OlaConfig {
            alpha: -1.0,
            ..good
        },
        OlaConfig { beta1: 1.0, ..good },
        OlaConfig { beta2: 1.5, ..good },
        OlaConfig {
            descent: -1.0,
            ..good
        },
        OlaConfig {
            tolerance: f64::NAN,
            ..good
        },
        OlaConfig {
            eta: f64::INFINITY,
            ..good
        },
    ] {
        let e = AdamOla::new(bad, &bowl, &[1.0, 1.0], &mut memory)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(e, Error::Invalid(Argument::Hyperparameter), "{bad:?}");
        let mut z = [0.0; 6];
        let e = WindowedOla::new(bad, &bowl, 1, &[1.0, 1.0], &mut z)
            .map(|_| ())
            .unwrap_err();
        assert_eq!(e, Error::Invalid(Argument::Hyperparameter), "{bad:?}");
    }
    // An adaptation that would make α infinite ends the run, and α keeps its value.
    let wild = OlaConfig { eta: 1e308, ..good };
    let mut ola = AdamOla::new(wild, &bowl, &[1.0, 1.0], &mut memory).unwrap();
    let first = ola.advance(100).unwrap_err();
    assert!(matches!(first, Error::NonFinite { .. }));
    assert_eq!(ola.advance(100), Err(first), "an error is final");
    assert!(ola.alpha().is_finite());
    // Converged at the end of the budget.
    let calm = OlaConfig {
        tolerance: 1e-2,
        ..good
    };
    let mut ola = AdamOla::new(calm, &bowl, &[1.0, 1.0], &mut memory).unwrap();
    while ola.advance(1).unwrap() == OlaStatus::Running {}
    let (exact, state) = (ola.iterations(), ola.state().to_vec());
    let mut ola = AdamOla::new(calm, &bowl, &[1.0, 1.0], &mut memory).unwrap();
    assert_eq!(ola.advance(exact), Ok(OlaStatus::Converged));
    assert_eq!((ola.iterations(), ola.state()), (exact, state.as_slice()));
}
