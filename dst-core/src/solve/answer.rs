//! Results of a run and of its differentiation.

use core::mem::swap;

use super::crossing::{Condition, Resolved};
use super::memory::{Cursor, NONE, Stage, Workspace};
use super::plan::Problem;
use crate::error::Error;
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::slices::{copy, split};
use crate::system::System;

/// State of a run between two calls of [`advance`](crate::Problem::advance).
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Iterate<'m, S> {
    /// Number of steps, k. At the end of a run without a required stay, N.
    pub steps: usize,
    /// t_k = t0 + k·h
    pub time: S,
    /// J at x_k
    pub criterion: S,
    /// J at x_{k−1}; NaN at step 0.
    pub previous: S,
    /// f at x_k
    pub loss: S,
    /// x_k
    pub state: &'m [S],
    /// Visited iterate with the least J.
    pub best: &'m [S],
    /// Its J.
    pub best_criterion: S,
    /// Step at which J fell to ε without leaving since; `None` while J is above ε.
    pub entry: Option<usize>,
    /// Number of times that J rose above ε again, for a plan with a [stay](crate::Plan::staying).
    pub exits: usize,
}

/// Status of a run. A stop is a status that carries the iterate, not an error.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Status<'m, S> {
    /// The budget of the call is exhausted; call again, or use [`Iterate::best`] at the deadline.
    Running(Iterate<'m, S>),
    /// The run stopped: J ≤ ε and, if the plan requires it, J has stayed there.
    Reached(Iterate<'m, S>),
    /// The step limit came first: N = +∞ as far as this run shows. Also the end of a stay that the limit cut short.
    StepLimit(Iterate<'m, S>),
    /// A run that had to stay below ε met the step limit above it.
    NeverSettled(Iterate<'m, S>),
}

impl<'m, S: Copy> Status<'m, S> {
    /// Iterate, whatever the status.
    pub fn iterate(&self) -> Iterate<'m, S> {
        match *self {
            Self::Running(i) | Self::Reached(i) | Self::StepLimit(i) | Self::NeverSettled(i) => i,
        }
    }

    /// True if the run has stopped.
    pub fn is_reached(&self) -> bool {
        matches!(self, Self::Reached(_))
    }
}

/// Progress of a differentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Progress {
    /// The budget of the call is exhausted.
    Running {
        /// Adjoint: steps still to be pulled back. Tangent: operations still to do.
        remaining: usize,
    },
    /// The gradient is complete.
    Done,
}

/// Number of calls into the system, by the run and the last differentiation together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Evaluations {
    /// Evaluations of the rate.
    pub rate: usize,
    /// Pullbacks.
    pub pullback: usize,
    /// Pushforwards.
    pub pushforward: usize,
}

/// Stopping time, as determined by the [`Crossing`](crate::Crossing).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StopTime<S> {
    /// T
    pub time: S,
    /// T in steps: N − 1 + (T − t_{N−1})/h; N itself with `Paper`.
    pub steps: S,
    /// dT/dε
    pub epsilon_gradient: S,
    /// Quality of the crossing.
    pub condition: Condition<S>,
}

/// Gradient of the quantity given by the [`Seeds`](crate::Seeds), with respect to θ and x0.
#[derive(Clone, Copy, Debug)]
pub struct Gradient<'m, S> {
    /// Step at which the sweep began: N, or the last step if the stop is not among the seeds.
    pub steps: usize,
    /// Iterate at that step.
    pub state: &'m [S],
    /// Gradient with respect to θ.
    pub theta: &'m [S],
    /// Gradient with respect to x0 (with a window: to the state at its start); empty if it was left out.
    pub x0: &'m [S],
    /// Stopping time; `None` if it is not among the seeds.
    pub stop: Option<StopTime<S>>,
    /// Number of evaluations.
    pub evaluations: Evaluations,
}

