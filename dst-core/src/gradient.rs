//! What a differentiated run gives back.

use crate::crossing::Condition;
use crate::scalar::{Scalar, copy};

/// Where the work of adjoint and tangent mode stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Progress {
    /// The budget of the call is used up.
    Running {
        /// Adjoint: steps still to be pulled back. Tangent: operations still to be done.
        remaining: usize,
    },
    /// The gradient is complete.
    Done,
}

/// Calls into the system, counted: the forward run and the differentiation together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Evaluations {
    /// Of the rate.
    pub rate: usize,
    /// Pullbacks.
    pub pullback: usize,
    /// Pushforwards.
    pub pushforward: usize,
}

/// The moment of the stop, as the [`Crossing`](crate::Crossing) reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct StopTime<S> {
    /// T
    pub time: S,
    /// The same counted in steps: N − 1 + (T − t_{N−1})/h; N itself with `Paper`.
    pub steps: S,
    /// dT/dε
    pub epsilon_gradient: S,
    /// How well determined the crossing is.
    pub condition: Condition<S>,
}

/// The gradient of Σ w_k f(x_k) + μ·T with respect to θ and x0.
#[derive(Debug)]
pub struct Gradient<'a, S> {
    /// N, or the steps done if the run did not stop.
    pub steps: usize,
    /// The iterate at the end of the run.
    pub state: &'a [S],
    /// The gradient with respect to θ.
    pub theta: &'a [S],
    /// The gradient with respect to x0; empty if it was not asked for.
    pub x0: &'a [S],
    /// Σ w_k f(x_k); zero without a running loss.
    pub loss: S,
    /// The stopping time; `None` where it has no part in the objective.
    pub stop: Option<StopTime<S>>,
    /// What it took.
    pub evaluations: Evaluations,
    pub(crate) h: S,
    /// Memory for the same gradients in other units.
    pub(crate) theta_spare: &'a mut [S],
    pub(crate) x0_spare: &'a mut [S],
}

/// A stopping time and its gradients, in time and in steps.
#[derive(Debug)]
pub struct Sensitivity<'a, S> {
    /// N: the first step with J(x_N) ≤ ε.
    pub steps: usize,
    /// x_N
    pub state: &'a [S],
    /// T, dT/dε and the condition of the crossing.
    pub stop: StopTime<S>,
    /// What it took.
    pub evaluations: Evaluations,
    h: S,
    theta: &'a [S],
    x0: &'a [S],
    theta_steps: &'a [S],
    x0_steps: &'a [S],
}

impl<'a, S: Scalar> Sensitivity<'a, S> {
    pub(crate) fn new(gradient: Gradient<'a, S>, stop: StopTime<S>) -> Self {
        let Gradient {
            steps,
            state,
            theta,
            x0,
            evaluations,
            h,
            theta_spare,
            x0_spare,
            ..
        } = gradient;
        let (x0_spare, _) = crate::integrator::split_mut(x0_spare, x0.len());
        for (to, from) in [(&mut *theta_spare, theta), (&mut *x0_spare, x0)] {
            copy(to, from);
            for value in to {
                *value /= h;
            }
        }
        Self {
            steps,
            state,
            stop,
            evaluations,
            h,
            theta,
            x0,
            theta_steps: theta_spare,
            x0_steps: x0_spare,
        }
    }

    /// ∂T/∂θ: what the paper writes as ∂N/∂θ. It has the unit of time.
    pub fn time_gradient(&self) -> &'a [S] {
        self.theta
    }

    /// ∂T/∂x0; empty after [`Plan::theta_only`](crate::Plan::theta_only).
    pub fn time_gradient_x0(&self) -> &'a [S] {
        self.x0
    }

    /// ∂T/∂ε
    pub fn time_gradient_epsilon(&self) -> S {
        self.stop.epsilon_gradient
    }

    /// The change in the number of steps: ∂T/∂θ divided by h.
    pub fn steps_gradient(&self) -> &'a [S] {
        self.theta_steps
    }

    /// ∂T/∂x0 divided by h.
    pub fn steps_gradient_x0(&self) -> &'a [S] {
        self.x0_steps
    }

    /// ∂T/∂ε divided by h.
    pub fn steps_gradient_epsilon(&self) -> S {
        self.stop.epsilon_gradient / self.h
    }
}
