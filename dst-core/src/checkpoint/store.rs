//! Where checkpoints live: memory, or anything that can save and load a state by slot number.

use core::mem::take;
use core::ops::Range;

use crate::error::{Argument, Error, at_least};
use crate::integrator::{split, split_mut};
use crate::scalar::{Scalar, copy};

/// A slot could not be saved or loaded (external memory, flash, a bus).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StoreFault;

/// Keeps states by slot number.
pub trait Store<S: Scalar> {
    /// Prepares for `slots` states of length `state`, each with a step record of length `record`. Returns whether
    /// records will be kept too: where they are, their steps need no second evaluation. Called again, with the same lengths,
    /// when a suspended run is resumed: what is stored must then stay.
    fn prepare(&mut self, slots: usize, state: usize, record: usize) -> Result<bool, Error>;

    /// Keeps a state (and its record, if it said so) in a slot, over what was there.
    fn save(&mut self, slot: usize, state: &[S], record: &[S]) -> Result<(), StoreFault>;

    /// Brings back what was saved last in a slot.
    fn load(&mut self, slot: usize, state: &mut [S], record: &mut [S]) -> Result<(), StoreFault>;

    /// What was saved last in a slot, where it is: for stores that have their slots in memory, and keep records.
    fn lend(&self, slot: usize) -> Option<(&[S], &[S])> {
        let _ = slot;
        None
    }

    /// The slots from this one on, for a run that writes its states into them itself: for stores that [lend](Self::lend).
    fn vacate(&mut self, from: usize) -> Option<Vacant<'_, S>> {
        let _ = from;
        None
    }
}

/// Slots that are free, one after the other: each a state and its record.
#[derive(Debug)]
pub struct Vacant<'a, S> {
    memory: &'a mut [S],
    state: usize,
    record: usize,
}

impl<'a, S> Vacant<'a, S> {
    /// Slots of these lengths, back to back.
    pub const fn new(memory: &'a mut [S], state: usize, record: usize) -> Self {
        Self {
            memory,
            state,
            record,
        }
    }

    /// Are there so many, of these lengths?
    pub(crate) fn holds(&self, slots: usize, state: usize, record: usize) -> bool {
        let needed = slots.saturating_mul(state.saturating_add(record));
        (self.state, self.record) == (state, record) && needed <= self.memory.len()
    }

    /// Takes the next one; of no length, if there is none.
    pub(crate) fn next_slot(&mut self) -> (&'a mut [S], &'a mut [S]) {
        let (state, rest) = split_mut(take(&mut self.memory), self.state);
        let (record, rest) = split_mut(rest, self.record);
        self.memory = rest;
        (state, record)
    }
}

/// Slots in memory: equal pieces of one slice.
#[derive(Debug)]
pub struct Slots<'m, S> {
    memory: &'m mut [S],
    stride: usize,
    state: usize,
    keeps_records: bool,
}

impl<'m, S: Scalar> Slots<'m, S> {
    /// Over this memory; it is divided when a run starts.
    pub fn new(memory: &'m mut [S]) -> Self {
        Self {
            memory,
            stride: 0,
            state: 0,
            keeps_records: false,
        }
    }

    /// Where a slot is.
    fn range(&self, slot: usize) -> Option<Range<usize>> {
        let start = slot.checked_mul(self.stride)?;
        Some(start..start.checked_add(self.stride)?)
    }

    fn slot(&mut self, slot: usize) -> Result<(&mut [S], &mut [S]), StoreFault> {
        let range = self.range(slot).ok_or(StoreFault)?;
        let slot = self.memory.get_mut(range).ok_or(StoreFault)?;
        Ok(split_mut(slot, self.state))
    }
}

impl<S: Scalar> Store<S> for Slots<'_, S> {
    fn prepare(&mut self, slots: usize, state: usize, record: usize) -> Result<bool, Error> {
        at_least(
            Argument::Slots,
            slots.saturating_mul(state),
            self.memory.len(),
        )?;
        let with_record = state.saturating_add(record);
        self.keeps_records = slots.saturating_mul(with_record) <= self.memory.len();
        self.stride = if self.keeps_records {
            with_record
        } else {
            state
        };
        self.state = state;
        Ok(self.keeps_records)
    }

    fn save(&mut self, slot: usize, state: &[S], record: &[S]) -> Result<(), StoreFault> {
        let (to_state, to_record) = self.slot(slot)?;
        copy(to_state, state);
        copy(to_record, record);
        Ok(())
    }

    fn load(&mut self, slot: usize, state: &mut [S], record: &mut [S]) -> Result<(), StoreFault> {
        let (from_state, from_record) = self.slot(slot)?;
        copy(state, from_state);
        copy(record, from_record);
        Ok(())
    }

    fn lend(&self, slot: usize) -> Option<(&[S], &[S])> {
        Some(split(self.memory.get(self.range(slot)?)?, self.state))
    }

    fn vacate(&mut self, from: usize) -> Option<Vacant<'_, S>> {
        let (state, record) = (self.state, self.stride.checked_sub(self.state)?);
        let memory = self.memory.get_mut(self.range(from)?.start..)?;
        Some(Vacant::new(memory, state, record))
    }
}

impl<S: Scalar, T: Store<S> + ?Sized> Store<S> for &mut T {
    fn prepare(&mut self, slots: usize, state: usize, record: usize) -> Result<bool, Error> {
        (**self).prepare(slots, state, record)
    }
    fn save(&mut self, slot: usize, state: &[S], record: &[S]) -> Result<(), StoreFault> {
        (**self).save(slot, state, record)
    }
    fn load(&mut self, slot: usize, state: &mut [S], record: &mut [S]) -> Result<(), StoreFault> {
        (**self).load(slot, state, record)
    }
    fn lend(&self, slot: usize) -> Option<(&[S], &[S])> {
        (**self).lend(slot)
    }
    fn vacate(&mut self, from: usize) -> Option<Vacant<'_, S>> {
        (**self).vacate(from)
    }
}
