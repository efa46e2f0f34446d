//! Solve in progress: which row enters the set, which leaves, and how far the multipliers move.

mod continuation;
mod dependence;

use core::cell::Cell;

use super::active_rows::{ActiveRows, Entry, retain};
use super::active_set::{ActiveSet, Bounds, Outcome, Status, Work};
use super::factor;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, cells, combine, copy, less, pieces, split, split_mut};

/// Pivot that counts as zero, relative to W_jj, in machine epsilons.
const SINGULAR: f64 = 16.0;
/// Rounding of a pivot that is usual, relative to the largest that is possible.
const TYPICAL: f64 = 0.0625;
/// Pivot that may be rounding, relative to W_jj.
const SUSPECT: f64 = 1e-2;
/// Violation along a null direction that proves infeasibility, in units of √pivot·‖u − u⁰‖_P.
const PROOF: f64 = 1.0;

/// Writes Wy of a direction y over the rows of these entries, and returns yᵀWy, by a way that does not cancel: a sum of squares.
pub(super) type Curvature<'s, S> = &'s dyn Fn(&[u16], &[S], &mut [S]) -> S;

/// Violated rows that a pass over all rows remembers.
const CANDIDATES: usize = 16;

/// Solve in progress. `EXACT` if it has `curvature`; controllers are compiled without what belongs to it.
struct Search<'s, 'm, 'w, 'a, S, const EXACT: bool> {
    constants: &'s ActiveSet<'a, S>,
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
    tolerance: S,
    /// ‖u − u⁰‖_P² before the last row was added.
    square: S,
    /// True if the multipliers cancel each other: the rows of the set are nearly dependent.
    narrow: bool,
    /// Pivot of the last row that was found dependent, at least the rounding of it.
    pivot: S,
    curvature: Option<Curvature<'s, S>>,
    /// Violation that the rounding of Wλ explains, in units of 1/scale.
    noise: S,
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

/// Row that limits a step.
#[derive(Clone, Copy)]
struct Block {
    place: usize,
    saturates: bool,
}

/// Most violated row.
#[derive(Clone, Copy)]
struct Violation<S> {
    /// Place in the list of saturated rows, for one that returns within its bound.
    returning: Option<usize>,
    entry: Entry,
    bound: S,
    /// Violation, in units of 1/scale.
    amount: S,
}

impl<S: Scalar> ActiveSet<'_, S> {
    /// Solves from s⁰ in `work.start` and the set of the last solve. Afterwards `work.rows` is s. `curvature` resolves pivots that W
    /// alone cannot tell from zero.
    #[inline]
    pub(crate) fn solve(
        &self,
        work: &mut Work<'_, S>,
        set: &mut ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        budget: usize,
        curvature: Option<Curvature<'_, S>>,
    ) -> Outcome {
        if curvature.is_some() {
            self.start::<true>(work, set, bounds, budget, curvature)
        } else {
            self.start::<false>(work, set, bounds, budget, None)
        }
    }

    fn start<const EXACT: bool>(
        &self,
        work: &mut Work<'_, S>,
        set: &mut ActiveRows<'_>,
        bounds: Bounds<'_, S>,
        budget: usize,
        curvature: Option<Curvature<'_, S>>,
    ) -> Outcome {
        let mut search = self.search::<EXACT>(work, set, bounds, budget, curvature);
        let status = search.run();
        let plain = search.plain;
        let outcome = search.end(status);
        if plain {
            core::mem::swap(&mut work.start, &mut work.rows);
        }
        outcome
    }

