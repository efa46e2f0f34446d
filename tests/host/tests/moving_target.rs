//! J may depend on θ and t: tracking of a moving target, with a closed-form answer.
//!
//! x follows r(t) = sin t with gain θ and a known velocity: x′ = −θ(x − r) + r′, so e = x − r decays as e₀·exp(−θ(t − t₀)). J =
//! θe² falls to ε at T = t₀ + ln(θe₀²/ε)/(2θ).

use dst_core::methods::Decrease;
use dst_core::system::{Arithmetic, Criterion, Derived, Number, Pair, RateOf};
use dst_core::{
    Bar, Crossing, Direction, Euler, Formula, Heun, Integrator, Map, Mode, Plan, Point, Rk4,
    SymplecticEuler, System, formula,
};
use dst_models::{Close, relative_distance};
use dst_tests::{Steps, StopGradient, answer, differences};

#[derive(Clone, Copy, Debug)]
struct Tracking;

impl Formula<1, 1> for Tracking {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 1],
        t: Number<A>,
    ) -> [Number<A>; 1] {
        [theta[0] * (x[0] - t.sin()) - t.cos()]
    }
    fn criterion<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 1],
        t: Number<A>,
    ) -> Number<A> {
        let error = x[0] - t.sin();
        theta[0] * error * error
    }
}

const THETA: f64 = 1.3;
const X0: f64 = -1.1;
const T0: f64 = 0.4;

/// (T, dT/dθ, dT/dx0, dT/dε)
fn closed_form(epsilon: f64) -> [f64; 4] {
    let error = X0 - T0.sin();
    let time = (THETA * error * error / epsilon).ln() / (2.0 * THETA);
    [
        T0 + time,
        (0.5 / THETA - time) / THETA,
        1.0 / (THETA * error),
        -0.5 / (THETA * epsilon),
    ]
}

fn tracked<I: Integrator<f64>>(integrator: I, epsilon: f64) -> Plan<f64, I> {
    Plan::new(integrator, epsilon).from_time(T0)
}

fn tracking() -> Derived<Tracking, 1, 1> {
    Derived::new(Tracking)
}

/// Least-squares slope of log error over log h; errors of T and all its derivatives, root mean square over several ε.
fn order<I: Integrator<f64>>(make: impl Fn(f64) -> I, crossing: Crossing, mode: Mode) -> f64 {
    let steps = [0.04, 0.02, 0.01, 0.005];
    let error = |h: f64| {
        let squares = (0..16).map(|i| {
            let epsilon = 1e-2 * 1.1_f64.powi(i);
            let plan = tracked(make(h), epsilon).crossing(crossing).mode(mode);
            let a = answer(plan, &tracking(), &[THETA], &[X0], 10);
            let found = [a.time, a.theta[0], a.x0[0], a.epsilon];
            // The derivative with respect to ε is much larger than the others.
            let expected = closed_form(epsilon);
            let pairs = found.iter().zip(expected);
            pairs
                .map(|(&f, e)| relative_distance(&[f], &[e]).powi(2))
                .sum::<f64>()
        });
        (squares.sum::<f64>() / 64.0).sqrt()
    };
    let (x, y): (Vec<f64>, Vec<f64>) = steps.iter().map(|&h: &f64| (h.ln(), error(h).ln())).unzip();
    let (mx, my) = (x.iter().sum::<f64>() / 4.0, y.iter().sum::<f64>() / 4.0);
    let covariance: f64 = x.iter().zip(&y).map(|(x, y)| (x - mx) * (y - my)).sum();
    covariance / x.iter().map(|x| (x - mx).powi(2)).sum::<f64>()
}

#[test]
fn the_orders_are_those_of_a_target_at_rest() {
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let first = order(Euler::new, Crossing::Interpolated, mode);
        assert!((first - 1.0).abs() < 0.1, "{mode:?}: {first}");
        let second = order(Heun::new, Crossing::Slope, mode);
        assert!(second >= 1.9, "{mode:?}: {second}");
        let third = order(Rk4::new, Crossing::Hermite, mode);
        assert!(third >= 2.9, "{mode:?}: {third}");
    }
}

