//! The reasons why there is no event, or no gradient of its time.

use std::fmt;

use dst_core::Error;

/// The reason why there is no event, or no gradient of its time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum OdeError {
    /// An argument that `dst-core` refuses as well: θ, x0, t0 or ε; or a system that cannot be integrated or pulled back.
    Refused(Error),
    /// The state is empty: nothing can happen.
    Empty,
    /// `rtol` or `atol` is negative or not finite, or `atol` is zero.
    Tolerance,
    /// `first_step` is not a positive finite number.
    FirstStep,
    /// J or A is not finite at x0.
    NonFiniteStart,
    /// J(x0) ≤ ε already.
    AtStart {
        /// J(x0)
        criterion: f64,
    },
    /// The steps, or time itself, ran out before J came down to ε.
    NotReached {
        /// Steps tried, rejected ones included.
        steps: usize,
        /// The time reached.
        time: f64,
        /// J there.
        criterion: f64,
    },
    /// The tolerance asks for steps shorter than time can be resolved, or the solution ends here.
    StepTooSmall {
        /// The time reached.
        time: f64,
    },
    /// J is not finite within the step in which it crosses ε.
    NonFinite {
        /// The start of that step.
        time: f64,
    },
    /// J is flat, or rises, where it crosses ε: T has no derivative.
    FlatCrossing {
        /// T
        time: f64,
    },
    /// The pullbacks of the system gave infinite or undefined numbers.
    NonFiniteGradient {
        /// The step that was being differentiated.
        step: usize,
    },
}

impl fmt::Display for OdeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Refused(error) => error.fmt(f),
            Self::Empty => f.write_str("the system has no states; x0 needs at least one entry"),
            Self::Tolerance => {
                f.write_str("the tolerances must be finite, with rtol >= 0 and atol > 0")
            }
            Self::FirstStep => f.write_str("the first step must be a positive finite number"),
            Self::NonFiniteStart => {
                f.write_str("the rate or the criterion is not finite at x0; change x0 or theta")
            }
            Self::AtStart { criterion } => write!(
                f,
                "the criterion is {criterion:.3e} at x0, which meets the tolerance already; lower epsilon"
            ),
            Self::NotReached {
                steps,
                time,
                criterion,
            } => write!(
                f,
                "the criterion is still {criterion:.3e} at time {time:.6e} after {steps} steps; raise max_steps or epsilon"
            ),
            Self::StepTooSmall { time } => write!(
                f,
                "the steps became too small at time {time:.6e}; raise rtol and atol, or look for a singularity there"
            ),
            Self::NonFinite { time } => write!(
                f,
                "the criterion is not finite right after time {time:.6e}, where it should meet epsilon; check the system there"
            ),
            Self::FlatCrossing { time } => write!(
                f,
                "no gradient: the criterion does not fall where it meets epsilon at time {time:.6e}; change epsilon or the criterion"
            ),
            Self::NonFiniteGradient { step } => write!(
                f,
                "the derivatives of the system are not finite at step {step}; check its pullback"
            ),
        }
    }
}

impl std::error::Error for OdeError {}

impl From<Error> for OdeError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}
