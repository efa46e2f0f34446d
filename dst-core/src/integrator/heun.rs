//! Heun's method (explicit trapezoid): two evaluations per step, order 2.

use super::runge_kutta::{RungeKutta, Tableau};

/// Heun's method (explicit trapezoid): two evaluations per step, order 2.
pub type Heun<S> = RungeKutta<S, HeunTableau>;

/// The coefficients of [`Heun`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeunTableau;

impl Tableau for HeunTableau {
    const FIRST: f64 = 0.5;
    const LATER: &'static [(f64, f64)] = &[(1.0, 0.5)];
}
