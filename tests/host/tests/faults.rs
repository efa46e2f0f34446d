//! What fails under way is found at its step, stays failed, and leaves the best iterate; what was suspended wants its memory back.

use core::cell::Cell;

use dst_core::{
    Argument, Bar, Cost, Derived, Dims, Error, Euler, Integrator, Map, Mark, Memory, Mode, Point,
    Reading, Seed, Slots, Status, System, Workspace, formula,
};
use dst_models::{Countdown, Figure1, Poison, Poisoned};

type Small = Memory<f64, 2, 1, 4>;

fn flow() -> Derived<Figure1, 2, 1> {
    Derived::new(Figure1)
}

#[test]
fn a_loss_that_is_not_finite_is_found_at_its_step() {
    // f = 1/(x − 0.5) is infinite exactly at step 5.
    let pole = formula!(|_theta: 1, x: 2, _t| [x[0] * 0.0 + 1.0, x[1] * 0.0], |x| x[0], |x| 1.0 / (x[0] - 0.5));
    let attempt = |plan: dst_core::Plan<f64, Euler<f64>>, weight: fn(usize) -> f64| {
        let plan = plan.running_loss(&weight, 0.0);
        plan.gradient(&pole, &[1.0], &[1.125, 0.0], &mut Small::new())
            .map(|g| g.loss)
    };
    let plan = Euler::new(0.125).until(0.0);
    assert_eq!(attempt(plan, |_| 1.0), Err(Error::NonFinite { step: 5 }));
    assert_eq!(
        attempt(plan.at_most(7), |_| 1.0),
        Err(Error::NonFinite { step: 5 })
    );
    // Without weight there, it does not matter.
    assert!(attempt(plan, |k| if k == 5 { 0.0 } else { 1.0 }).is_ok());
}

/// Whatever is not finite, and after however many steps: the best iterate is still that of its J.
#[test]
fn the_best_iterate_survives_a_failure() {
    for poison in [Poison::Rate, Poison::Criterion, Poison::Loss] {
        for (after, portion) in [(0, 1), (1, 1), (4, 1), (4, 3), (9, usize::MAX)] {
            let system = Poisoned {
                inner: flow(),
                poison,
                value: f64::NAN,
                after,
                calls: Cell::new(0),
            };
            let mut memory = Small::new();
            let mut run = Euler::new(0.05)
                .until(1e-3)
                .running_loss(dst_core::Uniform(1.0), 1.0)
                .run(&system, &[1.0], &[1.0, 1.0], &mut memory)
                .unwrap();
            while let Ok(Status::Running(_)) = run.advance(portion) {}
            let e = run.complete().map(|_| ()).unwrap_err();
            assert!(matches!(e, Error::NonFinite { .. }), "{e}");
            let found = run.iterate();
            if after == 0 && poison != Poison::Rate {
                assert_eq!(found.best, [1.0, 1.0], "nothing better is known");
                continue;
            }
            // J falls all the way, so the best is the last that was sound.
            let mut memory = Small::new();
            let clean = flow();
            let mut run = Euler::new(0.05)
                .until(1e-3)
                .run(&clean, &[1.0], &[1.0, 1.0], &mut memory)
                .unwrap();
            let sound = if poison == Poison::Rate {
                after
            } else {
                after - 1
            };
            let expected = run.advance(sound).unwrap();
            let expected = expected.iterate();
            assert_eq!(
                (found.best, found.best_criterion),
                (expected.state, expected.criterion),
                "{poison:?} after {after}, {portion} at a time"
            );
        }
    }
}

/// Its step forgets x, and J alone sees θ. One pullback, by its number, is not finite; then all is well again.
struct Hiccup {
    at: usize,
    calls: Cell<usize>,
}

impl System<f64> for Hiccup {
    fn dims(&self) -> Dims {
        Dims::new(1, 1)
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        rate[0] = 5.0 - at.t;
        Reading {
            criterion: at.x[0] + at.theta[0],
            loss: 0.0,
        }
    }
    fn pullback(
        &self,
        _: Point<'_, f64>,
        _: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        _: &mut [f64],
    ) {
        bar.x[0] += seed.criterion;
        bar.theta[0] += seed.criterion;
        self.calls.set(self.calls.get() + 1);
        if self.calls.get() == self.at {
            bar.x[0] = f64::NAN;
        }
    }
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(1),
            pushforward: None,
        }
    }
}

