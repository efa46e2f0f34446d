//! Dual active set on W = A·P⁻¹·Aᵀ.
//!
//! With multipliers λ, positive at an upper bound and negative at a lower one, the minimiser is u = −P⁻¹(q + Aᵀλ), and the rows
//! are s = Au = s⁰ − Wλ with s⁰ = −A·P⁻¹·q. So the method works on rows alone, and a change of the set costs a row of LDLᵀ from
//! entries of W, without a product of length n:
//!
//! 1. s = s⁰. If no row is violated, u is the minimiser without bounds.
//! 2. Start with the set of the last solve; without one, with the rows that are violated by more than their own bound. Take rows
//!    with a multiplier of the wrong sign out until none is left.
//! 3. Add the most violated row and solve W_AA λ_A = s⁰_A − b_A. If a multiplier changes its sign on the way from the old λ to the
//!    new one, go that far and take its row out. If the new row depends on the others, go along the null direction; if nothing
//!    blocks it, the program has no solution.
//!
//! Every point is optimal for the rows of its set, so the method can stop at any step: a deadline is a number of steps. *Soft
//! rows*: a penalty c|v| on a violation v is a multiplier that stays within ±c, and a penalty ½ρv² adds 1/ρ to W_jj. Neither needs
//! a variable. A row whose multiplier has reached ±c is *saturated*: it leaves the factor, and its part of Wλ moves into s⁰.

use super::active_rows::{ActiveRows, Entry, MOST_ROWS, entries};
use super::factor;
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::split_mut;

/// Constants of a program for the dual active set. Bounds, caps and lifts are given for one stage, and apply to all stages.
#[derive(Clone, Copy, Debug)]
pub struct ActiveSet<'a, S> {
    /// W, m × m, row by row; the diagonal of a row with a quadratic penalty ρ contains 1/ρ.
    pub gram: &'a [S],
    /// 1/√W_jj; 1 for a row of zeros.
    pub scale: &'a [S],
    /// Weight c of the penalty c|v| of each row of a stage, infinity for a hard row; empty if there is no such penalty.
    pub caps: &'a [S],
    /// 1/ρ of each row of a stage with the penalty ½ρv², 0 for a hard row; empty if there is no such penalty.
    pub lifts: &'a [S],
    /// Violation that counts as zero, relative to the terms of the row. Values below one machine epsilon act as that; where rounding
    /// decides, below eight.
    pub tolerance: S,
}

/// Status of a solved program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status {
    /// All rows are within their bounds.
    Solved,
    /// Solved, and at least one soft row is beyond its bound.
    Softened,
    /// The deadline or the end of the memory came first. The point is optimal for the rows of its set.
    Late,
    /// No u satisfies the hard rows.
    Infeasible,
}

impl Status {
    /// True if the program was solved, with or without softened rows.
    pub const fn is_solved(self) -> bool {
        matches!(self, Self::Solved | Self::Softened)
    }
}

/// Outcome of a solve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Outcome {
    /// Status of the program.
    pub status: Status,
    /// Solutions with the factor: one per change of the set. This is what a deadline limits.
    pub steps: usize,
    /// Multiply-adds, a measure of the work that does not depend on the machine.
    pub operations: usize,
}

/// Numbers of one solve. Nothing in it is needed by the next one.
#[derive(Debug)]
pub(crate) struct Work<'m, S> {
    /// s⁰; without the rows that are saturated.
    pub(crate) start: &'m mut [S],
    /// s
    pub(crate) rows: &'m mut [S],
    pub(super) packed: &'m mut [S],
    /// 1/D
    pub(super) inverse: &'m mut [S],
    /// L⁻¹(s⁰ − b)
    pub(super) forward: &'m mut [S],
    /// λ
    pub(super) multipliers: &'m mut [S],
    /// λ of the new set, or the direction to it.
    pub(super) target: &'m mut [S],
    /// b
    pub(super) bounds: &'m mut [S],
}

impl<'m, S: Scalar> Work<'m, S> {
    /// Numbers for m rows and a capacity.
    pub(crate) const fn len(rows: usize, capacity: usize) -> usize {
        2 * rows + factor::packed_len(capacity) + 5 * capacity
    }

    /// Cuts the memory; the lengths are checked by the caller.
    pub(crate) fn new(rows: usize, capacity: usize, memory: &'m mut [S]) -> Self {
        let (start, rest) = split_mut(memory, rows);
        let (rows, rest) = split_mut(rest, rows);
        let (packed, rest) = split_mut(rest, factor::packed_len(capacity));
        let (inverse, rest) = split_mut(rest, capacity);
        let (forward, rest) = split_mut(rest, capacity);
        let (multipliers, rest) = split_mut(rest, capacity);
        let (target, bounds) = split_mut(rest, capacity);
        Self {
            start,
            rows,
            packed,
            inverse,
            forward,
            multipliers,
            target,
            bounds,
        }
    }
}

