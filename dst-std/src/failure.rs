//! The reasons why there are no results.

use std::fmt;

/// The reason why a computation has no results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// It cannot be done; one sentence.
    NoAnswer(String),
    /// The user asked for an end before anything was finished.
    Interrupted,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer(sentence) => f.write_str(sentence),
            Self::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Failure {}
