//! Heavy ball and Nesterov's acceleration: gradient descent with momentum, θ = (α, β).

use super::method::{Method, Transposed, Update};
use crate::scalar::Scalar;
use crate::system::{Arithmetic, Number};

/// Update of [`HeavyBall`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeavyBallUpdate;

/// Polyak's heavy ball: v⁺ = βv + α∇f(x), x⁺ = x − v⁺. The state is (x, v) and starts with v = 0; θ = (α, β).
pub type HeavyBall<O> = Method<O, HeavyBallUpdate, 2, 2, 5>;

impl<O> HeavyBall<O> {
    /// Heavy ball on this objective.
    pub const fn new(objective: O) -> Self {
        Self::with_update(objective, HeavyBallUpdate)
    }
}

impl<S: Scalar> Update<S, 2, 2> for HeavyBallUpdate {
    fn params(&self) -> usize {
        2
    }
    #[inline(always)]
    fn coefficients<A: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<A>,
        _: S,
    ) -> [Number<A>; 2] {
        [theta(0), theta(1)]
    }
    #[inline(always)]
    fn rate<A: Arithmetic<Scalar = S>>(
        &self,
        _: usize,
        &[alpha, beta]: &[Number<A>; 2],
        &[_, v]: &[Number<A>; 2],
        g: Number<A>,
    ) -> [Number<A>; 2] {
        let next = beta * v + alpha * g;
        [next, v - next]
    }
    #[inline(always)]
    fn transpose<const K: usize>(
        &self,
        _: usize,
        &[alpha, beta]: &[S; 2],
        &[_, v]: &[S; 2],
        g: S,
        &[x_seed, v_seed]: &[S; 2],
    ) -> Transposed<S, 2, 2> {
        let next = x_seed - v_seed;
        Transposed {
            state: [-S::ZERO, v_seed + beta * next],
            gradient: alpha * next,
            coefficients: [g * next, v * next],
        }
    }
}

/// Update of [`Nesterov`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NesterovUpdate;

/// Nesterov's method: x⁺ = y − α∇f(y), y⁺ = x⁺ + β(x⁺ − x). The state is (y, x) and starts with y = x; θ = (α, β). f and the
/// criterion are evaluated at y, like the gradient.
pub type Nesterov<O> = Method<O, NesterovUpdate, 2, 2, 5>;

impl<O> Nesterov<O> {
    /// Nesterov's method on this objective.
    pub const fn new(objective: O) -> Self {
        Self::with_update(objective, NesterovUpdate)
    }
}

impl<S: Scalar> Update<S, 2, 2> for NesterovUpdate {
    fn params(&self) -> usize {
        2
    }
    #[inline(always)]
    fn coefficients<A: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<A>,
        _: S,
    ) -> [Number<A>; 2] {
        [theta(0), theta(1)]
    }
    #[inline(always)]
    fn rate<A: Arithmetic<Scalar = S>>(
        &self,
        _: usize,
        &[alpha, beta]: &[Number<A>; 2],
        &[y, x]: &[Number<A>; 2],
        g: Number<A>,
    ) -> [Number<A>; 2] {
        // Both use x − x⁺: y⁺ = x⁺ − β(x − x⁺), so y − y⁺ = (y − x⁺) + β(x − x⁺).
        let descent = alpha * g;
        let moved = x - y + descent;
        [descent + beta * moved, moved]
    }
    #[inline(always)]
    fn transpose<const K: usize>(
        &self,
        _: usize,
        &[alpha, beta]: &[S; 2],
        &[y, x]: &[S; 2],
        g: S,
        &[y_seed, x_seed]: &[S; 2],
    ) -> Transposed<S, 2, 2> {
        let moved = x_seed + beta * y_seed;
        let descent = y_seed + moved;
        Transposed {
            state: [-moved, moved],
            gradient: alpha * descent,
            coefficients: [g * descent, (x - y + alpha * g) * y_seed],
        }
    }
}
