//! The forward run, pollable: "do at most this many steps now".
//!
//! Per step: one look (rate and J from one evaluation), one comparison with ε, one step. A call with a budget of
//! b makes at most b steps and b + 1 looks, so its work is bounded whatever the system does. Everything needed to go
//! on, or to differentiate, stays in the workspace between the calls.

use core::cell::Cell;
use core::mem::swap;

use crate::checkpoint::{Mark, Schedule, ScheduleState, Store};
use crate::engine::{Engine, Order};
use crate::error::{Argument, Error};
use crate::integrator::{Integrator, split_mut};
use crate::loss::Weights;
use crate::plan::Goal;
use crate::rows::{InPlace, Keep, Rows};
use crate::scalar::{Scalar, copy};
use crate::stop::{Iterate, Status};
use crate::system::{Point, Reading, System};
use crate::workspace::record_len;

/// What is done with the states that a run passes: [`Recording`] or [`NoRecording`].
pub trait Recorder<S: Scalar>: sealed::Sealed {
    /// Called once per step k, in order, with x_k and the record of the step from it: at the last moment before its memory
    /// is used again, when the run is known to go on past x_{k+1}. The last state before a stop is never seen; it is
    /// still at hand.
    fn visit(&mut self, step: usize, state: &[S], record: &[S]) -> Result<(), Error>;

    /// From `steps` on, may the run write its states where they are kept? Then until the second number of steps at most, and the states
    /// that it passes must be [noted](Self::note).
    #[doc(hidden)]
    fn in_place(&mut self, steps: usize, end: usize) -> Option<(InPlace<'_, S>, usize)> {
        let _ = (steps, end);
        None
    }

    /// So many more states are kept where they are.
    #[doc(hidden)]
    fn note(&mut self, states: usize) {
        let _ = states;
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::NoRecording {}
    impl<St> Sealed for super::Recording<'_, St> {}
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

impl<'m, St> Recording<'m, St> {
    pub(crate) fn new<S: Scalar>(
        schedule: Schedule<'m>,
        mut store: St,
        (state, record): (usize, usize),
    ) -> Result<Self, Error>
    where
        St: Store<S>,
    {
        // Of nothing, everything is kept.
        let keeps_records = store.prepare(schedule.slots(), state, record)? || record == 0;
        Ok(Self {
            schedule,
            store,
            keeps_records,
        })
    }
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

    fn in_place(&mut self, steps: usize, end: usize) -> Option<(InPlace<'_, S>, usize)> {
        // At the end two states beyond the last that is visited have a slot, too.
        let end = end.min(self.schedule.slots().saturating_sub(2));
        let worth = end.saturating_sub(steps) >= WORTH_MOVING;
        if !(worth && self.keeps_records && self.schedule.stores_all()) {
            return None;
        }
        let vacant = self.store.vacate(self.schedule.next_save())?;
        Some((InPlace::new(vacant, steps > 0), end))
    }

    fn note(&mut self, states: usize) {
        for _ in 0..states {
            self.schedule.save();
        }
    }
}

/// A run that goes so far writes its states where they are kept. To begin and to end that costs up to six copies.
const WORTH_MOVING: usize = 8;

/// How a run stands, without the views that [`Status`] carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Fresh,
    Running,
    Reached,
    StepLimit,
    Failed(Error),
}

/// The numbers of a run, apart from the memory it borrows: plain data to keep between two ticks.
#[derive(Clone, Copy, Debug)]
pub struct RunState<S> {
    pub(crate) steps: usize,
    pub(crate) criterion: S,
    pub(crate) previous: S,
    pub(crate) loss: S,
    /// f(x_k), where there is a running loss.
    pub(crate) value: S,
    pub(crate) best: S,
    /// The best iterate is `cur`; otherwise it lies in `lambda`, which the forward run does not need.
    pub(crate) best_is_current: bool,
    pub(crate) phase: Phase,
    /// Of a suspended run only.
    order: Order,
    schedule: ScheduleState,
    /// What lies in the memory is laid out for these.
    pub(crate) slots: usize,
}

impl<S: Scalar> RunState<S> {
    const fn new() -> Self {
        Self {
            steps: 0,
            criterion: S::NAN,
            previous: S::NAN,
            loss: S::ZERO,
            value: S::NAN,
            best: S::INFINITY,
            best_is_current: true,
            phase: Phase::Fresh,
            order: Order::NEW,
            schedule: ScheduleState::NEW,
            slots: 0,
        }
    }

    pub(crate) fn schedule<'m>(&self, marks: &'m mut [Mark]) -> Option<Schedule<'m>> {
        Schedule::resume(marks, self.schedule)
    }
}

/// A forward run; made by [`Plan::run`](crate::Plan::run) or [`Plan::record`](crate::Plan::record).
#[derive(Debug)]
pub struct Run<'p, 'm, S, Y: ?Sized, I, W, R> {
    pub(crate) engine: Engine<'p, 'm, S, Y, I>,
    pub(crate) recorder: R,
    pub(crate) weights: W,
    pub(crate) goal: Goal<S>,
    pub(crate) state: RunState<S>,
}

