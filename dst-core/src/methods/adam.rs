//! Adam with bias correction, as an iteration on the augmented state (x, m, v).
//!
//! m⁺ = β₁m + (1 − β₁)g, v⁺ = β₂v + (1 − β₂)g², x⁺ = x − α·m̂/(√v̂ + ε), where m̂ = m⁺/(1 − β₁ⁿ), v̂ = v⁺/(1 − β₂ⁿ)
//! and n = t − t0 + 1 counts the steps from one when h = 1.

use super::method::{Method, Transposed, Update};
use crate::scalar::Scalar;
use crate::system::{Arithmetic, Number};

/// Update of [`Adam`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamUpdate<S> {
    /// Small constant in the denominator.
    pub stability: S,
    /// t0: the time at which the moments are zero.
    pub start: S,
}

/// Adam. The state is (x, m, v) and starts with m = v = 0; θ = (α, β₁, β₂).
pub type Adam<O, S> = Method<O, AdamUpdate<S>, 3, 4, 8>;

impl<O, S: Scalar> Adam<O, S> {
    /// Adam on this objective, with ε = 1e-8 and t0 = 0.
    pub fn new(objective: O) -> Self {
        Self::with_update(
            objective,
            AdamUpdate {
                stability: S::from_f64(1e-8),
                start: S::ZERO,
            },
        )
    }
}

impl<S: Scalar> Update<S, 3, 4> for AdamUpdate<S> {
    fn params(&self) -> usize {
        3
    }
    #[inline(always)]
    fn coefficients<A: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<A>,
        t: S,
    ) -> [Number<A>; 4] {
        let n = t - self.start + S::ONE;
        let (alpha, beta1, beta2) = (theta(0), theta(1), theta(2));
        let step = alpha / (1.0 - beta1.power(n));
        let inverse = 1.0 / (1.0 - beta2.power(n));
        [step, inverse, beta1, beta2]
    }
    #[inline(always)]
    fn rate<A: Arithmetic<Scalar = S>>(
        &self,
        _: usize,
        &[step, inverse, beta1, beta2]: &[Number<A>; 4],
        &[_, m, v]: &[Number<A>; 3],
        g: Number<A>,
    ) -> [Number<A>; 3] {
        let m_next = beta1 * m + (1.0 - beta1) * g;
        let v_next = beta2 * v + (1.0 - beta2) * (g * g);
        let corrected = inverse * v_next;
        // The gradient of this variable has always been zero: √ has no derivative there, and none is needed.
        let root = if corrected > 0.0 {
            corrected.sqrt()
        } else {
            Number::constant(S::ZERO)
        };
        [
            step * m_next / (root + Number::constant(self.stability)),
            m - m_next,
            v - v_next,
        ]
    }
    #[inline(always)]
    fn transpose<const K: usize>(
        &self,
        _: usize,
        &[step, inverse, beta1, beta2]: &[S; 4],
        &[_, m, v]: &[S; 3],
        g: S,
        &[x_seed, m_seed, v_seed]: &[S; 3],
    ) -> Transposed<S, 3, 4> {
        let m_next = beta1 * m + (S::ONE - beta1) * g;
        let v_next = beta2 * v + (S::ONE - beta2) * (g * g);
        let corrected = inverse * v_next;
        let moving = corrected > S::ZERO;
        let root = if moving { corrected.sqrt() } else { S::ZERO };
        // x⁺ = x − step·quotient
        let quotient = m_next / (root + self.stability);
        let scaled = x_seed * step / (root + self.stability);
        let root_bar = -(scaled * quotient);
        let corrected_bar = if moving {
            root_bar / (root + root)
        } else {
            S::ZERO
        };
        let m_bar = scaled - m_seed;
        let v_bar = corrected_bar * inverse - v_seed;
        Transposed {
            state: [-S::ZERO, m_seed + beta1 * m_bar, v_seed + beta2 * v_bar],
            gradient: (S::ONE - beta1) * m_bar + (S::ONE - beta2) * v_bar * (g + g),
            coefficients: [
                x_seed * quotient,
                corrected_bar * v_next,
                (m - g) * m_bar,
                (v - g * g) * v_bar,
            ],
        }
    }
}
