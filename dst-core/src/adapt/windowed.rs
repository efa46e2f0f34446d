//! The multi-step window: backpropagation from the trigger to the last adaptation.
//!
//! Between two adaptations, Adam is a run of the engine on z = (x, m, v) with θ = (α, β₁, β₂) and h = 1. It stops at the first
//! f(x) < f_ref − ε_desc·(adaptations so far): the trigger of Algorithm 2 *is* a stopping criterion. The adjoint, over
//! checkpoints, gives ∂N/∂α through every step of the window, and α ← α − η·∂N/∂α. Truncated to one step, this is S_k of
//! [`AdamOla`](super::AdamOla).

use super::adam_ola::{OlaConfig, OlaCursor};
use crate::error::{Argument, Error, exact};
use crate::integrator::Euler;
use crate::methods::{Adam, AdamUpdate};
use crate::scalar::Scalar;
use crate::slices::{copy, split, split_mut};
use crate::solve::{Crossing, Seeds, Workspace};
use crate::system::objective::{Objective, Optimality};

/// Entries of the state that [`WindowedOla`] keeps between windows: x, m and v.
pub const fn windowed_state_len(dim: usize) -> usize {
    dim.saturating_mul(3)
}

/// Outcome of one window.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Window<S> {
    /// f fell by the threshold and α was adapted.
    Adapted {
        /// Steps since the window began.
        steps: usize,
        /// ∂N/∂α over the window.
        sensitivity: S,
    },
    /// f fell by the threshold, but the crossing is too flat for a derivative: α is unchanged.
    Flat {
        /// Steps since the window began.
        steps: usize,
    },
    /// The budget ran out first; the next window begins here, with the same threshold.
    Open {
        /// Steps since the window began.
        steps: usize,
    },
}

/// Adam with a learning rate adapted by the exact sensitivity of each window.
///
/// Each call borrows its working memory; the caller may use it for other purposes in between.
#[derive(Debug)]
pub struct WindowedOla<'z, S, O> {
    cursor: OlaCursor<S>,
    method: Adam<O, S>,
    z: &'z mut [S],
    window: usize,
}

impl<'z, S: Scalar, O: Objective<S>> WindowedOla<'z, S, O> {
    /// Starts at x0, with sensitivities over at most `window` steps. `z` has [`windowed_state_len`] entries.
    pub fn new(
        config: OlaConfig<S>,
        objective: O,
        window: usize,
        x0: &[S],
        z: &'z mut [S],
    ) -> Result<Self, Error> {
        config.check()?;
        exact(Argument::X0, objective.dim(), x0.len())?;
        let ola = Self::from_parts(OlaCursor::new(config), objective, window, z)?;
        let (x, moments) = split_mut(ola.z, x0.len());
        copy(x, x0);
        moments.fill(S::ZERO);
        Ok(ola)
    }

    /// Continues from [`cursor`](Self::cursor), with a `z` of the same content.
    pub fn from_parts(
        cursor: OlaCursor<S>,
        objective: O,
        window: usize,
        z: &'z mut [S],
    ) -> Result<Self, Error> {
        let len = windowed_state_len(objective.dim());
        exact(Argument::Memory, len, z.len())?;
        let update = AdamUpdate {
            stability: cursor.config.stability,
            start: S::ZERO,
        };
        Ok(Self {
            cursor,
            method: Adam::with_update(objective, update).stop_on(Optimality::Value),
            z,
            window: window.max(1),
        })
    }

    /// Scalars of the run, to continue it later.
    pub fn cursor(&self) -> OlaCursor<S> {
        self.cursor
    }

    /// System that a window runs; `method().dims()` gives the size of the memory.
    pub fn method(&self) -> &Adam<O, S> {
        &self.method
    }

    /// Runs one window: at most `budget` iterations and, if it triggers, the backward sweep and the adaptation. On an error, α, f
    /// and the state are all unchanged. Each window evaluates its first point again, which is one evaluation more than
    /// iterations.
    pub fn advance<M: Workspace<S> + ?Sized>(
        &mut self,
        budget: usize,
        memory: &mut M,
    ) -> Result<Window<S>, Error> {
        let OlaCursor {
            config,
            alpha,
            iterations,
            adaptations,
            mut f_ref,
            ..
        } = self.cursor;
        let theta = [alpha, config.beta1, config.beta2];
        let plan = |epsilon, limit| {
            let time = S::from_count(iterations);
            Euler::new(S::ONE)
                .until(epsilon)
                .at_most(limit)
                .from_time(time)
        };
        if f_ref.is_nan() {
            // No evaluation yet: evaluate at x0 without a step.
            let problem = plan(-S::MAX, 0).on(&self.method, &theta, self.z)?;
            problem.start(memory)?;
            f_ref = problem.advance(memory, 0)?.iterate().criterion;
        }
        // Strictly below the threshold, as in Algorithm 2.
        let threshold = (f_ref - config.descent * S::from_count(adaptations)).next_down();
        let problem = plan(threshold, budget).on(&self.method, &theta, self.z)?;
        problem.start(memory)?;
        let status = problem.complete(memory)?;
        let (triggered, now) = (status.is_reached(), status.iterate());
        let (steps, f) = (now.steps, now.criterion);
        let mut window = Window::Open { steps };
        if triggered {
            let seeds = Seeds::stop(Crossing::Paper).through(self.window);
            window = match problem.adjoint(memory, seeds, usize::MAX) {
                Err(Error::FlatCrossing { .. }) => Window::Flat { steps },
                Err(error) => return Err(error),
                Ok(_) => {
                    let theta = problem.gradient(memory)?.theta;
                    let sensitivity = theta.first().copied().unwrap_or(S::ZERO);
                    Window::Adapted { steps, sensitivity }
                }
            };
        }
        if let Window::Adapted { sensitivity, .. } = window
            && !(alpha - config.eta * sensitivity).is_finite()
        {
            let step = iterations.saturating_add(steps);
            return Err(Error::NonFinite { step });
        }
        let state = problem.iterate(memory)?.state;
        Ok(self.close(state, f_ref, f, window))
    }

    /// Stores the outcome of a window.
    fn close(&mut self, state: &[S], f_ref: S, f: S, window: Window<S>) -> Window<S> {
        copy(self.z, state);
        let cursor = &mut self.cursor;
        cursor.f = f;
        cursor.f_ref = f;
        let steps = match window {
            Window::Open { steps } => {
                cursor.f_ref = f_ref;
                steps
            }
            Window::Flat { steps } => {
                cursor.adaptations = cursor.adaptations.saturating_add(1);
                steps
            }
            Window::Adapted { steps, sensitivity } => {
                cursor.adaptations = cursor.adaptations.saturating_add(1);
                cursor.alpha -= cursor.config.eta * sensitivity;
                steps
            }
        };
        cursor.iterations = cursor.iterations.saturating_add(steps);
        window
    }

    /// x_k
    pub fn state(&self) -> &[S] {
        split(self.z, self.method.objective.dim()).0
    }
    /// f(x_k); NaN before the first window.
    pub fn value(&self) -> S {
        self.cursor.f
    }
    /// The current learning rate.
    pub fn alpha(&self) -> S {
        self.cursor.alpha
    }
    /// Number of iterations.
    pub fn iterations(&self) -> usize {
        self.cursor.iterations
    }
    /// Number of adaptations.
    pub fn adaptations(&self) -> usize {
        self.cursor.adaptations
    }
}
