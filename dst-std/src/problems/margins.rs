//! The linear part of a two-class problem: Z = diag(y)·[X, −1], whose products Z·w are the margins of the examples.
//!
//! The column of −1 is the intercept, the last variable. Neither it nor the signs y are stored with the entries: a data
//! set of ones stays a list of columns.

use std::fmt;

use crate::data::Examples;
use crate::linalg::sparse::{Csr, Row};

/// The longest vector of variables: 1 GiB each, of which a method wants five or more.
const MOST_VARIABLES: usize = 1 << 27;

/// Z = diag(y)·[X, −1]
#[derive(Clone, Debug, PartialEq)]
pub struct Margins {
    features: Csr,
    signs: Vec<f64>,
}

/// One row of Z.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignedRow<'a> {
    features: Row<'a>,
    sign: f64,
}

/// Why a data set makes no two-class problem.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DataError {
    /// There are no examples.
    Empty,
    /// There are not two classes.
    Classes {
        /// A third label, or the only one.
        label: f64,
        /// Is it a third one?
        third: bool,
    },
    /// The largest index asks for vectors beyond any memory.
    TooWide {
        /// Features, that is the largest index.
        features: usize,
    },
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the data set has no examples"),
            Self::Classes { label, third: true } => write!(
                f,
                "label {label} is a third class; a two-class problem needs exactly two labels"
            ),
            Self::Classes { label, .. } => write!(
                f,
                "every label is {label}; a two-class problem needs exactly two labels"
            ),
            Self::TooWide { features } => write!(
                f,
                "the largest index {features} needs {:.1} GiB for every vector of variables; renumber the features 1, 2, ...",
                *features as f64 / f64::from(1 << 27)
            ),
        }
    }
}

impl std::error::Error for DataError {}

impl Margins {
    /// Labels −1 and +1 are taken as they are; of two others, the larger is the positive class.
    pub fn new(examples: Examples) -> Result<Self, DataError> {
        let Examples { rows, labels } = examples;
        let first = *labels.first().ok_or(DataError::Empty)?;
        if rows.columns() >= MOST_VARIABLES {
            return Err(DataError::TooWide {
                features: rows.columns(),
            });
        }
        let other = labels.iter().find(|&&label| label != first).copied();
        let other = match other {
            Some(other) => other,
            None if first.abs() == 1.0 => -first,
            None => {
                return Err(DataError::Classes {
                    label: first,
                    third: false,
                });
            }
        };
        let third = labels.iter().find(|&&l| l != first && l != other);
        if let Some(&label) = third {
            return Err(DataError::Classes { label, third: true });
        }
        let positive = first.max(other);
        let sign = |&label: &f64| if label == positive { 1.0 } else { -1.0 };
        Ok(Self {
            signs: labels.iter().map(sign).collect(),
            features: rows,
        })
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        self.signs.len()
    }

    /// Number of variables: the features and the intercept.
    pub fn dim(&self) -> usize {
        self.features.columns() + 1
    }

    /// Stored entries, the intercept not counted.
    pub fn nonzeros(&self) -> usize {
        self.features.nonzeros()
    }

    /// The labels as ±1.
    pub fn signs(&self) -> &[f64] {
        &self.signs
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = SignedRow<'_>> {
        let rows = self.features.iter().zip(&self.signs);
        rows.map(|(features, &sign)| SignedRow { features, sign })
    }

    #[inline]
    pub(super) fn row(&self, i: usize) -> SignedRow<'_> {
        SignedRow {
            features: self.features.row(i),
            sign: self.signs[i],
        }
    }

    /// σ_max(Z)²
    pub fn largest_square(&self) -> f64 {
        super::largest_eigenvalue(self.dim(), |v, out| {
            out.fill(0.0);
            for row in self.iter() {
                row.add_to(row.dot(v), out);
            }
        })
    }
}

impl SignedRow<'_> {
    /// z·w
    #[inline]
    pub(super) fn dot(self, w: &[f64]) -> f64 {
        let intercept = w.last().copied().unwrap_or(0.0);
        self.sign * (self.features.dot(w) - intercept)
    }

    /// out ← out + s·z
    #[inline]
    pub(super) fn add_to(self, s: f64, out: &mut [f64]) {
        let s = self.sign * s;
        self.features.add_to(s, out);
        if let Some(intercept) = out.last_mut() {
            *intercept -= s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::read_libsvm;

    fn margins(text: &str) -> Result<Margins, DataError> {
        Margins::new(read_libsvm(text.as_bytes(), "t").unwrap())
    }

    #[test]
    fn labels_become_signs() {
        for (text, signs) in [
            ("-1 1:1\n+1 1:1\n-1", vec![-1.0, 1.0, -1.0]),
            ("0\n1\n1", vec![-1.0, 1.0, 1.0]),
            ("2\n1\n2", vec![1.0, -1.0, 1.0]),
            ("-1\n-1", vec![-1.0, -1.0]),
            ("1", vec![1.0]),
        ] {
            assert_eq!(margins(text).unwrap().signs(), signs, "{text}");
        }
        let refused = |text| margins(text).unwrap_err().to_string();
        assert_eq!(refused(""), "the data set has no examples");
        assert!(refused("1\n2\n3").contains("label 3 is a third class"));
        assert!(refused("0\n0").contains("every label is 0"));
        assert!(refused("1 4294967295:1\n-1").contains("needs 32.0 GiB"));
    }

    /// Z = [−2 0 1; 0 3 −1] for y = (−1, 1).
    #[test]
    fn products_and_the_largest_singular_value() {
        let z = margins("-1 1:2\n1 2:3").unwrap();
        assert_eq!((z.rows(), z.dim(), z.nonzeros()), (2, 3, 2));
        let w = [1.0, 10.0, 100.0];
        let dots: Vec<f64> = z.iter().map(|row| row.dot(&w)).collect();
        assert_eq!(dots, [98.0, -70.0]);
        let mut out = [0.0; 3];
        z.row(1).add_to(2.0, &mut out);
        assert_eq!(out, [0.0, 6.0, -2.0]);
        // ZZᵀ = [5 −1; −1 10]
        let exact = 7.5 + (2.5_f64 * 2.5 + 1.0).sqrt();
        let ours = z.largest_square();
        assert!((ours - exact).abs() < 1e-12, "{ours} {exact}");
    }
}
