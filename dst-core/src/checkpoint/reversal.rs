//! The backward half: the actions that reverse every step.
//!
//! The marks are a stack. Once all marks above mark `i` (from the bottom) are gone, it can use their slots: `a = s - i` including
//! its own, independent of the history. Let `l` be the number of steps from it to the last one still to be reversed:
//!
//! - `l = 1`: load the state, reverse the step, free the slot.
//! - no free slot: advance to the last step, reverse it, restart from the mark.
//! - otherwise: advance to the binomial [`split`](super::split) and store that state as a new mark, unless the split is the last
//!   step itself.
//!
//! This takes `t(l, a)` advances for each mark, the least possible. `a` never changes and `l` only shrinks, so `r(l, a)` is
//! tracked downwards without a search: a mark keeps `r` and `beta(a, r - 1)`, and passes them to the mark that it creates above.
//! When a mark goes, its slot keeps its place in the stack, and the next mark at that place uses it.

use super::Mark;
use super::binomial::{beta, repetitions, scale, split_at};

/// No state is in the working buffer.
const NOWHERE: usize = usize::MAX;

/// Next operation on the working state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Reverse this step, with its state as the working state.
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
        /// Step of the working state.
        from: usize,
        /// Step to reach.
        to: usize,
    },
    /// Copy the working state, which is that of this step, to the slot.
    Save {
        /// The slot.
        slot: usize,
        /// The step.
        step: usize,
    },
    /// All steps are reversed.
    Done,
}

/// Reversal of a run: yields one action after another until [`Action::Done`].
///
/// Created by [`Schedule::reverse`](super::Schedule::reverse) or [`Reversal::again`]. Plain data: every call takes the marks, a
/// stack whose first few entries are in use. The slots of the others are free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reversal {
    /// Number of marks in use.
    len: usize,
    /// Number of steps still to reverse.
    left: usize,
    /// Step of the working state, or [`NOWHERE`].
    at: usize,
    /// Largest repetition count of a mark so far.
    most: usize,
}

impl Reversal {
    /// Creates a reversal with the first `len` marks in use, in the order of their steps, and the state of step `at` in the
    /// buffer.
    pub(super) fn new(marks: &mut [Mark], len: usize, n: usize, at: usize) -> Self {
        for (i, mark) in marks.iter_mut().enumerate() {
            if i >= len {
                // Never used: no slot has been dropped yet, so slot i belongs to mark i.
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

    /// Reverses the first `n` steps once more, for a run whose state `i < len` is in slot `i`. The working buffer holds no state.
    /// With `len` = 1 (`x_0` alone) this takes [`advances`](super::advances)`(n, s)` steps.
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

    /// Restricts the reversal to the first `n` of the remaining steps: marks beyond are dropped. The working buffer holds no
    /// state.
    #[must_use]
    pub fn shorten(mut self, marks: &[Mark], n: usize) -> Self {
        self.left = self.left.min(n);
        self.at = NOWHERE;
        self.give_up(marks, self.left);
        self
    }

    /// True if the next action reverses the step of the working state.
    #[must_use]
    pub const fn is_at_hand(&self) -> bool {
        self.left.wrapping_sub(1) == self.at && self.left > 0
    }

    /// Number of steps still to reverse.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.left
    }

    /// The largest number of times that any one step has been run forward so far, including the first sweep.
    #[must_use]
    pub const fn max_repetitions(&self) -> usize {
        self.most
    }

    /// Returns the next action; the caller performs it before the next call.
    #[inline]
    pub fn next_action(&mut self, marks: &mut [Mark]) -> Action {
        // The position of the working state determines the action: at the step to reverse, nowhere, at the top mark, or between
        // the two.
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
            // Just advanced to a state that has to be stored.
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
            Some(next) => {
                next.best = top.best;
                // Slots for all: every state is stored, now and in the segments above.
                if l <= a + 1 {
                    1
                } else {
                    top.divide(l, a, next)
                }
            }
        };
        // The steps up to there are run once more; the count of those beyond is unchanged.
        top.best += 1;
        self.most = self.most.max(top.best as usize);
        self.at = from + m;
        Action::Advance { from, to: self.at }
    }

    /// Reverses step `k` and frees its mark, if there is one.
    #[inline]
    fn pull(&mut self, marks: &[Mark], k: usize) -> Action {
        self.left = k;
        self.at = NOWHERE;
        self.give_up(marks, k);
        Action::Pull { step: k }
    }

    /// Frees the marks of step `k` and beyond; there are several if the stored state of step `n - 1` was not needed.
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
    /// Number of steps to advance from this mark to the next one, for `l > a + 1` steps and `a > 1` slots.
    #[inline]
    fn divide(&mut self, l: usize, a: usize, next: &mut Self) -> usize {
        if self.reps == 0 {
            let r = repetitions(l, a);
            self.reps = u32::try_from(r).unwrap_or(u32::MAX);
            self.cost = beta(a, r - 1);
        }
        let mut r = self.reps as usize;
        // As the segment gets shorter, r falls, down to 2; the last value needs no division.
        while l <= self.cost && r > 2 {
            r -= 1;
            self.cost = match r {
                2 => a + 1,
                _ => scale(self.cost, r, a + r),
            };
        }
        self.reps = r as u32;
        let beside = match r {
            2 => a,
            _ => scale(self.cost, a, a + r - 1),
        };
        next.reps = r as u32;
        next.cost = beside;
        split_at(l, self.cost, beside)
    }
}
