//! Function to minimise: f, its gradient, its Hessian-vector product, and the quantity tested for a stop.

use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, dot};

/// Twice differentiable function of `dim` variables. The [`methods`](crate::methods) build systems from it.
///
/// Each forward step costs exactly one [`value_gradient`](Self::value_gradient), each backward step exactly one
/// [`add_hessian_vector`](Self::add_hessian_vector), for every stopping criterion.
pub trait Objective<S: Scalar> {
    /// Number of variables.
    fn dim(&self) -> usize;

    /// Number of values that `value_gradient` leaves for `add_hessian_vector` (residuals, active sets, …).
    fn tape_len(&self) -> usize {
        0
    }

    /// Working memory of either call.
    fn scratch_len(&self) -> usize {
        0
    }

    /// Writes ∇f(x) and returns f(x).
    fn value_gradient(&self, x: &[S], gradient: &mut [S], tape: &mut [S], scratch: &mut [S]) -> S;

    /// Adds ∇²f(x)·v to `out`.
    fn add_hessian_vector(&self, x: &[S], v: &[S], tape: &[S], out: &mut [S], scratch: &mut [S]);

    /// Reason for values at x that are not finite, if the objective knows one; see [`System::fault`](super::System::fault).
    #[inline(always)]
    fn fault(&self, x: &[S]) -> Option<Error> {
        let _ = x;
        None
    }

    /// Adds several products at once: `vectors` and `out` hold any number of vectors, stored consecutively. Override it if one
    /// pass over the data serves them all.
    fn add_hessian_vectors(
        &self,
        x: &[S],
        vectors: &[S],
        tape: &[S],
        out: &mut [S],
        scratch: &mut [S],
    ) {
        // Without variables there are no products, and the piece length must not be zero.
        let dim = self.dim().max(1);
        for (v, out) in vectors.chunks_exact(dim).zip(out.chunks_exact_mut(dim)) {
            self.add_hessian_vector(x, v, tape, out, scratch);
        }
    }
}

impl<S: Scalar, O: Objective<S> + ?Sized> Objective<S> for &O {
    fn dim(&self) -> usize {
        (**self).dim()
    }
    fn fault(&self, x: &[S]) -> Option<Error> {
        (**self).fault(x)
    }
    fn tape_len(&self) -> usize {
        (**self).tape_len()
    }
    fn scratch_len(&self) -> usize {
        (**self).scratch_len()
    }
    fn value_gradient(&self, x: &[S], gradient: &mut [S], tape: &mut [S], scratch: &mut [S]) -> S {
        (**self).value_gradient(x, gradient, tape, scratch)
    }
    fn add_hessian_vector(&self, x: &[S], v: &[S], tape: &[S], out: &mut [S], scratch: &mut [S]) {
        (**self).add_hessian_vector(x, v, tape, out, scratch);
    }
    fn add_hessian_vectors(
        &self,
        x: &[S],
        vectors: &[S],
        tape: &[S],
        out: &mut [S],
        scratch: &mut [S],
    ) {
        (**self).add_hessian_vectors(x, vectors, tape, out, scratch);
    }
}

/// Stopping criterion of a method, from values that it computes anyway: f and the residual r, which is ∇f (for projected methods:
/// the projected step).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Optimality {
    /// J = f(x)
    Value,
    /// J = ‖r‖², the paper's choice; squared, so there is no square root.
    #[default]
    ResidualSquared,
    /// J = max |rᵢ|; differentiated at the largest entry, the first on a tie.
    ResidualMax,
}

impl Optimality {
    /// J
    pub fn value<S: Scalar>(self, f: S, r: &[S]) -> S {
        match self {
            Self::Value => f,
            Self::ResidualSquared => dot(r, r),
            Self::ResidualMax => r.get(largest(r)).map_or(S::ZERO, |r| r.abs()),
        }
    }

    /// Adds seed·∂J/∂r to `r_bar` and returns seed·∂J/∂f.
    pub fn pull<S: Scalar>(self, r: &[S], seed: S, r_bar: &mut [S]) -> S {
        match self {
            Self::Value => return seed,
            Self::ResidualSquared => add_scaled(r_bar, S::TWO * seed, r),
            Self::ResidualMax => {
                let i = largest(r);
                if let (Some(&r), Some(bar)) = (r.get(i), r_bar.get_mut(i)) {
                    *bar += if r < S::ZERO { -seed } else { seed };
                }
            }
        }
        S::ZERO
    }

    /// Derivative of J along (df, dr).
    pub fn push<S: Scalar>(self, r: &[S], df: S, dr: &[S]) -> S {
        match self {
            Self::Value => df,
            Self::ResidualSquared => S::TWO * dot(r, dr),
            Self::ResidualMax => {
                let i = largest(r);
                let (r, dr) = (
                    r.get(i).copied().unwrap_or_default(),
                    dr.get(i).copied().unwrap_or_default(),
                );
                if r < S::ZERO { -dr } else { dr }
            }
        }
    }
}

/// First index of the largest |rᵢ|; a NaN counts as largest, so that it is not overlooked.
fn largest<S: Scalar>(r: &[S]) -> usize {
    let mut best = (0, S::ZERO);
    for (i, r) in r.iter().enumerate() {
        let size = r.abs();
        if size > best.1 {
            best = (i, size);
        } else if size.is_nan() {
            return i;
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_entry_is_the_first_of_equals_and_nan_wins() {
        assert_eq!(largest(&[1.0, -3.0, 3.0, 2.0]), 1);
        assert_eq!(largest(&[1.0, f64::NAN, 3.0]), 1);
        assert_eq!(largest::<f64>(&[]), 0);
        assert_eq!(Optimality::ResidualMax.value(0.0, &[1.0, -3.0]), 3.0);
        assert!(
            Optimality::ResidualMax
                .value(0.0, &[1.0, f32::NAN])
                .is_nan()
        );
        assert_eq!(
            Optimality::ResidualMax.push(&[1.0, -3.0], 0.0, &[5.0, 7.0]),
            -7.0
        );
    }
}
