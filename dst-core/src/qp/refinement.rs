//! Refinement of the multipliers of a solved program, by residuals that the caller computes from u.

use super::active_rows::{ActiveRows, Entry};
use super::active_set::{ActiveSet, Bounds, Status, Work};
use super::factor;
use crate::scalar::Scalar;
use crate::slices::{dot, split_mut};

/// Contradiction between a set and the rows of its u.
#[derive(Clone, Copy)]
pub(super) enum Flaw {
    /// The multiplier of a free row has the wrong sign.
    Inward(usize),
    /// The multiplier of a free row is beyond its cap.
    BeyondCap(usize),
    /// A saturated row is within its bound.
    Returning(usize),
    /// A row outside the set is beyond its bound.
    Violated(Entry),
}

/// Largest flaw so far.
struct Worst<S> {
    energy: S,
    /// Square of its size, relative to ‖u‖_P; at first the limit.
    square: S,
    flaw: Option<Flaw>,
}

impl<S: Scalar> Worst<S> {
    /// True if a violation of this amount is larger. Squares, because there is no root without `libm`.
    fn exceeds(&self, amount: S, bound: S) -> bool {
        // Written so that a NaN exceeds everything.
        !(amount <= S::ZERO || amount * amount <= self.square * (self.energy + bound * bound))
    }

    fn consider(&mut self, amount: S, bound: S, flaw: Flaw) {
        if self.exceeds(amount, bound) {
            self.square = amount * amount / (self.energy + bound * bound);
            self.flaw = Some(flaw);
        }
    }
}

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
        factor::backward(work.packed, split_mut(work.target, free).0);
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

    /// Worst contradiction between the set and `work.rows`, computed from u: a multiplier with a wrong sign, else a row outside the
    /// set beyond its bound. None if all are below `limit`, relative to ‖u‖_P. The search itself cannot see what is smaller than the
    /// rounding of s⁰ − Wλ. `energy` is uᵀPu.
    pub(super) fn flaw(
        &self,
        work: &Work<'_, S>,
        set: &ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        energy: S,
        limit: S,
    ) -> Option<Flaw> {
        let at = |values: &[S], row: usize| values.get(row).copied().unwrap_or_default();
        let (free, saturated) = set.counts();
        let free = set.free.iter().take(free).map(|&e| Entry(e));
        let saturated = set.saturated.iter().take(saturated).map(|&e| Entry(e));
        let mut worst = Worst {
            energy,
            square: limit * limit,
            flaw: None,
        };
        let bound = |entry: Entry| {
            let (lower, upper) = bounds.of(entry.row());
            let bound = if entry.is_upper() { upper } else { lower };
            bound * at(self.scale, entry.row())
        };
        for (place, (entry, &value)) in free.clone().zip(work.multipliers.iter()).enumerate() {
            let (value, cap) = (entry.outward(value), self.cap(entry.row()));
            // A multiplier times √W_jj is a distance, like a violation divided by it.
            let scale = at(self.scale, entry.row());
            if !entry.is_fixed() {
                worst.consider(-value / scale, bound(entry), Flaw::Inward(place));
            }
            worst.consider((value - cap) / scale, bound(entry), Flaw::BeyondCap(place));
        }
        for (place, entry) in saturated.clone().enumerate() {
            let scale = at(self.scale, entry.row());
            let shift = self.cap(entry.row()) * self.lift(entry.row());
            let s = entry.outward(at(work.rows, entry.row()));
            let within = entry.outward(bound(entry)) + (shift - s) * scale;
            worst.consider(within, bound(entry), Flaw::Returning(place));
        }
        if worst.flaw.is_some() {
            return worst.flaw;
        }
        for (row, (&s, &scale)) in work.rows.iter().zip(self.scale).enumerate() {
            let (lower, upper) = bounds.of(row);
            let above = s > upper;
            let bound = if above { upper } else { lower };
            let beyond = (s - upper).max(lower - s) * scale;
            if worst.exceeds(beyond, bound * scale)
                && !free
                    .clone()
                    .chain(saturated.clone())
                    .any(|e| e.row() == row)
            {
                let flaw = Flaw::Violated(Entry::new(row, above, lower == upper));
                worst.consider(beyond, bound * scale, flaw);
            }
        }
        worst.flaw
    }

    /// Status of a solved program: softened if a row with a quadratic penalty has a multiplier, or a saturated row is beyond its
    /// bound. A saturated row may also be at its bound exactly, to rounding.
    pub(super) fn status(
        &self,
        work: &Work<'_, S>,
        set: &ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        energy: S,
        limit: S,
    ) -> Status {
        let at = |values: &[S], row: usize| values.get(row).copied().unwrap_or_default();
        let (free, saturated) = set.counts();
        let limit = Worst {
            energy,
            square: limit * limit,
            flaw: None,
        };
        let mut free = set.free.iter().take(free).map(|&e| Entry(e));
        let mut saturated = set.saturated.iter().take(saturated).map(|&e| Entry(e));
        let beyond = |entry: Entry| {
            let (lower, upper) = bounds.of(entry.row());
            let bound = if entry.is_upper() { upper } else { lower };
            let scale = at(self.scale, entry.row());
            let amount = entry.outward(at(work.rows, entry.row()) - bound) * scale;
            limit.exceeds(amount, bound * scale)
        };
        if free.any(|entry| self.is_lifted(entry.row())) || saturated.any(beyond) {
            Status::Softened
        } else {
            Status::Solved
        }
    }

    /// 1/ρ of a row; 0 without a quadratic penalty.
    pub(super) fn lift(&self, row: usize) -> S {
        let kind = row.checked_rem(self.lifts.len());
        let lift = kind.and_then(|k| self.lifts.get(k));
        lift.copied().unwrap_or_default()
    }
}
