//! The ready-made methods are the classical iterations, and each supports weights on the loss.

use dst_core::fixed::{LinearFeedback, Quadratic as FixedQuadratic};
use dst_core::methods::{
    Adam, AdamUpdate, BoxUpdate, Constant, Decrease, Exponential, GradientFlow, HeavyBall,
    HeavyBallUpdate, Nesterov, NesterovUpdate, Preconditioned, Projected, Scaled, Update,
    transpose_by_duals,
};
use dst_core::system::{Derived, Pair, RateOf};
use dst_core::{
    Bar, Cost, Crossing, Dims, Direction, Euler, HeapMemory, Heun, Integrator, Map, Mode,
    Objective, Plan, Point, Reading, Rk4, Seed, Seeds, System,
};
use dst_models::{Close, Logistic, Rosenbrock};
use dst_tests::{BOWL, FourthPowers, answer, differences, total};
use nalgebra::{matrix, vector};

const X: [f64; 3] = [1.0, -0.7, 0.4];

fn gradient(x: &[f64]) -> Vec<f64> {
    let mut g = vec![0.0; 3];
    BOWL.value_gradient(x, &mut g, &mut [], &mut []);
    g
}

fn value(x: &[f64]) -> f64 {
    BOWL.value_gradient(x, &mut [0.0; 3], &mut [], &mut [])
}

/// Runs `steps` steps with Euler and h = 1 and returns the state.
fn state_after<Y: System<f64>>(
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    steps: usize,
    t0: f64,
) -> Vec<f64> {
    let plan = Euler::new(1.0).until(-1e300).at_most(steps).from_time(t0);
    let mut memory = HeapMemory::new(&plan, system, 0);
    let problem = plan.on(system, theta, x0).unwrap();
    problem.start(&mut memory).unwrap();
    problem
        .complete(&mut memory)
        .unwrap()
        .iterate()
        .state
        .to_vec()
}

#[track_caller]
fn same(name: &str, ours: &[f64], classical: &[f64]) {
    Close {
        rtol: 1e-13,
        atol: 1e-14,
    }
    .assert(name, ours, classical);
}

#[test]
fn every_method_is_its_classical_iteration() {
    let (alpha, beta) = (0.15, 0.7);
    let mut x = X.to_vec();
    for k in 0..10 {
        let g = gradient(&x);
        let step = 0.2 * (-0.1 * (f64::from(k) + 2.0 - 0.5)).exp();
        x.iter_mut().zip(&g).for_each(|(x, g)| *x -= step * g);
    }
    let flow = GradientFlow::new(BOWL, Exponential { start: 0.5 });
    same(
        "exponential schedule",
        &state_after(&flow, &[0.2, 0.1], &X, 10, 2.0),
        &x,
    );

    let (mut x, scales) = (X.to_vec(), [0.3, 0.1, 0.5]);
    for _ in 0..10 {
        let g = gradient(&x);
        (0..3).for_each(|i| x[i] -= scales[i] * g[i]);
    }
    same(
        "preconditioned",
        &state_after(&Preconditioned::new(BOWL), &scales, &X, 10, 0.0),
        &x,
    );

    let (mut x, mut v) = (X.to_vec(), vec![0.0; 3]);
    for _ in 0..10 {
        let g = gradient(&x);
        for i in 0..3 {
            v[i] = beta * v[i] + alpha * g[i];
            x[i] -= v[i];
        }
    }
    let z = [X, [0.0; 3]].concat();
    same(
        "heavy ball",
        &state_after(&HeavyBall::new(BOWL), &[alpha, beta], &z, 10, 0.0),
        &[x, v].concat(),
    );

    let (mut y, mut x) = (X.to_vec(), X.to_vec());
    for _ in 0..10 {
        let g = gradient(&y);
        for i in 0..3 {
            let next = y[i] - alpha * g[i];
            y[i] = next + beta * (next - x[i]);
            x[i] = next;
        }
    }
    let z = [X, X].concat();
    same(
        "Nesterov",
        &state_after(&Nesterov::new(BOWL), &[alpha, beta], &z, 10, 0.0),
        &[y, x].concat(),
    );

    let (mut x, mut m, mut v, b1, b2) = (X.to_vec(), vec![0.0; 3], vec![0.0; 3], 0.9, 0.99);
    for n in 1..=10 {
        let g = gradient(&x);
        for i in 0..3 {
            m[i] = b1 * m[i] + (1.0 - b1) * g[i];
            v[i] = b2 * v[i] + (1.0 - b2) * g[i] * g[i];
            let (m_hat, v_hat) = (
                m[i] / (1.0 - f64::powi(b1, n)),
                v[i] / (1.0 - f64::powi(b2, n)),
            );
            x[i] -= 0.05 * m_hat / (v_hat.sqrt() + 1e-8);
        }
    }
    let z = [X, [0.0; 3], [0.0; 3]].concat();
    same(
        "Adam",
        &state_after(&Adam::new(BOWL), &[0.05, b1, b2], &z, 10, 0.0),
        &[x, m, v].concat(),
    );

    let (mut x, lower, upper) = (X.to_vec(), [0.4, -2.0, -2.0], [2.0, -0.3, 0.1]);
    for _ in 0..10 {
        let g = gradient(&x);
        (0..3).for_each(|i| x[i] = (x[i] - alpha * g[i]).clamp(lower[i], upper[i]));
    }
    assert_eq!((x[0], x[1]), (0.4, -0.3), "both kinds of bounds are active");
    same(
        "projected",
        &state_after(&Projected::new(BOWL, &lower, &upper), &[alpha], &X, 10, 0.0),
        &x,
    );
}

