//! The backward sweep over checkpoints (Algorithm 1 of the paper), pollable.
//!
//! λ starts from ∇J(x_N), weighted by the crossing; step k pulls it back through the exact transpose of the step and
//! adds to θ̄. States that were not kept are recomputed from the nearest checkpoint, as the schedule says, by
//! the very code of the forward run: the gradient has the same bits whatever the number of slots and however the
//! work is cut by [`advance`](Adjoint::advance).

use crate::checkpoint::{Action, Reversal, Store};
use crate::crossing::{Condition, Crossing, LastStep, Resolved};
use crate::engine::Engine;
use crate::error::Error;
use crate::gradient::{Evaluations, Gradient, Progress, StopTime};
use crate::integrator::{Integrator, Temporaries, split, split_mut};
use crate::loss::Weights;
use crate::run::{Phase, Recording, Run};
use crate::scalar::{Scalar, add_scaled, all_finite, copy, dot};
use crate::system::{Bar, Direction, Point, Reading, Seed, System};

/// What is known of the working state x_k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    /// Only the state.
    State,
    /// The record of its step, too.
    Record,
    /// The record, and x_{k+1} lies in `prev`.
    Next,
}

/// The seeds that the stopping time puts on dJ_N, dJ_{N−1}, dJ_{N−2}, already divided by the slope of the crossing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seeds<S> {
    pub(crate) last: usize,
    pub(crate) on: [S; 3],
}

impl<S: Scalar> Seeds<S> {
    fn new(last: usize, resolved: Option<Resolved<S>>, time_weight: S) -> Self {
        let on = resolved.map_or([S::ZERO; 3], |r| {
            r.weights.map(|w| -w / r.slope * time_weight)
        });
        Self { last, on }
    }

    /// The seed on dJ_k.
    pub(crate) fn at(&self, step: usize) -> S {
        self.last
            .checked_sub(step)
            .and_then(|back| self.on.get(back))
            .copied()
            .unwrap_or(S::ZERO)
    }
}

/// The numbers of a finished run that the gradient needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Finish<S> {
    pub(crate) steps: usize,
    pub(crate) loss: S,
    pub(crate) stop: Option<StopTime<S>>,
    pub(crate) seeds: Seeds<S>,
}

/// dJ/dt at a point by one pullback or pushforward, with ‖∇J‖₁ where it was formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlopeBy {
    Pullback,
    Pushforward,
}

