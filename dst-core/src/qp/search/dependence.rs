//! Rows that W alone cannot tell from dependent ones: their null direction by sums of squares, and the contradiction that it may
//! prove.
//!
//! A direction y over the rows of the set, with the sign of each bound, is a certificate: every u′ within the bounds satisfies
//! yᵀA·u′ ≤ yᵀb. With v = yᵀ(s⁰ − b) > 0 and ‖Aᵀy‖² = yᵀWy = d in the norm of P⁻¹, u′ is at least v/√d away from u⁰. If that is
//! beyond the distance at which the search is, the rows contradict each other as far as the digits can tell. The certificate is
//! checked by itself: it does not matter how accurate the factor was that y was computed with.

use super::{Curvature, Search};
use crate::qp::active_rows::Entry;
use crate::qp::active_set::{ActiveSet, Status};
use crate::qp::factor;
use crate::scalar::Scalar;
use crate::slices::{less, split, split_mut};

/// Pivot that counts as zero if it was computed as a sum of squares, in units of the square of its rounding.
const RESOLVED: f64 = 65536.0;
/// √RESOLVED
const NEGLIGIBLE: f64 = 256.0;
/// Rounding of yᵀ(s⁰ − b), in machine epsilons of the sum of its terms.
const ROUNDING: f64 = 8.0;
/// Most corrections of a null direction.
const CORRECTIONS: usize = 4;

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Corrects the null direction of row k in `target`, and computes its pivot by a way that does not cancel. `noise` is the
    /// rounding of a pivot from W. True if the row is independent; it is then part of the factor.
    pub(super) fn resolve(&mut self, k: usize, noise: S, curvature: Curvature<'_, S>) -> bool {
        let noise = S::EPSILON * noise;
        let zero = S::from_f64(RESOLVED) * noise;
        let (entries, _) = split(self.set.free, k + 1);
        let work = &mut *self.work;
        // Every y gives an upper bound of the pivot, which is the least of yᵀWy.
        let mut least = curvature(entries, work.target, work.forward);
        let mut independent = least > zero;
        for _ in 0..CORRECTIONS {
            // y has the errors of the factor; what they leave of Wy shows how to correct it.
            for i in 0..k {
                let (done, rest) = split_mut(work.forward, i);
                if let Some(to) = rest.first_mut() {
                    *to = less(*to, factor::row(work.packed, i), done);
                }
            }
            for (to, &inverse) in work.forward.iter_mut().zip(work.inverse.iter()).take(k) {
                *to *= inverse;
            }
            factor::backward(work.packed, split_mut(work.forward, k).0);
            for (y, &error) in work.target.iter_mut().zip(work.forward.iter()).take(k) {
                *y -= error;
            }
            let pivot = curvature(entries, work.target, work.forward);
            self.operations += 2 * k * k;
            independent = pivot > zero;
            let settled = pivot + pivot > least;
            self.pivot = pivot.max(noise);
            least = least.min(pivot);
            if !independent || settled {
                break;
            }
        }
        self.substitute(0);
        if !independent {
            return false;
        }
        if let Some(inverse) = self.work.inverse.get_mut(k) {
            *inverse = S::ONE / least;
        }
        self.factored += 1;
        self.substitute(k);
        true
    }

    /// Turns the null direction in `target` so that its last row moves outward or inward. True if it proves that there is no
    /// solution. Entries with a sign that blocks the direction count as rounding if they are small enough.
    pub(super) fn proves(&mut self, constants: &ActiveSet<'_, S>, upward: bool) -> bool {
        if !upward {
            let (direction, _) = split_mut(self.work.target, self.free);
            direction.iter_mut().for_each(|y| *y = -*y);
        }
        let m = constants.scale.len();
        let at = |values: &[S], i: usize| values.get(i).copied().unwrap_or_default();
        let (mut gap, mut terms) = (S::ZERO, S::ZERO);
        let (mut sum, mut blocking) = (S::ZERO, S::ZERO);
        let known = self.work.target.iter().zip(self.work.bounds.iter());
        let known = self.set.free.iter().zip(known);
        for (&entry, (&y, &bound)) in known.take(self.free) {
            let entry = Entry(entry);
            let start = at(self.work.start, entry.row());
            gap += y * (start - bound);
            terms += y.abs() * (start.abs() + bound.abs());
            let size = y.abs() * at(constants.gram, entry.row() * (m + 1));
            let size = size * at(constants.scale, entry.row());
            sum += size;
            let inward = entry.outward(y) < S::ZERO && !entry.is_fixed();
            if inward || constants.cap(entry.row()) < S::MAX {
                blocking += size;
            }
        }
        let negligible = blocking <= S::from_f64(NEGLIGIBLE) * S::EPSILON * sum;
        let gap = gap - S::from_f64(ROUNDING) * S::EPSILON * terms;
        let curvature = self.pivot + blocking * blocking;
        negligible && gap > S::ZERO && gap * gap > curvature * self.square
    }

    /// Nothing blocks the null direction, and it proves nothing: the violation of the new row is rounding. The set stays without
    /// it, and the rows of u decide.
    pub(super) fn give_way(&mut self, constants: &ActiveSet<'_, S>) -> Result<Status, Status> {
        self.free -= 1;
        let status = self.settle(constants);
        if self.fresh { Ok(status) } else { Err(status) }
    }
}
