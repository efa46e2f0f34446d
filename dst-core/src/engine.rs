//! What forward run, adjoint and tangent share: the system, θ and the working vectors.

use core::mem::swap;

use crate::integrator::{Integrator, split_mut};
use crate::scalar::Scalar;
use crate::system::{Dims, Point, Reading, System};
use crate::workspace::Work;

/// The iteration with its memory.
#[derive(Debug)]
pub(crate) struct Engine<'p, 'm, S, Y: ?Sized, I> {
    pub(crate) system: &'p Y,
    pub(crate) integrator: I,
    pub(crate) theta: &'p [S],
    pub(crate) x0: &'p [S],
    pub(crate) t0: S,
    pub(crate) dims: Dims,
    pub(crate) work: Work<'m, S>,
    /// What a suspended run must remember of `work`.
    pub(crate) order: Order,
}

/// In which order the rows lie that change places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// Have the two records changed places?
    records: bool,
    /// Which row is `cur`, which is `prev` and which is `rate`.
    rows: [u8; 3],
}

impl Order {
    pub(crate) const NEW: Self = Self {
        records: false,
        rows: [0, 1, 2],
    };
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Engine<'_, '_, S, Y, I> {
    /// t_k, from k itself: sums of h would drift.
    #[inline(always)]
    pub(crate) fn time(&self, step: usize) -> S {
        self.t0 + S::from_count(step) * self.integrator.step_size()
    }

    /// Evaluates rate, criterion and loss at `cur` = x_k.
    #[inline(always)]
    pub(crate) fn evaluate(&mut self, step: usize) -> Reading<S> {
        let t = self.time(step);
        let work = &mut self.work;
        let (tape, _) = split_mut(work.record, self.dims.tape);
        let at = Point {
            theta: self.theta,
            x: work.cur,
            t,
        };
        self.system.rate(at, work.rate, tape, work.scratch)
    }

    /// From `cur` = x_k, evaluated, writes x_{k+1} to `prev`. Returns whether it is finite.
    #[inline(always)]
    pub(crate) fn step(&mut self, step: usize) -> bool {
        if I::REPLACES {
            self.exchange();
            return self.system.all_finite(self.work.prev);
        }
        let t = self.time(step);
        let work = &mut self.work;
        let at = Point {
            theta: self.theta,
            x: work.cur,
            t,
        };
        self.integrator.step(
            self.system,
            at,
            work.rate,
            work.record,
            work.prev,
            work.scratch,
        )
    }

    /// After a step: `cur` becomes x_{k+1} and `prev` x_k, records along with them.
    #[inline(always)]
    pub(crate) fn shift(&mut self) {
        self.order.records = !self.order.records;
        swap(&mut self.work.record, &mut self.work.record_prev);
        self.swap_states();
    }

    #[inline(always)]
    fn swap_states(&mut self) {
        let [cur, prev, _] = &mut self.order.rows;
        swap(cur, prev);
        swap(&mut self.work.cur, &mut self.work.prev);
    }

    /// The rate that is a state itself becomes `prev`; see [`Integrator::REPLACES`].
    #[inline(always)]
    fn exchange(&mut self) {
        let [_, prev, rate] = &mut self.order.rows;
        swap(prev, rate);
        swap(&mut self.work.prev, &mut self.work.rate);
    }

    /// What so many steps do to the order.
    #[inline(always)]
    pub(crate) fn follow(&mut self, steps: usize) {
        // Two swaps are none, and three turns of three rows.
        for _ in 0..steps % if I::REPLACES { 6 } else { 2 } {
            if I::REPLACES {
                self.exchange();
            }
            self.shift();
        }
    }

    /// Puts the rows into the order in which they were left.
    pub(crate) fn restore(&mut self, order: Order) {
        if self.order.records != order.records {
            self.shift();
        }
        // By turns, these two lead to all six orders of three rows.
        for turn in 0..6 {
            if self.order.rows == order.rows {
                break;
            }
            if turn & 1 == 0 {
                self.exchange();
            } else {
                self.swap_states();
            }
        }
    }
}