impl<S: Scalar> ActiveSet<'_, S> {
    /// Rows of the last solve with a multiplier, and the multipliers.
    pub(crate) fn multipliers<'r>(
        &'r self,
        work: &'r Work<'_, S>,
        set: &'r ActiveRows<'_>,
    ) -> impl Iterator<Item = (usize, S)> + 'r {
        let (free, saturated) = set.counts();
        let known = set.free.iter().zip(work.multipliers.iter()).take(free);
        let known = known.map(|(&entry, &value)| (Entry(entry).row(), value));
        let capped = set.saturated.iter().take(saturated).map(|&entry| {
            let entry = Entry(entry);
            (entry.row(), entry.outward(self.cap(entry.row())))
        });
        known.chain(capped)
    }

    /// The same from the words of a set that is only read.
    pub(crate) fn read_multipliers<'r>(
        &'r self,
        work: &'r Work<'_, S>,
        words: &'r [u16],
    ) -> impl Iterator<Item = (usize, S)> + 'r {
        let (free, saturated) = entries(words);
        let known = free.zip(work.multipliers.iter());
        let capped = |entry: Entry| (entry.row(), entry.outward(self.cap(entry.row())));
        known
            .map(|(entry, &value)| (entry.row(), value))
            .chain(saturated.map(capped))
    }

    /// Soft rows of a set that are beyond their bounds.
    pub(crate) fn softened<'r>(&'r self, words: &'r [u16]) -> impl Iterator<Item = usize> + 'r {
        let (free, saturated) = entries(words);
        let lifted = free.filter(|entry| self.is_lifted(entry.row()));
        lifted.chain(saturated).map(Entry::row)
    }

    /// A row of W.
    #[inline(always)]
    pub(super) fn gram_row(&self, row: usize) -> Option<&[S]> {
        let m = self.scale.len();
        self.gram.get(row * m..)?.get(..m)
    }

    /// True if the row has a quadratic penalty.
    pub(super) fn is_lifted(&self, row: usize) -> bool {
        let kind = row.checked_rem(self.lifts.len());
        let lift = kind.and_then(|k| self.lifts.get(k));
        lift.is_some_and(|&lift| lift > S::ZERO)
    }

    /// Largest multiplier of a row.
    #[inline]
    pub(super) fn cap(&self, row: usize) -> S {
        let kind = row.checked_rem(self.caps.len());
        let cap = kind.and_then(|k| self.caps.get(k));
        cap.copied().unwrap_or(S::INFINITY)
    }
}

/// Bounds of the rows of one stage.
#[derive(Clone, Copy, Debug)]
pub struct Bounds<'a, S> {
    /// Lower bounds; −∞ for none.
    pub lower: &'a [S],
    /// Upper bounds; ∞ for none.
    pub upper: &'a [S],
}

impl<S: Scalar> Bounds<'_, S> {
    /// Bounds of a row.
    pub(super) fn of(&self, row: usize) -> (S, S) {
        let kind = row.checked_rem(self.lower.len()).unwrap_or(0);
        let at = |bounds: &[S]| bounds.get(kind).copied().unwrap_or(S::NAN);
        (at(self.lower), at(self.upper))
    }
}

impl<S: Scalar> ActiveSet<'_, S> {
    /// Checks the lengths against the bounds, and the signs.
    pub(crate) fn check(&self, bounds: Bounds<'_, S>) -> Result<(), Error> {
        let (m, kinds) = (self.scale.len(), bounds.lower.len());
        exact(Argument::Bounds, kinds, bounds.upper.len())?;
        exact(Argument::Model, m * m, self.gram.len())?;
        let whole = m.checked_div(kinds).unwrap_or(0) * kinds;
        exact(Argument::Bounds, whole, m)?;
        for penalties in [self.caps, self.lifts] {
            if !penalties.is_empty() {
                exact(Argument::Bounds, kinds, penalties.len())?;
            }
        }
        let positive = |v: &S| *v >= S::ZERO;
        if m > MOST_ROWS || !self.caps.iter().chain(self.lifts).all(positive) {
            return Err(Error::Invalid(Argument::Model));
        }
        if self.tolerance >= S::ZERO && self.tolerance < S::ONE {
            Ok(())
        } else {
            Err(Error::Invalid(Argument::Tolerance))
        }
    }
}
