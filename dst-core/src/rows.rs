//! The rows of a run that change roles from step to step, and how the states in them are kept.
//!
//! As a rule a state is copied to its slot at the last moment before its row is used again. A [map](crate::Map) writes whole
//! states, and as long as slots are free it knows in which of them a state will be kept: it writes it there, and nothing is copied.

use core::mem::{replace, take};

use crate::checkpoint::Vacant;
use crate::error::Error;
use crate::run::Recorder;
use crate::scalar::{Scalar, copy};

/// The rows that change roles.
pub(crate) struct Rows<'a, S> {
    pub(crate) cur: &'a mut [S],
    pub(crate) prev: &'a mut [S],
    pub(crate) rate: &'a mut [S],
    pub(crate) record: &'a mut [S],
    pub(crate) record_prev: &'a mut [S],
}

impl<S> Default for Rows<'_, S> {
    fn default() -> Self {
        Self {
            cur: &mut [],
            prev: &mut [],
            rate: &mut [],
            record: &mut [],
            record_prev: &mut [],
        }
    }
}

impl<S: Scalar> Rows<'_, S> {
    fn copy(&mut self, from: &Self) {
        copy(self.cur, from.cur);
        copy(self.prev, from.prev);
        copy(self.rate, from.rate);
        copy(self.record, from.record);
        copy(self.record_prev, from.record_prev);
    }
}

/// What a stretch of a run does with its rows, besides computing.
pub(crate) trait Keep<'a, S> {
    /// Before the first step.
    #[inline(always)]
    fn enter(&mut self, rows: &mut Rows<'a, S>) {
        let _ = rows;
    }

    /// See [`Recorder::visit`].
    fn visit(&mut self, step: usize, state: &[S], record: &[S]) -> Result<(), Error>;

    /// After a step of a map, before the next evaluation writes to `rate` and `record`: what lies there is x_{k−1} and its record.
    #[inline(always)]
    fn renew(&mut self, rows: &mut Rows<'a, S>) {
        let _ = rows;
    }

    /// After the last step.
    #[inline(always)]
    fn leave(&mut self, rows: Rows<'a, S>) {
        let _ = rows;
    }
}

/// The rule: rows are used in turn, and what is to be kept is copied.
impl<S: Scalar, R: Recorder<S>> Keep<'_, S> for &mut R {
    #[inline(always)]
    fn visit(&mut self, step: usize, state: &[S], record: &[S]) -> Result<(), Error> {
        (**self).visit(step, state, record)
    }
}

/// Rows are free slots, a new one for every step. In the end what is in use goes back to the rows of the workspace, so that nobody
/// else need know.
pub struct InPlace<'a, S> {
    vacant: Vacant<'a, S>,
    /// Is there a state before the first one?
    begun: bool,
    /// States that are to stay where they are.
    pub(crate) kept: usize,
    /// The rows of the workspace.
    home: Rows<'a, S>,
    /// Where the record of the state in `rate` will be.
    record_next: &'a mut [S],
}

impl<'a, S> InPlace<'a, S> {
    pub(crate) fn new(vacant: Vacant<'a, S>, begun: bool) -> Self {
        Self {
            vacant,
            begun,
            kept: 0,
            home: Rows::default(),
            record_next: &mut [],
        }
    }

    /// Is there room for so many steps, with states and records of these lengths? A store may be anybody's.
    pub(crate) fn fits(&self, steps: usize, state: usize, record: usize) -> bool {
        // Of the first step there are x_k, x_{k+1} and perhaps x_{k−1}; every step writes one more.
        let slots = steps.saturating_add(2 + usize::from(self.begun));
        self.vacant.holds(slots, state, record)
    }
}

impl<'a, S: Scalar> Keep<'a, S> for InPlace<'a, S> {
    fn enter(&mut self, rows: &mut Rows<'a, S>) {
        let mut inside = Rows::default();
        if self.begun {
            (inside.prev, inside.record_prev) = self.vacant.next_slot();
        }
        (inside.cur, inside.record) = self.vacant.next_slot();
        (inside.rate, self.record_next) = self.vacant.next_slot();
        inside.copy(rows);
        self.home = replace(rows, inside);
    }

    fn visit(&mut self, _: usize, _: &[S], _: &[S]) -> Result<(), Error> {
        self.kept = self.kept.wrapping_add(1);
        Ok(())
    }

    fn renew(&mut self, rows: &mut Rows<'a, S>) {
        let (rate, record_next) = self.vacant.next_slot();
        rows.rate = rate;
        rows.record = replace(&mut self.record_next, record_next);
    }

    fn leave(&mut self, rows: Rows<'a, S>) {
        take(&mut self.home).copy(&rows);
    }
}
