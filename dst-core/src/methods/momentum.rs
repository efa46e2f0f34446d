//! Heavy ball and Nesterov's acceleration: gradient descent with memory, θ = (α, β).

use super::method::{Method, Update};
use crate::scalar::Scalar;
use crate::system::dual::Dual;

/// The update of [`HeavyBall`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeavyBallUpdate;

/// Polyak's heavy ball: v⁺ = βv + α∇f(x), x⁺ = x − v⁺. State (x, v), starts with v = 0; θ = (α, β).
pub type HeavyBall<O> = Method<O, HeavyBallUpdate, 2, 2, 5>;

impl<O> HeavyBall<O> {
    /// Over this objective.
    pub const fn new(objective: O) -> Self {
        Self::with_update(objective, HeavyBallUpdate)
    }
}

impl<S: Scalar> Update<S, 2, 2> for HeavyBallUpdate {
    fn params(&self) -> usize {
        2
    }
    #[inline(always)]
    fn coefficients<const K: usize>(
        &self,
        theta: impl Fn(usize) -> Dual<S, K>,
        _: S,
    ) -> [Dual<S, K>; 2] {
        [theta(0), theta(1)]
    }
    #[inline(always)]
    fn rate<const K: usize>(
        &self,
        _: usize,
        &[alpha, beta]: &[Dual<S, K>; 2],
        &[_, v]: &[Dual<S, K>; 2],
        g: Dual<S, K>,
    ) -> [Dual<S, K>; 2] {
        let next = beta * v + alpha * g;
        [next, v - next]
    }
}

/// The update of [`Nesterov`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NesterovUpdate;

/// Nesterov's method: x⁺ = y − α∇f(y), y⁺ = x⁺ + β(x⁺ − x). State (y, x), starts with y = x; θ = (α, β).
/// f and the criterion are taken at y, where the gradient is.
pub type Nesterov<O> = Method<O, NesterovUpdate, 2, 2, 5>;

impl<O> Nesterov<O> {
    /// Over this objective.
    pub const fn new(objective: O) -> Self {
        Self::with_update(objective, NesterovUpdate)
    }
}

impl<S: Scalar> Update<S, 2, 2> for NesterovUpdate {
    fn params(&self) -> usize {
        2
    }
    #[inline(always)]
    fn coefficients<const K: usize>(
        &self,
        theta: impl Fn(usize) -> Dual<S, K>,
        _: S,
    ) -> [Dual<S, K>; 2] {
        [theta(0), theta(1)]
    }
    #[inline(always)]
    fn rate<const K: usize>(
        &self,
        _: usize,
        &[alpha, beta]: &[Dual<S, K>; 2],
        &[y, x]: &[Dual<S, K>; 2],
        g: Dual<S, K>,
    ) -> [Dual<S, K>; 2] {
        // x − x⁺ is needed for both: y⁺ = x⁺ − β(x − x⁺), so y − y⁺ = (y − x⁺) + β(x − x⁺).
        let descent = alpha * g;
        let moved = x - y + descent;
        [descent + beta * moved, moved]
    }
}
