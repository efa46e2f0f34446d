//! Every integrator on flows with a known stopping time.

use dst_core::system::Derived;
use dst_core::{Crossing, Euler, Heun, Integrator, Map, Mode, Plan, Rk4, Scalar, SymplecticEuler};

use super::outcome::Outcome;
use super::setup::{exact, gradient, lit, recorded};
use crate::{BouncingBall, Decay, Figure1, Pendulum, QuadraticInTime, Shrink};

/// Ball dropped from q₀ = 1 under gravity 8: T = 1/2, dT/dq₀ = 1/4, dT/dg = −T/16.
fn ball<S: Scalar, I: Integrator<S>>(
    out: &mut Outcome,
    integrator: I,
    crossing: Crossing,
    tolerance: [f64; 2],
) {
    let plan = Plan::new(integrator, S::ZERO).crossing(crossing);
    let system = Derived::<_, 2, 1>::new(BouncingBall);
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let Some(a) = recorded(out, plan.mode(mode), &system, &lit([8.0]), &lit([1.0, 0.0])) else {
            return;
        };
        out.near("T", a.time, 0.5, tolerance);
        out.near("dT/dq0", a.x0[0], 0.25, tolerance);
        out.near("dT/dg", a.theta[0], -0.5 / 16.0, tolerance);
    }
}

pub(super) fn euler<S: Scalar>(out: &mut Outcome) {
    ball(
        out,
        Euler::new(S::from_f64(2e-3)),
        Crossing::Interpolated,
        [2e-2; 2],
    );
}

pub(super) fn symplectic<S: Scalar>(out: &mut Outcome) {
    let integrator = SymplecticEuler::new(S::from_f64(2e-3));
    ball(out, integrator, Crossing::Interpolated, [2e-2; 2]);
}

pub(super) fn heun<S: Scalar>(out: &mut Outcome) {
    ball(
        out,
        Heun::new(S::from_f64(5e-3)),
        Crossing::Slope,
        [1e-3; 2],
    );
}

/// J is quadratic in t, so RK4 and the cubic are exact. Then the paper's Figure 1.
pub(super) fn rk4<S: Scalar>(out: &mut Outcome) {
    ball(
        out,
        Rk4::new(S::from_f64(0.03)),
        Crossing::Hermite,
        [1e-4, 1e-12],
    );
    let (theta, x0, epsilon) = (0.7, [1.0, 1.0], 1e-2);
    let (t, d_theta, d_x0, d_epsilon) = Figure1::answer(theta, x0, epsilon);
    let plan = Rk4::new(S::from_f64(0.05)).until(S::from_f64(epsilon));
    let plan = plan.crossing(Crossing::Hermite);
    let system = Derived::<_, 2, 1>::new(Figure1);
    let Some(a) = recorded(out, plan, &system, &lit([theta]), &lit(x0)) else {
        return;
    };
    let close = [1e-2, 1e-3];
    out.near("T", a.time, t, close);
    out.near("dT/dtheta", a.theta[0], d_theta, close);
    out.near("dT/dx1", a.x0[0], d_x0[0], close);
    out.near("dT/dx2", a.x0[1], d_x0[1], close);
    out.near("dT/de", a.epsilon, d_epsilon, close);
}

/// x⁺ = ¾x equals Euler with h = 1 on x′ = −¼x, to the last bit of x: every crossing must agree, in both modes.
pub(super) fn map<S: Scalar>(out: &mut Outcome) {
    let (map, flow) = (
        Derived::<_, 1, 1>::new(Shrink),
        Derived::<_, 1, 1>::new(Decay),
    );
    for crossing in Crossing::ALL {
        for mode in [Mode::Adjoint, Mode::Tangent] {
            let plan = Map.until(S::from_f64(0.07)).crossing(crossing).mode(mode);
            let Some(a) = recorded(out, plan, &map, &lit([0.75]), &lit([3.0])) else {
                return;
            };
            out.holds("N", a.steps == 14);
            if crossing == Crossing::Paper {
                // N/(1 − θ)
                out.near("dT/dtheta", a.theta[0], 56.0, [1e-5, 1e-13]);
            }
            let plan = Euler::new(S::ONE).until(S::from_f64(0.07));
            let plan = plan.crossing(crossing).mode(mode);
            let Some(b) = recorded(out, plan, &flow, &lit([0.25]), &lit([3.0])) else {
                return;
            };
            let close = [1e-4, 1e-12];
            out.near("T", a.time, b.time.to_f64(), close);
            out.near("dT/dtheta", a.theta[0], -b.theta[0].to_f64(), close);
            out.near("dT/dx0", a.x0[0], b.x0[0].to_f64(), close);
            out.near("dT/de", a.epsilon, b.epsilon.to_f64(), close);
        }
    }
}

pub(super) fn time_dependent_rate<S: Scalar>(out: &mut Outcome) {
    let (k, x0, xc) = (0.7, 2.0, 0.3);
    let (t, d_k, d_x0) = QuadraticInTime::answer(k, x0, xc);
    let plan = Rk4::new(S::from_f64(0.02)).until(S::from_f64(xc));
    let plan = plan.crossing(Crossing::Hermite);
    let system = Derived::<_, 1, 1>::new(QuadraticInTime);
    let Some(a) = recorded(out, plan, &system, &lit([k]), &lit([x0])) else {
        return;
    };
    let close = [1e-3, 1e-5];
    out.near("T", a.time, t, close);
    out.near("dT/dk", a.theta[0], d_k, close);
    out.near("dT/dx0", a.x0[0], d_x0, close);
}

/// Rate with sine and cosine; finite differences of N* confirm the gradient.
pub(super) fn pendulum<S: Scalar>(out: &mut Outcome) {
    let system = Derived::<_, 2, 2>::new(Pendulum);
    let (theta, x0) = ([2.0, 0.3], lit([1.2, 0.1]));
    let plan = exact(Euler::new(S::from_f64(0.02)), 0.1);
    let Some(a) = recorded(out, plan, &system, &lit(theta), &x0) else {
        return;
    };
    // In the other precision the result is the same up to rounding.
    let double = exact(Euler::new(0.02), 0.1);
    let at = |stiffness: f64| {
        let theta = [stiffness, theta[1]];
        gradient(double, &system, &theta, &[1.2, 0.1], 4).map_or(f64::NAN, |a| a.star)
    };
    let slope = (at(theta[0] + 1e-5) - at(theta[0] - 1e-5)) / 2e-5;
    out.near("dN*/dtheta", a.theta[0], 0.02 * slope, [1e-3, 1e-6]);
}
