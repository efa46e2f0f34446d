//! All known answers of the mathematics notes.

use dst_core::system::Derived;
use dst_core::{Crossing, Euler, Heun, Mode, Rk4, SymplecticEuler};
use dst_models::{BouncingBall, Close, Countdown, Decay, Figure1, QuadraticInTime};
use dst_tests::answer;

const MODES: [Mode; 3] = [Mode::Adjoint, Mode::Tangent, Mode::Auto];

#[test]
fn a_countdown_has_gradient_one_exactly() {
    for mode in MODES {
        for crossing in Crossing::ALL {
            let plan = Euler::new(0.25).until(0.0).crossing(crossing).mode(mode);
            let a = answer(plan, &Derived::<_, 1, 0>::new(Countdown), &[], &[3.1], 3);
            assert_eq!(a.steps, 13, "{crossing:?}");
            Close::relative(1e-14).assert("dT/dx0", &a.x0, &[1.0]);
            Close::relative(1e-14).assert("dT/de", &[a.epsilon], &[-1.0]);
            if crossing != Crossing::Paper {
                Close::relative(1e-14).assert("T", &[a.time], &[3.1]);
            }
        }
    }
}

#[test]
fn euler_on_exponential_decay_is_closed_form() {
    for (theta, x0, epsilon, h) in [
        (1.3, 2.0, 1e-3, 0.07),
        (0.1, 1.0, 0.5, 0.01),
        (3.0, 5.0, 1e-8, 0.3),
    ] {
        for mode in MODES {
            let plan = Euler::new(h)
                .until(epsilon)
                .crossing(Crossing::Interpolated)
                .mode(mode);
            let a = answer(plan, &Derived::<_, 1, 1>::new(Decay), &[theta], &[x0], 4);
            let (n, dn) = Decay::euler(theta, x0, epsilon, h);
            Close::relative(1e-12).assert("N*", &[a.steps_star], &[n]);
            Close::relative(1e-11).assert("dN*/dtheta", &[a.theta[0] / h], &[dn]);
        }
    }
}

#[test]
fn exponential_decay_converges_to_the_logarithm() {
    // The second case is decay to one half at k = 0.1: T = ln 2/k, dT/dk = −ln 2/k².
    for (theta, x0, epsilon) in [(1.3, 2.0, 1e-3), (0.1, 1.0, 0.5)] {
        let plan = Rk4::new(0.002).until(epsilon).crossing(Crossing::Hermite);
        let a = answer(plan, &Derived::<_, 1, 1>::new(Decay), &[theta], &[x0], 6);
        let (d_theta, d_x0, d_epsilon) = Decay::gradient(theta, x0, epsilon);
        let close = Close::relative(1e-8);
        close.assert("T", &[a.time], &[Decay::time(theta, x0, epsilon)]);
        close.assert("dT/dtheta", &a.theta, &[d_theta]);
        close.assert("dT/dx0", &a.x0, &[d_x0]);
        close.assert("dT/de", &[a.epsilon], &[d_epsilon]);
    }
    Close::relative(1e-9).assert(
        "half-life",
        &[Decay::gradient(0.1, 1.0, 0.5).0],
        &[-std::f64::consts::LN_2 / 0.01],
    );
}

#[test]
fn bouncing_ball() {
    for (q0, expected) in [(1.0, 0.25), (3.0, 0.144_337_567_3), (10.0, 0.079_056_941_5)] {
        let ball = Derived::<_, 2, 1>::new(BouncingBall);
        // J is quadratic in t, so RK4 and the cubic are exact.
        let plan = Rk4::new(0.01).until(0.0).crossing(Crossing::Hermite);
        let a = answer(plan, &ball, &[8.0], &[q0, 0.0], 5);
        Close::relative(1e-9).assert("dT/dq0", &a.x0[..1], &[expected]);
        Close::relative(1e-9).assert("T", &[a.time], &[(q0 / 4.0).sqrt()]);
        // dT/dg = −T/(2g)
        Close::relative(1e-9).assert("dT/dg", &a.theta, &[-(q0 / 4.0).sqrt() / 16.0]);
        let plan = SymplecticEuler::new(1e-4).until(0.0);
        let a = answer(plan, &ball, &[8.0], &[q0, 0.0], 5);
        Close::relative(1e-3).assert("symplectic dT/dq0", &a.x0[..1], &[expected]);
        let plan = Heun::new(1e-3).until(0.0).crossing(Crossing::Slope);
        let a = answer(plan, &ball, &[8.0], &[q0, 0.0], 5);
        Close::relative(1e-5).assert("Heun dT/dq0", &a.x0[..1], &[expected]);
    }
}

#[test]
fn a_rate_that_depends_on_time() {
    let (k, x0, xc) = (0.7, 2.0, 0.3);
    let (t, d_k, d_x0) = QuadraticInTime::answer(k, x0, xc);
    let plan = Rk4::new(0.005).until(xc).crossing(Crossing::Hermite);
    let a = answer(
        plan,
        &Derived::<_, 1, 1>::new(QuadraticInTime),
        &[k],
        &[x0],
        6,
    );
    let close = Close::relative(1e-7);
    close.assert("T", &[a.time], &[t]);
    close.assert("dT/dk", &a.theta, &[d_k]);
    close.assert("dT/dx0", &a.x0, &[d_x0]);
    // With a later start, the start time must be passed to the same flow.
    let late = answer(
        plan.from_time(0.5),
        &Derived::<_, 1, 1>::new(QuadraticInTime),
        &[k],
        &[x0],
        6,
    );
    Close::relative(1e-7).assert("T from 0.5", &[late.time], &[(t * t + 0.25).sqrt()]);
}

#[test]
fn figure_1_of_the_paper() {
    let (theta, x0, epsilon) = (0.7, [1.0, 1.0], 1e-2);
    let (t, d_theta, d_x0, d_epsilon) = Figure1::answer(theta, x0, epsilon);
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let a = answer(
        Rk4::new(0.002).until(epsilon).crossing(Crossing::Hermite),
        &flow,
        &[theta],
        &x0,
        8,
    );
    let close = Close::relative(1e-6);
    close.assert("T", &[a.time], &[t]);
    close.assert("dT/dtheta", &a.theta, &[d_theta]);
    close.assert("dT/dx0", &a.x0, &d_x0);
    close.assert("dT/de", &[a.epsilon], &[d_epsilon]);
    // Definition 3, by hand: −h·S/(J_N − J_{N−1}) with x_N = ((1−h)^N, (1−4hθ)^N).
    let h = 0.05;
    let a = answer(
        Euler::new(h).until(epsilon).crossing(Crossing::Paper),
        &flow,
        &[theta],
        &x0,
        8,
    );
    let j = |n: i32| (1.0 - h).powi(2 * n) + 16.0 * (1.0 - 4.0 * h * theta).powi(2 * n);
    let n = a.steps as i32;
    assert!(j(n) <= epsilon && j(n - 1) > epsilon, "N = {n}");
    let s = 16.0 * f64::from(2 * n) * (1.0 - 4.0 * h * theta).powi(2 * n - 1) * (-4.0 * h);
    Close::relative(1e-12).assert("Definition 3", &a.theta, &[-h * s / (j(n) - j(n - 1))]);
    assert_eq!(a.steps_star, f64::from(n));
}
