//! Errors: one small `Copy` enum that names the argument and the remedy.

use core::fmt;

use crate::scalar::Scalar;

/// An argument of the public API, named in an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Argument {
    /// The parameters θ.
    Theta,
    /// The starting point.
    X0,
    /// The step size h.
    StepSize,
    /// The tolerance ε.
    Epsilon,
    /// The starting time t0.
    StartTime,
    /// The factor in front of the stopping time.
    TimeWeight,
    /// The window of a sweep.
    Window,
    /// The working rows of the workspace.
    Rows,
    /// The parameter-sized part of the workspace.
    Params,
    /// The checkpoint slots of the workspace.
    Slots,
    /// A hyperparameter of an adaptive method.
    Hyperparameter,
    /// The bounds of a box.
    Bounds,
    /// The memory of an adaptive method.
    Memory,
    /// The matrices and vectors of a quadratic program.
    Model,
    /// The tolerances of a quadratic program.
    Tolerance,
    /// The trace of a formula or an objective.
    Trace,
    /// The gradient given to a descent.
    Gradient,
    /// The start of a descent, which must be in the range of its coordinates.
    Start,
    /// The radius of a trust region.
    Radius,
}

impl Argument {
    fn name(self) -> &'static str {
        match self {
            Self::Theta => "theta",
            Self::X0 => "x0",
            Self::StepSize => "the step size h",
            Self::Epsilon => "the tolerance epsilon",
            Self::StartTime => "the start time t0",
            Self::TimeWeight => "the weight of the stopping time",
            Self::Window => "the window",
            Self::Rows => "workspace rows",
            Self::Params => "workspace params",
            Self::Slots => "workspace slots",
            Self::Hyperparameter => "a hyperparameter",
            Self::Bounds => "the box",
            Self::Memory => "the memory",
            Self::Model => "the data of the quadratic program",
            Self::Tolerance => "the tolerances of the quadratic program",
            Self::Trace => "the trace of the formula (`with_trace`)",
            Self::Gradient => "the gradient",
            Self::Start => "the start of the descent",
            Self::Radius => "the radius",
        }
    }
}

