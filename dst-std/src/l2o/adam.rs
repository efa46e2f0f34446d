//! Adam, as PyTorch does it: on the weights of a network, and as a method to compare with.

use crate::linalg::Real;

/// First and second moments of the gradient, and how many there were.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Adam<T> {
    /// Number of updates made.
    pub(super) updates: u64,
    /// First moments.
    pub(super) first: Vec<T>,
    /// Second moments.
    pub(super) second: Vec<T>,
}

const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const TINY: f64 = 1e-8;

impl<T: Real> Adam<T> {
    /// For so many weights, at rest.
    pub(super) fn new(weights: usize) -> Self {
        Self {
            updates: 0,
            first: vec![T::ZERO; weights],
            second: vec![T::ZERO; weights],
        }
    }

    /// θ ← θ − rate·m̂/(√v̂ + ε)
    pub(super) fn update(&mut self, theta: &mut [T], gradient: &[T], rate: f64) {
        self.updates += 1;
        let unbias = |beta: f64| 1.0 - beta.powi(self.updates.min(1 << 30) as i32);
        let step = T::from_f64(rate / unbias(FIRST));
        let root = T::from_f64(unbias(SECOND).sqrt());
        let (a, b) = (T::from_f64(FIRST), T::from_f64(SECOND));
        let (a1, b1) = (T::from_f64(1.0 - FIRST), T::from_f64(1.0 - SECOND));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((theta, &g), (m, v)) in theta.iter_mut().zip(gradient).zip(moments) {
            *m = a * *m + a1 * g;
            *v = b * *v + b1 * g * g;
            *theta -= step * *m / (T::root(*v) / root + T::from_f64(TINY));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first step of Adam has the size of the rate, whatever the gradient; one more with the same gradient, too.
    #[test]
    fn first_steps() {
        let mut adam = Adam::new(3);
        let mut theta = [1.0_f64; 3];
        for _ in 0..2 {
            adam.update(&mut theta, &[1e-3, -5.0, 0.0], 0.1);
        }
        for (theta, exact) in theta.iter().zip([0.8, 1.2, 1.0]) {
            assert!((theta - exact).abs() < 1e-5, "{theta} {exact}");
        }
    }
}
