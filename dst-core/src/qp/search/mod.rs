//! Solve in progress: which row enters the set, which leaves, and how far the multipliers move.
//!
//! [`feasibility`] mends the set of the last solve, [`pricing`] finds the row that enters, [`independence`] appends it to the factor,
//! [`ascent`] moves the multipliers. Programs with a curvature have [`dependence`] and [`continuation`] besides.

mod ascent;
mod continuation;
mod dependence;
mod feasibility;
mod independence;
mod pricing;

use core::mem::swap;

use super::active_rows::{ActiveRows, Entry, retain};
use super::active_set::{ActiveSet, Bounds, Outcome, Status, Work};
use super::factor::{self, with_length};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, cells, less, short_loop, split};
use pricing::{CANDIDATES, Worst};

/// Violation that counts as zero, relative to the terms of the row, in machine epsilons.
const FINE: f64 = 1.0;
/// The same where rounding decides.
const COARSE: f64 = 8.0;

/// Writes Wy of a direction y over the rows of these entries, and returns yᵀWy, by a way that does not cancel: a sum of squares.
pub(super) type Curvature<'s, S> = &'s dyn Fn(&[u16], &[S], &mut [S]) -> S;

/// Solve in progress. `EXACT` if it has `curvature`; controllers are compiled without what belongs to it.
///
/// Its methods take the constants of the program as an argument. Where there is one program, as on a device, the compiler then knows
/// their sizes and addresses, also in functions that it does not inline.
struct Search<'s, 'm, 'w, S, const EXACT: bool> {
    work: &'s mut Work<'m, S>,
    set: &'s mut ActiveRows<'w>,
    bounds: Bounds<'s, S>,
    /// Rows of the set that have a multiplier between their limits.
    free: usize,
    saturated: usize,
    /// Rows of the set that are part of the factor.
    factored: usize,
    /// True if no row was taken out of the factor since it was built.
    fresh: bool,
    /// True if s is s⁰, and was not copied.
    plain: bool,
    /// True if s is not that of the multipliers.
    stale: bool,
    /// True if the rows of the set were at their bounds, to rounding.
    accurate: bool,
    tolerance: S,
    /// Tolerance where rounding decides.
    coarse: S,
    /// ‖u − u⁰‖_P² before the last row was added.
    square: S,
    /// True if the multipliers cancel each other: the rows of the set are nearly dependent.
    narrow: bool,
    /// Pivot of the last row that was found dependent, at least the rounding of it.
    pivot: S,
    curvature: Option<Curvature<'s, S>>,
    /// Size of what is summed in Wλ, in units of 1/scale.
    norm: S,
    /// Violation that the rounding of Wλ explains, likewise.
    noise: S,
    worst: Worst<S>,
    /// Violated rows that are not in the set.
    candidates: [u16; CANDIDATES],
    /// Number of candidates.
    known: usize,
    /// True if candidates are kept. A pass over all rows finds a better row; with vector instructions it costs little.
    priced: bool,
    steps: usize,
    operations: usize,
    budget: usize,
}

