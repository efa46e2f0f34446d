//! The continuous ground truth: an adaptive Dormand–Prince solver, events, and the gradient of an event's time.
//!
//! TODO
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

/// What a solve may take and how exact it must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Relative tolerance of one step: its error is held below atol + rtol·|x| in the root mean square over the states.
    pub rtol: f64,
    /// Absolute tolerance of one step; above zero.
    pub atol: f64,
    /// Gives up after this many steps, rejected ones included.
    pub max_steps: usize,
    /// Checkpoint slots of the gradient, each the memory of one state; `usize::MAX` keeps every step, zero counts as one.
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
    // Some systems are made for one step of one method.
    Ok(system.check(first, step::INNER)?)
}