/// Compares Σ w_k f(x_k) + μT with differences, in both modes.
#[track_caller]
fn loss_rides_along<Y: System<f64>, I: Integrator<f64>>(
    name: &str,
    integrator: I,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    epsilon: f64,
) {
    let weight = |k: usize| 0.5 + 0.1 * k as f64;
    let plan = Plan::new(integrator, epsilon);
    let stop = Seeds::stop(Crossing::Interpolated).times(0.3);
    let seeds = stop + Seeds::weighted(|k| Reading::loss(weight(k)));
    let total = |theta: &[f64], x0: &[f64]| {
        let found = total(
            (integrator, epsilon),
            usize::MAX,
            system,
            (theta, x0),
            weight,
        );
        found.loss + 0.3 * found.steps_star
    };
    let slope = |v: &[f64], i: usize, f: &dyn Fn(&[f64]) -> f64| {
        let at = |d: f64| {
            let mut v = v.to_vec();
            v[i] += d;
            f(&v)
        };
        let d = 1e-5;
        (8.0 * (at(d) - at(-d)) - (at(2.0 * d) - at(-2.0 * d))) / (12.0 * d)
    };
    let by_theta: Vec<f64> = (0..theta.len())
        .map(|i| slope(theta, i, &|t| total(t, x0)))
        .collect();
    let by_x0: Vec<f64> = (0..x0.len())
        .map(|i| slope(x0, i, &|x| total(theta, x)))
        .collect();
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let mut memory = HeapMemory::new(&plan, system, 3);
        let problem = plan.mode(mode).on(system, theta, x0).unwrap();
        problem.start(&mut memory).unwrap();
        problem.complete(&mut memory).unwrap();
        problem
            .differentiate(&mut memory, seeds, usize::MAX)
            .unwrap();
        let g = problem.gradient(&memory).unwrap();
        let size = by_theta
            .iter()
            .chain(&by_x0)
            .fold(0.0_f64, |m, v| m.max(v.abs()));
        let close = Close {
            rtol: 1e-6,
            atol: 1e-8 * size,
        };
        close.assert(&format!("{name} by theta, {mode:?}"), g.theta, &by_theta);
        close.assert(&format!("{name} by x0, {mode:?}"), g.x0, &by_x0);
    }
}

#[test]
fn every_method_supports_losses() {
    let unit = Euler::new(1.0);
    loss_rides_along(
        "gradient flow",
        unit,
        &GradientFlow::new(BOWL, Constant),
        &[0.2],
        &X,
        1e-4,
    );
    let logistic = Logistic::<f64, 3, 8>::sample();
    loss_rides_along(
        "preconditioned",
        unit,
        &Preconditioned::new(logistic),
        &[0.5, 0.8, 0.3],
        &X,
        1e-4,
    );
    let ball = [X, [0.0; 3]].concat();
    loss_rides_along(
        "heavy ball",
        unit,
        &HeavyBall::new(BOWL),
        &[0.2, 0.5],
        &ball,
        1e-4,
    );
    let decrease = Decrease::new(GradientFlow::new(BOWL, Constant), 1.0);
    let x0 = [X.as_slice(), &[value(&X) + 1.0]].concat();
    loss_rides_along("decrease", Map, &decrease, &[0.2], &x0, 1e-4);
    let own = Pair {
        dynamics: RateOf(HeavyBall::new(BOWL)),
        criterion: FourthPowers,
    };
    loss_rides_along("own criterion", unit, &own, &[0.2, 0.5], &ball, 1e-5);
    let adam = Adam::new(Rosenbrock { c: 5.0 });
    loss_rides_along(
        "Adam",
        unit,
        &adam,
        &[0.02, 0.85, 0.97],
        &[-0.5, 0.9, 0.0, 0.0, 0.0, 0.0],
        0.1,
    );
    loss_rides_along(
        "projected",
        unit,
        &Projected::new(BOWL, &[0.4], &[]),
        &[0.2],
        &X,
        1e-5,
    );
}

