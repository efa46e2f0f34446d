//! Status codes and their messages.

use core::ffi::{CStr, c_char};

use dst_core::{Argument, Error};

macro_rules! statuses {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $message:literal;)*) => {
        /// Result of a call: DST_OK, or the reason why it did nothing. dst_status_message() returns the message.
        #[repr(i32)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types)]
        pub enum dst_status {
            $($(#[$doc])* $name = $code,)*
        }

        fn message(status: i32) -> &'static CStr {
            match status {
                $($code => $message,)*
                _ => c"not a dst_status",
            }
        }
    };
}

statuses! {
    /// Success.
    DST_OK = 0, c"ok";
    /// A required pointer is NULL.
    DST_ERROR_NULL = 1, c"a required pointer is NULL";
    /// A pointer or the workspace is not aligned: see dst_workspace_align.
    DST_ERROR_MISALIGNED = 2, c"a pointer or the workspace is not aligned; see dst_workspace_align";
    /// An output overlaps an input, the workspace or another output.
    DST_ERROR_OVERLAP = 3, c"an output overlaps an input, the workspace or another output";
    /// The workspace is smaller than dst_workspace_size (dst_ola_workspace_size, dst_window_workspace_size) returns.
    DST_ERROR_WORKSPACE_TOO_SMALL = 4, c"the workspace is too small; see dst_workspace_size";
    /// There are no states, or a size in bytes does not fit into a size_t.
    DST_ERROR_SIZE = 5, c"a dimension is zero or too large";
    /// The handle is not of this kind: its workspace was never initialised, or holds an object of another kind or precision.
    DST_ERROR_NOT_INITIALISED = 6, c"the workspace does not hold an object of this kind";
    /// The call is out of order: an advance after a gradient has begun, or a read of a gradient that is not complete.
    DST_ERROR_ORDER = 7, c"call out of order: run, then advance the gradient until nothing remains, then read it";
    /// A call on this workspace is in progress: a callback used the workspace of its own run. Or the workspace was never cleared,
    /// or a reset interrupted a call: see dst_workspace_clear.
    DST_ERROR_BUSY = 8, c"a call on this workspace is in progress, or it was not cleared; see dst_workspace_clear";
    /// A callback returned a value other than zero; the value is in *abort_code of the problem or objective.
    DST_ABORTED = 9, c"a callback aborted";
    /// An entry of theta is infinite or NaN.
    DST_ERROR_THETA = 10, c"theta must be finite";
    /// An entry of x0 is infinite or NaN.
    DST_ERROR_X0 = 11, c"x0 must be finite";
    /// The step size is not a positive finite number or, with DST_MAP, not 1.
    DST_ERROR_STEP_SIZE = 12, c"the step size must be a positive finite number, and 1 with DST_MAP";
    /// Epsilon is infinite or NaN.
    DST_ERROR_EPSILON = 13, c"epsilon must be finite";
    /// The start time is infinite or NaN.
    DST_ERROR_START_TIME = 14, c"the start time must be finite";
    /// A weight of the seeds is infinite or NaN.
    DST_ERROR_WEIGHT = 15, c"the weights of the seeds must be finite";
    /// The integrator, the crossing or the mode is not in the list, or was left out of this library (c-lib --small).
    DST_ERROR_CHOICE = 16, c"the integrator, the crossing or the mode is not available in this library";
    /// A hyperparameter of an adaptive method is out of range: alpha > 0, 0 <= beta < 1, stability, descent and tolerance >= 0.
    DST_ERROR_HYPERPARAMETER = 17, c"a hyperparameter is out of range: alpha > 0, 0 <= beta < 1, the others finite and not negative";
    /// The number of checkpoint slots is zero; the starting point needs one.
    DST_ERROR_NO_SLOTS = 18, c"slots must be at least 1";
    /// The symplectic integrator needs an even number of states: positions, then velocities.
    DST_ERROR_ODD_STATE = 19, c"the symplectic integrator needs an even number of states (positions, then velocities)";
    /// The problem has no pullback, which the adjoint needs.
    DST_ERROR_NO_PULLBACK = 20, c"the problem has no pullback: set .pullback, or .pushforward and DST_TANGENT";
    /// The problem has no pushforward, which the tangent mode needs.
    DST_ERROR_NO_PUSHFORWARD = 21, c"the problem has no pushforward: set .pushforward, or .pullback and DST_ADJOINT";
    /// The objective has no Hessian-vector product, which the windowed adaptation needs.
    DST_ERROR_NO_HESSIAN_VECTOR = 22, c"the objective has no Hessian-vector product: set it, or use dst_ola";
    /// The state, the criterion or, in an adaptive run, the objective is infinite or NaN.
    DST_ERROR_NON_FINITE = 23, c"the state or the criterion is not finite; try a smaller step";
    /// The derivatives are infinite or NaN.
    DST_ERROR_NON_FINITE_GRADIENT = 24, c"the derivatives of the problem are not finite";
    /// The seeds contain the stopping time, but the run has not stopped, or has not settled.
    DST_ERROR_NOT_STOPPED = 25, c"no gradient: the run has not stopped; raise max_steps or epsilon";
    /// The criterion already holds at x0: there is no step to differentiate.
    DST_ERROR_STOPPED_AT_START = 26, c"no gradient: the criterion already holds at x0; lower epsilon";
    /// The criterion is flat where it crosses epsilon: the stopping time has no derivative.
    DST_ERROR_FLAT_CROSSING = 27, c"no gradient: the criterion is flat where it crosses epsilon";
    /// dst_check has found a wrong derivative, and has written it to *mismatch.
    DST_WRONG_DERIVATIVE = 28, c"a derivative is wrong; see dst_mismatch_message";
    /// Any other error: a defect of this library.
    DST_ERROR_INTERNAL = 29, c"internal error of dst";
    /// A coordinate or a radius of a descent is out of range, or theta is not in the range of its coordinate.
    DST_ERROR_COORDINATE = 30, c"a coordinate is invalid: scale > 0, lower < upper, theta in its range, 0 < least_radius <= radius";
    /// The data of a quadratic program is refused: P is not positive definite, or a number is NaN, infinite or out of range.
    DST_ERROR_PROGRAM = 31, c"P must be positive definite, and every number of the program finite (bounds may be infinite, caps too)";
}