impl<S: Scalar> ActiveSet<'_, S> {
    /// Solves from s⁰ in `work.start` and the set of the last solve, whose rows move up by `shift`. Afterwards `work.rows` is s.
    /// `curvature` resolves pivots that W alone cannot tell from zero.
    #[inline]
    pub(crate) fn solve(
        &self,
        work: &mut Work<'_, S>,
        set: &mut ActiveRows<'_>,
        shift: usize,
        bounds: Bounds<'_, S>,
        budget: usize,
        curvature: Option<Curvature<'_, S>>,
    ) -> Outcome {
        if curvature.is_some() {
            let search = self.search::<true>(work, set, bounds, budget, curvature);
            search.run_from(self, shift)
        } else {
            let search = self.search::<false>(work, set, bounds, budget, None);
            search.run_from(self, shift)
        }
    }

    /// Search with the set as it is, and no factor.
    fn search<'s, 'm, 'w, const EXACT: bool>(
        &self,
        work: &'s mut Work<'m, S>,
        set: &'s mut ActiveRows<'w>,
        bounds: Bounds<'s, S>,
        budget: usize,
        curvature: Option<Curvature<'s, S>>,
    ) -> Search<'s, 'm, 'w, S, EXACT> {
        let (free, saturated) = set.counts();
        let coarse = self.tolerance.max(S::from_f64(COARSE) * S::EPSILON);
        let fine = self.tolerance.max(S::from_f64(FINE) * S::EPSILON);
        Search {
            work,
            set,
            bounds,
            free,
            saturated: if self.caps.is_empty() { 0 } else { saturated },
            factored: 0,
            fresh: true,
            plain: true,
            stale: true,
            accurate: true,
            // A program with a curvature is refined afterwards.
            tolerance: if EXACT { coarse } else { fine },
            coarse,
            square: S::ZERO,
            narrow: false,
            pivot: S::ZERO,
            curvature,
            norm: S::ZERO,
            noise: S::ZERO,
            worst: Worst::default(),
            candidates: [0; CANDIDATES],
            known: 0,
            priced: !EXACT,
            steps: 0,
            operations: 0,
            budget,
        }
    }
}

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Solves; the rows of the last set move up by `shift`. Afterwards `work.rows` is s.
    #[inline]
    fn run_from(mut self, constants: &ActiveSet<'_, S>, shift: usize) -> Outcome {
        let status = self.run(constants, shift);
        if self.plain {
            let Work { start, rows, .. } = &mut *self.work;
            swap(start, rows);
        }
        self.end(status)
    }

    fn run(&mut self, constants: &ActiveSet<'_, S>, shift: usize) -> Status {
        let pairs = self.bounds.lower.iter().zip(self.bounds.upper);
        // Written so that a NaN is empty, too.
        if !pairs.clone().all(|(l, u)| l <= u) {
            // Nothing has been moved into s⁰ yet.
            self.saturated = 0;
            self.discard(constants);
            return Status::Infeasible;
        }
        self.begin(constants, shift);
        if self.free + self.saturated == 0 {
            self.scan(constants, true);
            if !self.worst.finite {
                self.discard(constants);
                return Status::Late;
            }
            if self.free == 0 && !self.worst.found {
                return Status::Solved;
            }
        }
        self.rounds(constants)
    }

    /// Makes the set dual feasible and adds violated rows.
    fn rounds(&mut self, constants: &ActiveSet<'_, S>) -> Status {
        let mut repaired = false;
        loop {
            if !self.restore(constants) {
                self.discard(constants);
                return Status::Late;
            }
            match self.ascend(constants) {
                Ok(status) => return status,
                // Updates have made the factor inaccurate: build it again, once.
                Err(status) if repaired || self.fresh => return status,
                Err(_) => repaired = true,
            }
            self.factored = 0;
            self.fresh = true;
        }
    }

    /// Stores the counts of the set.
    fn end(self, status: Status) -> Outcome {
        self.set.set_counts(self.free, self.saturated);
        Outcome {
            status,
            steps: self.steps,
            operations: self.operations,
        }
    }

    /// Forgets the set; s is then s⁰.
    fn discard(&mut self, constants: &ActiveSet<'_, S>) {
        for place in 0..self.saturated {
            self.move_saturated(constants, place, S::ONE);
        }
        self.saturated = 0;
        self.free = 0;
        self.factored = 0;
        self.plain = true;
    }

    /// s
    fn rows(&self) -> &[S] {
        if self.plain {
            self.work.start
        } else {
            self.work.rows
        }
    }

    #[inline(always)]
    fn entry(&self, place: usize) -> Entry {
        Entry(self.set.free.get(place).copied().unwrap_or_default())
    }

    fn saturated_entry(&self, place: usize) -> Entry {
        Entry(self.set.saturated.get(place).copied().unwrap_or_default())
    }

    fn bound(&self, entry: Entry) -> S {
        let (lower, upper) = self.bounds.of(entry.row());
        if entry.is_upper() { upper } else { lower }
    }

    /// Moves the rows of the last set up, and keeps those that have a bound.
    fn begin(&mut self, constants: &ActiveSet<'_, S>, shift: usize) {
        let bounds = self.bounds;
        let m = constants.scale.len();
        let mut kept = 0;
        let noted = cells(self.work.bounds);
        let mut renewed = |entry: Entry| {
            let row = entry.row().checked_sub(shift)?;
            let (lower, upper) = bounds.of(row);
            let bound = if entry.is_upper() { upper } else { lower };
            let bounded = row < m && bound.abs() < S::MAX;
            if let (true, Some(to)) = (bounded, noted.get(kept)) {
                to.set(bound);
                kept += 1;
            }
            bounded.then(|| Entry::new(row, entry.is_upper(), lower == upper))
        };
        self.free = retain(self.set.free, self.free, &mut renewed);
        if self.saturated > 0 {
            self.saturated = retain(self.set.saturated, self.saturated, renewed);
            for place in 0..self.saturated {
                self.move_saturated(constants, place, -S::ONE);
            }
        }
    }

    /// Adds the part of a saturated row to s⁰, or takes it out (−1).
    fn move_saturated(&mut self, constants: &ActiveSet<'_, S>, place: usize, sign: S) {
        let entry = self.saturated_entry(place);
        let multiplier = entry.outward(constants.cap(entry.row())) * sign;
        let m = constants.scale.len();
        let (_, rest) = split(constants.gram, entry.row() * m);
        add_scaled(self.work.start, multiplier, split(rest, m).0);
        self.operations += m;
    }

    /// L⁻¹(s⁰ − b), from this row on.
    fn substitute(&mut self, first: usize) {
        if first < self.factored {
            _ = self.substitute_rows(first);
        }
    }

    /// The same for at least one row. None if a slice is too short.
    fn substitute_rows(&mut self, first: usize) -> Option<()> {
        let known = first..self.factored;
        let entries = self.set.free.get(known.clone())?;
        let bounds = self.work.bounds.get(known)?;
        let mut packed = self.work.packed.get(factor::packed_len(first)..)?;
        for (k, (&entry, &bound)) in (first..).zip(entries.iter().zip(bounds)) {
            let start = *self.work.start.get(Entry(entry).row())?;
            let (row, rest) = packed.split_at_checked(k)?;
            let (done, next) = self.work.forward.split_at_mut_checked(k)?;
            *next.first_mut()? = less(start - bound, row, done);
            packed = rest;
            self.operations += k;
        }
        Some(())
    }

    /// Multipliers of the rows of the factor, to `target`.
    #[inline(never)]
    fn solve(&mut self) {
        let n = self.factored;
        with_length!(multipliers(self.work; n));
        self.operations += n * (n + 1) / 2;
        self.steps += 1;
    }

    /// The multipliers are those of `target`.
    fn arrive(&mut self) {
        let Work {
            target,
            multipliers,
            ..
        } = &mut *self.work;
        swap(target, multipliers);
    }

    /// Takes row `place` out of the set and, if it is part of it, out of the factor.
    #[inline(never)]
    fn take_out(&mut self, place: usize) {
        if place < self.factored {
            let n = self.factored;
            let work = &mut *self.work;
            _ = factor::remove(
                work.packed,
                work.inverse,
                place,
                n,
                work.target,
                work.forward,
            );
            self.operations += (n - place) * (n - place + 1);
            self.factored -= 1;
            self.fresh = self.fresh && place == self.factored;
        }
        _ = self.close_gap(place);
        self.free -= 1;
        self.substitute(place);
    }

    /// Moves the rows behind this place up. From the last to the first: in the other order the loops would become calls of `memmove`,
    /// which cost more.
    #[inline(always)]
    fn close_gap(&mut self, place: usize) -> Option<()> {
        let entries = cells(self.set.free).get(place..self.free)?;
        let multipliers = cells(self.work.multipliers).get(place..self.free)?;
        let bounds = cells(self.work.bounds).get(place..self.free)?;
        let (mut entry, mut multiplier, mut bound) = Default::default();
        let places = entries.iter().zip(multipliers.iter().zip(bounds));
        for (to, (to_multiplier, to_bound)) in places.rev() {
            entry = to.replace(entry);
            multiplier = to_multiplier.replace(multiplier);
            bound = to_bound.replace(bound);
            short_loop();
        }
        Some(())
    }

    /// Moves a row of the set to the saturated ones. False if there is no room.
    fn saturate(&mut self, constants: &ActiveSet<'_, S>, place: usize) -> bool {
        let entry = self.entry(place);
        let Some(to) = self.set.saturated.get_mut(self.saturated) else {
            return false;
        };
        *to = entry.0;
        self.saturated += 1;
        self.take_out(place);
        self.move_saturated(constants, self.saturated - 1, -S::ONE);
        self.substitute(0);
        true
    }
}

/// Multipliers of the first n rows, to `target`.
#[inline(always)]
fn multipliers<S: Scalar>(work: &mut Work<'_, S>, n: usize) {
    let (Some(target), Some(forward), Some(inverse)) = (
        work.target.get_mut(..n),
        work.forward.get(..n),
        work.inverse.get(..n),
    ) else {
        return;
    };
    for (to, (&y, &inverse)) in target.iter_mut().zip(forward.iter().zip(inverse)) {
        *to = y * inverse;
    }
    if n < factor::SHORT {
        factor::backward_inline(work.packed, target);
    } else {
        factor::backward(work.packed, target);
    }
}
