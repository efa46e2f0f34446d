//! Adam, of Kingma and Ba (2015), in the form of PyTorch: one optimiser for all trainings of this crate.
//!
//! ```
//! use dst_std::adam::Adam;
//!
//! // The minimum of (x − 3)².
//! let (mut adam, mut x) = (Adam::<f64>::new(1), [0.0]);
//! for _ in 0..2000 {
//!     let gradient = [2.0 * (x[0] - 3.0)];
//!     adam.update(&mut x, &gradient, 0.05);
//! }
//! assert!((x[0] - 3.0_f64).abs() < 1e-3);
//! ```

use crate::linalg::Real;

/// First and second moments of the gradient, and the number of updates.
#[derive(Clone, Debug, PartialEq)]
pub struct Adam<T> {
    /// Number of updates made.
    pub(crate) updates: u64,
    /// First moments.
    pub(crate) first: Vec<T>,
    /// Second moments.
    pub(crate) second: Vec<T>,
    /// β₁ and β₂.
    betas: [f64; 2],
}

/// β₁ and β₂ unless others are given.
const BETAS: [f64; 2] = [0.9, 0.999];
/// ε
const TINY: f64 = 1e-8;

impl<T: Real> Adam<T> {
    /// Moments of `weights` weights, all zero, with β = (0.9, 0.999).
    pub fn new(weights: usize) -> Self {
        Self::with_betas(weights, BETAS)
    }

    /// The same with other β₁ and β₂.
    pub fn with_betas(weights: usize, betas: [f64; 2]) -> Self {
        Self {
            updates: 0,
            first: vec![T::ZERO; weights],
            second: vec![T::ZERO; weights],
            betas,
        }
    }

    /// θ ← θ − rate·m̂/(√v̂ + ε), rounded as PyTorch rounds it: the bias corrections enter the step size and the root.
    pub fn update(&mut self, theta: &mut [T], gradient: &[T], rate: f64) {
        let [first, second] = self.next_corrections();
        let step = T::from_f64(rate / first);
        let root = T::from_f64(second.sqrt());
        self.apply(theta, gradient, |m, v| {
            step * m / (T::root(v) / root + T::from_f64(TINY))
        });
    }

    /// The same step, rounded as the paper writes it: the bias corrections enter the moments.
    pub fn update_as_published(&mut self, theta: &mut [T], gradient: &[T], rate: f64) {
        let [first, second] = self.next_corrections().map(T::from_f64);
        let rate = T::from_f64(rate);
        self.apply(theta, gradient, |m, v| {
            rate * (m / first) / (T::root(v / second) + T::from_f64(TINY))
        });
    }

    /// Counts an update and returns 1 − β₁ᵏ and 1 − β₂ᵏ.
    fn next_corrections(&mut self) -> [f64; 2] {
        self.updates += 1;
        let power = self.updates.min(1 << 30) as i32;
        self.betas.map(|beta| 1.0 - beta.powi(power))
    }

    /// Updates the moments, and subtracts `step` of them from θ.
    fn apply(&mut self, theta: &mut [T], gradient: &[T], step: impl Fn(T, T) -> T) {
        let [a, b] = self.betas.map(T::from_f64);
        let [a1, b1] = self.betas.map(|beta| T::from_f64(1.0 - beta));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((theta, &g), (m, v)) in theta.iter_mut().zip(gradient).zip(moments) {
            *m = a * *m + a1 * g;
            *v = b * *v + b1 * g * g;
            *theta -= step(*m, *v);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first step of Adam has the size of the rate, whatever the gradient; one more with the same gradient, too.
    #[test]
    fn first_steps() {
        for update in [Adam::update, Adam::update_as_published] {
            let mut adam = Adam::new(3);
            let mut theta = [1.0_f64; 3];
            for _ in 0..2 {
                update(&mut adam, &mut theta, &[1e-3, -5.0, 0.0], 0.1);
            }
            for (theta, exact) in theta.iter().zip([0.8, 1.2, 1.0]) {
                assert!((theta - exact).abs() < 1e-5, "{theta} {exact}");
            }
        }
    }
}
