//! Ready-made methods: adjoint, tangent and differences of N* agree.

use dst_core::methods::{
    Adam, Constant, GradientFlow, HeavyBall, Nesterov, Preconditioned, Projected,
};
use dst_core::{Euler, Mode, Objective, Optimality, Scalar, System};

use super::outcome::{Outcome, is_double};
use super::setup::{exact, gradient, lit, recorded};
use crate::{Decay, Logistic, Quadratic, Rosenbrock};

/// All three gradients of the interpolated N* with h = 1; the differences use the first parameter and double precision.
#[inline(never)]
fn agree<S: Scalar>(
    out: &mut Outcome,
    system: &dyn System<S>,
    theta: &[S],
    x0: &[S],
    epsilon: f64,
) {
    let plan = exact(Euler::new(S::ONE), epsilon);
    let Some(adjoint) = recorded(out, plan.mode(Mode::Adjoint), system, theta, x0) else {
        return;
    };
    let Some(tangent) = recorded(out, plan.mode(Mode::Tangent), system, theta, x0) else {
        return;
    };
    out.holds("it takes some steps", adjoint.steps > 5);
    let pairs = adjoint.theta.iter().zip(&tangent.theta);
    for (a, t) in pairs.chain(adjoint.x0.iter().zip(&tangent.x0)) {
        let (a, t) = (a.to_f64(), t.to_f64());
        let tolerance = if is_double::<S>() { 1e-9 } else { 1e-2 };
        out.holds(
            "adjoint and tangent",
            (a - t).abs() <= tolerance * (a.abs() + 0.1),
        );
    }
    if is_double::<S>() {
        let star = |delta: f64| {
            let mut moved = [S::ZERO; 3];
            moved
                .iter_mut()
                .zip(theta)
                .for_each(|(to, &from)| *to = from);
            moved[0] += S::from_f64(delta);
            let at = gradient(plan, system, &moved[..theta.len()], x0, 4);
            at.map_or(f64::NAN, |a| a.star.to_f64())
        };
        let delta = 1e-6 * (1.0 + theta[0].to_f64().abs());
        let slope = (star(delta) - star(-delta)) / (2.0 * delta);
        out.near(
            "differences",
            S::from_f64(slope),
            adjoint.theta[0].to_f64(),
            [1e-3, 1e-4],
        );
    }
}

/// Objectives are passed as trait objects: one copy of each method.
fn bowl<S: Scalar>() -> Quadratic<S, 2> {
    Quadratic {
        lambda: lit([1.0, 3.0]),
        coupling: S::from_f64(0.2),
    }
}

/// Gradient descent on ½λx² is the Euler step of a decay.
pub(super) fn gradient_flow<S: Scalar>(out: &mut Outcome) {
    let objective: &dyn Objective<S> = &Quadratic {
        lambda: [S::ONE],
        coupling: S::ZERO,
    };
    let system = GradientFlow::new(objective, Constant).stop_on(Optimality::ResidualMax);
    let plan = exact(Euler::new(S::ONE), 1e-1);
    let Some(a) = recorded(out, plan, &system, &lit([0.08]), &lit([2.0])) else {
        return;
    };
    let (n, dn) = Decay::euler(0.08, 2.0, 1e-1, 1.0);
    out.near("N*", a.star, n, [1e-5, 1e-12]);
    out.near("dN*/dalpha", a.theta[0], dn, [1e-4, 1e-11]);
}

pub(super) fn heavy_ball<S: Scalar>(out: &mut Outcome) {
    let x0 = lit([1.0, -0.7, 0.0, 0.0]);
    agree(
        out,
        &HeavyBall::new(bowl::<S>()),
        &lit([0.1, 0.5]),
        &x0,
        1e-3,
    );
}

pub(super) fn nesterov<S: Scalar>(out: &mut Outcome) {
    let x0 = lit([1.0, -0.7, 1.0, -0.7]);
    agree(
        out,
        &Nesterov::new(bowl::<S>()),
        &lit([0.1, 0.4]),
        &x0,
        1e-3,
    );
}

pub(super) fn adam<S: Scalar>(out: &mut Outcome) {
    let x0 = lit([0.4, 0.5, 0.0, 0.0, 0.0, 0.0]);
    let objective: &dyn Objective<S> = &Rosenbrock { c: S::ONE };
    let system = Adam::new(objective);
    agree(out, &system, &lit([0.05, 0.8, 0.95]), &x0, 1e-1);
}

pub(super) fn projected<S: Scalar>(out: &mut Outcome) {
    let (lower, upper) = (lit([0.2, -1.0]), lit([2.0, 2.0]));
    let system = Projected::new(bowl::<S>(), &lower, &upper);
    agree(out, &system, &lit([0.1]), &lit([1.5, 1.0]), 1e-5);
}

pub(super) fn preconditioned<S: Scalar>(out: &mut Outcome) {
    let system = Preconditioned::new(bowl::<S>());
    agree(out, &system, &lit([0.2, 0.1]), &lit([1.0, -0.7]), 1e-3);
}

/// Objective with exponentials, logarithms and a tape.
pub(super) fn logistic<S: Scalar>(out: &mut Outcome) {
    let objective: &dyn Objective<S> = &Logistic::<S, 2, 4>::sample();
    out.holds("a tape", objective.tape_len() == 4);
    let system = GradientFlow::new(objective, Constant);
    agree(out, &system, &lit([0.5]), &lit([1.0, -0.7]), 1e-2);
}
