//! The backward sweep over checkpoints (Algorithm 1 of the paper), pollable.
//!
//! λ starts from ∇J(x_N), weighted by the crossing; step k pulls it back through the exact transpose of the step and
//! adds to θ̄. States that were not kept are recomputed from the nearest checkpoint, as the schedule says, by
//! the very code of the forward run: the gradient has the same bits whatever the number of slots and however the
//! work is cut by [`advance`](Adjoint::advance).

use crate::checkpoint::{Action, Mark, Reversal, ReversalState, Store};
use crate::engine::{Engine, Order};
use crate::error::Error;
use crate::gradient::{Evaluations, Gradient, Progress};
use crate::integrator::{Integrator, split};
use crate::loss::Weights;
use crate::run::{Recording, Run};
use crate::scalar::{Scalar, all_finite, copy};
use crate::seeds::{Finish, SlopeBy};
use crate::system::{Bar, Point, Reading, Seed, System};

/// What is known of the working state x_k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Only the state.
    State,
    /// The record of its step, too.
    Record,
    /// The record, and x_{k+1} lies in `prev`.
    Next,
    /// All that its transpose needs lies in this slot, and is read there.
    Lent(usize),
    /// Its transpose made λ infinite or NaN: there is nothing to go on with.
    Spoilt,
}

/// The numbers of a backward sweep, apart from the memory it borrows: plain data to keep between two ticks.
#[derive(Clone, Copy, Debug)]
pub struct AdjointState<S> {
    finish: Finish<S>,
    count: Evaluations,
    action: Action,
    /// The step whose state is in `cur`.
    step: usize,
    known: Known,
    /// Steps below this one are left out: a truncated sweep.
    first: usize,
    x0_gradient: bool,
    /// Of a suspended sweep only.
    order: Order,
    /// Have λ and the spare row changed places? See [`Integrator::REPLACES`].
    replaced: bool,
    reversal: ReversalState,
    /// What lies in the memory is laid out for these.
    pub(crate) slots: usize,
}

impl<S> AdjointState<S> {
    pub(crate) fn reversal<'m>(&self, marks: &'m mut [Mark]) -> Option<Reversal<'m>> {
        Reversal::resume(marks, self.reversal)
    }
}

/// A backward sweep under way; made by [`Run::adjoint`].
#[derive(Debug)]
pub struct Adjoint<'p, 'm, S, Y: ?Sized, I, W, St> {
    engine: Engine<'p, 'm, S, Y, I>,
    reversal: Reversal<'m>,
    store: St,
    keeps_records: bool,
    weights: W,
    state: AdjointState<S>,
}

impl<'p, 'm, S, Y, I, W, St> Run<'p, 'm, S, Y, I, W, Recording<'m, St>>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Starts the backward sweep for what the plan asks: T, or Σ w_k f(x_k) + μ·T. The run must have stopped, unless μ is
    /// zero. This alone costs up to three pullbacks and one evaluation.
    ///
    /// On an error the run is gone, but not its memory: [`suspend`](Run::suspend) before, to come back to it.
    pub fn adjoint(mut self) -> Result<Adjoint<'p, 'm, S, Y, I, W, St>, Error> {
        let (finish, count) = self.begin_adjoint()?;
        Ok(self.sweep(finish, count))
    }

    /// Everything about the adjoint that can fail before the sweep: afterwards the run is still whole.
    pub(crate) fn begin_adjoint(&mut self) -> Result<(Finish<S>, Evaluations), Error> {
        if self.engine.system.cost().pullback.is_none() {
            return Err(Error::NoPullback);
        }
        let mut count = Evaluations::default();
        let finish = self.resolve(SlopeBy::Pullback, &mut count)?;
        Ok((finish, count))
    }

    /// The sweep itself, from what [`begin_adjoint`](Self::begin_adjoint) left in the workspace.
    pub(crate) fn sweep(
        self,
        finish: Finish<S>,
        mut count: Evaluations,
    ) -> Adjoint<'p, 'm, S, Y, I, W, St> {
        let Self {
            mut engine,
            recorder,
            weights,
            goal,
            ..
        } = self;
        let steps = finish.steps;
        let seed = finish.seeds.at(steps);
        let t = engine.time(steps);
        let work = &mut engine.work;
        if finish.stop.is_some() {
            for bar in [&mut *work.lambda, &mut *work.theta_bar] {
                for value in bar {
                    *value *= seed;
                }
            }
        } else {
            work.lambda.fill(S::ZERO);
            work.theta_bar.fill(S::ZERO);
        }
        let weight = weights.weight(steps);
        if W::ACTIVE && weight != S::ZERO {
            work.temporary.fill(S::ZERO);
            let at = Point {
                theta: engine.theta,
                x: work.cur,
                t,
            };
            let (tape, _) = split(work.record, engine.dims.tape);
            let seed = Seed {
                rate: work.temporary,
                criterion: S::ZERO,
                loss: weight,
            };
            let bar = Bar {
                theta: work.theta_bar,
                x: work.lambda,
            };
            engine.system.pullback(at, tape, seed, bar, work.scratch);
            count.pullback += 1;
        }
        copy(work.last, work.cur);
        // x_{N−1} and its record are at hand.
        engine.shift();
        let slots = recorder.schedule.slots();
        let mut reversal = recorder.schedule.reverse(steps);
        let state = AdjointState {
            finish,
            count,
            action: reversal.next_action(),
            // Without a step there is nothing to pull back, and nobody asks.
            step: steps.wrapping_sub(1),
            known: Known::Record,
            first: 0,
            x0_gradient: goal.x0_gradient,
            order: Order::NEW,
            replaced: false,
            reversal: reversal.state(),
            slots,
        };
        let Recording {
            store,
            keeps_records,
            ..
        } = recorder;
        Adjoint {
            engine,
            reversal,
            store,
            keeps_records,
            weights,
            state,
        }
    }
}

