//! The forward run, pollable: "do at most this many steps now".
//!
//! Per step: one look (rate and J from one evaluation), one comparison with ε, one step. A call with a budget of
//! b makes at most b steps and b + 1 looks, so its work is bounded whatever the system does. Everything needed to go
//! on, or to differentiate, stays in the workspace between the calls.

use core::cell::Cell;
use core::mem::swap;

use crate::checkpoint::{Schedule, Store};
use crate::engine::Engine;
use crate::error::{Argument, Error};
use crate::integrator::{Integrator, split_mut};
use crate::loss::Weights;
use crate::scalar::{Scalar, copy};
use crate::stop::{Iterate, Status};
use crate::system::{Point, System};
use crate::workspace::record_len;

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
            self.phase = self.first_look();
        }
        if self.phase == Phase::Running {
            self.phase = self.burst(self.steps.saturating_add(budget).min(self.max_steps));
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

    /// Evaluates at x_0 and checks whether to stop.
    fn first_look(&mut self) -> Phase {
        let reading = self.engine.evaluate(0);
        self.criterion = reading.criterion;
        if W::ACTIVE {
            self.loss = self.weights.weight(0) * reading.loss;
        }
        if self.criterion > self.epsilon && self.criterion.is_finite() {
            self.best = self.criterion;
            if self.max_steps == 0 {
                Phase::StepLimit
            } else {
                Phase::Running
            }
        } else {
            self.stop()
        }
    }

    /// Steps until `end` or a stop: the loop in which all the time is spent.
    ///
    /// Every slice is cut once more to the length that the system declares: where that is a constant, the compiler unrolls
    /// the vector loops and drops their bounds. The readings are cells because they then stay in memory: a register would
    /// be saved and restored around every call into the system.
    fn burst(&mut self, end: usize) -> Phase {
        let Engine {
            system,
            integrator,
            theta,
            t0,
            work,
            ..
        } = &mut self.engine;
        let (system, theta, t0) = (*system, *theta, *t0);
        let (dims, h) = (system.dims(), integrator.step_size());
        let record_len = record_len(dims, I::STAGES);
        let (
            Some(theta),
            Some(mut cur),
            Some(mut prev),
            Some(rate),
            Some(mut record),
            Some(mut record_prev),
            Some(scratch),
        ) = (
            theta.get(..dims.params),
            work.cur.get_mut(..dims.states),
            work.prev.get_mut(..dims.states),
            work.rate.get_mut(..dims.states),
            work.record.get_mut(..record_len),
            work.record_prev.get_mut(..record_len),
            work.scratch.get_mut(..dims.scratch),
        )
        else {
            // The lengths were checked at the door: the system has changed its mind since.
            return Phase::Failed(Error::Length {
                argument: Argument::X0,
                needed: dims.states,
                given: self.engine.x0.len(),
            });
        };
        let first = self.steps;
        let mut steps = first;
        let (criterion, previous) = (
            Cell::from_mut(&mut self.criterion),
            Cell::from_mut(&mut self.previous),
        );
        let best = Cell::from_mut(&mut self.best);
        // J of the iterate in `lambda`. Every improvement makes it differ from the best, at no cost on the common path.
        let mut kept = if self.best_is_current {
            S::NAN
        } else {
            best.get()
        };
        let epsilon = self.epsilon;
        let mut t = t0 + S::from_count(steps) * h;
        let phase = loop {
            if steps >= end {
                break Phase::Running;
            }
            // x_{k−1} is about to be overwritten.
            if let Some(before) = steps.checked_sub(1)
                && let Err(error) = self.recorder.visit(before, prev, record_prev)
            {
                break Phase::Failed(error);
            }
            let at = Point { theta, x: cur, t };
            if !integrator.step(system, at, rate, record, prev, scratch) {
                break Phase::Failed(Error::NonFinite {
                    step: steps.saturating_add(1),
                });
            }
            swap(&mut cur, &mut prev);
            swap(&mut record, &mut record_prev);
            steps = steps.wrapping_add(1);
            previous.set(criterion.get());
            t = t0 + S::from_count(steps) * h;
            let at = Point { theta, x: cur, t };
            let (tape, _) = split_mut(record, dims.tape);
            let reading = system.rate(at, rate, tape, scratch);
            let j = reading.criterion;
            criterion.set(j);
            if W::ACTIVE {
                self.loss += self.weights.weight(steps) * reading.loss;
            }
            // Two comparisons on the common path; NaN fails the first, +∞ the second.
            if j > epsilon && j < best.get() {
                best.set(j);
                continue;
            }
            if kept != best.get() {
                // The iterate just left was the best: keep it.
                kept = best.get();
                copy(work.lambda, prev);
            }
            if !(j > epsilon && j.is_finite()) {
                break Phase::Reached;
            }
        };
        self.steps = steps;
        self.best_is_current = kept != self.best;
        // The names were swapped at every step; two swaps are none.
        if steps.wrapping_sub(first) & 1 == 1 {
            self.engine.shift();
        }
        match phase {
            Phase::Reached => self.stop(),
            Phase::Running if steps >= self.max_steps => Phase::StepLimit,
            phase => phase,
        }
    }

    /// J is not above ε, or not finite: is this a stop?
    fn stop(&mut self) -> Phase {
        if !(self.criterion.is_finite() && self.loss.is_finite()) {
            return Phase::Failed(Error::NonFinite { step: self.steps });
        }
        self.best = self.criterion;
        self.best_is_current = true;
        Phase::Reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Euler, Memory, Rk4, formula};

    /// Everything an iterate shows.
    fn seen(i: Iterate<'_, f64>) -> ([u64; 5], [u64; 2], [u64; 2]) {
        let bits = |x: &[f64]| {
            let mut to = [0; 2];
            to.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_bits());
            to
        };
        let numbers = [i.time, i.criterion, i.previous, i.best_criterion, i.loss].map(f64::to_bits);
        (numbers, bits(i.state), bits(i.best))
    }

    #[test]
    fn a_run_in_portions_is_the_run_at_once() -> Result<(), Error> {
        // Spirals in: J = x₁² rises and falls, so that the best iterate is kept again and again.
        let spiral = formula!(
            |theta: 1, x: 2, _t| [theta[0] * x[0] - x[1], theta[0] * x[1] + x[0]],
            |x| x[0] * x[0],
        );
        let (theta, x0) = ([0.1], [1.0, 0.5]);
        let plan = Euler::new(0.3).until(-1.0).at_most(200);
        let mut memory = Memory::<f64, 2, 1, 1>::new();
        let mut slow = plan.run(&spiral, &theta, &x0, &mut memory)?;
        let (mut least, mut best, mut rises) = (f64::INFINITY, [0.0; 2], 0);
        for k in 0..=200 {
            let now = if k == 0 {
                slow.advance(0)?
            } else {
                slow.advance(1)?
            };
            let i = now.iterate();
            assert_eq!(i.steps, k);
            assert_eq!(matches!(now, Status::StepLimit(_)), k == 200);
            if i.criterion < least {
                least = i.criterion;
                best.copy_from_slice(i.state);
            } else {
                rises += 1;
            }
            assert!(
                i.best_criterion == least && i.best == best,
                "step {k}: {i:?}"
            );
            for portion in [7, usize::MAX] {
                let mut memory = Memory::<f64, 2, 1, 1>::new();
                let mut run = plan.at_most(k).run(&spiral, &theta, &x0, &mut memory)?;
                let mut status = run.advance(portion)?;
                while let Status::Running(_) = status {
                    status = run.advance(portion)?;
                }
                assert_eq!(
                    seen(status.iterate()),
                    seen(i),
                    "step {k}, portion {portion}"
                );
            }
        }
        assert!(rises > 20, "{rises}");
        Ok(())
    }

    #[test]
    fn what_is_not_finite_is_found_at_its_step() -> Result<(), Error> {
        // x doubles: beyond 2^1023 there is nothing. J stays finite.
        let doubling = formula!(|_theta: 0, x: 1, _t| [-x[0]], |x| x[0] * 0.0 + 1.0);
        let mut memory = Memory::<f64, 1, 0, 1>::new();
        let mut run = Euler::new(1.0)
            .until(0.0)
            .run(&doubling, &[], &[1.0], &mut memory)?;
        let error = Some(Error::NonFinite { step: 1024 });
        assert_eq!(run.complete().err(), error);
        assert_eq!(run.advance(1).err(), error);
        let last = run.iterate();
        assert_eq!(
            (last.steps, last.criterion, last.best),
            (1023, 1.0, [1.0].as_slice())
        );
        const BIG: f64 = (1u64 << 60) as f64;
        // J overflows first: the iterate before is the best that there is.
        let square = formula!(|_theta: 0, x: 1, _t| [-x[0]], |x| x[0] * x[0]);
        let mut memory = Memory::<f64, 1, 0, 1>::new();
        let mut run = Rk4::new(1.0)
            .until(0.0)
            .run(&square, &[], &[BIG], &mut memory)?;
        let Err(Error::NonFinite { step }) = run.complete() else {
            return Err(Error::NoSlots);
        };
        let last = run.iterate();
        assert_eq!((last.steps, last.best_criterion), (step, BIG * BIG));
        assert_eq!(last.best, [BIG]);
        Ok(())
    }

    #[test]
    fn of_equal_readings_the_first_is_the_best() -> Result<(), Error> {
        // x counts the steps, J has a floor.
        let counter = formula!(|_theta: 0, x: 1, _t| [x[0] * 0.0 - 1.0], |x| (3.0 - x[0]).max(
            x[0] * 0.0 + 1.0
        ));
        for portion in [1, 2, usize::MAX] {
            let mut memory = Memory::<f64, 1, 0, 1>::new();
            let plan = Euler::new(1.0).until(0.0).at_most(9);
            let mut run = plan.run(&counter, &[], &[0.0], &mut memory)?;
            while let Status::Running(_) = run.advance(portion)? {}
            let last = run.iterate();
            let best = (last.best, last.best_criterion);
            assert_eq!(
                (last.steps, best),
                (9, ([2.0].as_slice(), 1.0)),
                "{portion}"
            );
        }
        Ok(())
    }
}
