//! Products: with a symmetric matrix, its sums in registers, and with columns.
//!
//! Eight entries of the result are computed together: eight sums stay in registers while the rows of K pass by. A row is read in
//! runs of eight numbers, and every number of v once per eight sums. Then four together, then one at a time. Each sum runs from
//! the first entry to the last. The sums have names because a loop over an array is not always unrolled where code is small.

use crate::scalar::Scalar;
use crate::slices::{dot, pieces, split};

/// Computes out ← K·v with a symmetric K of the size of `out`.
#[inline]
pub(crate) fn apply<S: Scalar>(matrix: &[S], v: &[S], out: &mut [S]) {
    let n = out.len();
    let mut first = 0;
    let (eights, rest) = out.as_chunks_mut::<8>();
    for out in eights {
        *out = eight(split(matrix, first).1, n, v);
        first += 8;
    }
    let (fours, rest) = rest.as_chunks_mut::<4>();
    for out in fours {
        *out = four(split(matrix, first).1, n, v);
        first += 4;
    }
    for (out, row) in rest.iter_mut().zip(pieces(matrix, n).skip(first)) {
        *out = dot(row, v);
    }
}

/// Eight entries of the product, those of the columns with which `matrix` begins.
#[inline(always)]
fn eight<S: Scalar>(mut matrix: &[S], n: usize, v: &[S]) -> [S; 8] {
    let [mut a, mut b, mut c, mut d] = [S::ZERO; 4];
    let [mut e, mut f, mut g, mut h] = [S::ZERO; 4];
    for &v in v {
        let Some(&[k0, k1, k2, k3, k4, k5, k6, k7]) = matrix.first_chunk() else {
            break;
        };
        a += v * k0;
        b += v * k1;
        c += v * k2;
        d += v * k3;
        e += v * k4;
        f += v * k5;
        g += v * k6;
        h += v * k7;
        matrix = split(matrix, n).1;
    }
    [a, b, c, d, e, f, g, h]
}

/// Four entries of the product, likewise.
#[inline(always)]
fn four<S: Scalar>(mut matrix: &[S], n: usize, v: &[S]) -> [S; 4] {
    let [mut a, mut b, mut c, mut d] = [S::ZERO; 4];
    for &v in v {
        let Some(&[k0, k1, k2, k3]) = matrix.first_chunk() else {
            break;
        };
        a += v * k0;
        b += v * k1;
        c += v * k2;
        d += v * k3;
        matrix = split(matrix, n).1;
    }
    [a, b, c, d]
}

/// y ← y + a·x for slices of one length, four entries at a time.
#[inline(always)]
pub(super) fn add_fours<S: Scalar>(y: &mut [S], a: S, x: &[S]) {
    let ((ys, y_rest), (xs, x_rest)) = (y.as_chunks_mut::<4>(), x.as_chunks::<4>());
    for (y, &[x0, x1, x2, x3]) in ys.iter_mut().zip(xs) {
        let [y0, y1, y2, y3] = *y;
        *y = [y0 + a * x0, y1 + a * x1, y2 + a * x2, y3 + a * x3];
    }
    for (y, &x) in y_rest.iter_mut().zip(x_rest) {
        *y += a * x;
    }
}

/// Σ aᵢ bᵢ for slices of one length, four entries at a time, added from the first to the last.
#[inline(always)]
pub(super) fn dot_fours<S: Scalar>(a: &[S], b: &[S]) -> S {
    let ((fours_a, a), (fours_b, b)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    let mut sum = S::ZERO;
    for (&[a0, a1, a2, a3], &[b0, b1, b2, b3]) in fours_a.iter().zip(fours_b) {
        sum += a0 * b0;
        sum += a1 * b1;
        sum += a2 * b2;
        sum += a3 * b3;
    }
    for (&a, &b) in a.iter().zip(b) {
        sum += a * b;
    }
    sum
}

#[cfg(test)]
mod tests {
    use std::vec::Vec;

    use super::*;

    /// Every size has its own mixture of eights, fours and single entries; the result is the plain sum, bit by bit.
    #[test]
    fn the_product_is_the_plain_sum() {
        for n in 0..40 {
            let entry = |i: usize, j: usize| ((i * j + i + j) as f64 * 0.37).sin();
            let matrix: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
            let v: Vec<f64> = (0..n).map(|j| (j as f64 * 1.3).cos()).collect();
            let mut out = std::vec![f64::NAN; n];
            apply(&matrix, &v, &mut out);
            for (i, found) in out.iter().enumerate() {
                let mut sum = 0.0;
                for j in 0..n {
                    sum += matrix[j * n + i] * v[j];
                }
                assert_eq!(sum.to_bits(), found.to_bits(), "{n} {i}");
            }
        }
    }
}
