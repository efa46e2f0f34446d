//! The linear part of a two-class problem: Z = diag(y)·[X, −1], whose products Z·w are the margins of the examples.
//!
//! The column of −1 is the intercept, the last variable. Neither it nor the signs y are stored with the entries: a data
//! set of ones stays a list of columns.
//!
//! Categories coded as ones make the same features neighbours in many rows. A pair of neighbours that occurs often becomes
//! a column of its own: X = X̃·P, where P adds up pairs. X̃ has half the entries, and P costs one addition per pair. A product
//! first makes w *wide* (w itself, then the sums of pairs); a gradient is gathered wide and folded back at the end. That
//! halves the time.

use std::fmt;

use super::blocks::{Block, Blocks, MOST_ROWS};
use crate::data::Examples;
use crate::linalg::largest_eigenvalue;
use crate::linalg::sparse::{Csr, Row};
use crate::machine::Footprint;

/// The longest vector of variables: 1 GiB. A method needs five or more of them.
const MOST_VARIABLES: usize = 1 << 27;

/// Vectors of variables that a method takes.
const VECTORS: f64 = 24.0;

/// The least number of occurrences that makes a pair a column.
const OFTEN: usize = 4;

/// Z = diag(y)·[X, −1]
#[derive(Clone, Debug, PartialEq)]
pub struct Margins {
    features: usize,
    nonzeros: usize,
    /// X̃
    blocks: Blocks,
    /// The features of each pair, in the order of the columns behind the features.
    pairs: Vec<(u32, u32)>,
    signs: Vec<f64>,
}

/// Rows of Z, at most [`MOST_ROWS`].
#[derive(Clone, Copy, Debug)]
pub struct SignedBlock<'a> {
    block: Block<'a>,
    signs: &'a [f64],
}

/// The reason why a data set makes no two-class problem.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum DataError {
    /// There are no examples.
    Empty,
    /// There are not two classes.
    Classes {
        /// A third label, or the only one.
        label: f64,
        /// True if it is a third one.
        third: bool,
    },
    /// The largest index needs vectors of more than 1 GiB.
    TooWide {
        /// Features, that is the largest index.
        features: usize,
    },
    /// There is not enough memory; one sentence.
    Memory(String),
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
            Self::Memory(sentence) => f.write_str(sentence),
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
    /// Makes the margins of a data set with two labels. The larger label is the positive class. A
    /// single label must be −1 or +1.
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
        let (features, nonzeros) = (rows.columns(), rows.nonzeros());
        // Pairs, the paired entries and the blocks. The vectors from which L is computed, or those of a method, which are more.
        Footprint::of("the problem")
            .with(
                format!("{nonzeros} entries"),
                [size_of::<f64>() as f64, 4.0, nonzeros as f64],
                "take fewer examples",
            )
            .with(
                format!("vectors of {features} variables"),
                [size_of::<f64>() as f64, VECTORS, features as f64],
                "renumber the features 1, 2, ..., or take data with fewer features",
            )
            .check()
            .map_err(DataError::Memory)?;
        let (paired, pairs) = pair_up(rows);
        let (blocks, order) = Blocks::new(&paired);
        let sign = |&i: &usize| if labels[i] == positive { 1.0 } else { -1.0 };
        Ok(Self {
            features,
            nonzeros,
            blocks,
            pairs,
            signs: order.iter().map(sign).collect(),
        })
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        self.signs.len()
    }

    /// Number of variables: the features and the intercept.
    pub fn dim(&self) -> usize {
        self.features + 1
    }

    /// Entries of X, the intercept not counted.
    pub fn nonzeros(&self) -> usize {
        self.nonzeros
    }

    /// Length of a wide vector.
    pub(super) fn wide_len(&self) -> usize {
        self.features + self.pairs.len() + 1
    }

    /// Two wide vectors out of working memory, which may be longer than that; the second is zero.
    pub(super) fn wide_pair<'s>(&self, scratch: &'s mut [f64]) -> (&'s mut [f64], &'s mut [f64]) {
        let length = self.wide_len();
        let (first, second) = scratch[..2 * length].split_at_mut(length);
        second.fill(0.0);
        (first, second)
    }

    /// Writes the wide form of w: the features, the sums of pairs, the intercept.
    pub(super) fn widen(&self, w: &[f64], wide: &mut [f64]) {
        let (features, intercept) = w.split_at(self.features);
        let (front, rest) = wide.split_at_mut(self.features);
        let (sums, last) = rest.split_at_mut(self.pairs.len());
        front.copy_from_slice(features);
        for (sum, &(a, b)) in sums.iter_mut().zip(&self.pairs) {
            *sum = features[a as usize] + features[b as usize];
        }
        last.copy_from_slice(intercept);
    }

    /// Adds to `out` what was gathered in a wide vector.
    pub(super) fn fold(&self, wide: &[f64], out: &mut [f64]) {
        let (front, rest) = wide.split_at(self.features);
        let (sums, last) = rest.split_at(self.pairs.len());
        for (out, &front) in out.iter_mut().zip(front) {
            *out += front;
        }
        for (&sum, &(a, b)) in sums.iter().zip(&self.pairs) {
            out[a as usize] += sum;
            out[b as usize] += sum;
        }
        out[self.features] += last[0];
    }

    /// The rows of Z in blocks, in the order of all sums over rows.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = SignedBlock<'_>> {
        let mut signs = self.signs.as_slice();
        self.blocks.iter().map(move |block| {
            let (now, later) = signs.split_at(block.rows());
            signs = later;
            SignedBlock { block, signs: now }
        })
    }

    /// σ_max(Z)²
    pub fn largest_square(&self) -> f64 {
        let (mut wide, mut gathered) = (vec![0.0; self.wide_len()], vec![0.0; self.wide_len()]);
        largest_eigenvalue(self.dim(), |v, out| {
            self.widen(v, &mut wide);
            gathered.fill(0.0);
            for block in self.iter() {
                for row in 0..block.rows() {
                    block.add_to(row, block.dot(row, &wide), &mut gathered);
                }
            }
            out.fill(0.0);
            self.fold(&gathered, out);
        })
    }
}

