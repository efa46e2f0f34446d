//! The score of a set of instances: (1 − w)·mean + w·tail, with a soft maximum as the tail.
//!
//! tail = τ·(ln Σ exp(v/τ) − ln n) and τ = relative·|mean| + absolute. The mean alone neglects the slow instances, the
//! maximum alone has the gradient of one instance.

/// The weights of mean and tail.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// w, from 0 for the mean to 1 for the soft maximum.
    pub tail: f64,
    /// The part of τ in proportion to the mean.
    pub relative: f64,
    /// The constant part of τ; positive.
    pub absolute: f64,
}

impl Score {
    /// The mean alone.
    pub const MEAN: Self = Self::new(0.0);

    /// ½ mean + ½ soft maximum, for values that are counts or times.
    pub const HALF: Self = Self {
        tail: 0.5,
        relative: 0.15,
        absolute: 1e-9,
    };

    /// A tail of this weight for values that are logarithms: τ = 0.1.
    pub const fn new(tail: f64) -> Self {
        Self {
            tail,
            relative: 0.0,
            absolute: 0.1,
        }
    }

    /// Returns τ for these values.
    pub(super) fn temperature(&self, values: &[f64]) -> f64 {
        self.relative * mean(values).abs() + self.absolute
    }

    /// Returns the score; infinite if a value is not finite.
    pub fn of(&self, values: &[f64]) -> f64 {
        self.at(values, self.temperature(values))
    }

    /// Returns the score with this τ.
    pub(super) fn at(&self, values: &[f64], tau: f64) -> f64 {
        if !values.iter().all(|v| v.is_finite()) {
            return f64::INFINITY;
        }
        let mean = mean(values);
        if self.tail == 0.0 {
            return mean;
        }
        let (largest, sum) = powers(values, tau);
        let soft = largest + tau * libm::log(sum / values.len().max(1) as f64);
        (1.0 - self.tail) * mean + self.tail * soft
    }

    /// Returns the derivative of the score by every value, with τ held fixed.
    pub fn weights(&self, values: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; values.len()];
        self.weights_at(values, self.temperature(values), &mut weights);
        weights
    }

    pub(super) fn weights_at(&self, values: &[f64], tau: f64, weights: &mut [f64]) {
        let even = (1.0 - self.tail) / values.len().max(1) as f64;
        if self.tail == 0.0 {
            weights.fill(even);
            return;
        }
        let (largest, sum) = powers(values, tau);
        for (weight, value) in weights.iter_mut().zip(values) {
            *weight = even + self.tail * libm::exp((value - largest) / tau) / sum;
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the largest value and Σ exp((v − largest)/τ).
fn powers(values: &[f64], tau: f64) -> (f64, f64) {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers = values.iter().map(|v| libm::exp((v - largest) / tau));
    (largest, powers.sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_score_lies_between_mean_and_maximum() {
        let values = [1.0, 2.0, 6.0];
        assert_eq!(Score::MEAN.of(&values), 3.0);
        let sharp = Score {
            tail: 1.0,
            relative: 0.0,
            absolute: 1e-3,
        };
        assert!((sharp.of(&values) - 6.0).abs() < 2e-3);
        let half = Score::HALF.of(&values);
        assert!(half > 3.0 && half < 4.5, "{half}");
        assert_eq!(Score::HALF.of(&[4.0; 5]), 4.0);
        assert!(Score::MEAN.of(&[1.0, f64::NAN]).is_infinite());
        assert!(Score::HALF.of(&[1.0, f64::INFINITY]).is_infinite());
    }

    #[test]
    fn the_weights_are_the_derivative() {
        let (score, values) = (Score::new(0.4), [1.0, 1.3, 0.7, 1.25]);
        let weights = score.weights(&values);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for i in 0..4 {
            let moved = |by: f64| {
                let mut v = values;
                v[i] += by;
                score.of(&v)
            };
            let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
            assert!((weights[i] - difference).abs() < 1e-8, "{i}");
        }
    }
}
