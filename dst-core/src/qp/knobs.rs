//! Few knobs for many weights: R = base·exp(Φθ) per constraint and α = 2·sigmoid(a), in every phase.
//!
//! The exponential keeps R positive, and a step of a given length changes R by the same factor everywhere. The sigmoid keeps α in
//! (0, 2), where ADMM converges. θ holds the knobs of R, then a, phase after phase.

use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{dot, pieces, pieces_mut, split};

/// Map from θ to the parameters of [`Phases`](super::Phases).
#[derive(Clone, Copy, Debug)]
pub struct Knobs<'a, S> {
    /// R at θ = 0.
    pub base: &'a [S],
    /// Φ, row by row: the contribution of each knob to ln R of each constraint.
    pub basis: &'a [S],
    /// Number of phases.
    pub phases: usize,
}

impl<'a, S: Scalar> Knobs<'a, S> {
    /// Checks that the basis has whole rows.
    pub fn new(base: &'a [S], basis: &'a [S], phases: usize) -> Result<Self, Error> {
        let per_row = basis.len().checked_div(base.len()).unwrap_or(0);
        exact(Argument::Model, per_row * base.len(), basis.len())?;
        Ok(Self {
            base,
            basis,
            phases,
        })
    }

    /// Number of knobs of R in one phase.
    pub fn per_phase(&self) -> usize {
        self.basis.len().checked_div(self.base.len()).unwrap_or(0)
    }

    /// Length of θ.
    pub fn len(&self) -> usize {
        self.phases * (self.per_phase() + 1)
    }

    /// True if there are no knobs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The a for which α = 2·sigmoid(a).
    pub fn logit(relaxation: S) -> S {
        (relaxation / (S::TWO - relaxation)).ln()
    }

    fn rows(&self) -> impl Iterator<Item = &'a [S]> {
        pieces(self.basis, self.per_phase())
    }

    /// Writes R and α of every phase; `params` has the length of [`Phases::params`](super::Phases::params).
    pub fn params(&self, theta: &[S], params: &mut [S]) {
        let (width, m) = (self.per_phase(), self.base.len());
        for (knobs, params) in pieces(theta, width + 1).zip(pieces_mut(params, m + 1)) {
            let (knobs, a) = split(knobs, width);
            for ((r, &base), row) in params.iter_mut().zip(self.base).zip(self.rows()) {
                *r = base * dot(row, knobs).exp();
            }
            if let (Some(alpha), Some(&a)) = (params.last_mut(), a.first()) {
                *alpha = S::TWO / (S::ONE + (-a).exp());
            }
        }
    }

    /// Writes the cotangent of θ, given that of the parameters; `params` are those of this θ.
    pub fn pull(&self, params: &[S], params_bar: &[S], theta_bar: &mut [S]) {
        let (width, m) = (self.per_phase(), self.base.len());
        let phases = pieces(params, m + 1).zip(pieces(params_bar, m + 1));
        for ((params, bars), out) in phases.zip(pieces_mut(theta_bar, width + 1)) {
            out.fill(S::ZERO);
            for ((&r, &bar), row) in params.iter().zip(bars).take(m).zip(self.rows()) {
                for (out, &phi) in out.iter_mut().zip(row) {
                    *out += phi * r * bar;
                }
            }
            if let (Some(out), Some(&alpha), Some(&bar)) =
                (out.last_mut(), params.last(), bars.last())
            {
                *out = bar * alpha * (S::ONE - S::HALF * alpha);
            }
        }
    }
}
