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
        let mut product = Self::from_fn(self.rows, other.columns, |_, _| 0.0);
        for i in 0..self.rows {
            let to = &mut product.entries[i * other.columns..(i + 1) * other.columns];
            for k in 0..self.columns {
                let (factor, from) = (self.at(i, k), &other.entries[k * other.columns..]);
                for (to, from) in to.iter_mut().zip(from) {
                    *to += factor * from;
                }
            }
        }
        product
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

    /// X with self·X = other, by elimination with row exchanges; `None` if a pivot is zero or not finite.
    pub(crate) fn solve(&self, other: &Self) -> Option<Self> {
        let (n, width) = (self.rows, other.columns);
        let mut left = self.clone();
        let mut right = other.clone();
        for k in 0..n {
            let larger =
                |a: &usize, b: &usize| left.at(*a, k).abs().total_cmp(&left.at(*b, k).abs());
            let pivot = (k..n).max_by(larger)?;
            for matrix in [&mut left, &mut right] {
                let columns = matrix.columns;
                (0..columns)
                    .for_each(|j| matrix.entries.swap(k * columns + j, pivot * columns + j));
            }
            let inverse = 1.0 / left.at(k, k);
            if !inverse.is_finite() {
                return None;
            }
            for i in k + 1..n {
                let factor = left.at(i, k) * inverse;
                if factor != 0.0 {
                    for matrix in [&mut left, &mut right] {
                        let columns = matrix.columns;
                        let (above, below) = matrix.entries.split_at_mut(i * columns);
                        let source = &above[k * columns..(k + 1) * columns];
                        for (to, from) in below.iter_mut().zip(source) {
                            *to -= factor * from;
                        }
                    }
                }
            }
        }
        for i in (0..n).rev() {
            let inverse = 1.0 / left.at(i, i);
            for j in 0..width {
                let known: f64 = (i + 1..n).map(|k| left.at(i, k) * right.at(k, j)).sum();
                right.entries[i * width + j] = (right.at(i, j) - known) * inverse;
            }
        }
        Some(right)
    }

    /// ½(M + Mᵀ)
    pub(crate) fn symmetrised(&self) -> Self {
        Self::from_fn(self.rows, self.rows, |i, j| {
            0.5 * (self.at(i, j) + self.at(j, i))
        })
    }

    /// diag(left)·M·diag(right)
    pub(crate) fn scaled(&self, left: &[f64], right: &[f64]) -> Self {
        Self::from_fn(self.rows, self.columns, |i, j| {
            left[i] * self.at(i, j) * right[j]
        })
    }

    /// The largest magnitude of an entry.
    pub(crate) fn largest(&self) -> f64 {
        self.entries.iter().fold(0.0, |m, e| f64::max(m, e.abs()))
    }

    /// True if no entry is infinite or NaN.
    pub(crate) fn is_finite(&self) -> bool {
        self.entries.iter().all(|e| e.is_finite())
    }

    /// The largest magnitude of an eigenvalue, ‖M^(2²⁰)‖^(2⁻²⁰), by squaring; polynomial growth adds less than 1e-4.
    pub(crate) fn spectral_radius(&self) -> f64 {
        let mut power = self.clone();
        let (mut logarithm, mut exponent) = (0.0, 1.0);
        for _ in 0..20 {
            let size = power.largest();
            if size == 0.0 {
                return 0.0;
            }
            logarithm += libm::log(size) / exponent;
            power.entries.iter_mut().for_each(|e| *e /= size);
            power = power.times(&power);
            exponent *= 2.0;
        }
        libm::exp(logarithm + libm::log(power.largest().max(f64::MIN_POSITIVE)) / exponent)
    }

    /// The eigenvalues of a symmetric matrix, in no order, by Jacobi rotations.
    pub(crate) fn symmetric_eigenvalues(&self) -> Vec<f64> {
        let n = self.rows;
        let (mut m, largest) = (self.clone(), self.largest());
        for _ in 0..30 {
            let mut rotated = false;
            for p in 0..n {
                for q in p + 1..n {
                    let (pp, qq, pq) = (m.at(p, p), m.at(q, q), m.at(p, q));
                    if pq.abs() <= 1e-17 * largest {
                        continue;
                    }
                    rotated = true;
                    let ratio = (qq - pp) / (2.0 * pq);
                    let tangent = 1f64.copysign(ratio) / (ratio.abs() + libm::hypot(1.0, ratio));
                    let cos = 1.0 / libm::hypot(1.0, tangent);
                    let sin = cos * tangent;
                    for k in 0..n {
                        let (a, b) = (m.at(k, p), m.at(k, q));
                        m.entries[k * n + p] = cos * a - sin * b;
                        m.entries[k * n + q] = sin * a + cos * b;
                    }
                    for k in 0..n {
                        let (a, b) = (m.at(p, k), m.at(q, k));
                        m.entries[p * n + k] = cos * a - sin * b;
                        m.entries[q * n + k] = sin * a + cos * b;
                    }
                }
            }
            if !rotated {
                break;
            }
        }
        (0..n).map(|i| m.at(i, i)).collect()
    }

    /// The largest difference of two entries.
    pub(crate) fn distance(&self, other: &Self) -> f64 {
        let pairs = self.entries.iter().zip(&other.entries);
        pairs.fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()))
    }
}
