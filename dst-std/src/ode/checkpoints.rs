//! The states that the backward sweep can start from.
//!
//! How many steps there will be is not known when the states go by: the case for which `dst-core` has its online [`Schedule`].
//! As long as slots are free, it stores every state; so the memory grows with the run, up to the slots allowed.

use dst_core::checkpoint::{Mark, Reversal, Schedule, ScheduleState};

/// Checkpoints of a run under way.
#[derive(Debug)]
pub(super) struct Checkpoints {
    /// Slots allowed, at least one.
    slots: usize,
    kept: Kept,
    /// Empty until the slots are full.
    marks: Vec<Mark>,
    state: Option<ScheduleState>,
}

/// The states in the slots, each in memory of its own: a single long vector would be copied whenever it grows.
#[derive(Debug, Default)]
pub(super) struct Kept {
    states: Vec<Vec<f64>>,
}

impl Checkpoints {
    /// With so many slots.
    pub(super) fn new(slots: usize) -> Self {
        Self {
            slots: slots.clamp(1, u32::MAX as usize),
            kept: Kept::default(),
            marks: Vec::new(),
            state: None,
        }
    }

    /// The run goes on past step k, from x_k: the last moment to keep that.
    pub(super) fn pass(&mut self, k: usize, x: &[f64]) {
        if k < self.slots {
            self.kept.save(k, x);
            return;
        }
        let Some(mut schedule) = self.schedule(self.slots, self.slots) else {
            return;
        };
        let slot = (schedule.next_save() == k).then(|| schedule.save());
        self.state = Some(schedule.state());
        if let Some(slot) = slot {
            self.kept.save(slot, x);
        }
    }

    /// What to do to reverse a run of n ≥ 1 steps, the last of which is at hand; and the slots to do it with.
    pub(super) fn reverse(&mut self, n: usize) -> Option<(Reversal<'_>, &mut Kept)> {
        let (marks, saved) = (self.slots.min(n), self.slots.min(n - 1));
        let state = self.schedule(marks, saved)?.state();
        let Self { marks, kept, .. } = self;
        Some((Schedule::resume(marks, state)?.reverse(n), kept))
    }

    /// The schedule as it stands; made now, with the first states in the slots of their number, if there was no need before.
    fn schedule(&mut self, marks: usize, saved: usize) -> Option<Schedule<'_>> {
        if let Some(state) = self.state {
            return Schedule::resume(&mut self.marks, state);
        }
        self.marks = vec![Mark::EMPTY; marks];
        let mut schedule = Schedule::new(&mut self.marks)?;
        for k in 0..saved {
            let slot = schedule.save();
            debug_assert_eq!(slot, k);
        }
        Some(schedule)
    }
}

impl Kept {
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
}

#[cfg(test)]
mod tests {
    use dst_core::checkpoint::Action;

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
                let (mut reversal, kept) = checkpoints.reverse(n).unwrap();
                let (mut x, mut left) = ((n - 1) as f64, n);
                loop {
                    match reversal.next_action() {
                        Action::Load { slot, .. } => x = kept.load(slot)[0],
                        Action::Save { slot, .. } => kept.save(slot, &[x]),
                        Action::Advance { from, to } => x += (to - from) as f64,
                        Action::Pull { step } => {
                            left -= 1;
                            assert_eq!((step, x), (left, left as f64), "{slots} slots, {n} steps");
                        }
                        Action::Done => break,
                    }
                }
                assert_eq!(left, 0, "{slots} slots, {n} steps");
                assert!(kept.states.len() <= slots.min(n), "{}", kept.states.len());
            }
        }
    }
}
