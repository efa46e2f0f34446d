//! The classical Runge–Kutta method: four evaluations per step, order 4.

use super::runge_kutta::{RungeKutta, Tableau};

/// The classical Runge–Kutta method: four evaluations per step, order 4.
pub type Rk4<S> = RungeKutta<S, Rk4Tableau>;

/// The coefficients of [`Rk4`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rk4Tableau;

impl Tableau for Rk4Tableau {
    const FIRST: f64 = 1.0 / 6.0;
    const LATER: &'static [(f64, f64)] = &[(0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0)];
}
