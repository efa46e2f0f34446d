//! Refinement of the multipliers of a solved program, by residuals that the caller computes from u.

use super::active_set::{ActiveSet, Bounds, Work};
use super::factor;
use super::set::{Entry, Set};
use crate::scalar::Scalar;
use crate::slices::{dot, split_mut};

/// Violation of a solved program, in machine epsilons of ‖u‖_P, that shows a wrong set.
const RESOLVED: f64 = 32.0;

impl<S: Scalar> ActiveSet<'_, S> {
    /// Solves W_AA·δ = a·u − λ/ρ − b and adds δ to the multipliers; `product` returns a·u of a row. Returns the number of rows.
    /// The factor is that of the last solve.
    pub(crate) fn correct(
        &self,
        work: &mut Work<'_, S>,
        set: &Set<'_>,
        product: impl Fn(usize) -> S,
    ) -> usize {
        let (free, _) = set.counts();
        for k in 0..free {
            let at = |values: &[S]| values.get(k).copied().unwrap_or_default();
            let row = Entry(set.free.get(k).copied().unwrap_or_default()).row();
            let residual = product(row) - at(work.multipliers) * self.lift(row) - at(work.bounds);
            let (done, rest) = split_mut(work.target, k);
            if let Some(to) = rest.first_mut() {
                *to = residual - dot(factor::row(work.packed, k), done);
            }
        }
        for (to, &inverse) in work.target.iter_mut().zip(work.inverse.iter()).take(free) {
            *to *= inverse;
        }
        factor::back(work.packed, work.target, free);
        for (value, &change) in work.multipliers.iter_mut().zip(work.target.iter()).take(free) {
            *value += change;
        }
        free
    }

    /// Rows of the set, and the change of their multipliers by [`correct`](Self::correct).
    pub(crate) fn corrections<'r>(
        &'r self,
        work: &'r Work<'_, S>,
        set: &'r Set<'_>,
    ) -> impl Iterator<Item = (usize, S)> + 'r {
        let (free, _) = set.counts();
        let known = set.free.iter().zip(work.target.iter()).take(free);
        known.map(|(&entry, &change)| (Entry(entry).row(), change))
    }

    /// True if `work.rows`, computed from u, shows no row outside the set beyond its bound, and no multiplier with a wrong sign.
    /// The search itself cannot see what is smaller than the rounding of s⁰ − Wλ. `energy` is uᵀPu.
    pub(crate) fn is_consistent(
        &self,
        work: &Work<'_, S>,
        set: &Set<'_>,
        bounds: Bounds<'_, S>,
        energy: S,
    ) -> bool {
        let (free, saturated) = set.counts();
        let inside = |row: usize| {
            let same = |entry: &&u16| Entry(**entry).row() == row;
            set.free.iter().take(free).any(|e| same(&e))
                || set.saturated.iter().take(saturated).any(|e| same(&e))
        };
        let limit = S::from_f64(RESOLVED) * S::EPSILON;
        let limit = limit.max(self.tolerance);
        work.rows.iter().zip(self.scale).enumerate().all(|(row, (&s, &scale))| {
            let (lower, upper) = bounds.of(row);
            let bound = if s > upper { upper } else { lower };
            let beyond = (s - upper).max(lower - s) * scale;
            let size = energy + bound * bound * scale * scale;
            !(beyond > S::ZERO) || beyond * beyond <= limit * limit * size || inside(row)
        })
    }

    /// 1/ρ of a row; 0 without a quadratic penalty.
    fn lift(&self, row: usize) -> S {
        let kind = row.checked_rem(self.lifts.len());
        let lift = kind.and_then(|k| self.lifts.get(k));
        lift.copied().unwrap_or_default()
    }
}