/// Replaces frequent pairs of neighbours, the first with the second entry of a row, the third with the fourth and so on, by
/// columns behind the others.
fn pair_up(rows: Csr) -> (Csr, Vec<(u32, u32)>) {
    let mut frequent: Vec<(u32, u32)> = Vec::new();
    if rows.is_binary() {
        let in_row = |row: Row<'_>| {
            let pairs = row.indices.chunks_exact(2);
            pairs.map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
        };
        let mut all: Vec<(u32, u32)> = rows.iter().flat_map(in_row).collect();
        all.sort_unstable();
        let same = all
            .chunk_by(|a, b| a == b)
            .filter(|same| same.len() >= OFTEN);
        frequent = same.map(|same| same[0]).collect();
        // Column numbers stay within 32 bits.
        frequent.truncate((u32::MAX as usize).saturating_sub(rows.columns()));
    }
    if frequent.is_empty() {
        return (rows, frequent);
    }
    // Numbered as they come, not as they sort: neighbours then have different features, and `fold` need not wait for itself.
    let mut numbers = vec![None; frequent.len()];
    let mut pairs = Vec::with_capacity(frequent.len());
    let mut paired = Csr::new();
    let mut columns = Vec::new();
    for row in rows.iter() {
        columns.clear();
        for pair in row.indices.chunks(2) {
            let found = match *pair {
                [a, b] => frequent.binary_search(&(a, b)).ok(),
                _ => None,
            };
            match found {
                Some(found) => {
                    let number = *numbers[found].get_or_insert_with(|| {
                        pairs.push(frequent[found]);
                        pairs.len() - 1
                    });
                    columns.push((rows.columns() + number) as u32);
                }
                None => columns.extend_from_slice(pair),
            }
        }
        columns.sort_unstable();
        for &column in &columns {
            let pushed = paired.push(column, 1.0);
            debug_assert!(pushed.is_ok(), "{pushed:?}");
        }
        paired.finish_row();
    }
    (paired, pairs)
}