impl<S, Y, I, W, R> Run<'_, '_, S, Y, I, W, R>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
{
    /// Reads the stopping time off the last step. With `SlopeBy::Pullback`, leaves ∇J(x_N) in λ and ∂J/∂θ in θ̄.
    pub(crate) fn resolve(
        &mut self,
        crossing: Crossing,
        time_weight: S,
        by: SlopeBy,
        count: &mut Evaluations,
    ) -> Result<Finish<S>, Error> {
        count.rate = self.steps.saturating_mul(I::STAGES).saturating_add(1);
        let steps = self.steps;
        let mut finish = Finish {
            steps,
            loss: self.loss,
            stop: None,
            seeds: Seeds::new(steps, None, S::ZERO),
        };
        match self.phase {
            Phase::Failed(error) => return Err(error),
            Phase::Fresh => return Err(Error::NotStopped { steps }),
            _ if time_weight == S::ZERO => return Ok(finish),
            Phase::Reached => {}
            Phase::Running | Phase::StepLimit => return Err(Error::NotStopped { steps }),
        }
        let Some(before) = steps.checked_sub(1) else {
            return Err(Error::StoppedAtStart);
        };
        let h = self.engine.integrator.step_size();
        let mut last = LastStep {
            h,
            epsilon: self.epsilon,
            steps,
            before: self.previous,
            after: self.criterion,
            slopes: (S::ZERO, S::ZERO),
        };
        if crossing.needs_slopes() {
            // A(x_{N−1}) again: the stages of the last step have overwritten it. It goes to the row that will keep x_N.
            let t = self.engine.time(before);
            let work = &mut self.engine.work;
            let (tape, _) = split_mut(work.record_prev, self.engine.dims.tape);
            let at = Point {
                theta: self.engine.theta,
                x: work.prev,
                t,
            };
            self.engine.system.rate(at, work.last, tape, work.scratch);
            count.rate += 1;
            self.engine.shift();
            core::mem::swap(&mut self.engine.work.rate, &mut self.engine.work.last);
            last.slopes.0 = self.engine.slope(before, by, count).0;
            core::mem::swap(&mut self.engine.work.rate, &mut self.engine.work.last);
            self.engine.shift();
        }
        // The adjoint needs ∇J(x_N) in any case; the tangent only where the crossing asks for slopes.
        let mut norm = None;
        if by == SlopeBy::Pullback || crossing.needs_slopes() {
            (last.slopes.1, norm) = self.engine.slope(steps, by, count);
        }
        let resolved = last.resolve(crossing);
        let rate_max = self
            .engine
            .work
            .rate
            .iter()
            .fold(S::ZERO, |max, a| max.max(a.abs()));
        let condition: Condition<S> = last.condition(resolved.slope, norm, rate_max);
        if condition.is_flat() {
            return Err(Error::FlatCrossing { step: steps });
        }
        finish.seeds = Seeds::new(steps, Some(resolved), time_weight);
        finish.stop = Some(StopTime {
            time: self.engine.time(before) + resolved.fraction * h,
            steps: S::from_count(before) + resolved.fraction,
            epsilon_gradient: S::ONE / resolved.slope,
            condition,
        });
        Ok(finish)
    }
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Engine<'_, '_, S, Y, I> {
    /// dJ/dt = −∇J·A at `cur`, with A in `rate`. By pullback, ∇J is left in `lambda` and ∂J/∂θ in `theta_bar`.
    fn slope(&mut self, step: usize, by: SlopeBy, count: &mut Evaluations) -> (S, Option<S>) {
        let t = self.time(step);
        let work = &mut self.work;
        let at = Point {
            theta: self.theta,
            x: work.cur,
            t,
        };
        let (tape, _) = split(work.record, self.dims.tape);
        match by {
            SlopeBy::Pullback => {
                count.pullback += 1;
                work.temporary.fill(S::ZERO);
                work.lambda.fill(S::ZERO);
                work.theta_bar.fill(S::ZERO);
                let seed = Seed {
                    rate: work.temporary,
                    criterion: S::ONE,
                    loss: S::ZERO,
                };
                let bar = Bar {
                    theta: work.theta_bar,
                    x: work.lambda,
                };
                self.system.pullback(at, tape, seed, bar, work.scratch);
                let norm = work.lambda.iter().fold(S::ZERO, |sum, g| sum + g.abs());
                (-dot(work.lambda, work.rate), Some(norm))
            }
            SlopeBy::Pushforward => {
                count.pushforward += 1;
                work.temporary.fill(S::ZERO);
                add_scaled(work.temporary, -S::ONE, work.rate);
                work.theta_spare.fill(S::ZERO);
                let along = Direction {
                    theta: work.theta_spare,
                    x: work.temporary,
                };
                let reading = self
                    .system
                    .pushforward(at, tape, along, work.spare, work.scratch);
                (reading.criterion, None)
            }
        }
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
    finish: Finish<S>,
    count: Evaluations,
    action: Action,
    /// The step whose state is in `cur`.
    step: usize,
    known: Known,
    /// Steps below this one are left out: a truncated sweep.
    first: usize,
}

impl<'p, 'm, S, Y, I, W, St> Run<'p, 'm, S, Y, I, W, Recording<'m, St>>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Starts the backward sweep for Σ w_k f(x_k) + `time_weight`·T. The run must have stopped, unless `time_weight`
    /// is zero.
    pub fn adjoint(
        mut self,
        crossing: Crossing,
        time_weight: S,
    ) -> Result<Adjoint<'p, 'm, S, Y, I, W, St>, Error> {
        let (finish, count) = self.begin_adjoint(crossing, time_weight)?;
        Ok(self.sweep(finish, count))
    }

    /// Everything about the adjoint that can fail before the sweep: afterwards the run is still whole.
    pub(crate) fn begin_adjoint(
        &mut self,
        crossing: Crossing,
        time_weight: S,
    ) -> Result<(Finish<S>, Evaluations), Error> {
        if self.engine.system.cost().pullback.is_none() {
            return Err(Error::NoPullback);
        }
        let mut count = Evaluations::default();
        let finish = self.resolve(crossing, time_weight, SlopeBy::Pullback, &mut count)?;
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
            steps,
            ..
        } = self;
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
        let mut reversal = recorder.schedule.reverse(steps);
        let action = reversal.next_action();
        Adjoint {
            engine,
            reversal,
            store: recorder.store,
            keeps_records: recorder.keeps_records,
            weights,
            finish,
            count,
            action,
            step: steps.saturating_sub(1),
            known: Known::Record,
            first: 0,
        }
    }
}

