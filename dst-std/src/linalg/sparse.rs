//! Sparse matrices by rows (CSR): what a data set of few features per example is.
//!
//! Column numbers are `u32`. A matrix whose entries are all one, as most LIBSVM files of categories are, stores no
//! values at all. Every sum runs in the order of the entries, so a product has the same bits on every machine.

use std::fmt;

/// A sparse matrix, row after row.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr {
    columns: usize,
    /// Row i is `starts[i]..starts[i + 1]` of the two others.
    starts: Vec<usize>,
    indices: Vec<u32>,
    /// `None` while every entry is one.
    values: Option<Vec<f64>>,
}

/// One row: its columns, which increase, and its values (`None`: all one).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row<'a> {
    /// Columns of the entries.
    pub indices: &'a [u32],
    /// Their values, unless all are one.
    pub values: Option<&'a [f64]>,
}

/// An entry cannot go where it was put: its column does not come after the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// The column of the entry.
    pub column: u32,
    /// The column before it in the same row.
    pub previous: u32,
}

impl fmt::Display for OutOfOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, previous } = self;
        write!(
            f,
            "column {column} after {previous}: the columns of a row must increase"
        )
    }
}

impl std::error::Error for OutOfOrder {}

impl Default for Csr {
    fn default() -> Self {
        Self::new()
    }
}

impl Csr {
    /// No rows and no columns.
    pub fn new() -> Self {
        Self {
            columns: 0,
            starts: vec![0],
            indices: Vec::new(),
            values: None,
        }
    }

    /// Adds an entry to the row under way; `finish_row` ends it.
    #[inline]
    pub fn push(&mut self, column: u32, value: f64) -> Result<(), OutOfOrder> {
        let start = self.starts.last().copied().unwrap_or(0);
        if self.indices.len() > start
            && let Some(&previous) = self.indices.last()
            && previous >= column
        {
            return Err(OutOfOrder { column, previous });
        }
        self.columns = self.columns.max(column as usize + 1);
        if let Some(values) = &mut self.values {
            values.push(value);
        } else if value != 1.0 {
            let mut values = vec![1.0; self.indices.len()];
            values.push(value);
            self.values = Some(values);
        }
        self.indices.push(column);
        Ok(())
    }

    /// Ends the row under way, which may be empty.
    pub fn finish_row(&mut self) {
        self.starts.push(self.indices.len());
    }

    /// Makes the matrix at least this wide.
    pub fn widen(&mut self, columns: usize) {
        self.columns = self.columns.max(columns);
    }

    /// Number of finished rows.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn nonzeros(&self) -> usize {
        self.indices.len()
    }

    /// True if every entry is one, so that no values are stored.
    pub fn is_binary(&self) -> bool {
        self.values.is_none()
    }

    /// The row with this number.
    ///
    /// # Panics
    /// If there is none.
    #[inline]
    pub fn row(&self, i: usize) -> Row<'_> {
        let range = self.starts[i]..self.starts[i + 1];
        Row {
            indices: &self.indices[range.clone()],
            values: self.values.as_ref().map(|values| &values[range]),
        }
    }

    /// All rows, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.rows()).map(|i| self.row(i))
    }
}

impl Row<'_> {
    /// Σ aⱼxⱼ in the order of the columns.
    #[inline]
    pub fn dot(self, x: &[f64]) -> f64 {
        match self.values {
            None => self.indices.iter().fold(0.0, |sum, &j| sum + x[j as usize]),
            Some(values) => self
                .indices
                .iter()
                .zip(values)
                .fold(0.0, |sum, (&j, &a)| sum + a * x[j as usize]),
        }
    }

    /// out ← out + s·a
    #[inline]
    pub fn add_to(self, s: f64, out: &mut [f64]) {
        match self.values {
            None => {
                for &j in self.indices {
                    out[j as usize] += s;
                }
            }
            Some(values) => {
                for (&j, &a) in self.indices.iter().zip(values) {
                    out[j as usize] += s * a;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[(u32, f64)]]) -> Csr {
        let mut a = Csr::new();
        for row in rows {
            for &(column, value) in *row {
                a.push(column, value).unwrap();
            }
            a.finish_row();
        }
        a
    }

    fn product(a: &Csr, x: &[f64]) -> Vec<f64> {
        a.iter().map(|row| row.dot(x)).collect()
    }

    #[test]
    fn products_of_a_small_matrix() {
        // [2 0 3; 0 0 0; 0 1 0]
        let a = matrix(&[&[(0, 2.0), (2, 3.0)], &[], &[(1, 1.0)]]);
        assert_eq!((a.rows(), a.columns(), a.nonzeros()), (3, 3, 3));
        assert_eq!(product(&a, &[1.0, 10.0, 100.0]), [302.0, 0.0, 10.0]);
        let mut x = [1.0; 3];
        for (row, y) in a.iter().zip([1.0, 5.0, -1.0]) {
            row.add_to(y, &mut x);
        }
        assert_eq!(x, [3.0, 0.0, 4.0]);
    }

    #[test]
    fn ones_are_not_stored_until_another_value_comes() {
        let mut a = matrix(&[&[(0, 1.0), (4, 1.0)], &[(1, 1.0)]]);
        assert!(a.is_binary() && a.row(0).values.is_none());
        a.push(2, 0.5).unwrap();
        a.finish_row();
        assert!(!a.is_binary());
        assert_eq!(a.row(0).values, Some(&[1.0, 1.0][..]));
        assert_eq!(
            a.row(2),
            Row {
                indices: &[2],
                values: Some(&[0.5])
            }
        );
        assert_eq!(product(&a, &[1.0, 2.0, 4.0, 8.0, 16.0]), [17.0, 2.0, 2.0]);
    }

    #[test]
    fn columns_must_increase_within_a_row_only() {
        let mut a = matrix(&[&[(7, 1.0)]]);
        a.push(3, 1.0).unwrap();
        for column in [3, 0] {
            let refused = a.push(column, 1.0).unwrap_err();
            assert_eq!(
                refused,
                OutOfOrder {
                    column,
                    previous: 3
                }
            );
        }
        a.finish_row();
        a.widen(20);
        assert_eq!((a.rows(), a.columns(), a.nonzeros()), (2, 20, 2));
        // The largest column there is costs no memory.
        a.push(u32::MAX, 1.0).unwrap();
        a.finish_row();
        assert_eq!((a.columns(), a.nonzeros()), (1 << 32, 3));
    }
}