#[test]
fn nalgebra_systems_have_the_right_derivatives() {
    let plant = LinearFeedback {
        a: matrix![0.1, 1.0, 0.0; -0.2, 0.0, 0.3; 0.0, 0.4, -0.5],
        b: matrix![0.0, 0.5; 1.0, 0.0; 0.2, 1.0],
    };
    let gains = matrix![1.0, 1.5, 0.2; 0.3, 0.1, 0.7];
    let (plan, x0) = (Heun::new(0.05).until(1e-2), [1.0, 0.3, -0.6]);
    let a = answer(plan.mode(Mode::Adjoint), &plant, gains.as_slice(), &x0, 4);
    let t = answer(plan.mode(Mode::Tangent), &plant, gains.as_slice(), &x0, 4);
    let (by_theta, by_x0) = differences(plan, &plant, gains.as_slice(), &x0, 1e-5);
    let close = Close {
        rtol: 1e-6,
        atol: 1e-7,
    };
    let steps = |v: &[f64]| v.iter().map(|v| v / 0.05).collect::<Vec<_>>();
    close.assert("gains", &steps(&a.theta), &by_theta);
    close.assert("x0", &steps(&a.x0), &by_x0);
    close.assert("tangent", &t.theta, &a.theta);
    // The rate is −(A − BK)x, computed with nalgebra.
    let mut rate = [0.0; 3];
    let at = Point {
        theta: gains.as_slice(),
        x: &x0,
        t: 0.0,
    };
    let j = plant.rate(at, &mut rate, &mut [], &mut []).criterion;
    let expected = -(plant.a - plant.b * gains) * vector![1.0, 0.3, -0.6];
    Close::relative(1e-14).assert("rate", &rate, expected.as_slice());
    Close::relative(1e-15).assert("J", &[j], &[1.0 + 0.09 + 0.36]);

    let bowl = FixedQuadratic {
        q: matrix![2.0, 0.5; 0.5, 1.0],
        b: vector![1.0, -1.0],
    };
    let mut g = [0.0; 2];
    let x = vector![0.3, -0.4];
    let f = bowl.value_gradient(x.as_slice(), &mut g, &mut [], &mut []);
    Close::relative(1e-14).assert("f", &[f], &[0.5 * x.dot(&(bowl.q * x)) - bowl.b.dot(&x)]);
    Close::relative(1e-14).assert("gradient", &g, (bowl.q * x - bowl.b).as_slice());
    let mut hv = [10.0, 20.0];
    bowl.add_hessian_vector(&[], &[1.0, 2.0], &[], &mut hv, &mut []);
    Close::relative(1e-14).assert("Hessian product, added", &hv, &[13.0, 22.5]);
}

/// x′ = −θx with J = x·e^{−t/5} and f = x·t: both depend on time.
struct Clock;

impl System<f64> for Clock {
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
        rate[0] = at.theta[0] * at.x[0];
        Reading {
            criterion: at.x[0] * (-0.2 * at.t).exp(),
            loss: at.x[0] * at.t,
        }
    }
    fn pullback(
        &self,
        at: Point<'_, f64>,
        _: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        _: &mut [f64],
    ) {
        let fade = (-0.2 * at.t).exp();
        bar.theta[0] += seed.rate[0] * at.x[0];
        bar.x[0] += seed.rate[0] * at.theta[0] + seed.criterion * fade + seed.loss * at.t;
        if let Some(t) = bar.t {
            *t += -0.2 * seed.criterion * at.x[0] * fade + seed.loss * at.x[0];
        }
    }
    fn pushforward(
        &self,
        at: Point<'_, f64>,
        _: &[f64],
        along: Direction<'_, f64>,
        rate: &mut [f64],
        _: &mut [f64],
    ) -> Reading<f64> {
        rate[0] = along.theta[0] * at.x[0] + at.theta[0] * along.x[0];
        Reading {
            criterion: (along.x[0] - 0.2 * at.x[0] * along.t) * (-0.2 * at.t).exp(),
            loss: along.x[0] * at.t + at.x[0] * along.t,
        }
    }
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(1),
            pushforward: Some(1),
        }
    }
}

#[test]
fn readings_may_depend_on_time() {
    let plan = Euler::new(0.1).until(0.01).from_time(0.7);
    let (theta, x0) = ([0.5], [1.0]);
    let (by_theta, by_x0) = differences(plan, &Clock, &theta, &x0, 1e-5);
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let a = answer(plan.mode(mode), &Clock, &theta, &x0, 3);
        Close::relative(1e-7).assert("dN*/dtheta", &[a.theta[0] / 0.1], &by_theta);
        Close::relative(1e-7).assert("dN*/dx0", &[a.x0[0] / 0.1], &by_x0);
    }
    loss_rides_along("clock", Euler::new(1.0), &Clock, &theta, &x0, 0.01);
}

