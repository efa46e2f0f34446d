//! Solve in progress: which row enters the set, which leaves, and how far the multipliers move.

use core::cell::Cell;

use super::active_set::{ActiveSet, Bounds, Outcome, Status, Work};
use super::factor;
use super::set::{Entry, Set, retain};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, cells, combine, copy, dot, pieces, split, split_mut};

/// Pivot that counts as zero, relative to W_jj, in machine epsilons.
const SINGULAR: f64 = 16.0;
/// Violation along a null direction that proves infeasibility, in units of √pivot·‖u − u⁰‖_P.
const PROOF: f64 = 8.0;

/// Solve in progress.
struct Search<'s, 'm, 'w, 'a, S> {
    constants: &'s ActiveSet<'a, S>,
    work: &'s mut Work<'m, S>,
    set: &'s mut Set<'w>,
    bounds: Bounds<'s, S>,
    /// Rows of the set that have a multiplier between their limits.
    free: usize,
    saturated: usize,
    /// Rows of the set that are part of the factor.
    factored: usize,
    /// True if no row was taken out of the factor since it was built.
    fresh: bool,
    tolerance: S,
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
    /// Solves from s⁰ in `work.start` and the set of the last solve. Afterwards `work.rows` is s.
    pub(crate) fn solve(
        &self,
        work: &mut Work<'_, S>,
        set: &mut Set<'_>,
        bounds: Bounds<'_, S>,
        budget: usize,
    ) -> Outcome {
        let (free, saturated) = set.counts();
        let mut search = Search {
            constants: self,
            work,
            set,
            bounds,
            free,
            saturated,
            factored: 0,
            fresh: true,
            tolerance: self.tolerance.max(S::from_f64(8.0) * S::EPSILON),
            steps: 0,
            operations: 0,
            budget,
        };
        let status = search.run();
        let outcome = Outcome {
            status,
            steps: search.steps,
            operations: search.operations,
        };
        let (free, saturated) = (search.free, search.saturated);
        set.set_counts(free, saturated);
        outcome
    }
}

impl<S: Scalar> Search<'_, '_, '_, '_, S> {
    fn run(&mut self) -> Status {
        if self.free + self.saturated == 0 && self.is_inside() {
            copy(self.work.rows, self.work.start);
            return Status::Solved;
        }
        let pairs = self.bounds.lower.iter().zip(self.bounds.upper);
        // Written so that a NaN is empty, too.
        if !pairs.clone().all(|(l, u)| l <= u) {
            // Nothing has been moved into s⁰ yet.
            self.saturated = 0;
            self.discard();
            return Status::Infeasible;
        }
        self.begin();
        let mut repaired = false;
        loop {
            if !self.restore() {
                self.discard();
                return Status::Late;
            }
            match self.ascend() {
                Ok(status) => return status,
                // Rows taken out one by one have spoilt the factor: build it again, once.
                Err(status) if repaired || self.fresh => return status,
                Err(_) => repaired = true,
            }
            self.factored = 0;
            self.fresh = true;
        }
    }

    /// True if s⁰ is within all bounds, which are then in order. One pass settles most warm ticks.
    fn is_inside(&self) -> bool {
        let Bounds { lower, upper } = self.bounds;
        pieces(self.work.start, lower.len()).all(|stage| {
            // Without an early exit, so that several are compared at once. Written so that a NaN fails.
            let bounds = lower.iter().zip(upper);
            let rows = stage.iter().zip(bounds);
            rows.fold(true, |inside, (s, (l, u))| inside & (l <= s) & (s <= u))
        })
    }

    /// Forgets the set; s is then s⁰.
    fn discard(&mut self) {
        self.release_all();
        self.free = 0;
        self.factored = 0;
        copy(self.work.rows, self.work.start);
    }

    #[inline(always)]
    fn entry(&self, place: usize) -> Entry {
        Entry(self.set.free.get(place).copied().unwrap_or_default())
    }

