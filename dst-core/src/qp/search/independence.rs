//! Appending a row to the factor: its pivot tells whether it depends on the rows before.

use super::Search;
use crate::qp::active_rows::Entry;
use crate::qp::active_set::{ActiveSet, Work};
use crate::qp::factor::{self, with_length};
use crate::scalar::Scalar;
use crate::slices::split_mut;

/// Pivot that counts as zero, relative to W_jj, in machine epsilons.
const SINGULAR: f64 = 16.0;
/// Rounding of a pivot that is usual, relative to the largest that is possible.
const TYPICAL: f64 = 0.0625;
/// Pivot that may be rounding, relative to W_jj.
pub(super) const SUSPECT: f64 = 1e-2;

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Appends the next row of the set to the factor. False if the row depends on those before.
    #[inline(never)]
    pub(super) fn append(&mut self, constants: &ActiveSet<'_, S>) -> bool {
        let k = self.factored;
        let eliminated = with_length!(eliminate(constants, self.work, self.set.free; k));
        let Some(Pivot { pivot, diagonal }) = eliminated else {
            return false;
        };
        self.operations += k * (k + 5) / 2;
        // A small pivot may be rounding. Written so that a NaN is judged, too.
        let clear = pivot > S::from_f64(SUSPECT) * diagonal && !self.narrow;
        if clear {
            self.factored += 1;
        }
        clear || self.judge(constants, k, pivot, least(diagonal))
    }

    /// Judges a pivot that may be rounding. Rounding of W changes it by up to ε·(Σ|y_i|√W_ii)², where y is the null direction. That
    /// may be much more than ε·W_kk: a short row that is a sum of long ones, or a set that is nearly dependent. y costs a
    /// substitution, so it is computed only if the pivot is small or the multipliers cancel each other.
    #[inline(never)]
    fn judge(&mut self, constants: &ActiveSet<'_, S>, k: usize, pivot: S, least: S) -> bool {
        let sum = self.null_norm(constants, k);
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
    fn null_norm(&mut self, constants: &ActiveSet<'_, S>, k: usize) -> S {
        self.null_direction(k, true);
        let m = constants.scale.len();
        let known = self.set.free.iter().zip(self.work.target.iter());
        let mut sum = S::ZERO;
        for (&entry, y) in known.take(k + 1) {
            let row = Entry(entry).row();
            let at = |values: &[S], i: usize| values.get(i).copied().unwrap_or_default();
            sum += y.abs() * at(constants.gram, row * (m + 1)) * at(constants.scale, row);
        }
        sum
    }

    /// Direction in which W_AA λ does not change: the last row moves by one, outward or inward.
    #[inline(never)]
    pub(super) fn null_direction(&mut self, last: usize, upward: bool) {
        let Work { packed, target, .. } = &mut *self.work;
        let sign = if upward { S::ONE } else { -S::ONE };
        for (to, &l) in target.iter_mut().zip(factor::row(packed, last)) {
            *to = -l * sign;
        }
        factor::backward(packed, split_mut(target, last).0);
        if let Some(to) = target.get_mut(last) {
            *to = sign;
        }
        self.operations += last * (last + 1) / 2;
    }
}

/// Pivot of a row, and its own entry of W.
struct Pivot<S> {
    pivot: S,
    diagonal: S,
}

/// Pivot that counts as zero.
#[inline(always)]
fn least<S: Scalar>(diagonal: S) -> S {
    S::from_f64(SINGULAR) * S::EPSILON * diagonal
}

/// Computes row k of the factor, its pivot, and entry k of L⁻¹(s⁰ − b). None if the memory is too short, which the lengths rule out.
///
/// Everything is cut to length k before the loops, so that they have no other length to compare with.
#[inline(always)]
fn eliminate<S: Scalar>(
    constants: &ActiveSet<'_, S>,
    work: &mut Work<'_, S>,
    entries: &[u16],
    k: usize,
) -> Option<Pivot<S>> {
    let (known, new) = entries.split_at_checked(k)?;
    let own = Entry(*new.first()?).row();
    let gram = constants.gram_row(own)?;
    let (earlier, row) = work.packed.split_at_mut_checked(factor::packed_len(k))?;
    let row = row.get_mut(..k)?;
    for (to, &entry) in row.iter_mut().zip(known) {
        *to = gram.get(Entry(entry).row()).copied().unwrap_or_default();
    }
    factor::forward(earlier, row);
    let (inverse, own_inverse) = work.inverse.split_at_mut_checked(k)?;
    let (forward, own_forward) = work.forward.split_at_mut_checked(k)?;
    let diagonal = *gram.get(own)?;
    let mut pivot = diagonal;
    let mut next = *work.start.get(own)? - *work.bounds.get(k)?;
    for ((entry, &inverse), &forward) in row.iter_mut().zip(&*inverse).zip(&*forward) {
        let value = *entry;
        let l = value * inverse;
        *entry = l;
        pivot -= value * l;
        next -= l * forward;
    }
    *own_forward.first_mut()? = next;
    *own_inverse.first_mut()? = factor::inverted(pivot, least(diagonal));
    Some(Pivot { pivot, diagonal })
}
