//! Pricing: the most violated row enters the set.
//!
//! A pass over all rows costs a product with W. So it remembers violated rows as candidates, and the next steps look at these
//! alone until none of them is violated.

use core::cell::Cell;
use core::mem::take;

use super::Search;
use crate::qp::active_rows::Entry;
use crate::qp::active_set::{ActiveSet, Bounds, Work};
use crate::scalar::Scalar;
use crate::slices::{cells, pieces, transfer};

/// Violated rows that a pass over all rows remembers.
pub(super) const CANDIDATES: usize = 16;

/// Most violated row of a pass.
#[derive(Clone, Copy)]
pub(super) struct Worst<S> {
    /// True if there is one.
    pub(super) found: bool,
    /// False if s is not finite.
    pub(super) finite: bool,
    /// Place in the list of saturated rows, for one that returns within its bound.
    pub(super) returning: Option<usize>,
    pub(super) entry: Entry,
    pub(super) bound: S,
    /// Violation, in units of 1/scale.
    pub(super) amount: S,
    /// Place among the candidates.
    pub(super) chosen: usize,
}

impl<S: Scalar> Default for Worst<S> {
    fn default() -> Self {
        Self {
            found: false,
            finite: true,
            returning: None,
            entry: Entry(0),
            bound: S::ZERO,
            amount: S::ZERO,
            chosen: 0,
        }
    }
}

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Finds the largest violation that is not rounding, and the candidates. In a cold start, rows that are violated by more than
    /// their own bound enter the set at once.
    pub(super) fn scan(&mut self, constants: &ActiveSet<'_, S>, cold: bool) {
        self.worst = Worst::default();
        self.known = 0;
        let plain = self.plain;
        let rows = take(if plain {
            &mut self.work.start
        } else {
            &mut self.work.rows
        });
        match self.bounds.lower.len() {
            1 => self.scan_short::<1>(constants, rows, cold),
            2 => self.scan_short::<2>(constants, rows, cold),
            3 => self.scan_short::<3>(constants, rows, cold),
            4 => self.scan_short::<4>(constants, rows, cold),
            _ => self.scan_stages(constants, rows, cold),
        }
        if plain {
            self.work.start = rows;
        } else {
            self.work.rows = rows;
        }
    }

    fn scan_stages(&mut self, constants: &ActiveSet<'_, S>, rows: &[S], cold: bool) {
        let Bounds { lower, upper } = self.bounds;
        let mut first = 0;
        for stage in pieces(rows, lower.len()) {
            for (kind, ((&s, &lower), &upper)) in stage.iter().zip(lower).zip(upper).enumerate() {
                // Written so that a NaN is violated.
                if !(s <= upper && s >= lower) {
                    self.note(constants, first + kind, s, (lower, upper), cold);
                }
            }
            first += lower.len();
        }
    }

    /// The same for stages of K rows. On a microcontroller their bounds stay in registers, which halves the cost of a pass.
    #[inline(always)]
    fn scan_short<const K: usize>(&mut self, constants: &ActiveSet<'_, S>, rows: &[S], cold: bool) {
        let Bounds { lower, upper } = self.bounds;
        let (Some(&lower), Some(&upper)) = (lower.first_chunk::<K>(), upper.first_chunk::<K>())
        else {
            return;
        };
        let mut first = 0;
        for stage in rows.as_chunks::<K>().0 {
            for (kind, ((&s, &lower), &upper)) in stage.iter().zip(&lower).zip(&upper).enumerate() {
                if !(s <= upper && s >= lower) {
                    self.note(constants, first + kind, s, (lower, upper), cold);
                }
            }
            first += K;
        }
    }

    /// Notes a row that is violated.
    #[inline(never)]
    fn note(
        &mut self,
        constants: &ActiveSet<'_, S>,
        row: usize,
        s: S,
        (lower, upper): (S, S),
        cold: bool,
    ) {
        let above = s > upper;
        let bound = if above { upper } else { lower };
        let scale = constants.scale.get(row).copied().unwrap_or_default();
        let off = (s - bound).abs();
        let amount = off * scale;
        // A pass over s⁰ itself has it in its hands.
        let start = self.work.start.get(row).copied().unwrap_or(s);
        let size = bound.abs() + start.abs();
        // Written so that a NaN is noted.
        if amount <= self.tolerance * size * scale + self.noise || self.is_saturated(constants, row)
        {
            return;
        }
        let entry = || Entry::new(row, above, lower == upper);
        // One place is left for the first row that is added.
        if cold && off > bound.abs() && self.free + 1 < self.work.bounds.len() {
            if let (Some(to), Some(place)) = (
                self.work.bounds.get_mut(self.free),
                self.set.free.get_mut(self.free),
            ) {
                *to = bound;
                *place = entry().0;
                self.free += 1;
            }
            return;
        }
        let worst = &mut self.worst;
        if amount > worst.amount {
            worst.found = true;
            worst.returning = None;
            worst.entry = entry();
            worst.bound = bound;
            worst.amount = amount;
            worst.chosen = self.known;
        } else if amount.is_nan() {
            worst.finite = false;
        }
        if (self.priced || !EXACT)
            && let Some(to) = self.candidates.get_mut(self.known)
        {
            *to = row as u16;
            self.known += 1;
        }
    }

    fn is_saturated(&self, constants: &ActiveSet<'_, S>, row: usize) -> bool {
        let mut saturated = self.set.saturated.iter().take(self.saturated);
        !constants.caps.is_empty() && saturated.any(|&entry| Entry(entry).row() == row)
    }

    /// Finds the row that enters next among all rows. A saturated row that is within its bound returns.
    pub(super) fn price(&mut self, constants: &ActiveSet<'_, S>) {
        self.scan(constants, false);
        for place in 0..self.saturated {
            let entry = self.saturated_entry(place);
            let at = |values: &[S]| values.get(entry.row()).copied().unwrap_or_default();
            let bound = self.bound(entry);
            let size = bound.abs() + at(self.work.start).abs();
            let scale = at(constants.scale);
            let amount = entry.outward(bound - at(self.rows())) * scale;
            if amount > self.worst.amount && amount > self.tolerance * size * scale + self.noise {
                self.worst.found = true;
                self.worst.returning = Some(place);
                self.worst.entry = entry;
                self.worst.bound = bound;
                self.worst.amount = amount;
            }
        }
    }

    /// Finds the largest violation among the candidates; those that are satisfied are forgotten.
    pub(super) fn price_candidates(&mut self, constants: &ActiveSet<'_, S>) {
        let count = self.known;
        self.worst = Worst::default();
        self.known = 0;
        // In pairs: an entry of the set is read once for both.
        let mut place = 0;
        while place + 1 < count {
            self.price_rows::<2>(constants, place);
            place += 2;
        }
        if place < count {
            self.price_rows::<1>(constants, place);
        }
        self.operations += count * self.free;
    }

    /// Notes those of R candidates that are violated. At most as many are remembered again, so the next ones are not overwritten.
    #[inline(always)]
    fn price_rows<const R: usize>(&mut self, constants: &ActiveSet<'_, S>, place: usize) {
        let Some(&rows) = self
            .candidates
            .get(place..)
            .and_then(<[u16]>::first_chunk::<R>)
        else {
            return;
        };
        let Some(values) = self.rows_of(constants, rows) else {
            return;
        };
        for (row, s) in rows.into_iter().zip(values) {
            let row = usize::from(row);
            let (lower, upper) = self.bounds.of(row);
            if !(s <= upper && s >= lower) {
                self.note(constants, row, s, (lower, upper), false);
            }
        }
    }

    /// Computes s of R rows. None if a slice is too short.
    #[inline(always)]
    fn rows_of<const R: usize>(
        &self,
        constants: &ActiveSet<'_, S>,
        rows: [u16; R],
    ) -> Option<[S; R]> {
        let entries = self.set.free.get(..self.free)?;
        let multipliers = self.work.multipliers.get(..self.free)?;
        let mut values = [S::ZERO; R];
        let mut vectors = [constants.gram; R];
        for ((value, vector), row) in values.iter_mut().zip(&mut vectors).zip(rows) {
            *value = *self.work.start.get(usize::from(row))?;
            *vector = constants.gram_row(usize::from(row))?;
        }
        for (&entry, &multiplier) in entries.iter().zip(multipliers) {
            let column = Entry(entry).row();
            for (value, vector) in values.iter_mut().zip(vectors) {
                *value -= *vector.get(column)? * multiplier;
            }
        }
        Some(values)
    }

    /// The worst row is a candidate no more.
    pub(super) fn forget_worst(&mut self) {
        let candidates = self.candidates.get_mut(..self.known).unwrap_or_default();
        if let Some(&last) = candidates.last()
            && let Some(to) = candidates.get_mut(self.worst.chosen)
        {
            *to = last;
            self.known -= 1;
        }
    }

    /// Computes s = s⁰ − Wλ. The rows of the set are then exactly at their bounds.
    pub(super) fn evaluate(&mut self, constants: &ActiveSet<'_, S>) {
        self.stale = false;
        // A saturated row can change s⁰ before s is computed again.
        self.plain = self.free + self.saturated == 0;
        if self.plain {
            return;
        }
        let m = constants.scale.len();
        let n = self.free;
        let Work {
            start,
            rows,
            multipliers,
            bounds,
            ..
        } = &mut *self.work;
        let (Some(entries), Some(multipliers), Some(bounds)) = (
            self.set.free.get(..n),
            multipliers.get(..n),
            bounds.get(..n),
        ) else {
            return;
        };
        _ = subtract(constants, rows, start, entries, multipliers);
        self.operations += m * self.free;
        self.accurate = true;
        for (&entry, &bound) in entries.iter().zip(bounds) {
            let row = Entry(entry).row();
            let at = |values: &[S]| values.get(row).copied().unwrap_or_default();
            if !self.fresh {
                let size = bound.abs() + at(start).abs();
                let scale = at(constants.scale);
                let off = (at(rows) - bound).abs() * scale;
                let rounding = self.coarse * size * scale + self.coarse * self.norm;
                self.accurate &= off <= rounding;
            }
            if let Some(to) = rows.get_mut(row) {
                *to = bound;
            }
        }
    }
}