    /// Fills in the bounds of the last set. Without one, takes in the rows that are violated by more than their own bound.
    fn begin(&mut self) {
        let bounds = self.bounds;
        let renewed = |entry: Entry| {
            let (lower, upper) = bounds.of(entry.row());
            let bound = if entry.is_upper() { upper } else { lower };
            (bound.abs() < S::MAX)
                .then(|| Entry::new(entry.row(), entry.is_upper(), lower == upper))
        };
        self.free = retain(self.set.free, self.free, renewed);
        self.saturated = retain(self.set.saturated, self.saturated, renewed);
        for place in 0..self.saturated {
            self.move_saturated(place, -S::ONE);
        }
        if self.free + self.saturated == 0 {
            self.take_violated();
        }
        for place in 0..self.free {
            let bound = self.bound(self.entry(place));
            if let Some(to) = self.work.bounds.get_mut(place) {
                *to = bound;
            }
        }
    }

    fn bound(&self, entry: Entry) -> S {
        let (lower, upper) = self.bounds.of(entry.row());
        if entry.is_upper() { upper } else { lower }
    }

    /// Takes in all rows that are violated by more than their own bound.
    fn take_violated(&mut self) {
        let Bounds { lower, upper } = self.bounds;
        // One place is left for the first row that is added.
        let mut places = self.set.free.iter_mut();
        places.next_back();
        let mut row = 0;
        for stage in pieces(self.work.start, lower.len()) {
            for ((&s, &lower), &upper) in stage.iter().zip(lower).zip(upper) {
                let above = s > upper;
                if above || s < lower {
                    let bound = if above { upper } else { lower };
                    if (s - bound).abs() > bound.abs() {
                        let Some(place) = places.next() else {
                            return;
                        };
                        *place = Entry::new(row, above, lower == upper).0;
                        self.free += 1;
                    }
                }
                row += 1;
            }
        }
    }

