//! Every crossing compared with closed forms.

use dst_core::system::Derived;
use dst_core::{Crossing, Euler, Mode, Scalar};

use super::outcome::Outcome;
use super::setup::{lit, recorded};
use crate::{Countdown, Decay, Figure1};

const MODES: [Mode; 2] = [Mode::Adjoint, Mode::Tangent];

pub(super) fn countdown_is_exact<S: Scalar>(out: &mut Outcome) {
    let system = Derived::<_, 1, 0>::new(Countdown);
    for crossing in Crossing::ALL {
        for mode in MODES {
            let plan = Euler::new(S::from_f64(0.25)).until(S::ZERO);
            let plan = plan.crossing(crossing).mode(mode);
            let Some(a) = recorded(out, plan, &system, &[], &lit([3.1])) else {
                return;
            };
            out.holds("N", a.steps == 13);
            out.near("dT/dx0", a.x0[0], 1.0, [2e-6, 1e-14]);
            out.near("dT/de", a.epsilon, -1.0, [2e-6, 1e-14]);
            let time = if crossing == Crossing::Paper {
                3.25
            } else {
                3.1
            };
            out.near("T", a.time, time, [1e-6, 1e-14]);
        }
    }
}

pub(super) fn decay_is_closed_form<S: Scalar>(out: &mut Outcome) {
    let (theta, x0, epsilon, h) = (1.3, 2.0, 1e-1, 0.07);
    let (n, dn) = Decay::euler(theta, x0, epsilon, h);
    for mode in MODES {
        let plan = Euler::new(S::from_f64(h)).until(S::from_f64(epsilon));
        let plan = plan.crossing(Crossing::Interpolated).mode(mode);
        let system = Derived::<_, 1, 1>::new(Decay);
        let Some(a) = recorded(out, plan, &system, &lit([theta]), &lit([x0])) else {
            return;
        };
        out.near("N*", a.star, n, [1e-5, 1e-12]);
        out.near("dN*/dtheta", a.theta[0], h * dn, [1e-4, 1e-11]);
    }
}

/// Definition 3 of the paper, by hand: −h·S/(J_N − J_{N−1}) with x_N = ((1−h)^N, (1−4hθ)^N).
pub(super) fn definition_3<S: Scalar>(out: &mut Outcome) {
    let (theta, epsilon, h) = (0.7, 1e-2, 0.05);
    let plan = Euler::new(S::from_f64(h)).until(S::from_f64(epsilon));
    let plan = plan.crossing(Crossing::Paper).mode(Mode::Adjoint);
    let system = Derived::<_, 2, 1>::new(Figure1);
    let Some(a) = recorded(out, plan, &system, &lit([theta]), &lit([1.0, 1.0])) else {
        return;
    };
    let (p, q) = (1.0 - h, 1.0 - 4.0 * h * theta);
    let power = |x: f64, n: usize| (0..n).fold(1.0, |product, _| product * x);
    let j = |n: usize| power(p, 2 * n) + 16.0 * power(q, 2 * n);
    let n = a.steps;
    out.holds("N", j(n) <= epsilon && j(n - 1) > epsilon);
    let s = 16.0 * (2 * n) as f64 * power(q, 2 * n - 1) * (-4.0 * h);
    let expected = -h * s / (j(n) - j(n - 1));
    out.near("Definition 3", a.theta[0], expected, [1e-3, 1e-12]);
}
