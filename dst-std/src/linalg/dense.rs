//! Dense matrices: products and factorisations by faer, or in [portable arithmetic](Arithmetic::Portable) by plain loops.
//!
//! On one thread, always: faer cuts its sums differently for another number of threads, and results must not depend on that.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::householder;
use faer::linalg::matmul::matmul;
use faer::linalg::qr::no_pivoting::factor;
use faer::{Accum, Conj, Mat, Par, Spec};

use super::{Arithmetic, plain};

/// A dense matrix.
#[derive(Clone, Debug)]
pub struct Dense(Mat<f64>);

impl Dense {
    /// The matrix with these entries.
    pub fn from_fn(rows: usize, columns: usize, entry: impl FnMut(usize, usize) -> f64) -> Self {
        Self(Mat::from_fn(rows, columns, entry))
    }

    /// Rows.
    pub fn rows(&self) -> usize {
        self.0.nrows()
    }

    /// Columns.
    pub fn columns(&self) -> usize {
        self.0.ncols()
    }

    /// Entry (i, j).
    ///
    /// # Panics
    /// Outside of the matrix.
    pub fn entry(&self, i: usize, j: usize) -> f64 {
        self.0[(i, j)]
    }

    /// The orthogonal factor of a square matrix: M = QR with a positive diagonal of R, which makes Q unique.
    ///
    /// # Panics
    /// If the matrix is not square.
    pub fn orthogonal_factor(self) -> Self {
        assert_eq!(self.rows(), self.columns(), "a square matrix");
        match Arithmetic::current() {
            Arithmetic::Native => self.faer_factor(),
            Arithmetic::Portable => self.plain_factor(),
        }
    }

    fn plain_factor(self) -> Self {
        let column = |j| (0..self.rows()).map(|i| self.entry(i, j)).collect();
        let q = plain::orthogonal_factor((0..self.columns()).map(column).collect());
        Self::from_fn(q.len(), q.len(), |i, j| q[j][i])
    }

    fn faer_factor(self) -> Self {
        let Self(mut factors) = self;
        let dim = factors.nrows();
        let block = factor::recommended_block_size::<f64>(dim, dim);
        let mut coefficients = Mat::zeros(block, dim);
        let memory = factor::qr_in_place_scratch::<f64>(dim, dim, block, Par::Seq, Spec::default());
        factor::qr_in_place(
            factors.as_mut(),
            coefficients.as_mut(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(memory)),
            Spec::default(),
        );
        let mut q = Mat::identity(dim, dim);
        let memory = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<
            f64,
        >(dim, block, dim);
        householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
            factors.as_ref(),
            coefficients.as_ref(),
            Conj::No,
            q.as_mut(),
            Par::Seq,
            MemStack::new(&mut MemBuffer::new(memory)),
        );
        for j in 0..dim {
            if factors[(j, j)] < 0.0 {
                q.col_mut(j).iter_mut().for_each(|q| *q = -*q);
            }
        }
        Self(q)
    }

    /// M·diag(λ)
    ///
    /// # Panics
    /// If λ has another length than there are columns.
    pub fn scaled_columns(&self, lambda: &[f64]) -> Self {
        assert_eq!(lambda.len(), self.columns(), "a factor for every column");
        Self::from_fn(self.rows(), self.columns(), |i, j| {
            self.entry(i, j) * lambda[j]
        })
    }

    /// M·Nᵀ
    ///
    /// # Panics
    /// If the numbers of columns differ.
    pub fn times_transposed(&self, other: &Self) -> Self {
        assert_eq!(self.columns(), other.columns(), "columns of one number");
        match Arithmetic::current() {
            Arithmetic::Native => self.faer_product(other),
            Arithmetic::Portable => self.plain_product(other),
        }
    }

    fn plain_product(&self, other: &Self) -> Self {
        let rows = |m: &Self| -> Vec<Vec<f64>> {
            let row = |i| (0..m.columns()).map(|j| m.entry(i, j)).collect();
            (0..m.rows()).map(row).collect()
        };
        let products = plain::products(&rows(self), &rows(other));
        Self::from_fn(self.rows(), other.rows(), |i, j| products[i][j])
    }

    fn faer_product(&self, other: &Self) -> Self {
        let mut product = Mat::zeros(self.rows(), other.rows());
        matmul(
            &mut product,
            Accum::Replace,
            &self.0,
            other.0.transpose(),
            1.0,
            Par::Seq,
        );
        Self(product)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normals;

    fn random(dim: usize) -> Dense {
        let values = normals(4, dim * dim);
        Dense::from_fn(dim, dim, |i, j| values[i * dim + j])
    }

    #[test]
    fn the_orthogonal_factor_is_orthogonal_and_the_rest_triangular() {
        for dim in [1, 2, 3, 40] {
            let m = random(dim);
            let q = m.clone().faer_factor();
            let plain = m.clone().plain_factor();
            for (i, j) in (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j))) {
                assert!((q.entry(i, j) - plain.entry(i, j)).abs() < 1e-12);
            }
            let identity = q.times_transposed(&q);
            for i in 0..dim {
                for j in 0..dim {
                    let unit = f64::from(i == j);
                    assert!((identity.entry(i, j) - unit).abs() < 1e-13, "dim {dim}");
                    // R = QᵀM
                    let r: f64 = (0..dim).map(|k| q.entry(k, i) * m.entry(k, j)).sum();
                    assert!(i <= j || r.abs() < 1e-12, "dim {dim}: R[{i},{j}] = {r}");
                    assert!(i != j || r > 0.0, "dim {dim}: R[{i},{i}] = {r}");
                }
            }
        }
    }

    #[test]
    fn products() {
        let (m, lambda) = (random(5), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let scaled = m.scaled_columns(&lambda);
        for product in [scaled.faer_product(&m), scaled.plain_product(&m)] {
            for i in 0..5 {
                for j in 0..5 {
                    let sum: f64 = (0..5)
                        .map(|k| m.entry(i, k) * lambda[k] * m.entry(j, k))
                        .sum();
                    assert!((product.entry(i, j) - sum).abs() < 1e-13);
                }
            }
        }
    }
}
