//! `Map` is Euler with h = 1 on A = x − F, without the subtraction. Also: f in an iterate.

use dst_core::system::Derived;
use dst_core::{Crossing, Euler, Formula, HeapMemory, Map, Memory, Mode, Status, formula};
use dst_models::{Close, Figure1, Pendulum, QuadraticInTime};
use dst_tests::{Falls, Steps, StopGradient, answer};

/// Compares a map with both equivalent flows, for every crossing and both modes.
#[track_caller]
fn check<F: Formula<D, P> + Copy, const D: usize, const P: usize>(
    name: &str,
    (flow, h, epsilon): (F, f64, f64),
    theta: &[f64; P],
    x0: &[f64; D],
) {
    let map = Derived::<_, D, P>::new(Steps { flow, h });
    let fall = Derived::<_, D, P>::new(Falls(map.formula));
    let flow = Derived::<_, D, P>::new(flow);
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let by_map = |slots| {
                let plan = Map.until(epsilon).crossing(crossing).mode(mode);
                answer(plan, &map, theta, x0, slots)
            };
            let ours = by_map(4);
            assert!(ours.steps > 10, "{name}: N = {}", ours.steps);
            assert_eq!(by_map(1), ours, "{name}: any number of slots");
            let plan = Euler::new(1.0).until(epsilon);
            let unit = answer(plan.crossing(crossing).mode(mode), &fall, theta, x0, 4);
            let plan = Euler::new(h).until(epsilon);
            let timed = answer(plan.crossing(crossing).mode(mode), &flow, theta, x0, 4);
            let close = |what: &str, theirs: &StopGradient, unit: f64| {
                let what = format!("{name}: {crossing:?}, {mode:?}, {what}");
                assert_eq!(ours.steps, theirs.steps, "{what}");
                let size = |v: &[f64]| v.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                for (ours, theirs) in [
                    (&ours.theta, &theirs.theta),
                    (&ours.x0, &theirs.x0),
                    (
                        &vec![ours.time, ours.epsilon],
                        &vec![theirs.time, theirs.epsilon],
                    ),
                ] {
                    let ours: Vec<f64> = ours.iter().map(|v| unit * v).collect();
                    let close = Close {
                        rtol: 1e-9,
                        atol: 1e-11 * size(&ours),
                    };
                    close.assert(&what, &ours, theirs);
                }
            };
            close("Euler with h = 1", &unit, 1.0);
            close("Euler with h", &timed, h);
        }
    }
}

#[test]
fn a_map_is_an_euler_step() {
    check("Figure 1", (Figure1, 0.05, 1e-3), &[0.3], &[1.0, 0.9]);
    check("pendulum", (Pendulum, 0.05, 0.1), &[2.0, 0.3], &[1.2, 0.1]);
    // The time of the map counts its steps.
    check("in time", (QuadraticInTime, 0.02, 0.3), &[0.7], &[2.0]);
}

/// x⁺ = θx, J = x: x_k = θᵏx0, so every crossing has a closed form. dJ/dt is −(x − θx).
#[test]
fn closed_forms() {
    let shrink = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
    let (theta, x0, epsilon) = (0.8_f64, 3.0, 0.07);
    let n = (1..).find(|&n| x0 * theta.powi(n) <= epsilon).unwrap();
    let x = |k: i32| x0 * theta.powi(k);
    let dx = |k: i32| f64::from(k) * x0 * theta.powi(k - 1);
    let alpha = (x(n - 1) - epsilon) / (x(n - 1) - x(n));
    let between = alpha * dx(n) + (1.0 - alpha) * dx(n - 1);
    for mode in [Mode::Adjoint, Mode::Tangent] {
        for (crossing, by_theta) in [
            (Crossing::Paper, f64::from(n) / (1.0 - theta)),
            (Crossing::Interpolated, between / (x(n - 1) - x(n))),
            // The interpolated slope is that at ε.
            (Crossing::Slope, between / ((1.0 - theta) * epsilon)),
        ] {
            let plan = Map.until(epsilon).crossing(crossing).mode(mode);
            let found = answer(plan, &shrink, &[theta], &[x0], 3);
            assert_eq!(found.steps, n as usize);
            Close::relative(1e-12).assert(crossing.name(), &found.theta, &[by_theta]);
        }
    }
}