impl<'p, 'm, S, Y, I, W, St> Run<'p, 'm, S, Y, I, W, Recording<'m, St>>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Lets go of everything borrowed. The memory must be left alone until [`Plan::resume`](crate::Plan::resume): what the
    /// run has found is in it.
    ///
    /// ```
    /// # use dst_core::{Euler, Integrator, Memory, formula};
    /// # let flow = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
    /// // An interrupt handler owns the memory and the state, and borrows nothing in between.
    /// let (plan, mut memory) = (Euler::new(0.1).until(1e-3), Memory::<f32, 1, 1, 4>::new());
    /// let mut state = plan.record(&flow, &[1.0], &[1.0], &mut memory)?.suspend();
    /// let steps = loop {
    ///     let mut run = plan.resume(state, &flow, &[1.0], &[1.0], &mut memory)?; // every tick
    ///     let status = run.advance(20)?;
    ///     if status.is_reached() {
    ///         break status.iterate().steps;
    ///     }
    ///     state = run.suspend();
    /// };
    /// assert_eq!(steps, 66);
    /// # Ok::<(), dst_core::Error>(())
    /// ```
    pub fn suspend(self) -> RunState<S> {
        let schedule = &self.recorder.schedule;
        RunState {
            order: self.engine.order,
            schedule: schedule.state(),
            slots: schedule.slots(),
            ..self.state
        }
    }

    pub(crate) fn resumed(
        state: RunState<S>,
        mut engine: Engine<'p, 'm, S, Y, I>,
        recorder: Recording<'m, St>,
        weights: W,
        goal: Goal<S>,
    ) -> Self {
        engine.restore(state.order);
        Self {
            engine,
            recorder,
            weights,
            goal,
            state,
        }
    }
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
        goal: Goal<S>,
    ) -> Self {
        copy(engine.work.cur, engine.x0);
        Self {
            engine,
            recorder,
            weights,
            goal,
            state: RunState::new(),
        }
    }

    /// Makes at most `budget` steps and says where the run stands. After a stop it only repeats that.
    ///
    /// An error is final: non-finite values, or a store that failed. [`Iterate::best`] stays readable through
    /// [`iterate`](Self::iterate).
    pub fn advance(&mut self, budget: usize) -> Result<Status<'_, S>, Error> {
        if self.state.phase == Phase::Fresh {
            self.state.phase = self.first_look();
        }
        if self.state.phase == Phase::Running {
            let end = self
                .state
                .steps
                .saturating_add(budget)
                .min(self.goal.max_steps);
            self.state.phase = self.burst(end);
        }
        match self.state.phase {
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
        let (work, state) = (&self.engine.work, &self.state);
        Iterate {
            steps: state.steps,
            time: self.engine.time(state.steps),
            criterion: state.criterion,
            previous: state.previous,
            state: work.cur,
            best: if state.best_is_current {
                work.cur
            } else {
                work.lambda
            },
            best_criterion: state.best,
            loss: state.loss,
            value: state.value,
        }
    }

    /// Ends the run; its iterate stays in the memory that was lent to it.
    pub fn into_state(self) -> &'m [S] {
        self.engine.work.cur
    }

    /// Evaluates at x_0 and checks whether to stop.
    fn first_look(&mut self) -> Phase {
        let Reading { criterion, loss } = self.engine.evaluate(0);
        self.state.criterion = criterion;
        self.state.value = if W::ACTIVE { loss } else { S::NAN };
        if W::ACTIVE && !add_loss(&self.weights, 0, loss, &mut self.state.loss) {
            return Phase::Failed(Error::NonFinite { step: 0 });
        }
        if criterion > self.goal.epsilon && criterion.is_finite() {
            self.state.best = criterion;
            Phase::Running
        } else {
            self.stop()
        }
    }

    /// Steps until `end` or a stop.
    fn burst(&mut self, end: usize) -> Phase {
        let Self {
            engine,
            recorder,
            weights,
            goal,
            state,
        } = self;
        if I::REPLACES
            && let Some((mut slots, end)) = recorder.in_place(state.steps, end)
            && let dims = engine.system.dims()
            && let steps = end.wrapping_sub(state.steps)
            && slots.fits(steps, dims.states, record_len(dims, I::STAGES))
        {
            let phase = stretch(engine, weights, goal, state, &mut slots, end);
            let kept = slots.kept;
            recorder.note(kept);
            if phase != Phase::Running {
                return self.conclude(phase);
            }
        }
        let first = state.steps;
        let phase = stretch(engine, weights, goal, state, &mut &mut *recorder, end);
        // The names were swapped at every step.
        engine.follow(state.steps.wrapping_sub(first));
        self.conclude(phase)
    }

    /// What the end of a stretch means for the run.
    fn conclude(&mut self, phase: Phase) -> Phase {
        match phase {
            Phase::Reached => self.stop(),
            Phase::Running if self.state.steps >= self.goal.max_steps => Phase::StepLimit,
            phase => phase,
        }
    }

    /// J is not above ε, or not finite: is this a stop?
    fn stop(&mut self) -> Phase {
        let state = &mut self.state;
        if !state.criterion.is_finite() {
            return Phase::Failed(Error::NonFinite { step: state.steps });
        }
        state.best = state.criterion;
        state.best_is_current = true;
        Phase::Reached
    }
}