#[test]
fn fine_steps_give_the_closed_form() {
    let expected = closed_form(1e-2);
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let plan = tracked(Rk4::new(0.002), 1e-2).mode(mode);
        let a = answer(
            plan.crossing(Crossing::Hermite),
            &tracking(),
            &[THETA],
            &[X0],
            7,
        );
        let found = [a.time, a.theta[0], a.x0[0], a.epsilon];
        Close::relative(1e-7).assert("T and its derivatives", &found, &expected);
    }
}

/// Compares gradients with differences, and the modes with each other.
fn agrees<I: Integrator<f64>, Y: System<f64>>(
    name: &str,
    plan: Plan<f64, I>,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
) {
    let h = plan.integrator().step_size();
    let (by_theta, by_x0) = differences(plan, system, theta, x0, 1e-5);
    let numbers = |a: &StopGradient| [a.theta.clone(), a.x0.clone()].concat();
    for crossing in Crossing::ALL {
        let plan = plan.crossing(crossing);
        let adjoint = answer(plan.mode(Mode::Adjoint), system, theta, x0, 3);
        let found = numbers(&adjoint);
        let size = found.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        for slots in [1, 3, 50] {
            let tangent = answer(plan.mode(Mode::Tangent), system, theta, x0, slots);
            let what = format!("{name}, {crossing:?}: both modes");
            let close = Close {
                rtol: 1e-11,
                atol: 1e-12 * size,
            };
            close.assert(&what, &found, &numbers(&tangent));
            Close::relative(1e-12).assert(&what, &[adjoint.epsilon], &[tangent.epsilon]);
            assert_eq!((adjoint.steps, adjoint.time), (tangent.steps, tangent.time));
        }
        if crossing == Crossing::Interpolated {
            let steps: Vec<f64> = found.iter().map(|v| v / h).collect();
            let close = Close {
                rtol: 1e-7,
                atol: 1e-8 * size / h,
            };
            let expected = [by_theta.clone(), by_x0.clone()].concat();
            close.assert(&format!("{name}: differences"), &steps, &expected);
        }
    }
}

#[test]
fn interpolated_is_exact_and_the_modes_agree() {
    let (theta, x0) = (&[THETA], &[X0]);
    agrees(
        "Euler",
        tracked(Euler::new(0.05), 1e-2),
        &tracking(),
        theta,
        x0,
    );
    agrees(
        "Heun",
        tracked(Heun::new(0.05), 1e-2),
        &tracking(),
        theta,
        x0,
    );
    agrees("RK4", tracked(Rk4::new(0.05), 1e-2), &tracking(), theta, x0);
    let map = Derived::<_, 1, 1>::new(Steps {
        flow: Tracking,
        h: 0.05,
    });
    agrees("map", Map.until(1e-2).from_time(8.0), &map, theta, x0);
    // A mass that follows, in positions and velocities; J depends on all of θ, x and t.
    let mass = formula!(
        |theta: 2, x: 2, t| [-x[1], theta[0] * (x[0] - t.sin()) + theta[1] * (x[1] - t.cos()) + t.sin()],
        |theta, x, t| (x[0] - t.sin()).square() * theta[0] + (x[1] - t.cos()).square() + (t * -0.3).exp() * 0.01,
    );
    let plan = SymplecticEuler::new(0.04).until(2e-2);
    agrees("mass", plan, &mass, &[2.0, 1.5], &[-0.9, 0.2]);
}

