//! The largest eigenvalue of a symmetric positive operator, by Lanczos iteration to rounding.

use crate::random::uniform;

/// The largest eigenvalue of the operator that `apply(v, out)` computes; 0 if there are no variables, infinite if squares of its
/// values leave the range of numbers.
///
/// Lanczos without reorthogonalisation: it finds eigenvalues again and again, which does not disturb the largest one. Stops
/// when that no longer moves.
pub fn largest_eigenvalue(dim: usize, mut apply: impl FnMut(&[f64], &mut [f64])) -> f64 {
    const STILL: usize = 3;
    let mut v: Vec<f64> = (0..dim as u64).map(|i| uniform(1, i) - 0.25).collect();
    normalise(&mut v);
    let (mut previous, mut next) = (vec![0.0; dim], vec![0.0; dim]);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    let (mut largest, mut still) = (0.0, 0);
    for _ in 0..dim.saturating_mul(4) {
        apply(&v, &mut next);
        let alpha: f64 = v.iter().zip(&next).map(|(v, n)| v * n).sum();
        diagonal.push(alpha);
        let before = beside.last().copied().unwrap_or(0.0);
        for ((next, v), previous) in next.iter_mut().zip(&v).zip(&previous) {
            *next -= alpha * v + before * previous;
        }
        let beta = normalise(&mut next);
        if !(alpha.is_finite() && beta.is_finite()) {
            return f64::INFINITY;
        }
        let estimate = largest_of_tridiagonal(&diagonal, &beside);
        let moved = (estimate - largest).abs() > 4.0 * f64::EPSILON * estimate.abs();
        still = if moved { 0 } else { still + 1 };
        largest = estimate;
        if still == STILL || beta <= f64::EPSILON * largest {
            break;
        }
        beside.push(beta);
        std::mem::swap(&mut previous, &mut v);
        std::mem::swap(&mut v, &mut next);
    }
    largest
}

/// Scales to unit length; returns the length before.
fn normalise(v: &mut [f64]) -> f64 {
    let norm = v.iter().map(|v| v * v).sum::<f64>().sqrt();
    if norm > 0.0 {
        v.iter_mut().for_each(|v| *v /= norm);
    }
    norm
}

/// By bisection on the number of eigenvalues above a shift (Sturm's sequence).
fn largest_of_tridiagonal(diagonal: &[f64], beside: &[f64]) -> f64 {
    let around = |i: usize| {
        let left = i.checked_sub(1).map_or(0.0, |i| beside[i].abs());
        left + beside.get(i).map_or(0.0, |b| b.abs())
    };
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for (i, &d) in diagonal.iter().enumerate() {
        low = low.max(d);
        high = high.max(d + around(i));
    }
    let any_above = |shift: f64| {
        let mut pivot = 1.0;
        for (i, &d) in diagonal.iter().enumerate() {
            let coupling = i.checked_sub(1).map_or(0.0, |i| beside[i] * beside[i]);
            pivot = d - shift - coupling / pivot;
            if pivot >= 0.0 {
                return true;
            }
        }
        false
    };
    loop {
        let middle = low + 0.5 * (high - low);
        if middle <= low || middle >= high {
            return low;
        }
        if any_above(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_spectra() {
        // The second difference: 2 + 2cos(π/(n + 1)).
        for n in [1, 2, 3, 10, 200] {
            let exact = 2.0 + 2.0 * (std::f64::consts::PI / (n as f64 + 1.0)).cos();
            let ours = largest_eigenvalue(n, |v, out| {
                for i in 0..n {
                    let left = if i > 0 { v[i - 1] } else { 0.0 };
                    out[i] = 2.0 * v[i] - left - v.get(i + 1).unwrap_or(&0.0);
                }
            });
            assert!((ours / exact - 1.0).abs() < 1e-13, "{n}: {ours} {exact}");
        }
        // Two eigenvalues close together, and zero.
        let close = largest_eigenvalue(50, |v, out| {
            for (i, (v, out)) in v.iter().zip(out).enumerate() {
                *out = v * (1.0 - 1e-4 * i as f64);
            }
        });
        assert!((close - 1.0).abs() < 1e-12, "{close}");
        assert_eq!(largest_eigenvalue(3, |_, out| out.fill(0.0)), 0.0);
        assert_eq!(largest_eigenvalue(0, |_, _| ()), 0.0);
    }

    /// Values too large to be squared: infinite, and at once.
    #[test]
    fn what_leaves_the_range_is_infinite() {
        for scale in [1e160, 1e300, f64::INFINITY] {
            let found = largest_eigenvalue(3, |v, out| {
                for (i, (v, out)) in v.iter().zip(out).enumerate() {
                    *out = scale * (1.0 + i as f64) * v;
                }
            });
            assert_eq!(found, f64::INFINITY, "{scale:e}");
        }
        let one = largest_eigenvalue(1, |v, out| out[0] = 1e200 * v[0]);
        assert!((one / 1e200 - 1.0).abs() < 1e-15, "{one}");
    }
}