    /// Search with the set as it is, and no factor.
    fn search<'s, 'm, 'w, const EXACT: bool>(
        &'s self,
        work: &'s mut Work<'m, S>,
        set: &'s mut ActiveRows<'w>,
        bounds: Bounds<'s, S>,
        budget: usize,
        curvature: Option<Curvature<'s, S>>,
    ) -> Search<'s, 'm, 'w, 's, S, EXACT> {
        let (free, saturated) = set.counts();
        Search {
            constants: self,
            work,
            set,
            bounds,
            free,
            saturated,
            factored: 0,
            fresh: true,
            plain: true,
            stale: true,
            tolerance: self.tolerance.max(S::from_f64(8.0) * S::EPSILON),
            square: S::ZERO,
            narrow: false,
            pivot: S::ZERO,
            curvature,
            noise: S::ZERO,
            candidates: [0; CANDIDATES],
            known: 0,
            priced: curvature.is_none(),
            steps: 0,
            operations: 0,
            budget,
        }
    }
}

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, '_, S, EXACT> {
    fn run(&mut self) -> Status {
        let pairs = self.bounds.lower.iter().zip(self.bounds.upper);
        // Written so that a NaN is empty, too.
        if !pairs.clone().all(|(l, u)| l <= u) {
            // Nothing has been moved into s⁰ yet.
            self.saturated = 0;
            self.discard();
            return Status::Infeasible;
        }
        if !self.begin() {
            return Status::Solved;
        }
        self.rounds()
    }

    /// Makes the set dual feasible and adds violated rows.
    fn rounds(&mut self) -> Status {
        let mut repaired = false;
        loop {
            if !self.restore() {
                self.discard();
                return Status::Late;
            }
            match self.ascend() {
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
    fn discard(&mut self) {
        self.release_all();
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

    /// Fills in the bounds of the last set. Without one, takes in the rows that are violated by more than their own bound. False
    /// if no row is violated.
    fn begin(&mut self) -> bool {
        let bounds = self.bounds;
        let m = self.constants.scale.len();
        let renewed = |entry: Entry| {
            let (lower, upper) = bounds.of(entry.row());
            let bound = if entry.is_upper() { upper } else { lower };
            (entry.row() < m && bound.abs() < S::MAX)
                .then(|| Entry::new(entry.row(), entry.is_upper(), lower == upper))
        };
        self.free = retain(self.set.free, self.free, renewed);
        self.saturated = retain(self.set.saturated, self.saturated, renewed);
        for place in 0..self.saturated {
            self.move_saturated(place, -S::ONE);
        }
        if self.free + self.saturated == 0 && !self.take_violated() {
            return false;
        }
        for place in 0..self.free {
            let bound = self.bound(self.entry(place));
            if let Some(to) = self.work.bounds.get_mut(place) {
                *to = bound;
            }
        }
        true
    }

    fn bound(&self, entry: Entry) -> S {
        let (lower, upper) = self.bounds.of(entry.row());
        if entry.is_upper() { upper } else { lower }
    }

    /// Takes in all rows that are violated by more than their own bound; other violated rows become candidates. True if a row is
    /// violated at all.
    fn take_violated(&mut self) -> bool {
        let Bounds { lower, upper } = self.bounds;
        // One place is left for the first row that is added.
        let mut places = self.set.free.iter_mut();
        places.next_back();
        let mut places = places.peekable();
        let mut row = 0;
        let mut violated = false;
        for stage in pieces(self.work.start, lower.len()) {
            for ((&s, &lower), &upper) in stage.iter().zip(lower).zip(upper) {
                // Written so that a NaN is violated.
                if !(s <= upper && s >= lower) {
                    violated = true;
                    let above = s > upper;
                    let bound = if above { upper } else { lower };
                    let far = (s - bound).abs() > bound.abs();
                    if let Some(place) = places.next_if(|_| far) {
                        *place = Entry::new(row, above, lower == upper).0;
                        self.free += 1;
                    } else if let Some(place) =
                        self.candidates.get_mut(self.known).filter(|_| self.priced)
                    {
                        *place = row as u16;
                        self.known += 1;
                    }
                }
                row += 1;
            }
        }
        violated
    }

    /// Adds the part of a saturated row to s⁰, or takes it out (−1).
    fn move_saturated(&mut self, place: usize, sign: S) {
        let entry = self.saturated_entry(place);
        let multiplier = entry.outward(self.constants.cap(entry.row())) * sign;
        let m = self.constants.scale.len();
        let (_, rest) = split(self.constants.gram, entry.row() * m);
        add_scaled(self.work.start, multiplier, split(rest, m).0);
        self.operations += m;
    }

    fn release_all(&mut self) {
        for place in 0..self.saturated {
            self.move_saturated(place, S::ONE);
        }
        self.saturated = 0;
    }

    /// Appends the next row of the set to the factor. False if the row depends on those before.
    fn append(&mut self) -> bool {
        let k = self.factored;
        let entry = self.entry(k);
        let m = self.constants.scale.len();
        let (_, rest) = split(self.constants.gram, entry.row() * m);
        let (gram, _) = split(rest, m);
        let at = |row: usize| gram.get(row).copied().unwrap_or_default();
        let diagonal = at(entry.row());
        let least = S::from_f64(SINGULAR) * S::EPSILON * diagonal;
        let values = self.set.free.iter().map(|&e| at(Entry(e).row()));
        let work = &mut *self.work;
        let pivot = factor::append(work.packed, work.inverse, k, values, diagonal, least);
        self.operations += k * (k + 3) / 2;
        // Rounding of W changes the pivot by up to ε·(Σ|y_i|√W_ii)², where y is the null direction. That may be much more than
        // ε·W_kk: a short row that is a sum of long ones, or a set that is nearly dependent. y costs a substitution, so it is
        // computed only if the pivot is small or the multipliers cancel each other.
        if pivot > S::from_f64(SUSPECT) * diagonal && !self.narrow {
            return self.accept(k);
        }
        let sum = self.null_norm(k);
        let noise = S::EPSILON * sum * sum;
        let singular = S::from_f64(SINGULAR) * noise;
        if pivot > least && pivot > singular {
            return self.accept(k);
        }
        let (true, Some(curvature)) = (EXACT, self.curvature) else {
            self.pivot = pivot.abs().max(S::from_f64(TYPICAL) * noise);
            return false;
        };
        self.resolve(k, noise, curvature)
    }

    /// Makes row k part of the factor.
    fn accept(&mut self, k: usize) -> bool {
        self.factored += 1;
        self.substitute(k);
        true
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

    /// L⁻¹(s⁰ − b), from this row on.
    fn substitute(&mut self, first: usize) {
        for k in first..self.factored {
            let row = self.entry(k).row();
            let start = self.work.start.get(row).copied().unwrap_or_default();
            let bound = self.work.bounds.get(k).copied().unwrap_or_default();
            let (done, rest) = split_mut(self.work.forward, k);
            if let Some(to) = rest.first_mut() {
                *to = less(start - bound, factor::row(self.work.packed, k), done);
            }
            self.operations += k;
        }
    }

    /// Multipliers of the rows of the factor, to `target`.
    fn solve(&mut self) {
        let n = self.factored;
        let Work {
            packed,
            inverse,
            forward,
            target,
            ..
        } = &mut *self.work;
        let known = forward.iter().zip(inverse.iter());
        for (to, (&y, &inverse)) in target.iter_mut().zip(known).take(n) {
            *to = y * inverse;
        }
        factor::back(packed, target, n);
        self.operations += n * (n + 1) / 2;
        self.steps += 1;
    }

    /// Takes row `place` out of the set and, if it is part of it, out of the factor.
    fn take_out(&mut self, place: usize) {
        if place < self.factored {
            let n = self.factored;
            let work = &mut *self.work;
            factor::remove(
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
        close_gap(cells(self.set.free), place, self.free);
        close_gap(cells(self.work.multipliers), place, self.free);
        close_gap(cells(self.work.bounds), place, self.free);
        self.free -= 1;
        self.substitute(place);
    }

    /// Moves a row of the set to the saturated ones. False if there is no room.
    fn saturate(&mut self, place: usize) -> bool {
        let entry = self.entry(place);
        let Some(to) = self.set.saturated.get_mut(self.saturated) else {
            return false;
        };
        *to = entry.0;
        self.saturated += 1;
        self.take_out(place);
        self.move_saturated(self.saturated - 1, -S::ONE);
        self.substitute(0);
        true
    }

    /// Makes the set dual feasible: factors it without dependent rows, and takes rows out whose multiplier has the wrong sign.
    /// False if the deadline came first.
    fn restore(&mut self) -> bool {
        while self.free > 0 {
            if self.steps >= self.budget {
                return false;
            }
            while self.factored < self.free {
                if !self.append() {
                    self.take_out(self.factored);
                }
            }
            self.solve();
            let mut changed = false;
            for place in (0..self.free).rev() {
                let entry = self.entry(place);
                let value = self.work.target.get(place).copied().unwrap_or_default();
                let value = entry.outward(value);
                if value < S::ZERO && !entry.is_fixed() {
                    // The factor of the rows before stays valid: cheaper than an update for each of them.
                    self.factored = self.factored.min(place);
                    self.take_out(place);
                    changed = true;
                } else if value > self.constants.cap(entry.row()) {
                    self.factored = self.factored.min(place);
                    if !self.saturate(place) {
                        return false;
                    }
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let Work {
            target,
            multipliers,
            ..
        } = &mut *self.work;
        copy(multipliers, split(target, self.free).0);
        true
    }

    /// Adds violated rows until there is none: the worst of the candidates, or the worst of all rows if no candidate is violated.
    /// An error is a status that a factor built anew might change.
    fn ascend(&mut self) -> Result<Status, Status> {
        loop {
            let (norm, square) = self.sizes();
            self.noise = self.tolerance * norm;
            self.square = square;
            self.narrow = S::from_f64(SUSPECT) * norm * norm > square;
            let mut worst = self.worst_candidate();
            if let Ok(None) = worst {
                self.evaluate();
                worst = self.worst();
            }
            let (true, Ok(worst)) = (norm.is_finite(), worst) else {
                self.discard();
                return Ok(Status::Late);
            };
            let Some(worst) = worst else {
                return if self.fresh || self.is_accurate() {
                    Ok(self.solved())
                } else {
                    Err(self.solved())
                };
            };
            // A row that is added takes a step at least.
            let end = if self.steps >= self.budget || self.free >= self.work.bounds.len() {
                Some(Ok(Status::Late))
            } else {
                self.enter(worst);
                self.stale = true;
                self.climb(worst)
            };
            if let Some(status) = end {
                if self.stale {
                    self.evaluate();
                }
                return status;
            }
        }
    }

    /// Solved, or softened.
    fn solved(&self) -> Status {
        let lifted = |&entry: &u16| self.constants.is_lifted(Entry(entry).row());
        let softened = self.saturated > 0 || self.set.free.iter().take(self.free).any(lifted);
        if softened {
            Status::Softened
        } else {
            Status::Solved
        }
    }

    /// Σ|λ_i|√W_ii, the size of what is summed, and ‖u − u⁰‖_P² = λᵀ(s⁰ − s), without saturated rows: the rows of the set are at
    /// their bounds.
    fn sizes(&self) -> (S, S) {
        let m = self.constants.scale.len();
        let (mut norm, mut square) = (S::ZERO, S::ZERO);
        let known = self.work.multipliers.iter().zip(self.work.bounds.iter());
        let known = self.set.free.iter().zip(known);
        for (&entry, (&value, &bound)) in known.take(self.free) {
            let row = Entry(entry).row();
            let at = |values: &[S], i: usize| values.get(i).copied().unwrap_or_default();
            let diagonal = at(self.constants.gram, row * (m + 1));
            norm += value.abs() * diagonal * at(self.constants.scale, row);
            square += value * (at(self.work.start, row) - bound);
        }
        (norm, square)
    }

    /// Computes s = s⁰ − Wλ.
    fn evaluate(&mut self) {
        self.stale = false;
        // A saturated row can change s⁰ before s is computed again.
        self.plain = self.free + self.saturated == 0;
        if self.plain {
            return;
        }
        let m = self.constants.scale.len();
        let gram = self.constants.gram;
        let Work {
            start,
            rows,
            multipliers,
            target,
            ..
        } = &mut *self.work;
        let (entries, _) = split(self.set.free, self.free);
        let (multipliers, _) = split(multipliers, self.free);
        let (negative, _) = split_mut(target, self.free);
        for (to, &value) in negative.iter_mut().zip(multipliers) {
            *to = -value;
        }
        copy(rows, start);
        let vectors = entries
            .iter()
            .map(|&entry| split(split(gram, Entry(entry).row() * m).1, m).0);
        combine(rows, negative, vectors);
        self.operations += m * self.free;
    }

    /// Violation of a row with this s, none if it is rounding; an error if it is not finite.
    fn violation(&self, row: usize, s: S, lower: S, upper: S) -> Result<Option<Violation<S>>, ()> {
        let above = s > upper;
        let bound = if above { upper } else { lower };
        let at = |values: &[S]| values.get(row).copied().unwrap_or_default();
        let scale = at(self.constants.scale);
        let amount = (s - bound).abs() * scale;
        let size = bound.abs() + at(self.work.start).abs();
        if amount <= self.tolerance * size * scale + self.noise {
            return Ok(None);
        }
        if amount.is_nan() {
            return Err(());
        }
        Ok(Some(Violation {
            returning: None,
            entry: Entry::new(row, above, lower == upper),
            bound,
            amount,
        }))
    }

    /// Largest violation that is not rounding, and the candidates for the steps after it; an error if s is not finite.
    fn worst(&mut self) -> Result<Option<Violation<S>>, ()> {
        let Bounds { lower, upper } = self.bounds;
        let mut worst: Option<Violation<S>> = None;
        let mut amount = S::ZERO;
        let mut candidates = [0; CANDIDATES];
        let mut places = candidates.iter_mut();
        let mut row = 0;
        for stage in pieces(self.rows(), lower.len()) {
            for (&s, (&lower, &upper)) in stage.iter().zip(lower.iter().zip(upper)) {
                // A NaN is not within.
                let within = s <= upper && s >= lower;
                if !within
                    && !self.contains(row)
                    && let Some(found) = self.violation(row, s, lower, upper)?
                {
                    if let Some(place) = places.next() {
                        *place = row as u16;
                    }
                    if found.amount > amount {
                        amount = found.amount;
                        worst = Some(found);
                    }
                }
                row += 1;
            }
        }
        let left = places.len();
        self.candidates = candidates;
        self.known = if self.priced { CANDIDATES - left } else { 0 };
        let saturated = self.set.saturated.iter().take(self.saturated);
        for (place, &entry) in saturated.enumerate() {
            let entry = Entry(entry);
            let at = |values: &[S]| values.get(entry.row()).copied().unwrap_or_default();
            let bound = self.bound(entry);
            let size = bound.abs() + at(self.work.start).abs();
            let scale = at(self.constants.scale);
            let scaled = entry.outward(bound - at(self.rows())) * scale;
            if scaled > amount && scaled > self.tolerance * size * scale + self.noise {
                amount = scaled;
                worst = Some(Violation {
                    returning: Some(place),
                    entry,
                    bound,
                    amount,
                });
            }
        }
        Ok(worst)
    }

    /// Largest violation among the candidates; those that are satisfied are forgotten.
    fn worst_candidate(&mut self) -> Result<Option<Violation<S>>, ()> {
        let mut worst: Option<Violation<S>> = None;
        let mut amount = S::ZERO;
        let mut kept = 0;
        let m = self.constants.scale.len();
        for place in 0..self.known {
            let row = usize::from(self.candidates.get(place).copied().unwrap_or_default());
            let (_, rest) = split(self.constants.gram, row * m);
            let mut s = self.work.start.get(row).copied().unwrap_or_default();
            let known = self.set.free.iter().zip(self.work.multipliers.iter());
            for (&entry, &value) in known.take(self.free) {
                s -= rest.get(Entry(entry).row()).copied().unwrap_or_default() * value;
            }
            self.operations += self.free;
            let (lower, upper) = self.bounds.of(row);
            if s <= upper && s >= lower {
                continue;
            }
            let Some(found) = self.violation(row, s, lower, upper)? else {
                continue;
            };
            if let Some(to) = self.candidates.get_mut(kept) {
                *to = row as u16;
                kept += 1;
            }
            if found.amount > amount {
                amount = found.amount;
                worst = Some(found);
            }
        }
        self.known = kept;
        Ok(worst)
    }

    /// True if the set contains this row.
    #[inline]
    fn contains(&self, row: usize) -> bool {
        let same = |&entry: &u16| Entry(entry).row() == row;
        self.set.free.iter().take(self.free).any(same)
            || self.set.saturated.iter().take(self.saturated).any(same)
    }

    /// True if the rows of the set are at their bounds, to rounding.
    fn is_accurate(&self) -> bool {
        let known = self.set.free.iter().zip(self.work.bounds.iter());
        known.take(self.free).all(|(&entry, &bound)| {
            let row = Entry(entry).row();
            let at = |values: &[S]| values.get(row).copied().unwrap_or_default();
            let scale = at(self.constants.scale);
            let size = bound.abs() + at(self.work.start).abs();
            let off = (at(self.rows()) - bound).abs() * scale;
            off <= self.tolerance * size * scale + self.noise
        })
    }

    /// Puts a row at the end of the set, with the multiplier that it has now.
    fn enter(&mut self, worst: Violation<S>) {
        let mut multiplier = S::ZERO;
        if let Some(place) = worst.returning {
            multiplier = worst.entry.outward(self.constants.cap(worst.entry.row()));
            self.move_saturated(place, S::ONE);
            close_gap(cells(self.set.saturated), place, self.saturated);
            self.saturated -= 1;
            self.substitute(0);
        } else {
            // It is a candidate no more.
            let row = worst.entry.row();
            let keep = |entry: Entry| (usize::from(entry.0) != row).then_some(entry);
            self.known = retain(&mut self.candidates, self.known, keep);
        }
        let place = self.free;
        if let (Some(entry), Some(to), Some(bound)) = (
            self.set.free.get_mut(place),
            self.work.multipliers.get_mut(place),
            self.work.bounds.get_mut(place),
        ) {
            *entry = worst.entry.0;
            *to = multiplier;
            *bound = worst.bound;
            self.free += 1;
        }
    }

    /// Solves with the new row, the last of the set; rows that block the way leave.
    fn climb(&mut self, worst: Violation<S>) -> Option<Result<Status, Status>> {
        loop {
            let last = self.free - 1;
            let singular = self.factored < self.free && !self.append();
            if singular {
                self.steps += 1;
                let upward = worst.returning.is_none() == worst.entry.is_upper();
                if !EXACT {
                    self.null_direction(last, upward);
                } else if self.proves(upward) {
                    self.free = last;
                    return Some(Ok(Status::Infeasible));
                }
            } else {
                self.solve();
            }
            let (block, length) = self.limiting_row(singular);
            let Some(block) = block else {
                if singular {
                    return Some(if EXACT {
                        self.give_way()
                    } else {
                        self.no_way(worst)
                    });
                }
                let work = &mut *self.work;
                copy(work.multipliers, split(work.target, self.free).0);
                return None;
            };
            self.walk(length, singular);
            if block.saturates {
                if !self.saturate(block.place) {
                    return Some(Ok(Status::Late));
                }
            } else {
                self.take_out(block.place);
            }
            if block.place == last {
                // The new row itself has left: at its cap, or without a multiplier.
                return None;
            }
            if self.steps >= self.budget {
                return Some(Ok(Status::Late));
            }
        }
    }

    /// Direction in which W_AA λ does not change: the last row moves by one, outward or inward.
    fn null_direction(&mut self, last: usize, upward: bool) {
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

    /// First row whose multiplier reaches its limit on the way to `target`, or in its direction, and the length of the step.
    fn limiting_row(&self, direction: bool) -> (Option<Block>, S) {
        // num/den is the shortest step so far; products instead of quotients, because a division takes 14 cycles.
        let (mut num, mut den) = (S::ONE, S::ONE);
        let mut block = None;
        let soft = !self.constants.caps.is_empty();
        let known = self.work.target.iter().zip(self.work.multipliers.iter());
        let known = self.set.free.iter().zip(known).take(self.free);
        for (place, (&entry, (&target, &value))) in known.enumerate() {
            let entry = Entry(entry);
            let (target, value) = (entry.outward(target), entry.outward(value));
            let (way, saturates) = if target < S::ZERO && !entry.is_fixed() {
                (value, false)
            } else if soft && target > S::ZERO {
                let cap = self.constants.cap(entry.row());
                if cap >= S::MAX || !(direction || target > cap) {
                    continue;
                }
                (cap - value, true)
            } else {
                continue;
            };
            let speed = if direction { target } else { target - value }.abs();
            let way = way.max(S::ZERO);
            if way * den < num * speed || (direction && block.is_none()) {
                (num, den) = (way, speed);
                block = Some(Block { place, saturates });
            }
        }
        (block, num / den)
    }

    /// Moves λ by this part of the way to `target`, or this far in its direction.
    fn walk(&mut self, length: S, direction: bool) {
        let Work {
            target,
            multipliers,
            ..
        } = &mut *self.work;
        for (value, &target) in multipliers.iter_mut().zip(target.iter()).take(self.free) {
            let way = if direction { target } else { target - *value };
            *value += length * way;
        }
        self.operations += self.free;
    }

    /// Nothing blocks the null direction. That proves that there is no solution, unless the new row is only nearly dependent and
    /// a distant point satisfies it.
    fn no_way(&mut self, worst: Violation<S>) -> Result<Status, Status> {
        self.free -= 1;
        let (_, square) = self.sizes();
        let m = self.constants.scale.len();
        let row = worst.entry.row();
        let diagonal = self
            .constants
            .gram
            .get(row * (m + 1))
            .copied()
            .unwrap_or_default();
        let least = S::from_f64(PROOF * PROOF) * self.pivot;
        let status = if worst.amount * worst.amount * diagonal > least * square {
            Status::Infeasible
        } else {
            Status::Late
        };
        if self.fresh { Ok(status) } else { Err(status) }
    }
}

/// Takes one of the first `count` values out; those behind it move up.
fn close_gap<T: Copy>(values: &[Cell<T>], place: usize, count: usize) {
    let (_, values) = split(values, place);
    let moved = count.saturating_sub(place + 1);
    for (to, from) in values.iter().zip(values.iter().skip(1)).take(moved) {
        to.set(from.get());
    }
}
