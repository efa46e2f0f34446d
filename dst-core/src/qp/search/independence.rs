//! Appending a row to the factor: its pivot tells whether it depends on the rows before.

use super::Search;
use crate::qp::active_rows::Entry;
use crate::qp::active_set::Work;
use crate::qp::factor::{self, RightSide};
use crate::scalar::Scalar;
use crate::slices::split;

/// Pivot that counts as zero, relative to W_jj, in machine epsilons.
const SINGULAR: f64 = 16.0;
/// Rounding of a pivot that is usual, relative to the largest that is possible.
const TYPICAL: f64 = 0.0625;
/// Pivot that may be rounding, relative to W_jj.
pub(super) const SUSPECT: f64 = 1e-2;

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, '_, S, EXACT> {
    /// Appends the next row of the set to the factor. False if the row depends on those before.
    pub(super) fn append(&mut self) -> bool {
        let k = self.factored;
        let own = self.entry(k).row();
        let m = self.constants.scale.len();
        let (_, rest) = split(self.constants.gram, own * m);
        let (gram, _) = split(rest, m);
        let at = |values: &[S], i: usize| values.get(i).copied().unwrap_or_default();
        let diagonal = at(gram, own);
        let work = &mut *self.work;
        let least = S::from_f64(SINGULAR) * S::EPSILON * diagonal;
        let right = RightSide {
            next: at(work.start, own) - at(work.bounds, k),
            forward: work.forward,
        };
        let values = self.set.free.iter().map(|&e| at(gram, Entry(e).row()));
        let pivot =
            factor::append_with(work.packed, work.inverse, right, k, values, diagonal, least);
        self.operations += k * (k + 5) / 2;
        // A small pivot may be rounding. Written so that a NaN is judged, too.
        let clear = pivot > S::from_f64(SUSPECT) * diagonal && !self.narrow;
        if clear {
            self.factored += 1;
        }
        clear || self.judge(k, pivot, least)
    }

    /// Judges a pivot that may be rounding. Rounding of W changes it by up to ε·(Σ|y_i|√W_ii)², where y is the null direction. That
    /// may be much more than ε·W_kk: a short row that is a sum of long ones, or a set that is nearly dependent. y costs a
    /// substitution, so it is computed only if the pivot is small or the multipliers cancel each other.
    #[inline(never)]
    fn judge(&mut self, k: usize, pivot: S, least: S) -> bool {
        let sum = self.null_norm(k);
        let noise = S::EPSILON * sum * sum;
        if pivot > least && pivot > S::from_f64(SINGULAR) * noise {
            self.factored += 1;
            return true;
        }
        let (true, Some(curvature)) = (EXACT, self.curvature) else {
            self.pivot = pivot.abs().max(S::from_f64(TYPICAL) * noise);
            return false;
        };
        self.resolve(k, noise, curvature)
    }

    /// Σ|y_i|√W_ii of the null direction y of row k, which ends with 1. Writes y to `target`.
    fn null_norm(&mut self, k: usize) -> S {
        self.null_direction(k, true);
        let m = self.constants.scale.len();
        let known = self.set.free.iter().zip(self.work.target.iter());
        let mut sum = S::ZERO;
        for (&entry, y) in known.take(k + 1) {
            let row = Entry(entry).row();
            let at = |values: &[S], i: usize| values.get(i).copied().unwrap_or_default();
            sum += y.abs() * at(self.constants.gram, row * (m + 1)) * at(self.constants.scale, row);
        }
        sum
    }

    /// Direction in which W_AA λ does not change: the last row moves by one, outward or inward.
    pub(super) fn null_direction(&mut self, last: usize, upward: bool) {
        let Work { packed, target, .. } = &mut *self.work;
        let sign = if upward { S::ONE } else { -S::ONE };
        for (to, &l) in target.iter_mut().zip(factor::row(packed, last)) {
            *to = -l * sign;
        }
        factor::back(packed, target, last);
        if let Some(to) = target.get_mut(last) {
            *to = sign;
        }
        self.operations += last * (last + 1) / 2;
    }
}