    /// Adds the part of a saturated row to s⁰, or takes it out (−1).
    fn move_saturated(&mut self, place: usize, sign: S) {
        let entry = Entry(self.set.saturated.get(place).copied().unwrap_or_default());
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

    /// Appends the next row of the set to the factor. Returns its pivot, or none if the row depends on those before.
    fn append(&mut self) -> Option<S> {
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
        (pivot > least).then_some(pivot)
    }

    /// L⁻¹(s⁰ − b), from this row on.
    fn substitute(&mut self, first: usize) {
        for k in first..self.factored {
            let row = self.entry(k).row();
            let start = self.work.start.get(row).copied().unwrap_or_default();
            let bound = self.work.bounds.get(k).copied().unwrap_or_default();
            let (done, rest) = split_mut(self.work.forward, k);
            if let Some(to) = rest.first_mut() {
                *to = start - bound - dot(factor::row(self.work.packed, k), done);
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
            let first = self.factored;
            while self.factored < self.free {
                if self.append().is_some() {
                    self.factored += 1;
                } else {
                    self.take_out(self.factored);
                }
            }
            self.substitute(first);
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
            if self.steps >= self.budget {
                return false;
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

    /// Adds violated rows until there is none. An error is a status that a factor built anew might change.
    fn ascend(&mut self) -> Result<Status, Status> {
        loop {
            let norm = self.evaluate();
            if !norm.is_finite() {
                self.discard();
                return Ok(Status::Late);
            }
            let Ok(worst) = self.worst(norm) else {
                self.discard();
                return Ok(Status::Late);
            };
            let Some(worst) = worst else {
                return if self.fresh || self.is_accurate(norm) {
                    Ok(self.solved())
                } else {
                    Err(self.solved())
                };
            };
            // A row that is added takes a step at least.
            if self.steps >= self.budget || self.free >= self.work.bounds.len() {
                return Ok(Status::Late);
            }
            self.enter(worst);
            if let Some(status) = self.climb(worst) {
                return status;
            }
        }
    }

    /// Solved, or softened.
    fn solved(&self) -> Status {
        let lifts = self.constants.lifts;
        let lifted = |&entry: &u16| {
            let kind = Entry(entry).row().checked_rem(lifts.len());
            kind.and_then(|k| lifts.get(k))
                .is_some_and(|&l| l > S::ZERO)
        };
        let softened = self.saturated > 0 || self.set.free.iter().take(self.free).any(lifted);
        if softened {
            Status::Softened
        } else {
            Status::Solved
        }
    }

    /// Computes s = s⁰ − Wλ; returns Σ|λ_i|√W_ii, the size of what was summed.
    fn evaluate(&mut self) -> S {
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
        let mut norm = S::ZERO;
        for (entry, value) in entries.iter().zip(multipliers) {
            let row = Entry(*entry).row();
            let diagonal = gram.get(row * (m + 1)).copied().unwrap_or_default();
            let scale = self.constants.scale.get(row).copied().unwrap_or_default();
            norm += value.abs() * diagonal * scale;
        }
        self.operations += m * self.free;
        norm
    }

    /// Largest violation that is not rounding; an error if s is not finite.
    fn worst(&self, norm: S) -> Result<Option<Violation<S>>, ()> {
        let Bounds { lower, upper } = self.bounds;
        let mut worst: Option<Violation<S>> = None;
        let mut amount = S::ZERO;
        let noise = self.tolerance * norm;
        let mut row = 0;
        let known = pieces(self.work.start, lower.len());
        for (stage, start) in pieces(self.work.rows, lower.len()).zip(known) {
            let bounds = lower.iter().zip(upper);
            for ((&s, &start), (&lower, &upper)) in stage.iter().zip(start).zip(bounds) {
                let above = s > upper;
                if above || s < lower || s.is_nan() {
                    let bound = if above { upper } else { lower };
                    let beyond = (s - bound).abs();
                    if beyond.is_nan() {
                        return Err(());
                    }
                    let scale = self.constants.scale.get(row).copied().unwrap_or_default();
                    let size = bound.abs() + start.abs();
                    let scaled = beyond * scale;
                    if scaled > amount
                        && scaled > self.tolerance * size * scale + noise
                        && !self.contains(row)
                    {
                        amount = scaled;
                        worst = Some(Violation {
                            returning: None,
                            entry: Entry::new(row, above, lower == upper),
                            bound,
                            amount,
                        });
                    }
                }
                row += 1;
            }
        }
        let saturated = self.set.saturated.iter().take(self.saturated);
        for (place, &entry) in saturated.enumerate() {
            let entry = Entry(entry);
            let at = |values: &[S]| values.get(entry.row()).copied().unwrap_or_default();
            let bound = self.bound(entry);
            let size = bound.abs() + at(self.work.start).abs();
            let scale = at(self.constants.scale);
            let scaled = entry.outward(bound - at(self.work.rows)) * scale;
            if scaled > amount && scaled > self.tolerance * size * scale + noise {
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

    /// True if the set contains this row.
    #[inline]
    fn contains(&self, row: usize) -> bool {
        let same = |&entry: &u16| Entry(entry).row() == row;
        self.set.free.iter().take(self.free).any(same)
            || self.set.saturated.iter().take(self.saturated).any(same)
    }

    /// True if the rows of the set are at their bounds, to rounding.
    fn is_accurate(&self, norm: S) -> bool {
        let known = self.set.free.iter().zip(self.work.bounds.iter());
        known.take(self.free).all(|(&entry, &bound)| {
            let row = Entry(entry).row();
            let at = |values: &[S]| values.get(row).copied().unwrap_or_default();
            let scale = at(self.constants.scale);
            let size = bound.abs() + at(self.work.start).abs();
            let off = (at(self.work.rows) - bound).abs() * scale;
            off <= self.tolerance * size * scale + self.tolerance * norm
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
            let mut singular = false;
            let last = self.free - 1;
            if self.factored < self.free {
                if self.append().is_some() {
                    self.factored += 1;
                    self.substitute(last);
                } else {
                    singular = true;
                }
            }
            if singular {
                let upward = worst.returning.is_none() == worst.entry.is_upper();
                self.null_direction(last, upward);
            } else {
                self.solve();
            }
            let (block, length) = self.limiting_row(singular);
            let Some(block) = block else {
                if singular {
                    return Some(self.no_way(worst));
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
        self.steps += 1;
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
        // ‖u − u⁰‖_P² = λᵀ(s⁰ − s); the new row has no multiplier yet.
        let mut square = S::ZERO;
        let known = self.set.free.iter().zip(self.work.multipliers.iter());
        for (&entry, &value) in known.take(self.free) {
            let row = Entry(entry).row();
            let at = |values: &[S]| values.get(row).copied().unwrap_or_default();
            square += value * (at(self.work.start) - at(self.work.rows));
        }
        self.free -= 1;
        let least = S::from_f64(PROOF * PROOF * SINGULAR) * S::EPSILON;
        let status = if worst.amount * worst.amount > least * square {
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
