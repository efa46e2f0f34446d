//! Checkpoint slots: memory, or any storage that can save and load a state by slot number.

use core::ops::Range;

use crate::scalar::Scalar;
use crate::slices::{cells, transfer};

/// Failure to save or load a slot (external memory, flash, a bus).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StoreFault;

/// Storage for states outside the memory: flash, external RAM, a file.
pub trait Store<S> {
    /// Saves a state in a slot, overwriting its content.
    fn save(&mut self, slot: usize, state: &[S]) -> Result<(), StoreFault>;

    /// Loads the state that was saved last in a slot.
    fn load(&mut self, slot: usize, state: &mut [S]) -> Result<(), StoreFault>;
}

/// Checkpoint slots.
///
/// In memory, while slots are free, a state is written to and read from its slot without a copy. A store costs one copy per saved
/// state.
pub enum Slots<'m, S> {
    /// Equal pieces of one slice. Each holds a state and, if it is long enough, the record of its step, which then need not be
    /// evaluated again.
    Memory(&'m mut [S]),
    /// External storage.
    Store(&'m mut dyn Store<S>),
}

impl<S> core::fmt::Debug for Slots<'_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Memory(_) => "Memory",
            Self::Store(_) => "Store",
        })
    }
}

/// Lengths of the content of a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Length of a state.
    pub(crate) states: usize,
    /// Length of the record kept with the state, or zero.
    pub(crate) record: usize,
}

impl Shape {
    /// Length of one slot.
    pub(crate) fn stride(self) -> usize {
        self.states.saturating_add(self.record)
    }

    /// Position of a slot in memory.
    fn range(self, slot: usize) -> Range<usize> {
        // All slots together fit into the memory.
        let start = slot.wrapping_mul(self.stride());
        start..start.wrapping_add(self.stride())
    }

    /// State and record in a slot, if there is such a slot; there is none of number `usize::MAX`.
    #[inline]
    pub(crate) fn read<S>(self, memory: &[S], slot: usize) -> Option<(&[S], &[S])> {
        let slot = memory.get(self.range(slot))?;
        slot.split_at_checked(self.states)
    }

    /// State and record in a slot, mutable.
    #[inline]
    pub(crate) fn write<S>(self, memory: &mut [S], slot: usize) -> Option<(&mut [S], &mut [S])> {
        let slot = memory.get_mut(self.range(slot))?;
        slot.split_at_mut_checked(self.states)
    }
}

impl<S> Slots<'_, S> {
    /// Reborrows the slots.
    #[inline(always)]
    pub(crate) fn reborrow(&mut self) -> Slots<'_, S> {
        match self {
            Self::Memory(memory) => Slots::Memory(memory),
            Self::Store(store) => Slots::Store(&mut **store),
        }
    }
}

impl<S> Slots<'_, S> {
    /// State and record in this slot, or in these rows if there is no such slot or it has no room for records.
    #[inline(always)]
    pub(crate) fn at<'a>(
        &'a self,
        shape: Shape,
        slot: usize,
        row: &'a [S],
        record: &'a [S],
    ) -> (&'a [S], &'a [S]) {
        let kept = match self {
            Self::Memory(memory) => shape.read(memory, slot),
            Self::Store(_) => None,
        };
        match kept {
            Some((state, _)) if shape.record == 0 => (state, record),
            Some(kept) => kept,
            None => (row, record),
        }
    }

    /// Same as above, with a mutable record.
    #[inline(always)]
    pub(crate) fn at_mut<'a>(
        &'a mut self,
        shape: Shape,
        slot: usize,
        row: &'a [S],
        record: &'a mut [S],
    ) -> (&'a [S], &'a mut [S]) {
        let kept = match self {
            Self::Memory(memory) => shape.write(memory, slot),
            Self::Store(_) => None,
        };
        match kept {
            Some((state, _)) if shape.record == 0 => (state, record),
            Some((state, kept)) => (state, kept),
            None => (row, record),
        }
    }
}

impl<S: Scalar> Slots<'_, S> {
    /// Saves a state and, if there is room, its record.
    #[inline(always)]
    pub(crate) fn save(
        &mut self,
        shape: Shape,
        slot: usize,
        state: &mut [S],
        record: &mut [S],
    ) -> Result<(), StoreFault> {
        self.save_by(|_, _| false, shape, slot, state, record)
    }

    /// The same; `copy` copies to memory, unless it returns false.
    #[inline(always)]
    pub(crate) fn save_by(
        &mut self,
        copy: impl Fn(&mut [S], &[S]) -> bool,
        shape: Shape,
        slot: usize,
        state: &mut [S],
        record: &mut [S],
    ) -> Result<(), StoreFault> {
        match self {
            Self::Memory(memory) => {
                let (to_state, to_record) = shape.write(memory, slot).unwrap_or_default();
                // Not in `copy`: see `transfer`.
                if !copy(to_state, state) {
                    transfer(cells(to_state), cells(state));
                }
                if !copy(to_record, record) {
                    transfer(cells(to_record), cells(record));
                }
                Ok(())
            }
            Self::Store(store) => store.save(slot, state),
        }
    }
}
