//! Rows with dyadic entries: dense, sparse, unit vectors, copies, multiples and sums.

use super::Draw;
use super::draw::dyadic;

/// Returns a row of norm about 1, dense or with few entries.
pub(super) fn fresh(draw: &mut Draw, n: usize) -> Vec<f64> {
    let share = if draw.chance(0.5) {
        1.0
    } else {
        draw.between(0.1, 0.6)
    };
    let size = 1.0 / (share * n as f64).sqrt().max(1.0);
    let mut row: Vec<f64> = (0..n)
        .map(|_| {
            if draw.chance(share) {
                dyadic(size * draw.normal())
            } else {
                0.0
            }
        })
        .collect();
    // At least one entry far from zero, so that no row is almost empty.
    row[draw.below(n)] += 0.5 * draw.sign();
    if row.iter().all(|&a| a == 0.0) {
        row[0] = 0.5;
    }
    row
}

/// Returns the first n rows of an identity.
pub(super) fn identity(n: usize) -> Vec<Vec<f64>> {
    (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect()
}

/// Returns Σ weight·row over (row, weight).
pub(super) fn combination(rows: &[Vec<f64>], parts: &[(usize, f64)]) -> Vec<f64> {
    let mut sum = vec![0.0; rows[0].len()];
    for &(j, weight) in parts {
        sum.iter_mut()
            .zip(&rows[j])
            .for_each(|(s, a)| *s += weight * a);
    }
    sum
}

/// Returns one to four different rows below `count`, with weights ±1.
pub(super) fn parts(draw: &mut Draw, count: usize, most: usize) -> Vec<(usize, f64)> {
    let mut parts: Vec<(usize, f64)> = Vec::new();
    for _ in 0..1 + draw.below(most) {
        let j = draw.below(count);
        if parts.iter().all(|p| p.0 != j) {
            parts.push((j, draw.sign()));
        }
    }
    parts
}