/// Stopping time and its gradients, in time and in steps.
#[derive(Clone, Copy, Debug)]
pub struct Sensitivity<'m, S> {
    /// N: the step of the crossing, with J ≤ ε there and J > ε one step before.
    pub steps: usize,
    /// x_N
    pub state: &'m [S],
    /// T, dT/dε and the condition of the crossing.
    pub stop: StopTime<S>,
    /// Number of evaluations.
    pub evaluations: Evaluations,
    h: S,
    theta: &'m [S],
    x0: &'m [S],
    theta_steps: &'m [S],
    x0_steps: &'m [S],
}

impl<'m, S: Scalar> Sensitivity<'m, S> {
    /// ∂T/∂θ, which the paper writes as ∂N/∂θ. It has the unit of time.
    pub fn time_gradient(&self) -> &'m [S] {
        self.theta
    }

    /// ∂T/∂x0; empty after [`Plan::theta_only`](crate::Plan::theta_only).
    pub fn time_gradient_x0(&self) -> &'m [S] {
        self.x0
    }

    /// ∂T/∂ε
    pub fn time_gradient_epsilon(&self) -> S {
        self.stop.epsilon_gradient
    }

    /// ∂T/∂θ divided by h: the change in the number of steps.
    pub fn steps_gradient(&self) -> &'m [S] {
        self.theta_steps
    }

    /// ∂T/∂x0 divided by h.
    pub fn steps_gradient_x0(&self) -> &'m [S] {
        self.x0_steps
    }

    /// ∂T/∂ε divided by h.
    pub fn steps_gradient_epsilon(&self) -> S {
        self.stop.epsilon_gradient / self.h
    }
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Problem<'_, S, Y, I> {
    /// Returns the result of the last sweep, or [`Error::Order`] if it is not finished.
    pub fn gradient<'m, M: Workspace<S> + ?Sized>(
        &self,
        memory: &'m M,
    ) -> Result<Gradient<'m, S>, Error> {
        let view = memory.view();
        self.same(&view)?;
        let Cursor {
            sweep,
            stage: Stage::Done,
            ..
        } = view.cursor
        else {
            return Err(Error::Order);
        };
        let dims = self.system.dims();
        let [last, ..] = sweep.roles;
        let state = if sweep.last == NONE {
            view.row(last.into(), dims.states)
        } else {
            view.slot(self.shape(&view), sweep.last)
        };
        let x0 = view.row(if sweep.replaced { 6 } else { 4 }, dims.states);
        let (theta, _) = split(view.params, dims.params);
        let steps = view.cursor.end();
        let before = steps.wrapping_sub(1);
        let Resolved {
            fraction,
            slope,
            condition,
        } = sweep.stop;
        let h = self.plan.integrator.step_size();
        Ok(Gradient {
            steps,
            state,
            theta,
            x0: if self.plan.x0_gradient { x0 } else { &[] },
            stop: sweep.stopped.then(|| StopTime {
                time: self.time(before) + fraction * h,
                steps: S::from_count(before) + fraction,
                epsilon_gradient: S::ONE / slope,
                condition,
            }),
            evaluations: sweep.count,
        })
    }

    /// Finished gradient of a stopping time, in both units.
    pub(crate) fn sensitivity<'m, M: Workspace<S> + ?Sized>(
        &self,
        memory: &'m mut M,
    ) -> Result<Sensitivity<'m, S>, Error> {
        let h = self.plan.integrator.step_size();
        let mut work = self.enter(memory.view_mut())?;
        if work.cursor.sweep.replaced {
            swap(&mut work.lambda, &mut work.spare);
        }
        let pairs = [
            (work.theta_spare, &*work.theta_bar),
            (work.temporary, &*work.lambda),
        ];
        for (to, from) in pairs {
            copy(to, from);
            for value in to {
                *value /= h;
            }
        }
        let (view, of) = (memory.view(), self.gradient(memory)?);
        let (_, theta_steps) = split(view.params, of.theta.len());
        let steps = of.steps;
        Ok(Sensitivity {
            steps,
            state: of.state,
            stop: of.stop.ok_or(Error::NotStopped { steps })?,
            evaluations: of.evaluations,
            h,
            theta: of.theta,
            x0: of.x0,
            theta_steps: split(theta_steps, of.theta.len()).0,
            x0_steps: split(view.row(5, of.state.len()), of.x0.len()).0,
        })
    }
}
