//! The forward run, pollable: "do at most this many steps now".
//!
//! Per step: one look (rate and J from one evaluation), one comparison with ε, one step. A call with a budget of
//! b makes at most b steps and b + 1 looks, so its work is bounded whatever the system does. Everything needed to go
//! on, or to differentiate, stays in the workspace between the calls.

use crate::checkpoint::{Schedule, Store};
use crate::engine::Engine;
use crate::error::Error;
use crate::integrator::Integrator;
use crate::loss::Weights;
use crate::scalar::{Scalar, copy};
use crate::stop::{Iterate, Status};
use crate::system::System;

/// What is done with the states that a run passes.
pub trait Recorder<S: Scalar> {
    /// Called once per step k, in order, with x_k and the record of the step from it: at the last moment before its memory
    /// is used again, when the run is known to go on past x_{k+1}. The last state before a stop is never seen; it is
    /// still at hand.
    fn visit(&mut self, step: usize, state: &[S], record: &[S]) -> Result<(), Error>;
}

/// Forgets: a run without a gradient.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoRecording;

impl<S: Scalar> Recorder<S> for NoRecording {
    #[inline(always)]
    fn visit(&mut self, _: usize, _: &[S], _: &[S]) -> Result<(), Error> {
        Ok(())
    }
}

/// Keeps the checkpoints that the online schedule asks for.
#[derive(Debug)]
pub struct Recording<'m, St> {
    pub(crate) schedule: Schedule<'m>,
    pub(crate) store: St,
    pub(crate) keeps_records: bool,
}

impl<S: Scalar, St: Store<S>> Recorder<S> for Recording<'_, St> {
    #[inline(always)]
    fn visit(&mut self, step: usize, state: &[S], record: &[S]) -> Result<(), Error> {
        if step != self.schedule.next_save() {
            return Ok(());
        }
        let slot = self.schedule.save();
        self.store
            .save(slot, state, record)
            .map_err(|_| Error::Store { slot })
    }
}

/// How a run stands, without the views that [`Status`] carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Fresh,
    Running,
    Reached,
    StepLimit,
    Failed(Error),
}

/// A forward run; made by [`Plan::run`](crate::Plan::run) or [`Plan::record`](crate::Plan::record).
#[derive(Debug)]
pub struct Run<'p, 'm, S, Y: ?Sized, I, W, R> {
    pub(crate) engine: Engine<'p, 'm, S, Y, I>,
    pub(crate) recorder: R,
    pub(crate) weights: W,
    pub(crate) epsilon: S,
    pub(crate) max_steps: usize,
    pub(crate) steps: usize,
    pub(crate) criterion: S,
    pub(crate) previous: S,
    pub(crate) loss: S,
    pub(crate) best: S,
    /// The best iterate is `cur`; otherwise it lies in `lambda`, which the forward run does not need.
    pub(crate) best_is_current: bool,
    pub(crate) phase: Phase,
}

impl<'p, 'm, S, Y, I, W, R> Run<'p, 'm, S, Y, I, W, R>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    R: Recorder<S>,
{
    pub(crate) fn new(
        engine: Engine<'p, 'm, S, Y, I>,
        recorder: R,
        weights: W,
        epsilon: S,
        max_steps: usize,
    ) -> Self {
        copy(engine.work.cur, engine.x0);
        Self {
            engine,
            recorder,
            weights,
            epsilon,
            max_steps,
            steps: 0,
            criterion: S::NAN,
            previous: S::NAN,
            loss: S::ZERO,
            best: S::INFINITY,
            best_is_current: true,
            phase: Phase::Fresh,
        }
    }

    /// Makes at most `budget` steps and says where the run stands. After a stop it only repeats that.
    ///
    /// An error is final: non-finite values, or a store that failed.
    pub fn advance(&mut self, budget: usize) -> Result<Status<'_, S>, Error> {
        if self.phase == Phase::Fresh {
            self.phase = Phase::Running;
            self.look();
        }
        let mut left = budget;
        while left > 0 && self.phase == Phase::Running {
            left -= 1;
            if !self.step() {
                break;
            }
            self.look();
        }
        match self.phase {
            Phase::Reached => Ok(Status::Reached(self.iterate())),
            Phase::StepLimit => Ok(Status::StepLimit(self.iterate())),
            Phase::Failed(error) => Err(error),
            Phase::Fresh | Phase::Running => Ok(Status::Running(self.iterate())),
        }
    }

    /// Runs until it stops or meets the step limit.
    pub fn complete(&mut self) -> Result<Status<'_, S>, Error> {
        self.advance(usize::MAX)
    }

    /// The current iterate and the best one.
    pub fn iterate(&self) -> Iterate<'_, S> {
        let work = &self.engine.work;
        Iterate {
            steps: self.steps,
            time: self.engine.time(self.steps),
            criterion: self.criterion,
            previous: self.previous,
            state: work.cur,
            best: if self.best_is_current {
                work.cur
            } else {
                work.lambda
            },
            best_criterion: self.best,
            loss: self.loss,
        }
    }

    /// Ends the run; its iterate stays in the memory that was lent to it.
    pub fn into_state(self) -> &'m [S] {
        self.engine.work.cur
    }

    /// One step from x_k; false if it failed.
    #[inline(always)]
    fn step(&mut self) -> bool {
        let work = &self.engine.work;
        if let Some(before) = self.steps.checked_sub(1)
            && let Err(error) = self.recorder.visit(before, work.prev, work.record_prev)
        {
            return self.fail(error);
        }
        if !self.engine.step(self.steps) {
            return self.fail(Error::NonFinite {
                step: self.steps.saturating_add(1),
            });
        }
        self.engine.shift();
        self.steps = self.steps.wrapping_add(1);
        true
    }

    /// Evaluates at x_k and checks whether to stop.
    #[inline(always)]
    fn look(&mut self) {
        let reading = self.engine.evaluate(self.steps);
        let j = reading.criterion;
        self.previous = self.criterion;
        self.criterion = j;
        if W::ACTIVE {
            self.loss += self.weights.weight(self.steps) * reading.loss;
        }
        // Two comparisons on the common path; NaN fails the first, +∞ the second.
        if j > self.epsilon {
            if j < self.best {
                self.best = j;
                self.best_is_current = true;
            } else {
                self.look_at_a_rise(j);
            }
            if self.steps >= self.max_steps && self.phase == Phase::Running {
                self.phase = Phase::StepLimit;
            }
        } else {
            self.look_at_a_stop(j);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at_a_rise(&mut self, j: S) {
        if !j.is_finite() {
            self.fail(Error::NonFinite { step: self.steps });
        } else if self.best_is_current {
            // The iterate just left was the best: keep it.
            copy(self.engine.work.lambda, self.engine.work.prev);
            self.best_is_current = false;
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at_a_stop(&mut self, j: S) {
        if !j.is_finite() || !self.loss.is_finite() {
            self.fail(Error::NonFinite { step: self.steps });
            return;
        }
        self.best = j;
        self.best_is_current = true;
        self.phase = Phase::Reached;
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, error: Error) -> bool {
        self.phase = Phase::Failed(error);
        false
    }
}
