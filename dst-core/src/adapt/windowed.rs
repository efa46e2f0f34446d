//! The multi-step window: backpropagation from the trigger to the last adaptation.
//!
//! Between two adaptations Adam is a run of the engine on z = (x, m, v) with θ = (α, β₁, β₂) and h = 1, stopped at
//! the first f(x) < f_ref − ε_desc·(adaptations so far): the trigger of Algorithm 2 *is* a stopping criterion. Its
//! adjoint, over checkpoints, gives ∂N/∂α through every step of the window, and α ← α − η·∂N/∂α. Truncated to one step
//! this is S_k of [`AdamOla`](super::AdamOla).

use super::adam_ola::OlaConfig;
use crate::checkpoint::Store;
use crate::crossing::Crossing;
use crate::error::{Argument, Error, exact};
use crate::integrator::{Euler, Integrator, split, split_mut};
use crate::methods::{Adam, AdamUpdate};
use crate::objective::{Objective, Optimality};
use crate::scalar::{Scalar, copy};
use crate::stop::Iterate;
use crate::workspace::Workspace;

/// Entries of the state that [`WindowedOla`] keeps between windows: x, m and v.
pub const fn windowed_state_len(dim: usize) -> usize {
    dim.saturating_mul(3)
}

/// What one window did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Window<S> {
    /// f fell far enough: α was adapted.
    Adapted {
        /// Steps since the window began.
        steps: usize,
        /// ∂N/∂α over the window.
        sensitivity: S,
    },
    /// f fell far enough, but too flatly for a derivative: α stays.
    Flat {
        /// Steps since the window began.
        steps: usize,
    },
    /// The budget came first; the next window begins here, with the same threshold.
    Open {
        /// Steps since the window began.
        steps: usize,
    },
}

/// Adam whose learning rate is adapted by the exact sensitivity of each window.
///
/// Working memory is lent to each call, so a control loop can use it for other things in between.
#[derive(Debug)]
pub struct WindowedOla<'z, S, O> {
    config: OlaConfig<S>,
    method: Adam<O, S>,
    z: &'z mut [S],
    window: usize,
    theta: [S; 3],
    f_ref: Option<S>,
    f: S,
    iterations: usize,
    adaptations: usize,
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
        exact(
            Argument::Memory,
            windowed_state_len(objective.dim()),
            z.len(),
        )?;
        let (x, moments) = split_mut(z, x0.len());
        copy(x, x0);
        moments.fill(S::ZERO);
        let update = AdamUpdate {
            stability: config.stability,
            start: S::ZERO,
        };
        Ok(Self {
            config,
            method: Adam::with_update(objective, update).stop_on(Optimality::Value),
            z,
            window: window.max(1),
            theta: [config.alpha, config.beta1, config.beta2],
            f_ref: None,
            f: S::NAN,
            iterations: 0,
            adaptations: 0,
        })
    }

    /// The system that a window runs, to size the memory: `method().dims()`.
    pub fn method(&self) -> &Adam<O, S> {
        &self.method
    }

    /// Runs one window: at most `budget` iterations, then, if it triggered, the backward sweep and the adaptation.
    /// α, f and the state are updated together, or, if an error comes, not at all. Each window looks at its first point
    /// again: one evaluation more than iterations.
    pub fn advance<'m, St: Store<S>>(
        &mut self,
        budget: usize,
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Window<S>, Error>
    where
        S: 'm,
    {
        let workspace = memory.into();
        let plan = |epsilon, limit| {
            let time = S::from_count(self.iterations);
            Euler::new(S::ONE)
                .until(epsilon)
                .at_most(limit)
                .from_time(time)
                .crossing(Crossing::Paper)
        };
        let Workspace {
            rows,
            params,
            marks,
            store,
        } = workspace;
        let f_ref = match self.f_ref {
            Some(f_ref) => f_ref,
            None => {
                // Nothing has been evaluated yet: look at x0 without a step.
                let lent = Workspace {
                    rows: &mut *rows,
                    params: &mut *params,
                    marks: &mut [],
                    store: (),
                };
                let mut run = plan(-S::MAX, 0).run(&self.method, &self.theta, self.z, lent)?;
                run.advance(0)?.iterate().criterion
            }
        };
        // Strictly below the threshold, as in Algorithm 2.
        let threshold = (f_ref - self.config.descent * S::from_count(self.adaptations)).next_down();
        let lent = Workspace {
            rows,
            params,
            marks,
            store,
        };
        let mut run = plan(threshold, budget).record(&self.method, &self.theta, self.z, lent)?;
        let status = run.complete()?;
        let (
            triggered,
            Iterate {
                steps,
                criterion: f,
                ..
            },
        ) = (status.is_reached(), status.iterate());
        let started = if triggered {
            Some(run.begin_adjoint())
        } else {
            None
        };
        let window = match started {
            None => Window::Open { steps },
            Some(Err(Error::FlatCrossing { .. })) => Window::Flat { steps },
            Some(Err(error)) => return Err(error),
            Some(Ok((finish, count))) => {
                let gradient = run.sweep(finish, count).truncated(self.window).finish()?;
                let sensitivity = gradient.theta.first().copied().unwrap_or(S::ZERO);
                if !(self.alpha() - self.config.eta * sensitivity).is_finite() {
                    let step = self.iterations.saturating_add(steps);
                    return Err(Error::NonFinite { step });
                }
                return Ok(self.close(
                    gradient.state,
                    f_ref,
                    f,
                    Window::Adapted { steps, sensitivity },
                ));
            }
        };
        Ok(self.close(run.into_state(), f_ref, f, window))
    }

    /// Takes over what a window has found.
    fn close(&mut self, state: &[S], f_ref: S, f: S, window: Window<S>) -> Window<S> {
        copy(self.z, state);
        self.f = f;
        let steps = match window {
            Window::Open { steps } => {
                self.f_ref = Some(f_ref);
                steps
            }
            Window::Flat { steps } => {
                self.f_ref = Some(f);
                self.adaptations = self.adaptations.saturating_add(1);
                steps
            }
            Window::Adapted { steps, sensitivity } => {
                self.f_ref = Some(f);
                self.adaptations = self.adaptations.saturating_add(1);
                let [alpha, ..] = &mut self.theta;
                *alpha -= self.config.eta * sensitivity;
                steps
            }
        };
        self.iterations = self.iterations.saturating_add(steps);
        window
    }

    /// x_k
    pub fn state(&self) -> &[S] {
        split(self.z, self.method.objective.dim()).0
    }
    /// f(x_k); NaN before the first window.
    pub fn value(&self) -> S {
        self.f
    }
    /// The current learning rate.
    pub fn alpha(&self) -> S {
        let [alpha, ..] = self.theta;
        alpha
    }
    /// Iterations made.
    pub fn iterations(&self) -> usize {
        self.iterations
    }
    /// Adaptations made.
    pub fn adaptations(&self) -> usize {
        self.adaptations
    }
}
