//! Answer of the checker: what was compared, or what is wrong.

use core::fmt;

use super::sentence::Sentence;
use crate::error::Error;

/// Summary of a check without a mismatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Checked {
    /// Points at which the derivatives were compared.
    pub points: usize,
    /// Derivatives compared with differences.
    pub compared: usize,
    /// Number of them at a kink, or where differences of two step sizes disagree.
    pub undecided: usize,
}

impl fmt::Display for Checked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            points,
            compared,
            undecided,
        } = self;
        write!(
            f,
            "{compared} derivatives agree with differences at {points} points, {undecided} of them undecided"
        )
    }
}

/// Function of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Function {
    /// [`System::rate`](crate::System::rate)
    Rate,
    /// [`System::pullback`](crate::System::pullback)
    Pullback,
    /// [`System::pullback_afresh`](crate::System::pullback_afresh)
    PullbackAfresh,
    /// [`System::pushforward`](crate::System::pushforward)
    Pushforward,
}

/// Output of `rate` that is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Output {
    /// An entry of A.
    Rate(usize),
    /// J
    Criterion,
    /// f
    Loss,
    /// A weighted sum of A, J and f: each of them alone is right.
    Sum,
}

/// Entry with respect to which it is differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Entry {
    /// An entry of θ.
    Theta(usize),
    /// An entry of x.
    X(usize),
    /// Time.
    Time,
}

/// Point at which the derivatives are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Place {
    /// x_k of the run.
    Step(usize),
    /// x0 with every entry changed by about a tenth.
    Beside,
}

/// Source of the expected value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Reference {
    /// Differences of `rate`.
    Differences,
    /// The pushforward.
    Pushforward,
    /// The same call with other numbers in its outputs or scratch memory.
    Itself,
}

/// Likely reason of a mismatch.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Kind {
    /// A wrong value.
    Value,
    /// The right value times this number, at two points.
    Factor(f64),
    /// The right value with the wrong sign, at two points.
    Sign,
    /// Zero: the term is missing.
    Missing,
    /// The right value is zero.
    Superfluous,
    /// Infinite or NaN.
    NotFinite,
    /// A pullback overwrites its sums: `=` instead of `+=`.
    Overwrites,
    /// A rate, a pushforward or `pullback_afresh` adds to its outputs: `+=` instead of `=`.
    Adds,
    /// An output is not written.
    NotWritten,
    /// The result depends on the last call of `rate`, not on the tape.
    StaleTape,
    /// The result depends on an entry of the tape that `rate` does not write.
    UnwrittenTape(usize),
    /// The result depends on the content of the scratch memory before the call.
    Scratch,
    /// Two calls with the same arguments return different values.
    NotRepeatable,
}

/// Derivative that is wrong. `Display` is one sentence, such as
/// `pullback: d(J)/d(theta[2]) is 0.5 where differences give 1 (half of it)`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Mismatch {
    /// Function that is wrong.
    pub function: Function,
    /// Output of `rate` that is differentiated. With more than 16 entries of A, the one that differs most.
    pub output: Output,
    /// Entry with respect to which it is differentiated; `None` for `rate`.
    pub entry: Option<Entry>,
    /// Expected value.
    pub expected: f64,
    /// Value of the function.
    pub found: f64,
    /// Source of the expected value.
    pub reference: Reference,
    /// Likely reason.
    pub kind: Kind,
    /// Point at which they differ most.
    pub place: Place,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Sentence::of(self, &mut |text| f.write_str(text))
    }
}

impl core::error::Error for Mismatch {}

/// Reason for which a check did not succeed.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum CheckError {
    /// The arguments are invalid, the system has no derivative, or its rate is not finite at x0.
    Refused(Error),
    /// A derivative is wrong.
    Mismatch(Mismatch),
}

impl CheckError {
    /// The mismatch, if it is one.
    pub fn mismatch(&self) -> Option<Mismatch> {
        match self {
            Self::Mismatch(mismatch) => Some(*mismatch),
            Self::Refused(_) => None,
        }
    }
}

impl From<Error> for CheckError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Mismatch> for CheckError {
    fn from(mismatch: Mismatch) -> Self {
        Self::Mismatch(mismatch)
    }
}

impl fmt::Display for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl core::error::Error for CheckError {}