/// Steps until `end` or a stop: the loop in which all the time is spent.
///
/// Every slice is cut once more to the length that the system declares: where that is a constant, the compiler unrolls
/// the vector loops and drops their bounds. The readings are cells because they then stay in memory: a register would
/// be saved and restored around every call into the system.
#[inline(always)]
fn stretch<'a, S, Y, I, W>(
    engine: &'a mut Engine<'_, '_, S, Y, I>,
    weights: &W,
    goal: &Goal<S>,
    state: &mut RunState<S>,
    keep: &mut impl Keep<'a, S>,
    end: usize,
) -> Phase
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
{
    let Engine {
        system,
        integrator,
        theta,
        t0,
        work,
        x0,
        ..
    } = engine;
    let (system, theta, t0) = (*system, *theta, *t0);
    let (dims, h) = (system.dims(), integrator.step_size());
    let record_len = record_len(dims, I::STAGES);
    let (
        Some(theta),
        Some(cur),
        Some(prev),
        Some(rate),
        Some(record),
        Some(record_prev),
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
            given: x0.len(),
        });
    };
    let mut rows = Rows {
        cur,
        prev,
        rate,
        record,
        record_prev,
    };
    let mut steps = state.steps;
    let (criterion, previous) = (
        Cell::from_mut(&mut state.criterion),
        Cell::from_mut(&mut state.previous),
    );
    let best = Cell::from_mut(&mut state.best);
    // J of the iterate in `lambda`. Every improvement makes it differ from the best, at no cost on the common path.
    let mut kept = if state.best_is_current {
        S::NAN
    } else {
        best.get()
    };
    let epsilon = goal.epsilon;
    let mut t = t0 + S::from_count(steps) * h;
    keep.enter(&mut rows);
    let phase = loop {
        if steps >= end {
            break Phase::Running;
        }
        // x_{k−1} is about to be overwritten.
        if let Some(before) = steps.checked_sub(1)
            && let Err(error) = keep.visit(before, rows.prev, rows.record_prev)
        {
            break Phase::Failed(error);
        }
        let finite = if I::REPLACES {
            system.all_finite(rows.rate)
        } else {
            let at = Point {
                theta,
                x: rows.cur,
                t,
            };
            integrator.step(system, at, rows.rate, rows.record, rows.prev, scratch)
        };
        if !finite {
            break Phase::Failed(Error::NonFinite {
                step: steps.wrapping_add(1),
            });
        }
        if I::REPLACES {
            swap(&mut rows.prev, &mut rows.rate);
        }
        swap(&mut rows.cur, &mut rows.prev);
        swap(&mut rows.record, &mut rows.record_prev);
        if I::REPLACES {
            keep.renew(&mut rows);
        }
        steps = steps.wrapping_add(1);
        previous.set(criterion.get());
        t = t0 + S::from_count(steps) * h;
        let at = Point {
            theta,
            x: rows.cur,
            t,
        };
        let (tape, _) = split_mut(rows.record, dims.tape);
        let reading = system.rate(at, rows.rate, tape, scratch);
        let j = reading.criterion;
        criterion.set(j);
        let mut sound = true;
        if W::ACTIVE {
            state.value = reading.loss;
            sound = add_loss(weights, steps, reading.loss, &mut state.loss);
        }
        // Two comparisons on the common path; NaN fails the first, +∞ the second.
        if j > epsilon && j < best.get() && sound {
            best.set(j);
            continue;
        }
        if kept != best.get() {
            // The iterate just left was the best: keep it.
            kept = best.get();
            copy(work.lambda, rows.prev);
        }
        if !sound {
            break Phase::Failed(Error::NonFinite { step: steps });
        }
        if !(j > epsilon && j.is_finite()) {
            break Phase::Reached;
        }
    };
    keep.leave(rows);
    state.steps = steps;
    state.best_is_current = kept != state.best;
    phase
}

/// Adds w_k·f to the sum; false if it is not finite any more. Without weight, f may be anything.
#[inline(always)]
fn add_loss<S: Scalar, W: Weights<S>>(weights: &W, step: usize, f: S, sum: &mut S) -> bool {
    let weight = weights.weight(step);
    if weight != S::ZERO {
        *sum += weight * f;
    }
    sum.is_finite()
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
