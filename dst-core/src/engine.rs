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
    /// Have the two halves of `work` changed places? What a suspended run must remember of it.
    pub(crate) swapped: bool,
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
        self.swapped = !self.swapped;
        swap(&mut self.work.cur, &mut self.work.prev);
        swap(&mut self.work.record, &mut self.work.record_prev);
    }
}
