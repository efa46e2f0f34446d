//! Forward Euler, the paper's iteration: x⁺ = x − h·A(θ, x, t). One evaluation per step, order 1.

use super::runge_kutta::{RungeKutta, Tableau};

/// Forward Euler, the paper's iteration: x⁺ = x − h·A(θ, x, t). One evaluation per step, order 1.
pub type Euler<S> = RungeKutta<S, EulerTableau>;

/// The coefficients of [`Euler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EulerTableau;

impl Tableau for EulerTableau {
    const FIRST: f64 = 1.0;
    const LATER: &'static [(f64, f64)] = &[];
}