#[test]
fn units_and_edges_of_the_answer() {
    let plan: Plan<f64, _> = Euler::new(0.25).until(0.0);
    let countdown = Derived::<_, 1, 0>::new(dst_models::Countdown);
    // J = ε counts as a stop: 1 − 4·0.25 = 0 exactly.
    let mut memory = HeapMemory::new(&plan, &countdown, 2);
    let s = plan
        .sensitivity(&countdown, &[], &[1.0], &mut memory)
        .unwrap();
    assert_eq!(s.steps, 4);
    assert_eq!(
        (s.time_gradient_epsilon(), s.steps_gradient_epsilon()),
        (-1.0, -4.0)
    );
    assert_eq!(
        (s.time_gradient_x0(), s.steps_gradient_x0()),
        ([1.0].as_slice(), [4.0].as_slice())
    );
    // A single step: J is linear, so all crossings agree.
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let plan = plan.crossing(crossing).mode(mode);
            let mut memory = HeapMemory::new(&plan, &countdown, 2);
            let s = plan
                .sensitivity(&countdown, &[], &[0.2], &mut memory)
                .unwrap();
            assert_eq!(s.steps, 1);
            Close::relative(1e-14).assert("dT/dx0", s.time_gradient_x0(), &[1.0]);
        }
    }
    // Without x0, in every mode.
    let flow = Derived::<_, 2, 1>::new(dst_models::Figure1);
    for mode in [Mode::Adjoint, Mode::Tangent, Mode::Auto] {
        let plan = Rk4::new(0.05).until(1e-3).mode(mode).theta_only();
        let mut memory = HeapMemory::new(&plan, &flow, 4);
        let s = plan
            .sensitivity(&flow, &[0.3], &[1.0, 1.0], &mut memory)
            .unwrap();
        assert!(s.time_gradient_x0().is_empty() && s.steps_gradient_x0().is_empty());
        Close::relative(1e-15).assert("units", s.steps_gradient(), &[s.time_gradient()[0] / 0.05]);
    }
}

/// The transpose that an update writes out, against that from dual numbers, for one variable.
fn transposes_agree<U, const B: usize, const C: usize, const K: usize>(
    name: &str,
    update: &U,
    (coefficients, state): ([f64; C], [f64; B]),
    gradient: f64,
) where
    U: Update<f64, B, C>,
{
    for unit in 0..=B {
        // Every output alone, then all together.
        let seed = std::array::from_fn(|b| match unit {
            _ if unit == B => 0.3 - 0.8 * b as f64,
            _ if unit == b => 1.0,
            _ => 0.0,
        });
        let own = update.transpose::<K>(0, &coefficients, &state, gradient, &seed);
        let duals = transpose_by_duals::<f64, U, B, C, K>(
            update,
            0,
            &coefficients,
            &state,
            gradient,
            &seed,
        );
        let close = Close {
            rtol: 1e-14,
            atol: 1e-14,
        };
        close.assert(name, &own.state, &duals.state);
        close.assert(name, &[own.gradient], &[duals.gradient]);
        close.assert(name, &own.coefficients, &duals.coefficients);
    }
}

#[test]
fn a_transpose_written_out_is_that_of_dual_numbers() {
    for (g, v) in [(1.3, -0.7), (-0.2, 0.4), (0.0, 0.9), (2.5, 0.0), (0.0, 0.0)] {
        let momentum = ([0.15, 0.7], [1.1, v]);
        transposes_agree::<_, 2, 2, 5>("heavy ball", &HeavyBallUpdate, momentum, g);
        transposes_agree::<_, 2, 2, 5>("Nesterov", &NesterovUpdate, momentum, g);
        let scaled = Scaled { schedule: Constant };
        transposes_agree::<_, 1, 1, 3>("gradient flow", &scaled, ([0.15], [1.1]), g);
        // Free, clipped from below and from above, exactly at a bound, and without bounds.
        for (lower, upper) in [(-9.0, 9.0), (3.0, 9.0), (-9.0, 0.2), (1.1, 1.1)] {
            let bounds = ([lower], [upper]);
            let both = BoxUpdate {
                lower: &bounds.0,
                upper: &bounds.1,
            };
            transposes_agree::<_, 1, 1, 3>("projected", &both, ([0.15], [1.1]), g);
            let none = BoxUpdate {
                lower: &[],
                upper: &[],
            };
            transposes_agree::<_, 1, 1, 3>("projected, no bounds", &none, ([0.15], [1.1]), g);
        }
        let adam = AdamUpdate {
            stability: 1e-3,
            start: 0.0,
        };
        let state = ([0.3, 1.7, 0.9, 0.99], [1.1, v, v * v]);
        transposes_agree::<_, 3, 4, 8>("Adam", &adam, state, g);
    }
}
