//! The backward half.
use super::Mark;
use super::binomial::{beta, repetitions, scale, split_at};

/// No state at hand.
const NOWHERE: usize = usize::MAX;

/// What to do next.
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

/// The reversal of a run: a machine that says what to do next.
#[derive(Debug)]
pub struct Reversal<'m> {
    /// A stack of marks: the first `len` are in use, the slots of the others are free.
    marks: &'m mut [Mark],
    len: usize,
    /// Steps still to reverse.
    left: usize,
    /// The step of the working state.
    at: usize,
    most: usize,
}

impl<'m> Reversal<'m> {
    pub(super) fn new(marks: &'m mut [Mark], len: usize, n: usize) -> Self {
        for (i, mark) in marks.iter_mut().enumerate() {
            if i >= len {
                mark.slot = i as u32;
            }
            mark.reps = 0;
            mark.best = 1;
        }
        Self {
            marks,
            len,
            left: n,
            at: n.wrapping_sub(1),
            most: n.min(1),
        }
    }

    /// The number of steps still to reverse.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.left
    }

    /// The largest number of times that one step has been run forward so far.
    #[must_use]
    pub const fn max_repetitions(&self) -> usize {
        self.most
    }

    /// The next thing to do.
    #[inline]
    pub fn next_action(&mut self) -> Action {
        let Some(k) = self.left.checked_sub(1) else {
            return Action::Done;
        };
        if self.at == k {
            return self.pull(k);
        }
        let slots = self.marks.len();
        let Some((stack, free)) = self.marks.split_at_mut_checked(self.len) else {
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
        let l = (k - from) as u64 + 1;
        let a = (slots - self.len) as u64 + 1;
        let m = match free.first_mut() {
            None => l - 1,
            Some(next) => top.divide(l, a, next),
        };
        top.best += 1;
        self.most = self.most.max(top.best as usize);
        self.at = from + m as usize;
        Action::Advance { from, to: self.at }
    }

    #[inline]
    fn pull(&mut self, k: usize) -> Action {
        self.left = k;
        self.at = NOWHERE;
        while let Some(i) = self.len.checked_sub(1)
            && self.marks.get(i).is_some_and(|m| m.step >= k)
        {
            self.len = i;
        }
        Action::Pull { step: k }
    }
}

impl Mark {
    /// How far to advance from this mark, `l` steps before the end, with `a > 1` slots.
    #[inline]
    fn divide(&mut self, l: u64, a: u64, next: &mut Self) -> u64 {
        if self.reps == 0 {
            let r = repetitions(l, a).max(1);
            self.reps = u32::try_from(r).unwrap_or(u32::MAX);
            self.cost = beta(a, r - 1);
        }
        let mut r = u64::from(self.reps);
        while l <= self.cost && r > 1 {
            r -= 1;
            self.cost = scale(self.cost, r, a + r);
        }
        self.reps = r as u32;
        let beside = scale(self.cost, a, a + r - 1);
        next.reps = r as u32;
        next.cost = beside;
        next.best = self.best;
        split_at(l, self.cost, beside)
    }
}
