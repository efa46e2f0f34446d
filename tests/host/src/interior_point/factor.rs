//! Dense factors: Cholesky for positive definite matrices, LU with pivots for the others.

/// A = L·Lᵀ
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors a symmetric matrix; `None` if it is not positive definite.
    pub fn new(matrix: &[f64], n: usize) -> Option<Self> {
        let mut lower = matrix.to_vec();
        for i in 0..n {
            let (above, rest) = lower.split_at_mut(i * n);
            let row = &mut rest[..n];
            for j in 0..i {
                let other = &above[j * n..][..=j];
                let sum: f64 = row[..j].iter().zip(other).map(|(a, b)| a * b).sum();
                row[j] = (row[j] - sum) / other[j];
            }
            let square = row[i] - row[..i].iter().map(|a| a * a).sum::<f64>();
            if square.is_nan() || square <= 0.0 {
                return None;
            }
            row[i] = square.sqrt();
        }
        Some(Self { n, lower })
    }

    /// x ← A⁻¹·x
    pub fn solve(&self, x: &mut [f64]) {
        let n = self.n;
        for i in 0..n {
            let row = &self.lower[i * n..][..=i];
            let sum: f64 = row[..i].iter().zip(&*x).map(|(a, b)| a * b).sum();
            x[i] = (x[i] - sum) / row[i];
        }
        for i in (0..n).rev() {
            let row = &self.lower[i * n..][..=i];
            x[i] /= row[i];
            let xi = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, a)| *x -= a * xi);
        }
    }

    /// A⁻¹
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.n;
        let mut inverse = vec![0.0; n * n];
        for (i, column) in inverse.chunks_mut(n).enumerate() {
            column[i] = 1.0;
            self.solve(column);
        }
        inverse
    }
}

/// Rows exchanged, then L·U.
pub(super) struct Lu {
    n: usize,
    order: Vec<usize>,
    factors: Vec<f64>,
}

impl Lu {
    /// Factors a square matrix; `None` if it is singular.
    pub(super) fn new(mut factors: Vec<f64>, n: usize) -> Option<Self> {
        let mut order: Vec<usize> = (0..n).collect();
        for k in 0..n {
            let size = |i: usize| factors[i * n + k].abs();
            let best = (k..n).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
            if size(best).is_nan() || size(best) == 0.0 {
                return None;
            }
            if best != k {
                order.swap(best, k);
                let (top, bottom) = factors.split_at_mut(best * n);
                top[k * n..][..n].swap_with_slice(&mut bottom[..n]);
            }
            let (top, bottom) = factors.split_at_mut((k + 1) * n);
            let pivot = &top[k * n..];
            for row in bottom.chunks_mut(n) {
                if row[k] != 0.0 {
                    row[k] /= pivot[k];
                    let factor = row[k];
                    let pairs = row[k + 1..].iter_mut().zip(&pivot[k + 1..]);
                    pairs.for_each(|(a, p)| *a -= factor * p);
                }
            }
        }
        Some(Self { n, order, factors })
    }

    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.n;
        let mut x: Vec<f64> = self.order.iter().map(|&i| b[i]).collect();
        for i in 0..n {
            let row = &self.factors[i * n..][..i];
            x[i] -= row.iter().zip(&x).map(|(a, b)| a * b).sum::<f64>();
        }
        for i in (0..n).rev() {
            let row = &self.factors[i * n..][..n];
            let sum: f64 = row[i + 1..]
                .iter()
                .zip(&x[i + 1..])
                .map(|(a, b)| a * b)
                .sum();
            x[i] = (x[i] - sum) / row[i];
        }
        x
    }
}