/// The time of a map counts its steps: all four crossings are those of Euler.
#[test]
fn a_map_is_an_euler_step_in_time() {
    let h = 0.05;
    let map = Derived::<_, 1, 1>::new(Steps { flow: Tracking, h });
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let plan = Map.until(1e-2).from_time(8.0);
            let ours = answer(plan.crossing(crossing).mode(mode), &map, &[THETA], &[X0], 4);
            let plan = tracked(Euler::new(h), 1e-2);
            let theirs = answer(
                plan.crossing(crossing).mode(mode),
                &tracking(),
                &[THETA],
                &[X0],
                4,
            );
            assert_eq!(ours.steps, theirs.steps);
            let found = [ours.time, ours.theta[0], ours.x0[0], ours.epsilon].map(|v| v * h);
            let expected = [theirs.time, theirs.theta[0], theirs.x0[0], theirs.epsilon];
            Close::relative(1e-9).assert(crossing.name(), &found, &expected);
        }
    }
}

/// J = θ(x − sin t)², stated separately.
struct Moving;

impl Criterion<f64> for Moving {
    fn value(&self, at: Point<'_, f64>) -> f64 {
        let error = at.x[0] - at.t.sin();
        at.theta[0] * error * error
    }
    fn pullback(&self, at: Point<'_, f64>, seed: f64, bar: Bar<'_, f64>) {
        let error = at.x[0] - at.t.sin();
        let slope = 2.0 * at.theta[0] * error * seed;
        bar.theta[0] += seed * error * error;
        bar.x[0] += slope;
        if let Some(t) = bar.t {
            *t -= slope * at.t.cos();
        }
    }
    fn pushforward(&self, at: Point<'_, f64>, along: Direction<'_, f64>) -> f64 {
        let error = at.x[0] - at.t.sin();
        let change = along.x[0] - at.t.cos() * along.t;
        along.theta[0] * error * error + 2.0 * at.theta[0] * error * change
    }
}

#[test]
fn a_custom_criterion_may_move() {
    // Its own criterion does not move, and is left out.
    let follows = formula!(|theta: 1, x: 1, t| [theta[0] * (x[0] - t.sin()) - t.cos()], |x| x[0]);
    let pair = Pair {
        dynamics: RateOf(follows),
        criterion: Moving,
    };
    agrees(
        "pair",
        tracked(Heun::new(0.05), 1e-2),
        &pair,
        &[THETA],
        &[X0],
    );
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let plan = tracked(Rk4::new(0.03), 1e-2).crossing(crossing).mode(mode);
            let apart = answer(plan, &pair, &[THETA], &[X0], 4);
            let whole = answer(plan, &tracking(), &[THETA], &[X0], 4);
            let numbers = |a: &StopGradient| [a.time, a.theta[0], a.x0[0], a.epsilon];
            Close::relative(1e-12).assert(crossing.name(), &numbers(&apart), &numbers(&whole));
        }
    }
}

/// J falls with time alone, while x is constant.
#[test]
fn a_criterion_may_depend_on_time_alone() {
    let waits = formula!(
        |theta: 1, x: 1, _t| [x[0] * 0.0],
        |theta, x, t| x[0] - theta[0] * t,
    );
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let plan = Heun::new(0.25).until(0.0).crossing(crossing).mode(mode);
            let a = answer(plan, &waits, &[2.0], &[3.1], 3);
            // T = x/θ
            let slope = if crossing == Crossing::Paper {
                -1.75 / 2.0
            } else {
                -1.55 / 2.0
            };
            let found = [a.theta[0], a.x0[0], a.epsilon];
            Close::relative(1e-13).assert(crossing.name(), &found, &[slope, 0.5, -0.5]);
        }
    }
}

/// A loss that depends on time, and its decrease as a criterion: time counts the inner steps.
#[test]
fn the_decrease_of_a_loss_in_time() {
    let fades = formula!(
        |theta: 1, x: 1, _t| [theta[0] * x[0]],
        |x| x[0],
        |theta, x, t| x[0] * x[0] + (t * -0.8).exp() * theta[0],
    );
    for h in [1.0, 0.5, 0.1] {
        let system = Decrease::new(fades, h);
        let plan = Map.until(0.02 * h).from_time(1.0);
        agrees("decrease", plan, &system, &[0.7], &[1.0, 4.0]);
    }
}