impl<'p, 'm, S, Y, I, W, St> Adjoint<'p, 'm, S, Y, I, W, St>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Lets go of everything borrowed. The memory must be left alone until
    /// [`Plan::resume_adjoint`](crate::Plan::resume_adjoint).
    pub fn suspend(self) -> AdjointState<S> {
        AdjointState {
            order: self.engine.order,
            reversal: self.reversal.state(),
            ..self.state
        }
    }

    pub(crate) fn resumed(
        state: AdjointState<S>,
        mut engine: Engine<'p, 'm, S, Y, I>,
        reversal: Reversal<'m>,
        store: St,
        keeps_records: bool,
        weights: W,
    ) -> Self {
        engine.restore(state.order);
        if state.replaced {
            core::mem::swap(&mut engine.work.lambda, &mut engine.work.spare);
        }
        Self {
            engine,
            reversal,
            store,
            keeps_records,
            weights,
            state,
        }
    }

    /// Pulls back through the last `window` steps only; what lies before is taken as given. The gradient "with
    /// respect to x0" is then with respect to the state at the start of the window.
    pub fn truncated(mut self, window: usize) -> Self {
        self.state.first = self.state.finish.steps.saturating_sub(window);
        if window == 0 {
            self.state.action = Action::Done;
        }
        self
    }

    /// Does at most `budget` operations: steps recomputed or steps pulled back. A step pulled back may have to be evaluated
    /// first, so one operation is at most one step of the integrator and its transpose.
    ///
    /// After a fault of the store, calling again tries the same operation again. A gradient that is not finite stays so.
    pub fn advance(&mut self, budget: usize) -> Result<Progress, Error> {
        let mut left = budget;
        loop {
            match self.state.action {
                Action::Done => return Ok(Progress::Done),
                // A state that is only pulled back need not be copied.
                Action::Load { slot, step } if self.lends(slot, step) => {
                    self.state.step = step;
                    self.state.known = Known::Lent(slot);
                }
                Action::Load { slot, step } => {
                    let work = &mut self.engine.work;
                    self.store
                        .load(slot, work.cur, work.record)
                        .map_err(|_| Error::Store { slot })?;
                    self.state.step = step;
                    self.state.known = if self.keeps_records {
                        Known::Record
                    } else {
                        Known::State
                    };
                }
                Action::Advance { to, .. } => {
                    while self.state.step < to {
                        let Some(fewer) = left.checked_sub(1) else {
                            return Ok(self.running());
                        };
                        left = fewer;
                        self.prepare(Known::Next)?;
                        self.engine.shift();
                        self.state.step += 1;
                        let recorded = self.engine.work.record.is_empty();
                        self.state.known = if recorded {
                            Known::Record
                        } else {
                            Known::State
                        };
                    }
                }
                Action::Save { slot, .. } => {
                    if self.keeps_records {
                        self.prepare(Known::Record)?;
                    }
                    let work = &self.engine.work;
                    self.store
                        .save(slot, work.cur, work.record)
                        .map_err(|_| Error::Store { slot })?;
                }
                Action::Pull { step } => {
                    let Some(fewer) = left.checked_sub(1) else {
                        return Ok(self.running());
                    };
                    left = fewer;
                    self.prepare(Known::Record)?;
                    self.pull(step)?;
                    if step <= self.state.first {
                        self.state.action = Action::Done;
                        continue;
                    }
                }
            }
            self.state.action = self.reversal.next_action();
        }
    }

    /// Does whatever is left and hands over the gradient.
    pub fn finish(mut self) -> Result<Gradient<'m, S>, Error> {
        self.advance(usize::MAX)?;
        let work = self.engine.work;
        if !(all_finite(work.theta_bar) && all_finite(work.lambda)) {
            return Err(Error::NonFiniteGradient {
                step: self.state.first,
            });
        }
        Ok(Gradient {
            steps: self.state.finish.steps,
            state: work.last,
            theta: work.theta_bar,
            x0: if self.state.x0_gradient {
                work.lambda
            } else {
                &[]
            },
            loss: self.state.finish.loss,
            stop: self.state.finish.stop,
            evaluations: self.state.count,
            h: self.engine.integrator.step_size(),
            theta_spare: work.theta_spare,
            x0_spare: work.temporary,
        })
    }

    fn running(&self) -> Progress {
        // The next action is asked for ahead: a pull that is still to come counts as done in the reversal.
        let ahead = usize::from(matches!(self.state.action, Action::Pull { .. }));
        let left = self.reversal.remaining().wrapping_add(ahead);
        Progress::Running {
            remaining: left.saturating_sub(self.state.first),
        }
    }

    /// Is the state in this slot the one that is pulled back next, and can it be read where it is?
    fn lends(&self, slot: usize, step: usize) -> bool {
        self.keeps_records
            && step.wrapping_add(1) == self.reversal.remaining()
            && self.store.lend(slot).is_some()
    }

    /// Evaluates at the working state as far as it takes.
    fn prepare(&mut self, wanted: Known) -> Result<(), Error> {
        let enough = match wanted {
            Known::State | Known::Lent(_) | Known::Spoilt => true,
            Known::Record => self.state.known != Known::State,
            Known::Next => self.state.known == Known::Next,
        };
        if enough {
            return Ok(());
        }
        self.engine.evaluate(self.state.step);
        if !self.engine.step(self.state.step) {
            return Err(Error::NonFinite {
                step: self.state.step.wrapping_add(1),
            });
        }
        self.state.count.rate += I::STAGES;
        self.state.known = Known::Next;
        Ok(())
    }

    /// λ ← (∂x_{k+1}/∂x_k)ᵀλ + seeds, θ̄ ← θ̄ + (∂x_{k+1}/∂θ)ᵀλ
    fn pull(&mut self, step: usize) -> Result<(), Error> {
        let t = self.engine.time(step);
        let reading = Reading {
            criterion: self.state.finish.seeds.at(step),
            loss: if W::ACTIVE {
                self.weights.weight(step)
            } else {
                S::ZERO
            },
        };
        let work = &mut self.engine.work;
        let (x, record) = match self.state.known {
            Known::Lent(slot) => self.store.lend(slot).ok_or(Error::Store { slot })?,
            Known::Spoilt => return Err(Error::NonFiniteGradient { step }),
            _ => (&*work.cur, &*work.record),
        };
        // Nothing can fail from here to the end of the step.
        if I::REPLACES {
            self.state.replaced = !self.state.replaced;
            core::mem::swap(&mut work.lambda, &mut work.spare);
        }
        let at = Point {
            theta: self.engine.theta,
            x,
            t,
        };
        let first = if I::REPLACES {
            &mut *work.spare
        } else {
            &mut *work.rate
        };
        let temporaries = [first, &mut *work.prev, &mut *work.temporary];
        self.engine.integrator.pull(
            self.engine.system,
            at,
            record,
            reading,
            work.lambda,
            work.theta_bar,
            temporaries,
            work.scratch,
        );
        self.state.count.pullback += I::STAGES;
        if self.engine.system.all_finite(work.lambda) {
            Ok(())
        } else {
            self.state.known = Known::Spoilt;
            Err(Error::NonFiniteGradient { step })
        }
    }
}
