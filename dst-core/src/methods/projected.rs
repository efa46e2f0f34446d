//! Projected gradient on a box, differentiated along its active set.

use super::method::{Method, Transposed, Update};
use crate::error::{Argument, Error};
use crate::scalar::Scalar;
use crate::system::{Arithmetic, Number};

/// Update of [`Projected`]: the box.
#[derive(Clone, Copy, Debug)]
pub struct BoxUpdate<'b, S> {
    /// Lower bounds; a missing entry means no bound.
    pub lower: &'b [S],
    /// Upper bounds; a missing entry means no bound.
    pub upper: &'b [S],
}

/// Projected gradient: x⁺ = clip(x − α∇f(x), lower, upper); θ = (α). The residual of its criterion is x − x⁺, which vanishes at a
/// constrained minimum even if ∇f does not. A clipped variable does not depend on α: its derivative is exactly zero.
pub type Projected<'b, O, S> = Method<O, BoxUpdate<'b, S>, 1, 1, 3>;

impl<'b, O, S> Projected<'b, O, S> {
    /// Projected gradient on this objective and box.
    pub const fn new(objective: O, lower: &'b [S], upper: &'b [S]) -> Self {
        Self::with_update(objective, BoxUpdate { lower, upper })
    }
}

impl<S: Scalar> Update<S, 1, 1> for BoxUpdate<'_, S> {
    const PROJECTED: bool = true;

    fn params(&self) -> usize {
        1
    }
    fn check(&self, dim: usize) -> Result<(), Error> {
        let bound = |bounds: &[S], i: usize, none: S| bounds.get(i).copied().unwrap_or(none);
        // Written so that a NaN fails.
        let ordered = (0..dim)
            .all(|i| bound(self.lower, i, -S::INFINITY) <= bound(self.upper, i, S::INFINITY));
        if ordered {
            Ok(())
        } else {
            Err(Error::Invalid(Argument::Bounds))
        }
    }
    #[inline(always)]
    fn coefficients<A: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<A>,
        _: S,
    ) -> [Number<A>; 1] {
        [theta(0)]
    }
    #[inline(always)]
    fn rate<A: Arithmetic<Scalar = S>>(
        &self,
        i: usize,
        &[alpha]: &[Number<A>; 1],
        &[x]: &[Number<A>; 1],
        g: Number<A>,
    ) -> [Number<A>; 1] {
        let mut next = x - alpha * g;
        if let Some(&lower) = self.lower.get(i) {
            next = next.max(Number::constant(lower));
        }
        if let Some(&upper) = self.upper.get(i) {
            next = next.min(Number::constant(upper));
        }
        [x - next]
    }
    #[inline(always)]
    fn transpose<const K: usize>(
        &self,
        i: usize,
        &[alpha]: &[S; 1],
        &[x]: &[S; 1],
        g: S,
        &[seed]: &[S; 1],
    ) -> Transposed<S, 1, 1> {
        let next = x - alpha * g;
        let below = matches!(self.lower.get(i), Some(&lower) if lower > next);
        // A clipped variable: A = x − bound. Any other: A = αg, without influence of x.
        if below || matches!(self.upper.get(i), Some(&upper) if upper < next) {
            return Transposed {
                state: [seed],
                gradient: S::ZERO,
                coefficients: [-S::ZERO],
            };
        }
        Transposed {
            state: [-S::ZERO],
            gradient: alpha * seed,
            coefficients: [g * seed],
        }
    }
}