/// A map may discard its previous state. Its transpose is then exactly zero, without the rounding of x − (x − F).
#[test]
fn nothing_is_subtracted() {
    let forgets = formula!(
        |theta: 2, x: 2, _t| [theta[0], theta[1] * x[1]],
        |x| x[1] + x[0] * 1e-3
    );
    let (theta, x0) = ([1e-3, 0.5], [1e17, 1.0]);
    let plan = Map.until(0.1).crossing(Crossing::Paper);
    let found = answer(plan.mode(Mode::Adjoint), &forgets, &theta, &x0, 3);
    assert_eq!(found.x0[0], 0.0);
    // The first step replaces x: Euler would compute x − (x − F) as 0 at this size, not as 1e-3.
    let mut memory = Memory::<f64, 2, 2, 2>::new();
    let problem = plan.on(&forgets, &theta, &x0).unwrap();
    problem.start(&mut memory).unwrap();
    let status = problem.advance(&mut memory, 1).unwrap();
    assert_eq!(status.iterate().state, [1e-3, 0.5]);
}

/// f at every iterate, whatever is differentiated later; NaN before the first evaluation.
#[test]
fn an_iterate_reports_f() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let (theta, x0) = ([0.7], [1.0, 0.9_f64]);
    let f = |x: &[f64]| 0.5 * x[0] * x[0] + 2.0 * x[1] * x[1];
    let plan = Euler::new(0.05).until(1e-2_f64);
    let problem = plan.on(&flow, &theta, &x0).unwrap();
    for slots in [0, 3, 100] {
        let mut memory = HeapMemory::new(&plan, &flow, slots);
        problem.start(&mut memory).unwrap();
        let before = problem.iterate(&memory).unwrap();
        assert!(before.loss.is_nan() && before.criterion.is_nan());
        assert_eq!((before.state, before.steps), (x0.as_slice(), 0));
        let mut steps = 0;
        let mut status = problem.advance(&mut memory, 0).unwrap();
        loop {
            let at = status.iterate();
            assert_eq!(at.steps, steps);
            assert_eq!(at.loss, f(at.state), "step {steps}");
            if status.is_reached() {
                break;
            }
            status = problem.advance(&mut memory, 1).unwrap();
            steps += 1;
        }
        assert!(steps > 20);
        let end = problem.iterate(&memory).unwrap().loss;
        let again = problem.advance(&mut memory, 5).unwrap().iterate();
        assert_eq!((again.loss, again.steps), (end, steps), "after the stop");

        // With the memory moved after every call, and several steps at a time.
        problem.start(&mut memory).unwrap();
        loop {
            let mut moved = memory.clone();
            let status = problem.advance(&mut moved, 3).unwrap();
            assert_eq!(status.iterate().loss, f(status.iterate().state));
            if status.is_reached() {
                break;
            }
            let again = problem.iterate(&moved).unwrap();
            assert_eq!(again.loss, f(again.state));
            memory = moved;
        }
    }

    // The same for a map.
    let map = Derived::<_, 2, 1>::new(Steps {
        flow: Figure1,
        h: 0.05,
    });
    let plan = Map.until(1e-2);
    let problem = plan.on(&map, &theta, &x0).unwrap();
    for slots in [0, 3, 100] {
        let mut memory = HeapMemory::new(&plan, &map, slots);
        problem.start(&mut memory).unwrap();
        while let Status::Running(at) = problem.advance(&mut memory, 1).unwrap() {
            assert_eq!(at.loss, f(at.state));
        }
    }
}

/// `watch` reports J and f at every x_k once, for all budgets.
#[test]
fn every_reading_is_seen_once() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let plan = Euler::new(0.05).until(1e-2_f64);
    let problem = plan.on(&flow, &[0.7], &[1.0, 0.9]).unwrap();
    let seen = |slots: usize, budget: usize| {
        let mut memory = HeapMemory::new(&plan, &flow, slots);
        problem.start(&mut memory).unwrap();
        let mut seen = vec![];
        loop {
            let status = problem.watch(&mut memory, budget, |k, r| {
                seen.push((k, r.criterion, r.loss));
            });
            if status.unwrap().is_reached() {
                break seen;
            }
        }
    };
    let whole = seen(0, usize::MAX);
    assert!(whole.iter().enumerate().all(|(k, seen)| seen.0 == k));
    let j = |x: f64, y: f64| x * x + 16.0 * y * y;
    assert_eq!(whole[0].1, j(1.0, 0.9));
    for slots in [0, 1, 5, 100] {
        for budget in [1, 7, usize::MAX] {
            assert_eq!(seen(slots, budget), whole, "{slots} slots, budget {budget}");
        }
    }
}
