//! Rows of a memory by their role in the forward run: where x_k lies, and where x_{k+1} goes.

use core::mem::take;

use super::Cursor;
use super::memory::{Work, row_of};
use crate::checkpoint::{Mark, Shape, Slots};
use crate::scalar::Scalar;
use crate::slices::split_mut;

/// Parts of a memory by their role in the forward run; see the top of `memory.rs`.
pub(super) struct Rows<'a, S> {
    /// x_k
    pub(super) cur: &'a mut [S],
    /// x_{k−1}; x_{k+1} is written over it.
    pub(super) prev: &'a mut [S],
    /// A at x_k; for a map, x_{k+1}.
    pub(super) rate: &'a mut [S],
    pub(super) record: &'a mut [S],
    pub(super) record_prev: &'a mut [S],
    pub(super) record_next: &'a mut [S],
    /// Places for the next states.
    pub(super) fresh: Fresh<'a, S>,
    pub(super) lambda: &'a mut [S],
    pub(super) scratch: &'a mut [S],
    pub(super) slots: Slots<'a, S>,
    pub(super) marks: &'a mut [Mark],
    pub(super) cursor: &'a mut Cursor<S>,
}

impl<'a, S: Scalar> Rows<'a, S> {
    /// Assigns the roles. With `keeping`, x_k is in a slot.
    #[inline(always)]
    pub(super) fn new<'m: 'a>(work: &'a mut Work<'m, S>, keeping: bool, map: bool) -> Self {
        let in_place = work.in_place();
        let Work {
            rows: [row0, row1, row2, row3],
            records: [even, odd],
            lambda,
            scratch,
            slots,
            shape,
            marks,
            cursor,
            ..
        } = work;
        let steps = cursor.steps;
        // Record of x_k or, if all earlier records are in slots, of the first state after them.
        let with_records = keeping && shape.record > 0;
        let odd_first = (if with_records { in_place } else { steps }) & 1 == 1;
        let (first, second) = if odd_first {
            (&mut **odd, &mut **even)
        } else {
            (&mut **even, &mut **odd)
        };
        let mut of = Rows {
            cur: &mut [],
            prev: &mut [],
            rate: &mut [],
            record: &mut [],
            record_prev: &mut [],
            record_next: &mut [],
            fresh: Fresh {
                tail: &mut [],
                shape: *shape,
                rows: [&mut [], &mut []],
                records: [&mut [], &mut []],
            },
            lambda,
            scratch,
            slots: Slots::Memory(&mut []),
            marks,
            cursor,
        };
        if with_records {
            of.fresh.records = [first, second];
        } else {
            (of.record, of.record_prev) = (first, second);
        }
        match slots.reborrow() {
            Slots::Memory(memory) if keeping => {
                let stride = shape.stride();
                let (used, _) = split_mut(memory, in_place.saturating_mul(stride));
                of.fresh.tail = split_mut(used, steps.saturating_mul(stride)).1;
                of.fresh.rows = [row0, row1];
                let (cur, record) = of.fresh.next();
                (of.cur, of.rate) = (cur, row2);
                if with_records {
                    of.record = record;
                }
                if map {
                    (of.rate, of.record_next) = of.fresh.next();
                }
                // Never read: the earlier states are in slots. Every later step takes a place of its own when x_{k−1} is recorded.
                of.prev = row3;
                if steps == 0 {
                    let (row, record) = of.fresh.next();
                    of.prev = row;
                    if with_records {
                        of.record_prev = record;
                    }
                }
            }
            slots => {
                of.slots = slots;
                let number = row_of(steps, in_place, map);
                (of.cur, of.rate, of.prev) = match (map, number) {
                    (false, 0) => (row0, row2, row1),
                    (false, _) => (row1, row2, row0),
                    (true, 0) => (row0, row1, row2),
                    (true, 1) => (row1, row2, row0),
                    (true, _) => (row2, row0, row1),
                };
            }
        }
        of
    }
}

/// Places for the next states while slots are free: the slots, then the first two rows.
pub(super) struct Fresh<'a, S> {
    tail: &'a mut [S],
    pub(super) shape: Shape,
    rows: [&'a mut [S]; 2],
    records: [&'a mut [S]; 2],
}

impl<'a, S> Fresh<'a, S> {
    /// Returns a place for a state, and one for its record if records are kept.
    pub(super) fn next(&mut self) -> (&'a mut [S], &'a mut [S]) {
        let stride = self.shape.stride();
        if self.tail.len() >= stride
            && let Some((piece, rest)) = take(&mut self.tail).split_at_mut_checked(stride)
        {
            self.tail = rest;
            return split_mut(piece, self.shape.states);
        }
        let ([row, _], [record, _]) = (&mut self.rows, &mut self.records);
        let place = (take(row), take(record));
        self.rows.swap(0, 1);
        self.records.swap(0, 1);
        place
    }
}
