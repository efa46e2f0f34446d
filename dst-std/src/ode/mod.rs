//! The continuous ground truth: an adaptive Dormand–Prince solver, events, and the gradient of an event's time.
//!
//! x' = −A(θ, x, t) with A and J of any [`System`], solved until J(x(T)) = ε. A stopping time N·h of an
//! iteration approximates T, and its gradient that of T; here both come with an error that a tolerance controls.
//!
//! - [`event_time`] finds T and x(T); [`trace`] also returns every step, with its interpolant.
//! - [`event_gradient`] differentiates T with respect to θ, x0 and ε, through the accepted steps.
//!
//! ```
//! use dst_core::formula;
//! use dst_std::ode::{Options, event_gradient};
//!
//! // A ball dropped from height x₁ under θ: T = √(2x₁/θ).
//! let ball = formula!(|theta: 1, x: 2, _t| [-x[1], theta[0]], |x| x[0]);
//! let fall = event_gradient(&ball, &[8.0], &[3.0, 0.0], 0.0, 0.0, &Options::default())?;
//! assert!((fall.event.time - 0.75_f64.sqrt()).abs() < 1e-12);
//! assert!((fall.x0[0] - 1.0 / 48.0_f64.sqrt()).abs() < 1e-12);
//! # Ok::<(), dst_std::ode::OdeError>(())
//! ```
//!
//! # Method
//!
//! ```text
//!  tableau ─► step: seven stages, their transpose ─► solver: accept or reject (controller) until J ≤ ε
//!                        │                                │ x_k to a slot (checkpoints)
//!                        │                          event: the last step cut to the length at which J = ε
//!                        └──────────────────────────► gradient: λ = ∇J(x_N) back through the steps
//! ```
//!
//! Step lengths are held fixed in the derivative: how they were chosen changes T within the tolerance only. Memory: 7 states,
//! rates and tapes, and one state per checkpoint slot; nothing of the size states × parameters. Evaluations are counted
//! exactly ([`Event`], [`Evaluations`]); the bits of the gradient do not depend on the slots.
//!
//! Explicit steps: a stiff problem is solved, but at the price of steps as short as stability asks.
//!
//! # Why not a crate
//!
//! `diffsol` comes closest: implicit and explicit methods, events, forward and adjoint sensitivities with checkpoints, and it is the
//! better choice for stiff systems. Its adjoint solves a second ODE backwards over states interpolated between the
//! checkpoints, for the gradient of an integral or of given times (recent versions also offer the transpose of a single step); we want
//! the time of an event, through the accepted steps themselves, in a fixed number of slots for a number of steps not known in
//! advance. It also works on matrix and vector types of its
//! own, with equations in the form of its traits, where ours are slices and a `System` with a tape.
//! `differential-equations`, `ode_solvers` and `numra-ode` have Dormand–Prince with dense output (the first and the last with
//! events); none of them documents an adjoint.

mod checkpoints;
mod controller;
mod error;
mod event;
mod gradient;
mod solver;
mod step;
mod tableau;

use dst_core::{Argument, Error, System};

pub use error::OdeError;
pub use gradient::{Evaluations, EventGradient, event_gradient};
pub use solver::{Accepted, Event, Segment, event_time, trace};

/// Limits and tolerances of a solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Relative tolerance of one step: its error is held below atol + rtol·|x| in the root mean square over the states.
    pub rtol: f64,
    /// Absolute tolerance of one step; above zero.
    pub atol: f64,
    /// Gives up after this many steps, rejected ones included.
    pub max_steps: usize,
    /// Checkpoint slots of the gradient, at least one, each the memory of one state; `usize::MAX` keeps all.
    pub slots: usize,
    /// Length of the first step; by default it is worked out, with one evaluation.
    pub first_step: Option<f64>,
}

impl Default for Options {
    /// rtol 1e-7, atol 1e-9, at most 100 000 steps, every state kept.
    fn default() -> Self {
        Self {
            rtol: 1e-7,
            atol: 1e-9,
            max_steps: 100_000,
            slots: usize::MAX,
            first_step: None,
        }
    }
}

/// Checks every argument once, at the door.
fn check<Y: System<f64> + ?Sized>(
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    t0: f64,
    epsilon: f64,
    options: &Options,
) -> Result<(), OdeError> {
    let dims = system.dims();
    for (argument, needed, given) in [
        (Argument::Theta, dims.params, theta),
        (Argument::X0, dims.states, x0),
    ] {
        if given.len() != needed {
            let given = given.len();
            return Err(Error::Length {
                argument,
                needed,
                given,
            }
            .into());
        }
    }
    for (argument, given) in [
        (Argument::Theta, theta),
        (Argument::X0, x0),
        (Argument::StartTime, &[t0]),
        (Argument::Epsilon, &[epsilon]),
    ] {
        if !given.iter().all(|value| value.is_finite()) {
            return Err(Error::Invalid(argument).into());
        }
    }
    if x0.is_empty() {
        return Err(OdeError::Empty);
    }
    let Options { rtol, atol, .. } = *options;
    if !(rtol >= 0.0 && rtol.is_finite() && atol > 0.0 && atol.is_finite()) {
        return Err(OdeError::Tolerance);
    }
    let first = options.first_step.unwrap_or(1.0);
    if !(first > 0.0 && first.is_finite()) {
        return Err(OdeError::FirstStep);
    }
    // A map has no rate to integrate.
    Ok(system.check(false)?)
}