/// Reason for which there is no run or no gradient.
///
/// A run that stops late, or does not stop within the limit, is not an error but a [`Status`](crate::Status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// An argument has the wrong length; a part of the workspace is too short.
    Length {
        /// Argument with the wrong length.
        argument: Argument,
        /// Required number of entries.
        needed: usize,
        /// Actual number of entries.
        given: usize,
    },
    /// A number is out of range: h ≤ 0, ε NaN, an entry of θ or x0 that is not finite, an empty box.
    Invalid(Argument),
    /// The workspace has no checkpoint slot; the starting point needs one.
    NoSlots,
    /// The symplectic integrator needs an even number of states: positions, then velocities.
    OddState {
        /// Number of states of the system.
        states: usize,
    },
    /// The state or the criterion is infinite or NaN at this step.
    NonFinite {
        /// The first step whose state or criterion is not finite.
        step: usize,
    },
    /// The derivatives returned by the system make the gradient infinite or NaN at this step.
    NonFiniteGradient {
        /// Step being differentiated.
        step: usize,
    },
    /// The seeds contain the stopping time, but the run has not stopped.
    NotStopped {
        /// Steps made so far.
        steps: usize,
    },
    /// The criterion already holds at the starting point (N = 0): there is no step to differentiate.
    StoppedAtStart,
    /// The criterion is flat to working precision where it crosses ε: the stopping time has no derivative.
    FlatCrossing {
        /// The step at which the run stopped.
        step: usize,
    },
    /// The adjoint was requested, but the system declares no pullback.
    NoPullback,
    /// The tangent mode was requested, but the system declares no pushforward.
    NoPushforward,
    /// The checkpoint store failed to save or load this slot.
    Store {
        /// Number of the slot.
        slot: usize,
    },
    /// The system is a map, x⁺ = F(x), and the integrator is not [`Map`](crate::Map).
    WrongStep,
    /// Rows that a ball or a cone couples have different weights R.
    UnequalWeights,
    /// Calls out of order: an advance before `start` or after a differentiation has begun, or a gradient that is not finished.
    Order,
    /// The memory belongs to a run of a different problem: h, ε, t0, limit, stay or lengths differ from those at `start`.
    Changed,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Length {
                argument,
                needed,
                given,
            } => {
                write!(f, "{} needs {needed} entries, got {given}", argument.name())
            }
            Self::Invalid(Argument::StepSize) => {
                f.write_str("the step size h must be a positive finite number")
            }
            Self::Invalid(Argument::Hyperparameter) => f.write_str(
                "hyperparameters must be finite, with alpha > 0, 0 <= beta < 1 and thresholds >= 0",
            ),
            Self::Invalid(Argument::Window) => {
                f.write_str("the tangent mode does not support a window: use the adjoint")
            }
            Self::Invalid(Argument::Bounds) => {
                f.write_str("bounds must satisfy lower <= upper for every variable, without NaN")
            }
            Self::Invalid(Argument::Model) => f.write_str(
                "the data of the quadratic program must be finite, with H + G'RG positive definite",
            ),
            Self::Invalid(Argument::Tolerance) => {
                f.write_str("the tolerances of the quadratic program must be positive and finite")
            }
            Self::Invalid(Argument::Start) => f.write_str(
                "the start must be in the range of its coordinates: positive for Log, within the bounds for Between and Logit",
            ),
            Self::Invalid(Argument::Radius) => {
                f.write_str("radii must be positive and finite, the least not above the first")
            }
            Self::Invalid(argument) => write!(f, "{} must be finite", argument.name()),
            Self::NoSlots => {
                f.write_str("the workspace has no checkpoint slots; give it at least one")
            }
            Self::OddState { states } => write!(
                f,
                "the symplectic integrator needs an even number of states (positions, then velocities), got {states}"
            ),
            Self::NonFinite { step } => {
                write!(
                    f,
                    "the state or the criterion is not finite at step {step}; try a smaller h"
                )
            }
            Self::NonFiniteGradient { step } => {
                write!(
                    f,
                    "the derivatives of the system are not finite at step {step}; if it has no `pullback`, write it"
                )
            }
            Self::NotStopped { steps } => write!(
                f,
                "no gradient: the run has not stopped after {steps} steps; raise the step limit or epsilon"
            ),
            Self::StoppedAtStart => {
                f.write_str("no gradient: the criterion already holds at x0; lower epsilon")
            }
            Self::FlatCrossing { step } => write!(
                f,
                "no gradient: the criterion is flat where it crosses epsilon at step {step}; change epsilon or the criterion"
            ),
            Self::NoPullback => {
                f.write_str(
                "the system has no pullback: write `pullback`, or a pushforward and declare it in `cost`",
            )
            }
            Self::NoPushforward => {
                f.write_str(
                "the system has no pushforward: write `pushforward` and declare it in `cost`, or use the adjoint",
            )
            }
            Self::Store { slot } => write!(f, "the checkpoint store failed at slot {slot}"),
            Self::WrongStep => f.write_str("the system is a map: run it with Map"),
            Self::UnequalWeights => {
                f.write_str("rows of one ball or cone need equal weights R: tie their knobs")
            }
            Self::Order => f.write_str(
                "calls out of order: call start, then advance, then differentiate until done, then gradient",
            ),
            Self::Changed => f.write_str(
                "the memory belongs to a run of a different problem: call start before the first advance",
            ),
        }
    }
}

impl core::error::Error for Error {}

/// Checks that a length matches exactly.
pub(crate) fn exact(argument: Argument, needed: usize, given: usize) -> Result<(), Error> {
    if needed == given {
        Ok(())
    } else {
        Err(Error::Length {
            argument,
            needed,
            given,
        })
    }
}

/// Checks that all numbers are finite.
pub(crate) fn finite<S: Scalar>(argument: Argument, values: &[S]) -> Result<(), Error> {
    if S::all_finite(values) {
        Ok(())
    } else {
        Err(Error::Invalid(argument))
    }
}

/// Checks that a part of the workspace is long enough.
pub(crate) fn at_least(argument: Argument, needed: usize, given: usize) -> Result<(), Error> {
    if needed <= given {
        Ok(())
    } else {
        Err(Error::Length {
            argument,
            needed,
            given,
        })
    }
}
