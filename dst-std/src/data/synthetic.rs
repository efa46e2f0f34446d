//! A data set of the paper's shape without a file: categories coded as ones, labels from a noisy hidden rule.

use super::Examples;
use crate::random::{normals, uniform};

/// The size of a synthetic data set: each example has one feature out of each of `groups` groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Examples.
    pub rows: usize,
    /// Features.
    pub features: usize,
    /// Features of one example.
    pub groups: usize,
}

impl Shape {
    /// As large as a1a: few rows, 14 of 123 features in each.
    pub const A1A: Self = Self {
        rows: 1605,
        features: 123,
        groups: 14,
    };
    /// As large as w3a: 12 of 300 features in each row.
    pub const W3A: Self = Self {
        rows: 4912,
        features: 300,
        groups: 12,
    };
}

/// Makes a data set from a seed. Labels are ±1: the sign of a random linear function, an intercept and unit noise.
pub fn synthetic(shape: Shape, seed: u64) -> Examples {
    let Shape {
        rows,
        features,
        groups,
    } = shape;
    let rule = normals(seed.wrapping_add(1), features + 1);
    let noise = normals(seed.wrapping_add(2), rows);
    let mut examples = Examples::default();
    for (i, noise) in noise.iter().enumerate() {
        let mut score = 0.0;
        for group in 0..groups {
            let (low, high) = (group * features / groups, (group + 1) * features / groups);
            let u = uniform(seed, (i * groups + group) as u64);
            let column = low + (u * (high - low) as f64) as usize;
            score += rule[column];
            // Groups follow each other, so the columns increase and fit 32 bits as `features` does.
            let added = examples.rows.push(column as u32, 1.0);
            debug_assert!(added.is_ok(), "{added:?}");
        }
        examples.rows.finish_row();
        let positive = score + rule[features] + noise >= 0.0;
        examples.labels.push(if positive { 1.0 } else { -1.0 });
    }
    examples.rows.widen(features);
    examples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_seed_will_do() {
        let shape = Shape {
            rows: 5,
            features: 6,
            groups: 2,
        };
        for seed in [u64::MAX - 1, u64::MAX] {
            assert_eq!(synthetic(shape, seed).labels.len(), 5);
        }
    }
}
