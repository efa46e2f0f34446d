//! Eigenvalues and eigenvectors of a symmetric 3 × 3 matrix by Jacobi rotations.
//!
//! Each rotation zeroes one off-diagonal entry; after a few rounds all are zero to rounding. Slower than a closed form, but
//! accurate for every matrix, including those with equal or zero eigenvalues.

use crate::scalar::Scalar;

/// Rounds of three rotations; convergence is quadratic, so five are usually enough.
const ROUNDS: usize = 10;

/// Eigenvalues, each with its unit eigenvector, in no particular order.
///
/// `beside` holds the off-diagonal entries (1, 2), (0, 2), (0, 1).
pub(super) fn eigen<S: Scalar>(diagonal: [S; 3], beside: [S; 3]) -> [(S, [S; 3]); 3] {
    let (one, zero) = (S::ONE, S::ZERO);
    let [mut d0, mut d1, mut d2] = diagonal;
    let [mut a12, mut a02, mut a01] = beside;
    let (mut u0, mut u1, mut u2) = ([one, zero, zero], [zero, one, zero], [zero, zero, one]);
    for _ in 0..ROUNDS {
        if a12 == zero && a02 == zero && a01 == zero {
            break;
        }
        rotate(
            (&mut d0, &mut d1),
            &mut a01,
            (&mut a02, &mut a12),
            (&mut u0, &mut u1),
        );
        rotate(
            (&mut d0, &mut d2),
            &mut a02,
            (&mut a01, &mut a12),
            (&mut u0, &mut u2),
        );
        rotate(
            (&mut d1, &mut d2),
            &mut a12,
            (&mut a01, &mut a02),
            (&mut u1, &mut u2),
        );
    }
    [(d0, u0), (d1, u1), (d2, u2)]
}

/// Rotates the plane of p and q so that a_pq becomes zero; `others` are a_rp and a_rq.
fn rotate<S: Scalar>(
    diagonal: (&mut S, &mut S),
    a_pq: &mut S,
    others: (&mut S, &mut S),
    vectors: (&mut [S; 3], &mut [S; 3]),
) {
    if *a_pq == S::ZERO {
        return;
    }
    // The smaller of the two angles. If the square overflows, the tangent is zero, which is correct.
    let cotangent = (*diagonal.1 - *diagonal.0) / (S::TWO * *a_pq);
    let tangent = S::ONE / (cotangent.abs() + (S::ONE + cotangent * cotangent).sqrt());
    let tangent = if cotangent < S::ZERO {
        -tangent
    } else {
        tangent
    };
    let cosine = S::ONE / (S::ONE + tangent * tangent).sqrt();
    let sine = tangent * cosine;
    *diagonal.0 -= tangent * *a_pq;
    *diagonal.1 += tangent * *a_pq;
    *a_pq = S::ZERO;
    let turn = |p: &mut S, q: &mut S| {
        (*p, *q) = (cosine * *p - sine * *q, sine * *p + cosine * *q);
    };
    turn(others.0, others.1);
    for (p, q) in vectors.0.iter_mut().zip(vectors.1) {
        turn(p, q);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    /// Checks A·u = λ·u, uᵀu = 1 and the expected λ.
    fn check<S: Scalar>(d: [f64; 3], b: [f64; 3], mut expected: [f64; 3]) {
        let scale = d.iter().chain(&b).fold(0.0_f64, |s, a| s.max(a.abs()));
        let close = 16.0 * S::EPSILON.to_f64() * scale;
        let pairs = eigen(d.map(S::from_f64), b.map(S::from_f64));
        let matrix = [[d[0], b[2], b[1]], [b[2], d[1], b[0]], [b[1], b[0], d[2]]];
        for (lambda, u) in pairs {
            let u = u.map(Scalar::to_f64);
            for (i, row) in matrix.iter().enumerate() {
                let product: f64 = row.iter().zip(&u).map(|(a, u)| a * u).sum();
                let error = (product - lambda.to_f64() * u[i]).abs();
                assert!(error <= close, "{d:?} {b:?}: residual {error:e}");
            }
            let length: f64 = u.iter().map(|u| u * u).sum();
            assert!((length - 1.0).abs() < 16.0 * S::EPSILON.to_f64());
        }
        let mut values: Vec<f64> = pairs.iter().map(|p| p.0.to_f64()).collect();
        values.sort_by(f64::total_cmp);
        expected.sort_by(f64::total_cmp);
        for (ours, exact) in values.iter().zip(&expected) {
            assert!((ours - exact).abs() <= close, "{values:?} {expected:?}");
        }
    }

    #[test]
    fn known_spectra() {
        let root = 2f64.sqrt();
        for (d, b, expected) in [
            ([3.0, -1.0, 2.0], [0.0; 3], [3.0, -1.0, 2.0]),
            ([2.0; 3], [-1.0, 0.0, -1.0], [2.0 - root, 2.0, 2.0 + root]),
            ([1.0; 3], [1.0; 3], [0.0, 0.0, 3.0]),
            ([0.0; 3], [0.0; 3], [0.0; 3]),
            ([5.0, 0.0, 0.0], [0.0; 3], [5.0, 0.0, 0.0]),
            ([1e10, 1.0, 1e-10], [0.0, 0.0, 0.0], [1e10, 1.0, 1e-10]),
            ([0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [-2.0, 2.0, 1.0]),
        ] {
            check::<f64>(d, b, expected);
            check::<f32>(d, b, expected);
        }
    }
}
