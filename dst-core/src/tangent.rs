//! Forward-mode sensitivities for few parameters: no checkpoints, no recomputation.
//!
//! One direction per parameter (and per entry of x0) is carried along the trajectory by the exact tangent of
//! the step. The directions take the place of the checkpoints in the store, as many at a time as it has slots; with
//! fewer slots than directions the trajectory is run again for each group.
//! The run has stopped before, so N and the seeds of the crossing are known, and each direction yields one number.

use crate::checkpoint::Store;
use crate::engine::{Engine, Order};
use crate::error::Error;
use crate::gradient::{Evaluations, Gradient, Progress};
use crate::integrator::{Integrator, split};
use crate::loss::Weights;
use crate::run::{Recording, Run};
use crate::scalar::{Scalar, all_finite, copy};
use crate::seeds::{Finish, SlopeBy};
use crate::system::{Direction, Point, System};

/// A tangent computation under way; made by [`Run::tangent`].
#[derive(Debug)]
pub struct Tangent<'p, 'm, S, Y: ?Sized, I, W, St> {
    engine: Engine<'p, 'm, S, Y, I>,
    store: St,
    weights: W,
    state: TangentState<S>,
}

/// The numbers of a tangent computation, apart from the memory it borrows: plain data to keep between two ticks.
#[derive(Clone, Copy, Debug)]
pub struct TangentState<S> {
    finish: Finish<S>,
    count: Evaluations,
    x0_gradient: bool,
    /// Directions in all, and the first of the group under way.
    directions: usize,
    first: usize,
    step: usize,
    /// As many directions as are carried at a time.
    pub(crate) slots: usize,
    /// An error is final: half a group may have been carried on.
    failed: Option<Error>,
    /// Of a suspended computation only.
    order: Order,
}

impl<'p, 'm, S, Y, I, W, St> Run<'p, 'm, S, Y, I, W, Recording<'m, St>>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Starts the tangent computation for what the plan asks: T, or Σ w_k f(x_k) + μ·T, by θ and, unless it was left out,
    /// by x0.
    pub fn tangent(mut self) -> Result<Tangent<'p, 'm, S, Y, I, W, St>, Error> {
        if self.engine.system.cost().pushforward.is_none() {
            return Err(Error::NoPushforward);
        }
        let mut count = Evaluations::default();
        let finish = self.resolve(SlopeBy::Pushforward, &mut count)?;
        let Self {
            engine,
            recorder,
            weights,
            goal,
            ..
        } = self;
        let Recording {
            schedule,
            mut store,
            ..
        } = recorder;
        let slots = schedule.slots();
        store.prepare(slots, engine.dims.states, 0)?;
        let x0_gradient = goal.x0_gradient;
        let states = if x0_gradient { engine.dims.states } else { 0 };
        let directions = engine.dims.params.saturating_add(states);
        engine.work.theta_bar.fill(S::ZERO);
        engine.work.theta_spare.fill(S::ZERO);
        engine.work.last.fill(S::ZERO);
        let state = TangentState {
            finish,
            count,
            x0_gradient,
            directions,
            first: 0,
            step: 0,
            slots,
            failed: None,
            order: Order::NEW,
        };
        let mut tangent = Tangent {
            engine,
            store,
            weights,
            state,
        };
        tangent.start_group()?;
        Ok(tangent)
    }
}