/// rows ← start − Σ λᵢ·Wᵢ, up to four rows of W at a time: an entry is loaded and stored once for all of them. The sum of an entry
/// runs from the first row of W to the last.
fn subtract<S: Scalar>(
    constants: &ActiveSet<'_, S>,
    rows: &mut [S],
    start: &mut [S],
    entries: &[u16],
    multipliers: &[S],
) -> Option<()> {
    let (to, mut from) = (cells(rows), cells(start));
    let (fours, odd) = entries.as_chunks::<4>();
    let (weights, odd_weights) = multipliers.as_chunks::<4>();
    for (entries, weights) in fours.iter().zip(weights) {
        subtract_rows(constants, to, from, entries, weights)?;
        from = to;
    }
    match (odd, odd_weights) {
        (&[a], &[p]) => subtract_rows(constants, to, from, &[a], &[p]),
        (&[a, b], &[p, q]) => subtract_rows(constants, to, from, &[a, b], &[p, q]),
        (&[a, b, c], &[p, q, r]) => subtract_rows(constants, to, from, &[a, b, c], &[p, q, r]),
        _ => {
            if fours.is_empty() {
                transfer(to, from);
            }
            Some(())
        }
    }
}

/// R rows of it. None if a slice is too short, which the lengths rule out.
#[inline(always)]
fn subtract_rows<S: Scalar, const R: usize>(
    constants: &ActiveSet<'_, S>,
    to: &[Cell<S>],
    from: &[Cell<S>],
    entries: &[u16; R],
    weights: &[S; R],
) -> Option<()> {
    let m = constants.scale.len();
    let mut vectors = [constants.gram; R];
    for (vector, &entry) in vectors.iter_mut().zip(entries) {
        *vector = constants.gram_row(Entry(entry).row())?;
    }
    let (fours, odd) = to.get(..m)?.as_chunks::<4>();
    let (fours_from, odd_from) = from.get(..m)?.as_chunks::<4>();
    for (j, (to, from)) in fours.iter().zip(fours_from).enumerate() {
        let mut s = from.each_ref().map(Cell::get);
        for (vector, &weight) in vectors.iter().zip(weights) {
            let vector = vector.as_chunks::<4>().0.get(j)?;
            for (s, &w) in s.iter_mut().zip(vector) {
                *s -= w * weight;
            }
        }
        for (to, s) in to.iter().zip(s) {
            to.set(s);
        }
    }
    for (j, (to, from)) in odd.iter().zip(odd_from).enumerate() {
        let mut s = from.get();
        for (vector, &weight) in vectors.iter().zip(weights) {
            s -= *vector.as_chunks::<4>().1.get(j)? * weight;
        }
        to.set(s);
    }
    Some(())
}