/// Result of an operation: a value, or the status to return.
pub(crate) type Outcome<T> = Result<T, dst_status>;

/// Status of an operation without a value.
pub(crate) fn status(outcome: Outcome<()>) -> dst_status {
    match outcome {
        Ok(()) => dst_status::DST_OK,
        Err(status) => status,
    }
}

impl From<Error> for dst_status {
    fn from(error: Error) -> Self {
        match error {
            Error::Invalid(argument) => match argument {
                Argument::Theta => Self::DST_ERROR_THETA,
                Argument::X0 => Self::DST_ERROR_X0,
                Argument::StepSize => Self::DST_ERROR_STEP_SIZE,
                Argument::Epsilon => Self::DST_ERROR_EPSILON,
                Argument::StartTime => Self::DST_ERROR_START_TIME,
                Argument::TimeWeight => Self::DST_ERROR_WEIGHT,
                Argument::Bounds | Argument::Start | Argument::Radius => Self::DST_ERROR_COORDINATE,
                Argument::Hyperparameter => Self::DST_ERROR_HYPERPARAMETER,
                Argument::Model | Argument::Tolerance => Self::DST_ERROR_PROGRAM,
                _ => Self::DST_ERROR_INTERNAL,
            },
            Error::NoSlots => Self::DST_ERROR_NO_SLOTS,
            Error::OddState { .. } => Self::DST_ERROR_ODD_STATE,
            Error::NonFinite { .. } => Self::DST_ERROR_NON_FINITE,
            Error::NonFiniteGradient { .. } => Self::DST_ERROR_NON_FINITE_GRADIENT,
            Error::NotStopped { .. } => Self::DST_ERROR_NOT_STOPPED,
            Error::StoppedAtStart => Self::DST_ERROR_STOPPED_AT_START,
            Error::FlatCrossing { .. } => Self::DST_ERROR_FLAT_CROSSING,
            Error::NoPullback => Self::DST_ERROR_NO_PULLBACK,
            Error::NoPushforward => Self::DST_ERROR_NO_PUSHFORWARD,
            Error::Order => Self::DST_ERROR_ORDER,
            // The lengths are cut from the workspace by this library, and the problem is a copy that does not change.
            _ => Self::DST_ERROR_INTERNAL,
        }
    }
}

/// Returns the message of a status: never NULL, static, without a newline.
#[unsafe(no_mangle)]
pub extern "C" fn dst_status_message(status: i32) -> *const c_char {
    message(status).as_ptr()
}

/// Returns the version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn dst_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => c"",
        };
    VERSION.as_ptr()
}
