//! A sparse matrix cut into blocks of up to 32 rows of one length, for products that keep the processor busy.
//!
//! A row of a dozen entries is a sum in which each addition waits for the one before. Four rows of the same length side by
//! side fill the gaps, and need no bookkeeping per row. The rows are sorted by length for that, and stay so: it is the order of
//! all sums over rows, and with it of the bits.

use crate::linalg::sparse::Csr;

/// Rows of a block at most: as many as bits of a `u32`.
pub(super) const MOST_ROWS: usize = 32;

/// The matrix.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Blocks {
    shapes: Vec<Shape>,
    indices: Vec<u32>,
    /// `None` if every entry is one.
    values: Option<Vec<f64>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    rows: usize,
    length: usize,
}

/// One block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    rows: usize,
    length: usize,
    indices: &'a [u32],
    values: Option<&'a [f64]>,
}

impl Blocks {
    /// Sorts and cuts; also tells where each row came from.
    pub(super) fn new(matrix: &Csr) -> (Self, Vec<usize>) {
        let mut order: Vec<usize> = (0..matrix.rows()).collect();
        order.sort_by_key(|&i| matrix.row(i).indices.len());
        let mut blocks = Self {
            shapes: Vec::new(),
            indices: Vec::with_capacity(matrix.nonzeros()),
            values: (!matrix.is_binary()).then(|| Vec::with_capacity(matrix.nonzeros())),
        };
        for &i in &order {
            let row = matrix.row(i);
            let length = row.indices.len();
            match blocks.shapes.last_mut() {
                Some(last) if last.length == length && last.rows < MOST_ROWS => last.rows += 1,
                _ => blocks.shapes.push(Shape { rows: 1, length }),
            }
            blocks.indices.extend_from_slice(row.indices);
            if let (Some(values), Some(row)) = (&mut blocks.values, row.values) {
                values.extend_from_slice(row);
            }
        }
        (blocks, order)
    }

    /// Number of entries.
    #[cfg(test)]
    pub(super) fn nonzeros(&self) -> usize {
        self.indices.len()
    }

    /// The blocks, in order.
    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = Block<'_>> {
        let (mut indices, mut values) = (self.indices.as_slice(), self.values.as_deref());
        self.shapes.iter().map(move |&Shape { rows, length }| {
            let (now, later) = indices.split_at(rows * length);
            indices = later;
            let split = values.map(|values| values.split_at(rows * length));
            values = split.map(|(_, later)| later);
            Block {
                rows,
                length,
                indices: now,
                values: split.map(|(now, _)| now),
            }
        })
    }
}

impl Block<'_> {
    /// Number of rows.
    #[inline]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The product of every row with x, each summed in the order of its entries; the rest of `out` stays.
    #[inline]
    pub(super) fn multiply(&self, x: &[f64], out: &mut [f64; MOST_ROWS]) {
        let mut done = 0;
        if self.values.is_none() && self.length > 0 {
            let fours = self.indices.chunks_exact(4 * self.length);
            for (four, out) in fours.zip(out.chunks_exact_mut(4)) {
                let (front, back) = four.split_at(2 * self.length);
                let ((a, b), (c, d)) = (front.split_at(self.length), back.split_at(self.length));
                out.copy_from_slice(&four_sums([a, b, c, d], x));
                done += 4;
            }
        }
        for (row, out) in out.iter_mut().enumerate().take(self.rows).skip(done) {
            *out = self.dot(row, x);
        }
    }

    /// The product of one row with x.
    #[inline]
    pub(super) fn dot(&self, row: usize, x: &[f64]) -> f64 {
        let entries = row * self.length..(row + 1) * self.length;
        let indices = &self.indices[entries.clone()];
        match self.values {
            None => indices.iter().fold(0.0, |sum, &j| sum + x[j as usize]),
            Some(values) => {
                let entries = indices.iter().zip(&values[entries]);
                entries.fold(0.0, |sum, (&j, &a)| sum + a * x[j as usize])
            }
        }
    }

    /// Adds s times a row to `out`.
    #[inline]
    pub(super) fn add_to(&self, row: usize, s: f64, out: &mut [f64]) {
        let entries = row * self.length..(row + 1) * self.length;
        let indices = &self.indices[entries.clone()];
        match self.values {
            None => {
                for &j in indices {
                    out[j as usize] += s;
                }
            }
            Some(values) => {
                for (&j, &a) in indices.iter().zip(&values[entries]) {
                    out[j as usize] += s * a;
                }
            }
        }
    }
}

/// The sums of x over four lists of columns of the same length.
#[inline]
fn four_sums([a, b, c, d]: [&[u32]; 4], x: &[f64]) -> [f64; 4] {
    let mut sums = [0.0; 4];
    for (((&a, &b), &c), &d) in a.iter().zip(b).zip(c).zip(d) {
        sums[0] += x[a as usize];
        sums[1] += x[b as usize];
        sums[2] += x[c as usize];
        sums[3] += x[d as usize];
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normals, uniform};

    /// Against the matrix as it was, with ones and with values, lengths from 0 on.
    #[test]
    fn products_are_those_of_the_matrix() {
        for binary in [true, false] {
            let mut matrix = Csr::new();
            for i in 0..211_u64 {
                let mut column = 0;
                for k in 0..(i * i) % 7 {
                    column += 1 + (9.0 * uniform(i, k)) as u32;
                    let value = if binary { 1.0 } else { uniform(k, i) };
                    matrix.push(column, value).unwrap();
                }
                matrix.finish_row();
            }
            let (blocks, order) = Blocks::new(&matrix);
            assert_eq!(blocks.nonzeros(), matrix.nonzeros());
            assert_eq!(blocks.iter().count(), blocks.shapes.len());
            let (x, y) = (normals(1, matrix.columns()), normals(2, matrix.rows()));
            let (mut first, mut ours, mut theirs) = (0, vec![0.0; x.len()], vec![0.0; x.len()]);
            for block in blocks.iter() {
                let mut dots = [f64::NAN; MOST_ROWS];
                block.multiply(&x, &mut dots);
                for (row, &dot) in dots.iter().enumerate().take(block.rows()) {
                    let i = order[first + row];
                    assert_eq!(dot, matrix.row(i).dot(&x), "row {i}");
                    assert_eq!(dot, block.dot(row, &x));
                    block.add_to(row, y[i], &mut ours);
                    matrix.row(i).add_to(y[i], &mut theirs);
                }
                assert!(dots[block.rows()..].iter().all(|dot| dot.is_nan()));
                first += block.rows();
            }
            assert_eq!((first, ours), (matrix.rows(), theirs));
        }
    }
}