#[test]
fn a_sweep_that_failed_stays_failed() {
    let mut failed = 0;
    for at in 1..12 {
        let system = Hiccup {
            at,
            calls: Cell::new(0),
        };
        let mut memory = Memory::<f64, 1, 1, 8>::new();
        let plan = Map.until(0.5).mode(Mode::Adjoint);
        let mut run = plan.record(&system, &[0.25], &[9.0], &mut memory).unwrap();
        run.complete().unwrap();
        let Ok(mut sweep) = run.adjoint() else {
            continue;
        };
        if let Err(error) = sweep.advance(usize::MAX) {
            failed += 1;
            assert!(matches!(error, Error::NonFiniteGradient { .. }), "{error}");
            assert_eq!(sweep.advance(1), Err(error), "call {at}");
            // Suspended and resumed, too.
            let state = sweep.suspend();
            let sweep = plan
                .resume_adjoint(state, &system, &[0.25], &[9.0], &mut memory)
                .unwrap();
            assert_eq!(sweep.finish().map(|g| g.theta[0]), Err(error), "call {at}");
        }
    }
    assert!(failed > 2, "{failed}");
}

/// What is in the memory is laid out for its number of slots: with another one it means something else.
#[test]
fn a_suspended_run_wants_its_slots_back() {
    let countdown = Derived::<_, 1, 0>::new(Countdown);
    let plan = Euler::new(1.0).until(0.0);
    let (mut rows, mut slots) = ([0.0; 7], [0.0; 8]);
    let mut marks = [Mark::EMPTY; 5];
    macro_rules! lent {
        ($count:expr) => {
            Workspace {
                rows: &mut rows,
                params: &mut [],
                marks: &mut marks[..$count],
                store: Slots::new(&mut slots),
            }
        };
    }
    let refused = |given| Error::Length {
        argument: Argument::Slots,
        needed: 4,
        given,
    };
    let mut run = plan.record(&countdown, &[], &[40.5], lent!(4)).unwrap();
    run.advance(20).unwrap();
    let state = run.suspend();
    for other in [1, 3, 5] {
        let resumed = plan.resume(state, &countdown, &[], &[40.5], lent!(other));
        assert_eq!(resumed.map(|_| ()).unwrap_err(), refused(other));
    }
    let mut run = plan
        .resume(state, &countdown, &[], &[40.5], lent!(4))
        .unwrap();
    run.complete().unwrap();
    let stopped = run.suspend();
    let run = plan
        .resume(stopped, &countdown, &[], &[40.5], lent!(4))
        .unwrap();
    let mut sweep = run.adjoint().unwrap();
    sweep.advance(30).unwrap();
    let state = sweep.suspend();
    for other in [1, 3, 5] {
        let resumed = plan.resume_adjoint(state, &countdown, &[], &[40.5], lent!(other));
        assert_eq!(resumed.map(|_| ()).unwrap_err(), refused(other));
    }
    let sweep = plan.resume_adjoint(state, &countdown, &[], &[40.5], lent!(4));
    assert_eq!(sweep.unwrap().finish().unwrap().x0, [1.0]);
    let run = plan.record(&countdown, &[], &[40.5], lent!(4)).unwrap();
    let mut run = run;
    run.complete().unwrap();
    let mut tangent = run.tangent().unwrap();
    tangent.advance(7).unwrap();
    let state = tangent.suspend();
    for other in [1, 3, 5] {
        let resumed = plan.resume_tangent(state, &countdown, &[], &[40.5], lent!(other));
        assert_eq!(resumed.map(|_| ()).unwrap_err(), refused(other));
    }
    let tangent = plan.resume_tangent(state, &countdown, &[], &[40.5], lent!(4));
    assert_eq!(tangent.unwrap().finish().unwrap().x0, [1.0]);
}
