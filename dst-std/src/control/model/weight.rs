//! Weights of the cost: a diagonal or a full symmetric matrix.

use serde::{Deserialize, Serialize};

use super::ModelError;
use crate::control::matrix::Matrix;

/// A weight matrix, as its diagonal or in full.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a weight must be a list of numbers, the diagonal, or a list of rows"
)]
pub enum Weight {
    /// The diagonal.
    Diagonal(Vec<f64>),
    /// All rows.
    Full(Vec<Vec<f64>>),
}

impl Default for Weight {
    fn default() -> Self {
        Self::Diagonal(Vec::new())
    }
}

impl From<Vec<f64>> for Weight {
    fn from(diagonal: Vec<f64>) -> Self {
        Self::Diagonal(diagonal)
    }
}

impl From<Vec<Vec<f64>>> for Weight {
    fn from(rows: Vec<Vec<f64>>) -> Self {
        Self::Full(rows)
    }
}

/// Part of a diagonal entry that an asymmetry or a negative eigenvalue may have by rounding.
const ROUNDING: f64 = 1e-9;

impl Weight {
    /// The matrix, if it is symmetric and positive semidefinite; `definite` asks for positive definite.
    pub(crate) fn matrix(
        &self,
        name: &str,
        size: usize,
        what: &str,
        definite: bool,
    ) -> Result<Matrix, ModelError> {
        let refuse = |text: String| Err(ModelError::new(text));
        let sign = if definite { "positive" } else { "not negative" };
        match self {
            Self::Diagonal(diagonal) => {
                if diagonal.len() != size {
                    return refuse(format!(
                        "{name} must have a number for every {what}, {size}"
                    ));
                }
                if diagonal
                    .iter()
                    .any(|v| v.is_finite() && (*v as f32).is_infinite())
                {
                    return refuse(format!(
                        "{name} is not finite in single precision; take other units"
                    ));
                }
                let fits = |v: &f64| v.is_finite() && (*v > 0.0 || (!definite && *v == 0.0));
                match diagonal.iter().all(fits) {
                    true => Ok(Matrix::diagonal(diagonal)),
                    false => refuse(format!("{name} must be finite and {sign}")),
                }
            }
            Self::Full(rows) => {
                let matrix = super::check::matrix(name, rows, (size, size))?;
                // In units in which the diagonal is one.
                let scale = |i: usize| match matrix.at(i, i) > 0.0 {
                    true => 1.0 / matrix.at(i, i).sqrt(),
                    false => 1.0,
                };
                let units: Vec<f64> = (0..size).map(scale).collect();
                let scaled = matrix.scaled(&units, &units);
                if scaled.distance(&scaled.transposed()) > ROUNDING {
                    return refuse(format!(
                        "{name} must be symmetric; write ({name} + {name} transposed)/2"
                    ));
                }
                let values = scaled.symmetrised().symmetric_eigenvalues();
                let least = values.into_iter().fold(f64::INFINITY, f64::min);
                let fits = if definite {
                    least > ROUNDING
                } else {
                    least >= -ROUNDING
                };
                match fits {
                    true => Ok(matrix.symmetrised()),
                    false => refuse(format!(
                        "{name} must have eigenvalues that are {sign}; raise its diagonal"
                    )),
                }
            }
        }
    }
}

/// Weight of the last state of the horizon.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawTerminal", into = "RawTerminal")]
pub enum Terminal {
    /// The solution of the Riccati equation: the cost of all later stages without bounds.
    #[default]
    Riccati,
    /// This weight.
    Given(Weight),
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "the weight must be \"riccati\", a list of numbers (the diagonal) or a list of rows"
)]
enum RawTerminal {
    Word(String),
    Weight(Weight),
}

impl TryFrom<RawTerminal> for Terminal {
    type Error = String;

    fn try_from(raw: RawTerminal) -> Result<Self, String> {
        match raw {
            RawTerminal::Weight(weight) => Ok(Self::Given(weight)),
            RawTerminal::Word(word) if word == "riccati" => Ok(Self::Riccati),
            RawTerminal::Word(word) => Err(format!(
                "\"{word}\" is not a weight; write \"riccati\", a diagonal or a matrix"
            )),
        }
    }
}

impl From<Terminal> for RawTerminal {
    fn from(terminal: Terminal) -> Self {
        match terminal {
            Terminal::Riccati => Self::Word("riccati".to_owned()),
            Terminal::Given(weight) => Self::Weight(weight),
        }
    }
}
