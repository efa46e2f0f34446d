//! Pricing: the most violated row enters the set.
//!
//! A pass over all rows costs a product with W. So it remembers violated rows as candidates, and the next steps look at these
//! alone until none of them is violated.

use core::mem::take;

use super::Search;
use crate::qp::active_rows::Entry;
use crate::qp::active_set::{Bounds, Work};
use crate::scalar::Scalar;
use crate::slices::{copy, pieces, split};

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

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, '_, S, EXACT> {
    /// Finds the largest violation that is not rounding, and the candidates. In a cold start, rows that are violated by more than
    /// their own bound enter the set at once.
    pub(super) fn scan(&mut self, cold: bool) {
        self.worst = Worst::default();
        self.known = 0;
        let plain = self.plain;
        let rows = take(if plain {
            &mut self.work.start
        } else {
            &mut self.work.rows
        });
        match self.bounds.lower.len() {
            1 => self.scan_short::<1>(rows, cold),
            2 => self.scan_short::<2>(rows, cold),
            3 => self.scan_short::<3>(rows, cold),
            4 => self.scan_short::<4>(rows, cold),
            _ => self.scan_stages(rows, cold),
        }
        if plain {
            self.work.start = rows;
        } else {
            self.work.rows = rows;
        }
    }

    fn scan_stages(&mut self, rows: &[S], cold: bool) {
        let Bounds { lower, upper } = self.bounds;
        let mut first = 0;
        for stage in pieces(rows, lower.len()) {
            for (kind, ((&s, &lower), &upper)) in stage.iter().zip(lower).zip(upper).enumerate() {
                // Written so that a NaN is violated.
                if !(s <= upper && s >= lower) {
                    self.note(first + kind, s, (lower, upper), cold);
                }
            }
            first += lower.len();
        }
    }

    /// The same for stages of K rows. On a microcontroller their bounds stay in registers, which halves the cost of a pass.
    #[inline(always)]
    fn scan_short<const K: usize>(&mut self, rows: &[S], cold: bool) {
        let Bounds { lower, upper } = self.bounds;
        let (Some(&lower), Some(&upper)) = (lower.first_chunk::<K>(), upper.first_chunk::<K>())
        else {
            return;
        };
        let mut first = 0;
        for stage in rows.as_chunks::<K>().0 {
            for (kind, ((&s, &lower), &upper)) in stage.iter().zip(&lower).zip(&upper).enumerate() {
                if !(s <= upper && s >= lower) {
                    self.note(first + kind, s, (lower, upper), cold);
                }
            }
            first += K;
        }
    }

    /// Notes a row that is violated.
    #[inline(never)]
    fn note(&mut self, row: usize, s: S, (lower, upper): (S, S), cold: bool) {
        let above = s > upper;
        let bound = if above { upper } else { lower };
        let scale = self.constants.scale.get(row).copied().unwrap_or_default();
        let off = (s - bound).abs();
        let amount = off * scale;
        // A pass over s⁰ itself has it in its hands.
        let start = self.work.start.get(row).copied().unwrap_or(s);
        let size = bound.abs() + start.abs();
        // Written so that a NaN is noted.
        if amount <= self.tolerance * size * scale + self.noise || self.is_saturated(row) {
            return;
        }
        // One place is left for the first row that is added.
        if cold && off > bound.abs() && self.free + 1 < self.work.bounds.len() {
            if let (Some(to), Some(entry)) = (
                self.work.bounds.get_mut(self.free),
                self.set.free.get_mut(self.free),
            ) {
                *to = bound;
                *entry = Entry::new(row, above, lower == upper).0;
                self.free += 1;
            }
            return;
        }
        let worst = &mut self.worst;
        if amount > worst.amount {
            worst.found = true;
            worst.returning = None;
            worst.entry = Entry::new(row, above, lower == upper);
            worst.bound = bound;
            worst.amount = amount;
            worst.chosen = self.known;
        } else if amount.is_nan() {
            worst.finite = false;
        }
        if self.priced
            && let Some(to) = self.candidates.get_mut(self.known)
        {
            *to = row as u16;
            self.known += 1;
        }
    }

    fn is_saturated(&self, row: usize) -> bool {
        let mut saturated = self.set.saturated.iter().take(self.saturated);
        saturated.any(|&entry| Entry(entry).row() == row)
    }

    /// Finds the row that enters next among all rows. A saturated row that is within its bound returns.
    pub(super) fn price(&mut self) {
        self.scan(false);
        for place in 0..self.saturated {
            let entry = self.saturated_entry(place);
            let at = |values: &[S]| values.get(entry.row()).copied().unwrap_or_default();
            let bound = self.bound(entry);
            let size = bound.abs() + at(self.work.start).abs();
            let scale = at(self.constants.scale);
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
    pub(super) fn price_candidates(&mut self) {
        let count = self.known;
        self.worst = Worst::default();
        self.known = 0;
        let m = self.constants.scale.len();
        for place in 0..count {
            let row = usize::from(self.candidates.get(place).copied().unwrap_or_default());
            let (_, gram) = split(self.constants.gram, row * m);
            let mut s = self.work.start.get(row).copied().unwrap_or_default();
            let known = self.set.free.iter().zip(self.work.multipliers.iter());
            for (&entry, &value) in known.take(self.free) {
                s -= gram.get(Entry(entry).row()).copied().unwrap_or_default() * value;
            }
            self.operations += self.free;
            let (lower, upper) = self.bounds.of(row);
            if !(s <= upper && s >= lower) {
                self.note(row, s, (lower, upper), false);
            }
        }
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
    pub(super) fn evaluate(&mut self) {
        self.stale = false;
        // A saturated row can change s⁰ before s is computed again.
        self.plain = self.free + self.saturated == 0;
        if self.plain {
            return;
        }
        let m = self.constants.scale.len();
        let Work {
            start,
            rows,
            multipliers,
            bounds,
            ..
        } = &mut *self.work;
        let (entries, _) = split(self.set.free, self.free);
        let (multipliers, _) = split(multipliers, self.free);
        subtract(rows, start, self.constants.gram, entries, multipliers);
        self.operations += m * self.free;
        self.accurate = true;
        for (&entry, &bound) in entries.iter().zip(bounds.iter()) {
            let row = Entry(entry).row();
            let at = |values: &[S]| values.get(row).copied().unwrap_or_default();
            if !self.fresh {
                let size = bound.abs() + at(start).abs();
                let scale = at(self.constants.scale);
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
    rows: &mut [S],
    start: &[S],
    gram: &[S],
    entries: &[u16],
    multipliers: &[S],
) {
    let m = start.len();
    let vector = |entry: u16| split(split(gram, Entry(entry).row() * m).1, m).0;
    let odd = entries.len() % 4;
    let (first, entries) = split(entries, odd);
    let (weights, multipliers) = split(multipliers, odd);
    let both = rows.iter_mut().zip(start);
    match (first, weights) {
        (&[a], &[p]) => {
            for ((to, &s), &a) in both.zip(vector(a)) {
                *to = s - a * p;
            }
        }
        (&[a, b], &[p, q]) => {
            for ((to, &s), (&a, &b)) in both.zip(vector(a).iter().zip(vector(b))) {
                *to = s - a * p - b * q;
            }
        }
        (&[a, b, c], &[p, q, r]) => {
            let vectors = vector(a).iter().zip(vector(b)).zip(vector(c));
            for ((to, &s), ((&a, &b), &c)) in both.zip(vectors) {
                *to = s - a * p - b * q - c * r;
            }
        }
        _ => copy(rows, start),
    }
    let (fours, _) = entries.as_chunks::<4>();
    let (weights, _) = multipliers.as_chunks::<4>();
    for (&[a, b, c, d], &[p, q, r, t]) in fours.iter().zip(weights) {
        let vectors = vector(a)
            .iter()
            .zip(vector(b))
            .zip(vector(c))
            .zip(vector(d));
        for (s, (((&a, &b), &c), &d)) in rows.iter_mut().zip(vectors) {
            *s = *s - a * p - b * q - c * r - d * t;
        }
    }
}
