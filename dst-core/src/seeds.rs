//! From a stopped run to the seeds of its derivative: the last step is read, the crossing resolved.
//!
//! Adjoint and tangent mode share this; they differ in how dJ/dt is formed where a crossing asks for it, by ∇J or by a
//! direction.

use crate::crossing::{LastStep, Resolved};
use crate::engine::Engine;
use crate::error::Error;
use crate::gradient::{Evaluations, StopTime};
use crate::integrator::{Integrator, split, split_mut};
use crate::loss::Weights;
use crate::plan::Goal;
use crate::run::{Phase, Run};
use crate::scalar::Scalar;
use crate::system::{Bar, Direction, Point, Seed, System};

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

/// How dJ/dt is formed: by one pullback, or by one pushforward along −A.
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
        by: SlopeBy,
        count: &mut Evaluations,
    ) -> Result<Finish<S>, Error> {
        let Goal {
            crossing,
            time_weight,
            ..
        } = self.goal;
        count.rate = self.state.steps.saturating_mul(I::STAGES).saturating_add(1);
        let steps = self.state.steps;
        let mut finish = Finish {
            steps,
            loss: self.state.loss,
            stop: None,
            seeds: Seeds::new(steps, None, S::ZERO),
        };
        match self.state.phase {
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
            epsilon: self.goal.epsilon,
            steps,
            before: self.state.previous,
            after: self.state.criterion,
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
        let mut transversality = S::ONE;
        if by == SlopeBy::Pullback || crossing.needs_slopes() {
            (last.slopes.1, transversality) = self.engine.slope(steps, by, count);
        }
        let resolved = last.resolve(crossing);
        let condition = last.condition(transversality);
        if last.is_flat(crossing, resolved.slope, condition) {
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
    /// dJ/dt = −∇J·A at `cur`, with the system's `rate`, and its transversality. By pullback, ∇J is left in `lambda` and
    /// ∂J/∂θ in `theta_bar`.
    fn slope(&mut self, step: usize, by: SlopeBy, count: &mut Evaluations) -> (S, S) {
        let t = self.time(step);
        let work = &mut self.work;
        let at = Point {
            theta: self.theta,
            x: work.cur,
            t,
        };
        let (tape, _) = split(work.record, self.dims.tape);
        let rate = work.cur.iter().zip(work.rate.iter());
        let rate = rate.map(|(&x, &rate)| self.integrator.descent(x, rate));
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
                let products = work.lambda.iter().zip(rate).map(|(&g, a)| g * a);
                let (sum, size) = products.fold((S::ZERO, S::ZERO), |(sum, size), p| {
                    (sum + p, size + p.abs())
                });
                (-sum, sum.abs() / size)
            }
            SlopeBy::Pushforward => {
                count.pushforward += 1;
                for (to, a) in work.temporary.iter_mut().zip(rate) {
                    *to = -a;
                }
                work.theta_spare.fill(S::ZERO);
                let along = Direction {
                    theta: work.theta_spare,
                    x: work.temporary,
                };
                let reading = self
                    .system
                    .pushforward(at, tape, along, work.spare, work.scratch);
                (reading.criterion, S::ONE)
            }
        }
    }
}