impl SignedBlock<'_> {
    /// Number of rows.
    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.signs.len()
    }

    /// z·w of every row, for a wide w; the rest of `out` stays as it is.
    #[inline]
    pub(super) fn multiply(&self, wide: &[f64], out: &mut [f64; MOST_ROWS]) {
        let intercept = wide.last().copied().unwrap_or(0.0);
        self.block.multiply(wide, out);
        for (out, sign) in out.iter_mut().zip(self.signs) {
            *out = sign * (*out - intercept);
        }
    }

    /// z·w of one row.
    #[inline]
    pub(super) fn dot(&self, row: usize, wide: &[f64]) -> f64 {
        let intercept = wide.last().copied().unwrap_or(0.0);
        self.signs[row] * (self.block.dot(row, wide) - intercept)
    }

    /// out ← out + s·z for a wide out.
    #[inline]
    pub(super) fn add_to(&self, row: usize, s: f64, wide: &mut [f64]) {
        let s = self.signs[row] * s;
        self.block.add_to(row, s, wide);
        if let Some(intercept) = wide.last_mut() {
            *intercept -= s;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Shape, read_libsvm, synthetic};
    use crate::random::normals;

    fn margins(text: &str) -> Result<Margins, DataError> {
        Margins::new(read_libsvm(text.as_bytes(), "t").unwrap())
    }

    #[test]
    fn labels_become_signs() {
        for (text, signs) in [
            ("-1 1:1\n+1 1:1\n-1 1:1", vec![-1.0, 1.0, -1.0]),
            ("0\n1\n1", vec![-1.0, 1.0, 1.0]),
            ("2\n1\n2", vec![1.0, -1.0, 1.0]),
            ("-1\n-1", vec![-1.0, -1.0]),
            ("1", vec![1.0]),
        ] {
            assert_eq!(margins(text).unwrap().signs, signs, "{text}");
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
        let mut wide = vec![0.0; z.wide_len()];
        z.widen(&w, &mut wide);
        let block = z.iter().next().unwrap();
        assert_eq!((block.dot(0, &wide), block.dot(1, &wide)), (98.0, -70.0));
        let (mut gathered, mut out) = (vec![0.0; z.wide_len()], [0.0; 3]);
        block.add_to(1, 2.0, &mut gathered);
        z.fold(&gathered, &mut out);
        assert_eq!(out, [0.0, 6.0, -2.0]);
        // ZZᵀ = [5 −1; −1 10]
        let exact = 7.5 + (2.5_f64 * 2.5 + 1.0).sqrt();
        let ours = z.largest_square();
        assert!((ours - exact).abs() < 1e-12, "{ours} {exact}");
    }

    /// With pairs or without, the products are the same to rounding.
    #[test]
    fn pairs_change_nothing_but_the_work() {
        let examples = synthetic(Shape::A1A, 3);
        let (plain, labels) = (examples.rows.clone(), examples.labels.clone());
        let z = Margins::new(examples).unwrap();
        assert!(z.pairs.len() > 100 && z.blocks.nonzeros() < plain.nonzeros() * 6 / 10);
        assert_eq!((z.dim(), z.nonzeros()), (124, plain.nonzeros()));
        let (w, y) = (normals(1, z.dim()), normals(2, z.rows()));
        let (mut wide, mut gathered) = (vec![0.0; z.wide_len()], vec![0.0; z.wide_len()]);
        z.widen(&w, &mut wide);
        let (mut margins, mut total) = (Vec::new(), 0.0);
        for block in z.iter() {
            let mut dots = [0.0; MOST_ROWS];
            block.multiply(&wide, &mut dots);
            for (row, &dot) in dots.iter().enumerate().take(block.rows()) {
                assert_eq!(dot, block.dot(row, &wide));
                total += y[margins.len()] * dot;
                block.add_to(row, y[margins.len()], &mut gathered);
                margins.push(dot);
            }
        }
        // yᵀZw both ways, and the margins of the plain matrix.
        let mut folded = vec![0.0; z.dim()];
        z.fold(&gathered, &mut folded);
        let transposed: f64 = folded.iter().zip(&w).map(|(f, w)| f * w).sum();
        assert!((total - transposed).abs() < 1e-9 * (1.0 + total.abs()));
        let sorted = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values
        };
        let direct = plain
            .iter()
            .zip(&labels)
            .map(|(row, label)| label * (row.dot(&w) - w[123]));
        for (a, b) in sorted(margins).iter().zip(&sorted(direct.collect())) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
}
