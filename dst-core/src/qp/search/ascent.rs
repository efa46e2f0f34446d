//! Ascent of the dual: violated rows enter, and rows whose multiplier reaches its limit leave.

use super::Search;
use super::independence::SUSPECT;
use crate::qp::active_rows::{Entry, retain};
use crate::qp::active_set::{ActiveSet, Status, Work};
use crate::scalar::Scalar;
use crate::slices::split;

/// Violation along a null direction that proves infeasibility, in units of √pivot·‖u − u⁰‖_P.
const PROOF: f64 = 1.0;

/// Row that limits a step.
#[derive(Clone, Copy)]
struct Block {
    place: usize,
    saturates: bool,
}

impl<S: Scalar, const EXACT: bool> Search<'_, '_, '_, S, EXACT> {
    /// Adds violated rows until there is none: the worst of the candidates, or the worst of all rows if no candidate is violated.
    /// An error is a status that a factor built anew might change.
    pub(super) fn ascend(&mut self, constants: &ActiveSet<'_, S>) -> Result<Status, Status> {
        loop {
            let (norm, square) = self.sizes(constants);
            // As many steps are a sign that rounding decides.
            if self.steps >= 2 * self.work.bounds.len() {
                self.tolerance = self.coarse;
            }
            self.narrow = S::from_f64(SUSPECT) * norm * norm > square;
            self.noise = self.tolerance * norm;
            self.norm = norm;
            self.square = square;
            self.worst.found = false;
            self.worst.finite = true;
            if self.known > 0 {
                self.price_candidates(constants);
            }
            if !self.worst.found && self.worst.finite {
                self.evaluate(constants);
                self.price(constants);
            }
            if !(self.worst.finite && norm.is_finite()) {
                self.discard(constants);
                return Ok(Status::Late);
            }
            if !self.worst.found {
                let solved = self.solved(constants);
                return if self.fresh || self.accurate {
                    Ok(solved)
                } else {
                    Err(solved)
                };
            }
            // A row that is added takes a step at least.
            let end = if self.steps >= self.budget || self.free >= self.work.bounds.len() {
                Some(Ok(Status::Late))
            } else {
                self.enter(constants);
                self.stale = true;
                self.climb(constants)
            };
            if let Some(status) = end {
                if self.stale {
                    self.evaluate(constants);
                }
                return status;
            }
        }
    }

    /// Solved, or softened.
    pub(super) fn solved(&self, constants: &ActiveSet<'_, S>) -> Status {
        let lifted = |&entry: &u16| constants.is_lifted(Entry(entry).row());
        let softened = self.saturated > 0 || self.set.free.iter().take(self.free).any(lifted);
        if softened {
            Status::Softened
        } else {
            Status::Solved
        }
    }

    /// Σ|λ_i|√W_ii, the size of what is summed, and ‖u − u⁰‖_P² = λᵀ(s⁰ − s), without saturated rows: the rows of the set are at
    /// their bounds.
    pub(super) fn sizes(&self, constants: &ActiveSet<'_, S>) -> (S, S) {
        let m = constants.scale.len();
        let (mut norm, mut square) = (S::ZERO, S::ZERO);
        let (start, _) = split(self.work.start, m);
        let (entries, multipliers, bounds) = self.free_rows();
        for (&entry, (&value, &bound)) in entries.iter().zip(multipliers.iter().zip(bounds)) {
            let row = Entry(entry).row();
            if let (Some(&scale), Some(&start)) = (constants.scale.get(row), start.get(row)) {
                let diagonal = constants.gram.get(row * (m + 1)).copied();
                norm += value.abs() * diagonal.unwrap_or_default() * scale;
                square += value * (start - bound);
            }
        }
        (norm, square)
    }

    /// Rows of the set with their multipliers and bounds. The three have one length; if the memory were too short, none.
    #[inline(always)]
    pub(super) fn free_rows(&self) -> (&[u16], &[S], &[S]) {
        let n = self.free;
        let Work {
            multipliers,
            bounds,
            ..
        } = &*self.work;
        match (
            self.set.free.get(..n),
            multipliers.get(..n),
            bounds.get(..n),
        ) {
            (Some(entries), Some(multipliers), Some(bounds)) => (entries, multipliers, bounds),
            _ => (&[], &[], &[]),
        }
    }

    /// Puts the worst row at the end of the set, with the multiplier that it has now.
    pub(super) fn enter(&mut self, constants: &ActiveSet<'_, S>) {
        let worst = self.worst;
        let mut multiplier = S::ZERO;
        if let Some(place) = worst.returning {
            multiplier = worst.entry.outward(constants.cap(worst.entry.row()));
            self.move_saturated(constants, place, S::ONE);
            let mut places = 0..self.saturated;
            self.saturated = retain(self.set.saturated, self.saturated, |entry| {
                (places.next() != Some(place)).then_some(entry)
            });
            self.substitute(0);
        } else {
            self.forget_worst();
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
    pub(super) fn climb(&mut self, constants: &ActiveSet<'_, S>) -> Option<Result<Status, Status>> {
        loop {
            let last = self.free - 1;
            let singular = self.factored < self.free && !self.append(constants);
            if singular {
                self.steps += 1;
                let upward = self.worst.returning.is_none() == self.worst.entry.is_upper();
                if !EXACT {
                    self.null_direction(last, upward);
                } else if self.proves(constants, upward) {
                    self.free = last;
                    return Some(Ok(Status::Infeasible));
                }
            } else {
                self.solve();
            }
            let (block, length) = self.limiting_row(constants, singular);
            let Some(block) = block else {
                if singular {
                    return if EXACT {
                        Some(self.give_way(constants))
                    } else {
                        self.no_way(constants)
                    };
                }
                self.arrive();
                return None;
            };
            self.walk(length, singular);
            if block.saturates {
                if !self.saturate(constants, block.place) {
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

    /// First row whose multiplier reaches its limit on the way to `target`, or in its direction, and the length of the step.
    fn limiting_row(&self, constants: &ActiveSet<'_, S>, direction: bool) -> (Option<Block>, S) {
        // num/den is the shortest step so far; products instead of quotients, because a division takes 14 cycles.
        let (mut num, mut den) = (S::ONE, S::ONE);
        let mut block = None;
        let soft = !constants.caps.is_empty();
        let (entries, multipliers, _) = self.free_rows();
        let (target, _) = split(self.work.target, entries.len());
        let known = entries.iter().zip(target.iter().zip(multipliers));
        for (place, (&entry, (&target, &value))) in known.enumerate() {
            let entry = Entry(entry);
            let target = entry.outward(target);
            let (value, way, saturates) = if target < S::ZERO && !entry.is_fixed() {
                let value = entry.outward(value);
                (value, value, false)
            } else if soft && target > S::ZERO {
                let cap = constants.cap(entry.row());
                if cap >= S::MAX || !(direction || target > cap) {
                    continue;
                }
                let value = entry.outward(value);
                (value, cap - value, true)
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

    /// Nothing blocks the null direction. That proves that there is no solution, unless the violation may be rounding, or the new
    /// row is only nearly dependent and a distant point satisfies it.
    fn no_way(&mut self, constants: &ActiveSet<'_, S>) -> Option<Result<Status, Status>> {
        self.free -= 1;
        if self.tolerance < self.coarse {
            self.tolerance = self.coarse;
            return None;
        }
        let m = constants.scale.len();
        let diagonal = constants.gram.get(self.worst.entry.row() * (m + 1));
        let diagonal = diagonal.copied().unwrap_or_default();
        let least = S::from_f64(PROOF * PROOF) * self.pivot;
        let amount = self.worst.amount;
        let status = if amount * amount * diagonal > least * self.square {
            Status::Infeasible
        } else {
            Status::Late
        };
        Some(if self.fresh { Ok(status) } else { Err(status) })
    }
}