impl<'m, S, Y, I, W, St> Adjoint<'_, 'm, S, Y, I, W, St>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Pulls back through the last `window` steps only; what lies before is taken as given. The gradient "with
    /// respect to x0" is then with respect to the state at the start of the window.
    pub fn truncated(mut self, window: usize) -> Self {
        self.first = self.finish.steps.saturating_sub(window);
        self
    }

    /// Does at most `budget` operations: steps recomputed or steps pulled back.
    pub fn advance(&mut self, budget: usize) -> Result<Progress, Error> {
        let mut left = budget;
        loop {
            match self.action {
                Action::Done => return Ok(Progress::Done),
                Action::Load { slot, step } => {
                    let work = &mut self.engine.work;
                    self.store
                        .load(slot, work.cur, work.record)
                        .map_err(|_| Error::Store { slot })?;
                    self.step = step;
                    let recorded = self.keeps_records || work.record.is_empty();
                    self.known = if recorded {
                        Known::Record
                    } else {
                        Known::State
                    };
                }
                Action::Advance { to, .. } => {
                    while self.step < to {
                        let Some(fewer) = left.checked_sub(1) else {
                            return Ok(self.running());
                        };
                        left = fewer;
                        self.prepare(Known::Next)?;
                        self.engine.shift();
                        self.step += 1;
                        let recorded = self.engine.work.record.is_empty();
                        self.known = if recorded {
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
                    if step <= self.first {
                        self.action = Action::Done;
                        continue;
                    }
                }
            }
            self.action = self.reversal.next_action();
        }
    }

    /// Does whatever is left and hands over the gradient.
    pub fn finish(mut self) -> Result<Gradient<'m, S>, Error> {
        self.advance(usize::MAX)?;
        let work = self.engine.work;
        if !all_finite(work.theta_bar) {
            return Err(Error::NonFiniteGradient { step: self.first });
        }
        Ok(Gradient {
            steps: self.finish.steps,
            state: work.last,
            theta: work.theta_bar,
            x0: work.lambda,
            loss: self.finish.loss,
            stop: self.finish.stop,
            evaluations: self.count,
            h: self.engine.integrator.step_size(),
            theta_spare: work.theta_spare,
            x0_spare: work.temporary,
        })
    }

    fn running(&self) -> Progress {
        Progress::Running {
            remaining: self.reversal.remaining().saturating_sub(self.first),
        }
    }

    /// Evaluates at the working state as far as it takes.
    fn prepare(&mut self, wanted: Known) -> Result<(), Error> {
        let enough = match wanted {
            Known::State => true,
            Known::Record => self.known != Known::State,
            Known::Next => self.known == Known::Next,
        };
        if enough {
            return Ok(());
        }
        self.engine.evaluate(self.step);
        if !self.engine.step(self.step) {
            return Err(Error::NonFinite {
                step: self.step.saturating_add(1),
            });
        }
        self.count.rate += I::STAGES;
        self.known = Known::Next;
        Ok(())
    }

    /// λ ← (∂x_{k+1}/∂x_k)ᵀλ + seeds, θ̄ ← θ̄ + (∂x_{k+1}/∂θ)ᵀλ
    fn pull(&mut self, step: usize) -> Result<(), Error> {
        let t = self.engine.time(step);
        let reading = Reading {
            criterion: self.finish.seeds.at(step),
            loss: if W::ACTIVE {
                self.weights.weight(step)
            } else {
                S::ZERO
            },
        };
        let work = &mut self.engine.work;
        let at = Point {
            theta: self.engine.theta,
            x: work.cur,
            t,
        };
        let temporaries = Temporaries {
            a: work.rate,
            b: work.prev,
            c: work.temporary,
        };
        self.engine.integrator.pull(
            self.engine.system,
            at,
            work.record,
            reading,
            work.lambda,
            work.theta_bar,
            temporaries,
            work.scratch,
        );
        self.count.pullback += I::STAGES;
        if all_finite(work.lambda) {
            Ok(())
        } else {
            Err(Error::NonFiniteGradient { step })
        }
    }
}
