//! A failure during a run is found at its step, stays failed, and leaves the best iterate.

use core::cell::Cell;

use dst_core::system::Derived;
use dst_core::{
    Bar, Cost, Crossing, Dims, Error, Euler, Map, Memory, Point, Progress, Reading, Seed, Seeds,
    Status, System, formula,
};
use dst_models::{Figure1, Poison, Poisoned};
use dst_tests::until_done;

type Small = Memory<f64, 2, 1, 4>;

fn flow() -> Derived<Figure1, 2, 1> {
    Derived::new(Figure1)
}

#[test]
fn a_loss_that_is_not_finite_is_found_at_its_step() {
    // f = 1/(x − 0.5) is infinite exactly at step 5.
    let pole = formula!(|_theta: 1, x: 2, _t| [x[0] * 0.0 + 1.0, x[1] * 0.0], |x| x[0], |x| 1.0 / (x[0] - 0.5));
    let attempt = |limit: usize, weight: fn(usize) -> f64| {
        let mut memory = Small::new();
        let plan = Euler::new(0.125).until(0.0).at_most(limit);
        let problem = plan.on(&pole, &[1.0], &[1.125, 0.0]).unwrap();
        problem.start(&mut memory).unwrap();
        let mut worst = None;
        let see = |step: usize, reading: Reading<f64>| {
            if !reading.loss.is_finite() {
                worst = Some(step);
            }
        };
        problem.watch(&mut memory, usize::MAX, see).unwrap();
        assert_eq!(worst, Some(5), "f is shown as it is");
        let seeds = Seeds::weighted(|k| Reading::loss(weight(k)));
        [
            problem.adjoint(&mut memory, seeds, usize::MAX),
            problem.tangent(&mut memory, seeds, usize::MAX),
        ]
    };
    for limit in [7, usize::MAX] {
        // The sweep back meets it at its step; the tangents end at the last one.
        let [back, along] = attempt(limit, |_| 1.0);
        assert_eq!(back, Err(Error::NonFiniteGradient { step: 5 }));
        assert!(matches!(along, Err(Error::NonFiniteGradient { .. })));
        // Without weight there, it does not matter.
        let found = attempt(limit, |k| if k == 5 { 0.0 } else { 1.0 });
        assert_eq!(found, [Ok(Progress::Done); 2]);
    }
}

/// Whatever is not finite, and after however many steps: the best iterate is still that of its J.
#[test]
fn the_best_iterate_survives_a_failure() {
    for poison in [Poison::Rate, Poison::Criterion] {
        for (after, portion) in [(0, 1), (1, 1), (4, 1), (4, 3), (9, usize::MAX)] {
            let system = Poisoned {
                inner: flow(),
                poison,
                value: f64::NAN,
                after,
                calls: Cell::new(0),
            };
            let mut memory = Small::new();
            let plan = Euler::new(0.05).until(1e-3);
            let problem = plan.on(&system, &[1.0], &[1.0, 1.0]).unwrap();
            problem.start(&mut memory).unwrap();
            while let Ok(Status::Running(_)) = problem.advance(&mut memory, portion) {}
            let e = problem.complete(&mut memory).map(|_| ()).unwrap_err();
            assert!(matches!(e, Error::NonFinite { .. }), "{e}");
            let found = problem.iterate(&memory).unwrap();
            if after == 0 && poison != Poison::Rate {
                assert_eq!(found.best, [1.0, 1.0], "nothing better is known");
                continue;
            }
            // J falls all the way, so the best is the last that was sound.
            let mut memory = Small::new();
            let clean = flow();
            let problem = plan.on(&clean, &[1.0], &[1.0, 1.0]).unwrap();
            problem.start(&mut memory).unwrap();
            let sound = if poison == Poison::Rate {
                after
            } else {
                after - 1
            };
            let expected = problem.advance(&mut memory, sound).unwrap();
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

/// A sweep that failed has no gradient. The next one does not go on where it failed, but begins anew.
#[test]
fn a_sweep_that_failed_gives_nothing_and_another_one_all() {
    let mut failed = 0;
    for at in 1..12 {
        let system = Hiccup {
            at,
            calls: Cell::new(0),
        };
        let mut memory = Memory::<f64, 1, 1, 8>::new();
        let problem = Map.until(0.5).on(&system, &[0.25], &[9.0]).unwrap();
        problem.start(&mut memory).unwrap();
        problem.complete(&mut memory).unwrap();
        let seeds = Seeds::stop(Crossing::Interpolated);
        let mut hiccups = 0;
        for budget in [usize::MAX, 1, 3] {
            match until_done(|| problem.adjoint(&mut memory, seeds, budget)) {
                Err(error) => {
                    hiccups += 1;
                    assert!(
                        matches!(
                            error,
                            Error::NonFiniteGradient { .. } | Error::FlatCrossing { .. }
                        ),
                        "{error}"
                    );
                    let none = problem.gradient(&memory).map(|_| ());
                    assert_eq!(none, Err(Error::Order), "call {at}");
                }
                Ok(()) => {
                    let found = problem.gradient(&memory).unwrap();
                    assert_eq!((found.theta[0], found.x0[0]), clean(), "call {at}");
                }
            }
        }
        assert!(hiccups <= 1, "call {at}");
        failed += hiccups;
    }
    assert!(failed > 2, "{failed}");
}

/// The gradient of the same without a hiccup.
fn clean() -> (f64, f64) {
    let system = Hiccup {
        at: usize::MAX,
        calls: Cell::new(0),
    };
    let mut memory = Memory::<f64, 1, 1, 8>::new();
    let plan = Map.until(0.5);
    let s = plan
        .sensitivity(&system, &[0.25], &[9.0], &mut memory)
        .unwrap();
    (s.time_gradient()[0], s.time_gradient_x0()[0])
}
