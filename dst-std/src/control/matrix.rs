//! Small dense matrices, row by row: a plant has a dozen states, and the same bits everywhere matter more than speed.

/// A matrix of a few rows and columns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) entries: Vec<f64>,
}

impl Matrix {
    pub(crate) fn from_fn(
        rows: usize,
        columns: usize,
        mut f: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let entries = (0..rows * columns).map(|k| f(k / columns, k % columns));
        Self {
            rows,
            columns,
            entries: entries.collect(),
        }
    }

    pub(crate) fn identity(size: usize) -> Self {
        Self::from_fn(size, size, |i, j| f64::from(i == j))
    }

    pub(crate) fn diagonal(entries: &[f64]) -> Self {
        Self::from_fn(entries.len(), entries.len(), |i, j| {
            if i == j { entries[i] } else { 0.0 }
        })
    }

    pub(crate) fn at(&self, i: usize, j: usize) -> f64 {
        self.entries[i * self.columns + j]
    }

    pub(crate) fn transposed(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self.at(j, i))
    }

    pub(crate) fn times(&self, other: &Self) -> Self {
        debug_assert_eq!(self.columns, other.rows);
        Self::from_fn(self.rows, other.columns, |i, j| {
            (0..self.columns)
                .map(|k| self.at(i, k) * other.at(k, j))
                .sum()
        })
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self::from_fn(self.rows, self.columns, |i, j| {
            self.at(i, j) + other.at(i, j)
        })
    }

    pub(crate) fn minus(&self, other: &Self) -> Self {
        Self::from_fn(self.rows, self.columns, |i, j| {
            self.at(i, j) - other.at(i, j)
        })
    }

    /// The inverse of a positive definite matrix; `None` if it is not.
    pub(crate) fn inverse(&self) -> Option<Self> {
        let mut result = self.clone();
        let mut row = vec![0.0; self.rows];
        dst_core::qp::Inversion::new(self.rows)
            .complete(&mut result.entries, &mut row)
            .then_some(result)
    }

    /// The largest difference of two entries.
    pub(crate) fn distance(&self, other: &Self) -> f64 {
        let pairs = self.entries.iter().zip(&other.entries);
        pairs.fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()))
    }
}
