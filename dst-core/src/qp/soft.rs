//! Soft bounds: rows that may leave their bounds, at a price.
//!
//! A violation s of a bound h costs φ(s) with φ'(s) = min(ρs, c): quadratic with ρ, ℓ1 with the cap c, and both together a Huber
//! penalty. The multiplier is λ = min((t − h)/(1/R + 1/ρ), c), and z⁺ = t − λ/R. It depends on R, and so does its pullback.

use super::program::in_order;
use super::projection::{Projection, Rows};
use crate::error::{Argument, Error};
use crate::scalar::Scalar;

/// Bounds that may be violated, at a price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftBounds<S> {
    /// ρ of the quadratic penalty ½ρs²; infinite for none.
    pub penalty: S,
    /// c of the ℓ1 penalty c·s, the largest multiplier; infinite for none.
    pub cap: S,
}

/// Violation that remains after the proximal map, and its derivatives by t − h and by R.
struct Softened<S> {
    left: S,
    slope: S,
    by_weight: S,
}

impl<S: Scalar> SoftBounds<S> {
    /// Bounds with the ℓ1 penalty c·s.
    pub fn capped(cap: S) -> Self {
        let penalty = S::INFINITY;
        Self { penalty, cap }
    }

    /// Bounds with the quadratic penalty ½ρs².
    pub fn quadratic(penalty: S) -> Self {
        let cap = S::INFINITY;
        Self { penalty, cap }
    }

    /// Result for a violation `beyond` ≥ 0.
    fn soften(&self, beyond: S, weight: S, reciprocal: S) -> Softened<S> {
        // ρ/(ρ + R), also for an infinite ρ.
        let share = S::ONE / (S::ONE + weight / self.penalty);
        if weight * share * beyond <= self.cap {
            Softened {
                left: beyond - share * beyond,
                slope: S::ONE - share,
                by_weight: beyond * share * share / self.penalty,
            }
        } else {
            let shift = self.cap * reciprocal;
            Softened {
                left: beyond - shift,
                slope: S::ONE,
                by_weight: shift * reciprocal,
            }
        }
    }
}

impl<S: Scalar> Projection<S> for SoftBounds<S> {
    fn check(&self, lower: &[S], upper: &[S]) -> Result<(), Error> {
        // Written so that a NaN fails.
        if self.penalty > S::ZERO && self.cap >= S::ZERO {
            in_order(lower, upper)
        } else {
            Err(Error::Invalid(Argument::Bounds))
        }
    }

    fn check_weights(&self, _: &[S]) -> Result<(), Error> {
        Ok(())
    }

    fn project(&self, rows: Rows<'_, S>, values: &mut [S]) {
        for (value, (lower, upper, r, i)) in values.iter_mut().zip(rows.each()) {
            if *value < lower {
                *value = lower - self.soften(lower - *value, r, i).left;
            } else if *value > upper {
                *value = upper + self.soften(*value - upper, r, i).left;
            }
        }
    }

    fn pull(&self, rows: Rows<'_, S>, at: &[S], bars: &mut [S], weights_bar: &mut [S]) {
        let bars = bars.iter_mut().zip(weights_bar);
        for (((bar, weight_bar), &t), (lower, upper, r, i)) in bars.zip(at).zip(rows.each()) {
            let (beyond, sign) = if t < lower {
                (lower - t, -S::ONE)
            } else if t > upper {
                (t - upper, S::ONE)
            } else {
                continue;
            };
            let softened = self.soften(beyond, r, i);
            *weight_bar += sign * *bar * softened.by_weight;
            *bar *= softened.slope;
        }
    }
}
