//! Errors: one small `Copy` enum that names the argument and the remedy.

use core::fmt;

use crate::scalar::Scalar;

/// An argument of the front door, named in an [`Error`].
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
            Self::Model => "the model of the program",
            Self::Tolerance => "the tolerances of the program",
        }
    }
}

/// Why there is no run or no gradient.
///
/// Stopping late, or not at all within the limit, is not an error but a [`Status`](crate::Status).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Error {
    /// An argument has the wrong length (workspace parts: is too short).
    Length {
        /// Which argument.
        argument: Argument,
        /// Entries that it must have.
        needed: usize,
        /// Entries that it has.
        given: usize,
    },
    /// A number is out of range: h ≤ 0, ε NaN, an entry of θ or x0 that is not finite, a box that is empty.
    Invalid(Argument),
    /// The workspace has no checkpoint slot; the starting point needs one.
    NoSlots,
    /// The symplectic integrator needs an even number of states: positions, then velocities.
    OddState {
        /// States of the system.
        states: usize,
    },
    /// The state or the criterion became infinite or NaN at this step.
    NonFinite {
        /// The first step whose state or criterion is not finite.
        step: usize,
    },
    /// The derivatives that the system returned made the gradient infinite or NaN at this step.
    NonFiniteGradient {
        /// The step being differentiated.
        step: usize,
    },
    /// The gradient of a stopping time was asked of a run that has not stopped.
    NotStopped {
        /// Steps done so far.
        steps: usize,
    },
    /// The criterion holds at the starting point already (N = 0): there is no step to differentiate.
    StoppedAtStart,
    /// The criterion is flat where it crosses ε, to the precision at hand: the stopping time has no derivative.
    FlatCrossing {
        /// The step at which the run stopped.
        step: usize,
    },
    /// The adjoint was asked for, but the system declares no pullback.
    NoPullback,
    /// The tangent mode was asked for, but the system declares no pushforward.
    NoPushforward,
    /// The checkpoint store failed to save or load this slot.
    Store {
        /// The slot.
        slot: usize,
    },
    /// The system is a map, x⁺ = F(x), and was run by another integrator than [`Map`](crate::Map).
    WrongStep,
    /// The calls came in the wrong order: a run that was not started, an advance after a differentiation has begun, a gradient
    /// that is not finished.
    Order,
    /// The memory belongs to a run of another problem: h, ε, t0, limit, stay or lengths differ from those that it was started
    /// with.
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
                "hyperparameters must be finite, with alpha > 0, 0 <= beta < 1 and thresholds not negative",
            ),
            Self::Invalid(Argument::Window) => {
                f.write_str("tangents cannot end at a window: use the adjoint")
            }
            Self::Invalid(Argument::Bounds) => {
                f.write_str("the box needs lower <= upper, without NaN, for every variable")
            }
            Self::Invalid(Argument::Model) => f.write_str(
                "the model of the program must be finite, with H + G'RG positive definite",
            ),
            Self::Invalid(Argument::Tolerance) => {
                f.write_str("the tolerances of the program must be positive and finite")
            }
            Self::Invalid(argument) => write!(f, "{} must be finite", argument.name()),
            Self::NoSlots => {
                f.write_str("the workspace has no checkpoint slots; give it at least one")
            }
            Self::OddState { states } => write!(
                f,
                "the symplectic integrator needs positions and velocities in equal number, got {states} states"
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
                    "the derivatives of the system are not finite at step {step}"
                )
            }
            Self::NotStopped { steps } => write!(
                f,
                "no gradient: the run has not stopped after {steps} steps; raise the step limit or epsilon"
            ),
            Self::StoppedAtStart => {
                f.write_str("no gradient: x0 meets the tolerance already; lower epsilon")
            }
            Self::FlatCrossing { step } => write!(
                f,
                "no gradient: the criterion is flat where it crosses epsilon at step {step}; change epsilon or the criterion"
            ),
            Self::NoPullback => {
                f.write_str("the system has no pullback: implement it, or use the tangent mode")
            }
            Self::NoPushforward => {
                f.write_str("the system has no pushforward: implement it, or use the adjoint")
            }
            Self::Store { slot } => write!(f, "the checkpoint store failed at slot {slot}"),
            Self::WrongStep => f.write_str("the system is a map: run it with Map"),
            Self::Order => f.write_str(
                "the calls came in the wrong order: start, then advance, then differentiate until done, then gradient",
            ),
            Self::Changed => f.write_str(
                "the memory belongs to a run of another problem: call start before the first advance",
            ),
        }
    }
}

impl core::error::Error for Error {}

/// Checks a length that must match exactly.
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
