//! Refinement of the multipliers of a solved program, by residuals that the caller computes from u.

use super::active_rows::{ActiveRows, Entry};
use super::active_set::{ActiveSet, Bounds, Work};
use super::factor;
use crate::scalar::Scalar;
use crate::slices::{dot, split_mut};

/// Violation of a solved program, in machine epsilons of ‖u‖_P, that shows a wrong set.
const RESOLVED: f64 = 8.0;
/// The same in f64, where there are digits to spare.
const ENOUGH: f64 = 1e-13;

impl<S: Scalar> ActiveSet<'_, S> {
    /// Solves W_AA·δ = a·u − λ/ρ − b and adds δ to the multipliers; `product` returns a·u of a row. Returns the number of rows,
    /// and true if δ is rounding. The factor is that of the last solve.
    pub(crate) fn correct(
        &self,
        work: &mut Work<'_, S>,
        set: &ActiveRows<'_>,
        product: impl Fn(usize) -> S,
    ) -> (usize, bool) {
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
        let mut settled = true;
        for (value, &change) in work
            .multipliers
            .iter_mut()
            .zip(work.target.iter())
            .take(free)
        {
            *value += change;
            settled &= change.abs() <= S::TWO * S::EPSILON * value.abs();
        }
        (free, settled)
    }

    /// Rows of the set, and the change of their multipliers by [`correct`](Self::correct).
    pub(crate) fn corrections<'r>(
        &'r self,
        work: &'r Work<'_, S>,
        set: &'r ActiveRows<'_>,
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
        set: &ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        energy: S,
    ) -> bool {
        let (free, saturated) = set.counts();
        let free = set.free.iter().take(free);
        let saturated = set.saturated.iter().take(saturated);
        let limit = (S::from_f64(RESOLVED) * S::EPSILON).max(S::from_f64(ENOUGH));
        let limit = limit.max(self.tolerance);
        // In units of ‖u‖_P; squares, because there is no root without `libm`.
        let is_small = |amount: S, bound: S| {
            amount <= S::ZERO || amount * amount <= limit * limit * (energy + bound * bound)
        };
        let at = |values: &[S], row: usize| values.get(row).copied().unwrap_or_default();
        let bound = |entry: Entry| {
            let (lower, upper) = bounds.of(entry.row());
            if entry.is_upper() { upper } else { lower }
        };
        let pushing = free
            .clone()
            .zip(work.multipliers.iter())
            .all(|(&entry, &value)| {
                let entry = Entry(entry);
                let (value, cap) = (entry.outward(value), self.cap(entry.row()));
                let scale = at(self.scale, entry.row());
                let wrong = if entry.is_fixed() {
                    value - cap
                } else {
                    (-value).max(value - cap)
                };
                // A multiplier times √W_jj is a distance, like a violation divided by it.
                is_small(wrong / scale, bound(entry) * scale)
            });
        let beyond = saturated.clone().all(|&entry| {
            let entry = Entry(entry);
            let scale = at(self.scale, entry.row());
            let shift = self.cap(entry.row()) * self.lift(entry.row());
            let within = entry.outward(bound(entry) - at(work.rows, entry.row())) + shift;
            is_small(within * scale, bound(entry) * scale)
        });
        let rows = work.rows.iter().zip(self.scale).enumerate();
        let inside = |row: usize| {
            free.clone()
                .chain(saturated.clone())
                .any(|&e| Entry(e).row() == row)
        };
        let mut others = rows.filter(|&(row, (&s, &scale))| {
            let (lower, upper) = bounds.of(row);
            let bound = if s > upper { upper } else { lower };
            !is_small((s - upper).max(lower - s) * scale, bound * scale) && !inside(row)
        });
        pushing && beyond && others.next().is_none()
    }

    /// 1/ρ of a row; 0 without a quadratic penalty.
    pub(super) fn lift(&self, row: usize) -> S {
        let kind = row.checked_rem(self.lifts.len());
        let lift = kind.and_then(|k| self.lifts.get(k));
        lift.copied().unwrap_or_default()
    }
}
