//! Typical user code: both scalars, static memory, own dynamics and criteria, descending the stopping time.

use std::sync::Mutex;

use dst_core::methods::HeavyBall;
use dst_core::system::{Derived, Dynamics, Pair, RateOf};
use dst_core::{
    Bar, Crossing, Dims, Direction, Euler, Heun, Integrator, Memory, Mode, Plan, Point, Rk4,
    Scalar, SymplecticEuler,
};
use dst_models::{Close, Figure1, Pendulum, Quadratic};
use dst_tests::{FourthPowers, answer, differences};

/// Single precision gives the double-precision gradient to its own precision, in every integrator and mode.
#[test]
fn single_precision() {
    fn check<I: Integrator<f32>, J: Integrator<f64>>(single: I, double: J) {
        let pendulum = Derived::<_, 2, 2>::new(Pendulum);
        for crossing in Crossing::ALL {
            for mode in [Mode::Adjoint, Mode::Tangent] {
                let mut memory = Memory::<f32, 2, 2, 5>::new();
                let plan = Plan::new(single, 0.1).crossing(crossing).mode(mode);
                let s = plan
                    .sensitivity(&pendulum, &[2.0, 0.3], &[1.2, 0.1], &mut memory)
                    .unwrap();
                let a = answer(
                    Plan::new(double, 0.1).crossing(crossing),
                    &pendulum,
                    &[2.0, 0.3],
                    &[1.2, 0.1],
                    5,
                );
                assert_eq!(s.steps, a.steps);
                let single: Vec<f64> = s
                    .time_gradient()
                    .iter()
                    .chain(s.time_gradient_x0())
                    .map(|v| v.to_f64())
                    .collect();
                Close {
                    rtol: 2e-4,
                    atol: 1e-4,
                }
                .assert("f32", &single, &[a.theta, a.x0].concat());
            }
        }
    }
    check(Euler::new(0.02), Euler::new(0.02));
    check(Heun::new(0.02), Heun::new(0.02));
    check(Rk4::new(0.02), Rk4::new(0.02));
    check(SymplecticEuler::new(0.02), SymplecticEuler::new(0.02));
}

#[test]
fn memory_in_a_static() {
    static MEMORY: Mutex<Memory<f32, 2, 1, 6>> = Mutex::new(Memory::new());
    let mut memory = MEMORY.lock().unwrap();
    let plan = Euler::new(0.05).until(1e-3);
    let s = plan
        .sensitivity(
            &Derived::<_, 2, 1>::new(Figure1),
            &[0.3],
            &[1.0, 1.0],
            &mut *memory,
        )
        .unwrap();
    assert!(s.steps > 50 && s.time_gradient()[0] < 0.0);
}

/// The result borrows the memory alone: θ can be changed while it is alive.
#[test]
fn descending_the_stopping_time() {
    let system = HeavyBall::new(Quadratic {
        lambda: [1.0, 10.0],
        coupling: 0.0,
    });
    let plan = Euler::new(1.0)
        .until(1e-10)
        .crossing(Crossing::Interpolated);
    let mut memory = Memory::<f64, 4, 2, 6>::new();
    let x0 = [1.0, 1.0, 0.0, 0.0];
    let mut theta = [0.05, 0.2];
    let mut history = vec![];
    for _ in 0..60 {
        let s = plan.sensitivity(&system, &theta, &x0, &mut memory).unwrap();
        // A step of fixed length: N spans orders of magnitude.
        let norm = s.steps_gradient().iter().map(|g| g * g).sum::<f64>().sqrt();
        for (theta, g) in theta.iter_mut().zip(s.steps_gradient()) {
            *theta -= 0.01 * g / norm;
        }
        history.push(s.steps);
    }
    let (first, last) = (history[0], history.iter().min().copied().unwrap());
    assert!(
        last * 4 < first,
        "{first} steps at first, {last} at best: {history:?}"
    );
}

/// x′ = −θ∘x with its own criterion: the maximum's smooth stand-in Σx⁴.
struct Rates;

impl<S: Scalar> Dynamics<S> for Rates {
    fn dims(&self) -> Dims {
        Dims::new(2, 2)
    }
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> S {
        for ((rate, &theta), &x) in rate.iter_mut().zip(at.theta).zip(at.x) {
            *rate = theta * x;
        }
        S::ZERO
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        _: &[S],
        rate_bar: &[S],
        _: S,
        bar: Bar<'_, S>,
        _: &mut [S],
    ) {
        for (i, a) in rate_bar.iter().enumerate() {
            bar.theta[i] += *a * at.x[i];
            bar.x[i] += *a * at.theta[i];
        }
    }
    fn pushforward(
        &self,
        at: Point<'_, S>,
        _: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> S {
        for (i, rate) in rate.iter_mut().enumerate() {
            *rate = along.theta[i] * at.x[i] + at.theta[i] * along.x[i];
        }
        S::ZERO
    }
    fn cost(&self) -> dst_core::Cost {
        dst_core::Cost {
            pullback: Some(1),
            pushforward: Some(1),
        }
    }
}

#[test]
fn dynamics_and_criterion_compose() {
    let check =
        |name: &str, system: &dyn dst_core::System<f64>, theta: &[f64], x0: &[f64], h: f64| {
            let plan = Euler::new(h).until(1e-3);
            let (by_theta, by_x0) = differences(plan, &system, theta, x0, 1e-5);
            for mode in [Mode::Adjoint, Mode::Tangent] {
                let a = answer(plan.mode(mode), &system, theta, x0, 3);
                let close = Close {
                    rtol: 1e-6,
                    atol: 1e-9,
                };
                close.assert(
                    name,
                    &a.theta.iter().map(|g| g / h).collect::<Vec<_>>(),
                    &by_theta,
                );
                close.assert(
                    name,
                    &a.x0.iter().map(|g| g / h).collect::<Vec<_>>(),
                    &by_x0,
                );
            }
        };
    let own = Pair {
        dynamics: Rates,
        criterion: FourthPowers,
    };
    check("own dynamics", &own, &[1.0, 0.8], &[1.0, 0.9], 0.02);
    // A ready-made method with a criterion of one's own, over the whole augmented state.
    let method = HeavyBall::new(Quadratic {
        lambda: [1.0, 2.0],
        coupling: 0.1,
    });
    let mixed = Pair {
        dynamics: RateOf(method),
        criterion: FourthPowers,
    };
    check(
        "method with own criterion",
        &mixed,
        &[0.1, 0.5],
        &[1.0, 0.9, 0.0, 0.0],
        1.0,
    );
}
