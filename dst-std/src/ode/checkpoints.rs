//! The states that the backward sweep can start from.
//!
//! How many steps there will be is not known when the states go by: the case for which `dst-core` has its online [`Schedule`].
//! As long as slots are free, it stores every state; so the memory grows with the run, up to the slots allowed.

use dst_core::checkpoint::{Action, Mark, Reversal, Schedule};

/// Checkpoints of a run.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Slots allowed, at least one.
    slots: usize,
    schedule: Schedule,
    /// One for each slot in use, and one to come.
    marks: Vec<Mark>,
    /// The states in the slots, each in memory of its own: a single long vector would be copied whenever it grows.
    states: Vec<Vec<f64>>,
}

impl Checkpoints {
    /// With this many slots.
    pub(super) fn new(slots: usize) -> Self {
        let slots = slots.clamp(1, u32::MAX as usize);
        Self {
            slots,
            schedule: Schedule::new(slots),
            marks: Vec::new(),
            states: Vec::new(),
        }
    }

    /// The run goes on past step k, from x_k: the last moment to keep that.
    pub(super) fn pass(&mut self, k: usize, x: &[f64]) {
        if self.schedule.next_save() == k {
            // One more than needed now: a schedule that has one mark keeps x_0 alone, for ever.
            self.make_marks(k.saturating_add(2));
            let slot = self.schedule.save(&mut self.marks);
            self.save(slot, x);
        }
    }

    /// Begins to reverse a run of n ≥ 1 steps, the last of which is at hand.
    pub(super) fn reverse(&mut self, n: usize) -> Reversal {
        self.make_marks(n);
        self.schedule.reverse(&mut self.marks, n)
    }

    /// The next thing to do in a reversal.
    pub(super) fn next_action(&mut self, reversal: &mut Reversal) -> Action {
        reversal.next_action(&mut self.marks)
    }

    /// Keeps a state in a slot, over what was there. New slots come in order.
    pub(super) fn save(&mut self, slot: usize, x: &[f64]) {
        match self.states.get_mut(slot) {
            Some(state) => state.copy_from_slice(x),
            None => self.states.push(x.to_vec()),
        }
    }

    /// The state in a slot.
    pub(super) fn load(&self, slot: usize) -> &[f64] {
        &self.states[slot]
    }

    /// Marks for this many states, as far as there are slots.
    fn make_marks(&mut self, states: usize) {
        let marks = self.slots.min(states).max(self.marks.len());
        self.marks.resize(marks, Mark::EMPTY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step is reversed once, last first, from its own state; no more states are kept than allowed.
    #[test]
    fn a_run_of_any_length_is_reversed_with_any_number_of_slots() {
        for slots in [1, 2, 3, 4, 7, 20, usize::MAX] {
            for n in (1..40).chain([150, 500]) {
                let mut checkpoints = Checkpoints::new(slots);
                for k in 0..n - 1 {
                    checkpoints.pass(k, &[k as f64]);
                }
                let mut reversal = checkpoints.reverse(n);
                let (mut x, mut left) = ((n - 1) as f64, n);
                loop {
                    match checkpoints.next_action(&mut reversal) {
                        Action::Load { slot, .. } => x = checkpoints.load(slot)[0],
                        Action::Save { slot, .. } => checkpoints.save(slot, &[x]),
                        Action::Advance { from, to } => x += (to - from) as f64,
                        Action::Pull { step } => {
                            left -= 1;
                            assert_eq!((step, x), (left, left as f64), "{slots} slots, {n} steps");
                        }
                        Action::Done => break,
                    }
                }
                assert_eq!(left, 0, "{slots} slots, {n} steps");
                let kept = checkpoints.states.len();
                assert!(kept <= slots.min(n), "{kept}");
            }
        }
    }
}