impl<'p, 'm, S, Y, I, W, St> Tangent<'p, 'm, S, Y, I, W, St>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Lets go of everything borrowed. The memory must be left alone until
    /// [`Plan::resume_tangent`](crate::Plan::resume_tangent).
    pub fn suspend(self) -> TangentState<S> {
        TangentState {
            order: self.engine.order,
            ..self.state
        }
    }

    pub(crate) fn resumed(
        state: TangentState<S>,
        mut engine: Engine<'p, 'm, S, Y, I>,
        store: St,
        weights: W,
    ) -> Self {
        engine.restore(state.order);
        Self {
            engine,
            store,
            weights,
            state,
        }
    }

    /// Does at most `budget` operations: steps with one group of directions.
    pub fn advance(&mut self, budget: usize) -> Result<Progress, Error> {
        let mut left = budget;
        while self.state.first < self.state.directions {
            if let Some(error) = self.state.failed {
                return Err(error);
            }
            let Some(fewer) = left.checked_sub(1) else {
                return Ok(self.running());
            };
            left = fewer;
            self.state.failed = self.push().err();
        }
        self.state.failed.map_or(Ok(Progress::Done), Err)
    }

    fn running(&self) -> Progress {
        let TangentState {
            first,
            directions,
            step,
            finish,
            ..
        } = self.state;
        let groups = directions
            .saturating_sub(first)
            .div_ceil(self.state.slots.max(1));
        let per_group = finish.steps.saturating_add(1);
        Progress::Running {
            remaining: groups.saturating_mul(per_group).saturating_sub(step),
        }
    }

    /// One step with one group; at its end, on to the next group.
    fn push(&mut self) -> Result<(), Error> {
        let at_end = self.state.step >= self.state.finish.steps;
        self.push_group(at_end)?;
        if at_end {
            self.state.first = self.state.first.saturating_add(self.state.slots);
            self.start_group()?;
        } else {
            self.engine.shift();
            self.state.step += 1;
        }
        Ok(())
    }

    /// Does whatever is left and hands over the gradient.
    pub fn finish(mut self) -> Result<Gradient<'m, S>, Error> {
        self.advance(usize::MAX)?;
        let work = self.engine.work;
        if !(all_finite(work.theta_bar) && all_finite(work.last)) {
            return Err(Error::NonFiniteGradient {
                step: self.state.finish.steps,
            });
        }
        let x0: &'m [S] = if self.state.x0_gradient {
            work.last
        } else {
            &[]
        };
        Ok(Gradient {
            steps: self.state.finish.steps,
            state: work.cur,
            theta: work.theta_bar,
            x0,
            loss: self.state.finish.loss,
            stop: self.state.finish.stop,
            evaluations: self.state.count,
            h: self.engine.integrator.step_size(),
            theta_spare: work.theta_spare,
            x0_spare: work.temporary,
        })
    }

    /// The directions of the group under way.
    fn group(&self) -> core::ops::Range<usize> {
        self.state.first
            ..self
                .state
                .directions
                .min(self.state.first.saturating_add(self.state.slots))
    }

    /// Back to x0, with unit directions. After the last group the trajectory stays where it is: at x_N.
    fn start_group(&mut self) -> Result<(), Error> {
        if self.state.first >= self.state.directions {
            return Ok(());
        }
        self.state.step = 0;
        let work = &mut self.engine.work;
        copy(work.cur, self.engine.x0);
        for (slot, direction) in self.group().enumerate() {
            let work = &mut self.engine.work;
            work.temporary.fill(S::ZERO);
            let state = direction.checked_sub(self.engine.dims.params);
            if let Some(entry) = state.and_then(|i| work.temporary.get_mut(i)) {
                *entry = S::ONE;
            }
            self.store
                .save(slot, work.temporary, &[])
                .map_err(|_| Error::Store { slot })?;
        }
        Ok(())
    }

    /// Carries every direction of the group over the step from x_k and collects what the readings at x_k add.
    fn push_group(&mut self, at_end: bool) -> Result<(), Error> {
        let step = self.state.step;
        let t = self.engine.time(step);
        self.engine.evaluate(step);
        self.state.count.rate += if at_end { 1 } else { I::STAGES };
        if !at_end && !self.engine.step(step) {
            return Err(Error::NonFinite {
                step: step.saturating_add(1),
            });
        }
        let criterion = self.state.finish.seeds.at(step);
        let loss = if W::ACTIVE {
            self.weights.weight(step)
        } else {
            S::ZERO
        };
        for (slot, direction) in self.group().enumerate() {
            let fault = |_| Error::Store { slot };
            let work = &mut self.engine.work;
            self.store.load(slot, work.lambda, &mut []).map_err(fault)?;
            if let Some(entry) = work.theta_spare.get_mut(direction) {
                *entry = S::ONE;
            }
            let at = Point {
                theta: self.engine.theta,
                x: work.cur,
                t,
            };
            let along = Direction {
                theta: work.theta_spare,
                x: work.lambda,
            };
            let reading = if at_end {
                self.state.count.pushforward += 1;
                let (tape, _) = split(work.record, self.engine.dims.tape);
                self.engine
                    .system
                    .pushforward(at, tape, along, work.temporary, work.scratch)
            } else {
                self.state.count.pushforward += I::STAGES;
                let temporaries = [&mut *work.rate, &mut *work.spare];
                self.engine.integrator.push(
                    self.engine.system,
                    at,
                    work.record,
                    along,
                    work.temporary,
                    temporaries,
                    work.scratch,
                )
            };
            if let Some(entry) = work.theta_spare.get_mut(direction) {
                *entry = S::ZERO;
            }
            let mut sums = work.theta_bar.iter_mut().chain(work.last.iter_mut());
            if let Some(sum) = sums.nth(direction) {
                // A direction that J does not see may be infinite without harm: zero seeds add nothing.
                if criterion != S::ZERO {
                    *sum += criterion * reading.criterion;
                }
                if loss != S::ZERO {
                    *sum += loss * reading.loss;
                }
            }
            if !at_end {
                self.store.save(slot, work.temporary, &[]).map_err(fault)?;
            }
        }
        Ok(())
    }
}
