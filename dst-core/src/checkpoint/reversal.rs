//! The backward half: what to do until every step is reversed.
//!
//! The marks are a stack. Mark `i`, from the bottom, has the slots of all above it to itself once
//! those are gone: `a = s - i`, its own included, whatever happened before. With `l` steps from
//! it to the last one still to be reversed:
//!
//! - `l = 1`: load the state, reverse the step, free the slot.
//! - no free slot: advance to the last step, reverse it, begin again from the mark.
//! - otherwise advance to the binomial [`split`](super::split) and store the state there
//!   as a new mark, unless the split is the last step itself.
//!
//! That makes `t(l, a)` advances for each mark, the least possible. `a` never changes and `l` only
//! shrinks, so that `r(l, a)` is followed downwards instead of looked for: a mark keeps `r` and
//! `beta(a, r - 1)`, and hands them on to the mark that it makes above. The slot of a mark stays
//! in its place of the stack when the mark goes, and is the one that the next mark there takes.

use super::Mark;
use super::binomial::{beta, repetitions, scale, split_at};

/// No state at hand.
const NOWHERE: usize = usize::MAX;

/// The next operation on the working state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reverse this step; its state is the working state.
    Pull {
        /// The step.
        step: usize,
    },
    /// Copy the state of this step from the slot to the working state.
    Load {
        /// The slot.
        slot: usize,
        /// The step.
        step: usize,
    },
    /// Run the steps `from..to` forward on the working state.
    Advance {
        /// The step of the working state.
        from: usize,
        /// The step to reach.
        to: usize,
    },
    /// Copy the working state, of this step, to the slot.
    Save {
        /// The slot.
        slot: usize,
        /// The step.
        step: usize,
    },
    /// All steps are reversed.
    Done,
}

/// The reversal of a run: says what to do next, until it is [`Action::Done`].
///
/// From [`Schedule::reverse`](super::Schedule::reverse), or [`Reversal::again`]. Plain data: the marks, a stack of which the
/// first few are in use while the slots of the others are free, are passed to every call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reversal {
    /// Marks in use.
    len: usize,
    /// Steps still to reverse.
    left: usize,
    /// The step of the working state, or [`NOWHERE`].
    at: usize,
    /// The largest count of a mark so far.
    most: usize,
}

impl Reversal {
    /// The first `len` marks are in use, in the order of their steps; the state of step `at` is at hand.
    pub(super) fn new(marks: &mut [Mark], len: usize, n: usize, at: usize) -> Self {
        for (i, mark) in marks.iter_mut().enumerate() {
            if i >= len {
                // Never used: then no slot has ever been given up, and slot i is mark i's.
                mark.slot = i as u32;
            }
            mark.reps = 0;
            mark.best = 1;
        }
        Self {
            len,
            left: n,
            at,
            most: n.min(1),
        }
    }

    /// Reverses the first `n` steps once more, of a run whose first `len` states are each in the slot of their number. With
    /// `len` = 1, `x_0` alone, that takes [`advances`](super::advances)`(n, s)` steps; no state is at hand.
    #[must_use]
    pub fn again(marks: &mut [Mark], len: usize, n: usize) -> Self {
        let len = len.min(marks.len());
        for (i, mark) in marks.iter_mut().enumerate() {
            *mark = Mark {
                step: i,
                slot: i as u32,
                ..Mark::EMPTY
            };
        }
        Self::new(marks, len, n, NOWHERE)
    }

    /// Reverses the first `n` steps only, of those that are left: marks beyond them are given up. No state is at hand.
    #[must_use]
    pub fn shorten(mut self, marks: &[Mark], n: usize) -> Self {
        self.left = self.left.min(n);
        self.at = NOWHERE;
        self.give_up(marks, self.left);
        self
    }

    /// True if the next action is to reverse the step of the working state.
    #[must_use]
    pub const fn is_at_hand(&self) -> bool {
        self.left.wrapping_sub(1) == self.at && self.left > 0
    }

    /// The number of steps still to reverse.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.left
    }

    /// The largest number of times that any one step has been run forward so far, the first
    /// sweep included.
    #[must_use]
    pub const fn max_repetitions(&self) -> usize {
        self.most
    }

    /// The next thing to do; the caller does it before asking again.
    #[inline]
    pub fn next_action(&mut self, marks: &mut [Mark]) -> Action {
        // The position of the working state tells all: at the step to reverse, nowhere, at the
        // top mark, or between the two.
        let Some(k) = self.left.checked_sub(1) else {
            return Action::Done;
        };
        if self.at == k {
            return self.pull(marks, k);
        }
        let slots = marks.len();
        let Some((stack, free)) = marks.split_at_mut_checked(self.len) else {
            return Action::Done;
        };
        let Some(top) = stack.last_mut() else {
            self.left = 0;
            return Action::Done;
        };
        if self.at == NOWHERE {
            self.at = top.step;
            return Action::Load {
                slot: top.slot as usize,
                step: top.step,
            };
        }
        let from = self.at;
        if from != top.step {
            // Just advanced to where a state is wanted.
            if let Some(mark) = free.first_mut() {
                mark.step = from;
                self.len += 1;
                return Action::Save {
                    slot: mark.slot as usize,
                    step: from,
                };
            }
        }
        let l = k - from + 1;
        let a = slots - self.len + 1;
        let m = match free.first_mut() {
            None => l - 1,
            Some(next) => top.divide(l, a, next),
        };
        // The steps from here to there are run once more; those beyond keep their count.
        top.best += 1;
        self.most = self.most.max(top.best as usize);
        self.at = from + m;
        Action::Advance { from, to: self.at }
    }

    /// Reverses step `k` and frees the mark at it, if there is one.
    #[inline]
    fn pull(&mut self, marks: &[Mark], k: usize) -> Action {
        self.left = k;
        self.at = NOWHERE;
        self.give_up(marks, k);
        Action::Pull { step: k }
    }

    /// Frees the marks of step `k` and beyond; several, if the state of step `n - 1` has been stored for nothing.
    #[inline]
    fn give_up(&mut self, marks: &[Mark], k: usize) {
        while let Some(i) = self.len.checked_sub(1)
            && marks.get(i).is_some_and(|m| m.step >= k)
        {
            self.len = i;
        }
    }
}

impl Mark {
    /// Steps to advance from this mark to the next one, of `l` steps with `a > 1` slots.
    #[inline]
    fn divide(&mut self, l: usize, a: usize, next: &mut Self) -> usize {
        if self.reps == 0 {
            let r = repetitions(l, a).max(1);
            self.reps = u32::try_from(r).unwrap_or(u32::MAX);
            self.cost = beta(a, r - 1);
        }
        let mut r = self.reps as usize;
        // As the segment gets shorter, r falls; the two last values need no division.
        while l <= self.cost && r > 1 {
            r -= 1;
            self.cost = match r {
                1 => 1,
                2 => a + 1,
                _ => scale(self.cost, r, a + r),
            };
        }
        self.reps = r as u32;
        let beside = match r {
            1 => 1,
            2 => a,
            _ => scale(self.cost, a, a + r - 1),
        };
        next.reps = r as u32;
        next.cost = beside;
        next.best = self.best;
        split_at(l, self.cost, beside)
    }
}
