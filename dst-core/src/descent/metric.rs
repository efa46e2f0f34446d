//! Metric of the model: the BFGS approximation H of the inverse second derivative, as a full symmetric matrix.
//!
//! Two gradients g and g + y at a distance s tell how the slope changes along s. BFGS is the least change of H with Hy = s:
//!
//! H ← H − (Hy·sᵀ + s·(Hy)ᵀ)/(sᵀy) + (1 + yᵀHy/(sᵀy))·s·sᵀ/(sᵀy)
//!
//! Only products appear: no square root, and no square of a gradient that could overflow.

use crate::scalar::Scalar;
use crate::slices::{all_finite, dot, pieces, pieces_mut};

/// H ← a·I
pub(super) fn reset<S: Scalar>(h: &mut [S], dim: usize, a: S) {
    for (i, row) in pieces_mut(h, dim).enumerate() {
        for (j, entry) in row.iter_mut().enumerate() {
            *entry = if i == j { a } else { S::ZERO };
        }
    }
}

/// out ← Hx
pub(super) fn apply<S: Scalar>(h: &[S], x: &[S], out: &mut [S]) {
    for (out, row) in out.iter_mut().zip(pieces(h, x.len())) {
        *out = dot(row, x);
    }
}

/// Learns from a change `y` of the slopes over a step `s`, along which the curvature sᵀy is positive. The first pair also gives
/// the scale. Returns false if a number overflowed: H is then not usable.
pub(super) fn learn<S: Scalar>(h: &mut [S], s: &[S], y: &[S], hy: &mut [S], first: bool) -> bool {
    let sy = dot(s, y);
    apply(h, y, hy);
    let mut yhy = dot(y, hy);
    if first && yhy > S::ZERO {
        let a = sy / yhy;
        for entry in h.iter_mut() {
            *entry *= a;
        }
        for entry in hy.iter_mut() {
            *entry *= a;
        }
        yhy = sy;
    }
    let along = (S::ONE + yhy / sy) / sy;
    for (row, (&s_i, &hy_i)) in pieces_mut(h, s.len()).zip(s.iter().zip(hy.iter())) {
        for (entry, (&s_j, &hy_j)) in row.iter_mut().zip(s.iter().zip(hy.iter())) {
            *entry += along * (s_i * s_j) - (hy_i * s_j + s_i * hy_j) / sy;
        }
    }
    all_finite(h)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_metric_of_a_quadratic_is_learned() {
        // y = As with A = [[4, 1], [1, 2]]: after two conjugate pairs H is the inverse of A.
        let pairs = [([1.0, 0.0], [4.0, 1.0]), ([-0.25, 1.0], [0.0, 1.75])];
        let (mut h, mut work) = ([0.0; 4], [0.0; 2]);
        reset(&mut h, 2, 1.0);
        for (i, (s, y)) in pairs.iter().enumerate() {
            assert!(learn(&mut h, s, y, &mut work, i == 0));
            let mut found = [0.0; 2];
            apply(&h, y, &mut found);
            assert!(
                found
                    .iter()
                    .zip(s)
                    .all(|(a, b): (&f64, _)| (a - b).abs() < 1e-14)
            );
        }
        let inverse = [2.0 / 7.0, -1.0 / 7.0, -1.0 / 7.0, 4.0 / 7.0];
        assert!(
            h.iter().zip(inverse).all(|(a, b)| (a - b).abs() < 1e-14),
            "{h:?}"
        );
    }

    #[test]
    fn an_overflow_is_reported() {
        let (mut h, mut work) = ([1.0_f32], [0.0]);
        assert!(!learn(&mut h, &[1e-30], &[1e-30], &mut work, false));
    }
}
