//! Matrices P = H·E·H with orthogonal H and chosen eigenvalues E.

use super::{Draw, dot};

/// Returns a symmetric matrix whose eigenvalues lie between `top/condition` and `top`, both attained if n > 1.
pub(super) fn hessian(draw: &mut Draw, n: usize, condition: f64, top: f64) -> Vec<f64> {
    let mut matrix = vec![0.0; n * n];
    for i in 0..n {
        let exponent = match i {
            0 => 0.0,
            1 => 1.0,
            _ => draw.unit(),
        };
        matrix[i * n + i] = top * condition.powf(-exponent);
    }
    // Reflections mix the axes. A few are enough to fill the matrix.
    for _ in 0..n.min(4) {
        let v: Vec<f64> = (0..n).map(|_| draw.normal()).collect();
        let square = dot(&v, &v);
        if square > 1e-6 {
            reflect(&mut matrix, &v, 2.0 / square);
        }
    }
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (matrix[i * n + j] + matrix[j * n + i]);
            (matrix[i * n + j], matrix[j * n + i]) = (mean, mean);
        }
    }
    matrix
}

/// M ← (I − βvvᵀ)·M·(I − βvvᵀ)
fn reflect(matrix: &mut [f64], v: &[f64], beta: f64) {
    let n = v.len();
    for row in matrix.chunks_mut(n) {
        let factor = beta * dot(row, v);
        row.iter_mut().zip(v).for_each(|(m, v)| *m -= factor * v);
    }
    let mut product = vec![0.0; n];
    for (row, v) in matrix.chunks(n).zip(v) {
        product.iter_mut().zip(row).for_each(|(p, m)| *p += v * m);
    }
    for (row, v) in matrix.chunks_mut(n).zip(v) {
        let factor = beta * v;
        row.iter_mut()
            .zip(&product)
            .for_each(|(m, p)| *m -= factor * p);
    }
}
