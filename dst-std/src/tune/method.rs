//! The methods to tune. Their hyperparameters are mapped to unconstrained real coordinates u.
//!
//! Step sizes are α = exp(u), momenta β = 1/(1 + exp(−u)). In these coordinates a unit is a factor e in the step size or, near
//! β = 1, in 1 − β: the natural scale of a stopping time.

use dst_core::methods::{Adam, Constant, GradientFlow, HeavyBall, Nesterov, Preconditioned};
use dst_core::{Objective, Optimality, System};

/// A method with hyperparameters to tune.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TunedMethod {
    /// Gradient descent: α.
    Gd,
    /// Polyak's heavy ball: α, β.
    HeavyBall,
    /// Nesterov's acceleration: α, β.
    Nesterov,
    /// Adam: α, β₁, β₂.
    Adam,
    /// Gradient descent with a step size for every variable.
    Preconditioned,
}

/// The role of a hyperparameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Step,
    Momentum,
}

impl TunedMethod {
    /// Every method.
    pub const ALL: [Self; 5] = [
        Self::Gd,
        Self::HeavyBall,
        Self::Nesterov,
        Self::Adam,
        Self::Preconditioned,
    ];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gd => "gd",
            Self::HeavyBall => "heavy-ball",
            Self::Nesterov => "nesterov",
            Self::Adam => "adam",
            Self::Preconditioned => "preconditioned",
        }
    }

    /// Returns the names of the hyperparameters; the step sizes of `Preconditioned` share one name.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Gd | Self::Preconditioned => &["α"],
            Self::HeavyBall | Self::Nesterov => &["α", "β"],
            Self::Adam => &["α", "β1", "β2"],
        }
    }

    /// Returns the textbook values: α = 1/L and β = 0.9; for Adam 0.01, 0.9, 0.999.
    pub fn textbook(self, lipschitz: f64, dim: usize) -> Vec<f64> {
        let alpha = 1.0 / lipschitz;
        match self {
            Self::Gd => vec![alpha],
            Self::HeavyBall | Self::Nesterov => vec![alpha, 0.9],
            Self::Adam => vec![0.01, 0.9, 0.999],
            Self::Preconditioned => vec![alpha; dim],
        }
    }

    /// Returns starts beside the textbook's, from which a descent may begin. They depend on the problem alone, so that the result does
    /// not depend much on the initial values of the configuration.
    pub(super) fn anchors(self, lipschitz: f64, dim: usize) -> Vec<Vec<f64>> {
        let alpha = 1.0 / lipschitz;
        let pair = |(alpha, beta): (f64, f64)| vec![alpha / lipschitz, beta];
        match self {
            Self::Gd => vec![vec![alpha], vec![1.8 * alpha]],
            Self::Preconditioned => vec![vec![alpha; dim], vec![1.8 * alpha; dim]],
            Self::HeavyBall => [
                (1.0, 0.7),
                (1.0, 0.9),
                (1.5, 0.97),
                (2.0, 0.99),
                (2.0, 0.997),
            ]
            .map(pair)
            .to_vec(),
            Self::Nesterov => [
                (0.8, 0.7),
                (0.8, 0.9),
                (0.8, 0.97),
                (0.8, 0.99),
                (0.8, 0.997),
            ]
            .map(pair)
            .to_vec(),
            Self::Adam => [0.001, 0.01, 0.1, 1.0]
                .map(|alpha| vec![alpha, 0.9, 0.999])
                .into_iter()
                .chain([vec![0.1, 0.9, 0.9], vec![0.1, 0.97, 0.97]])
                .collect(),
        }
    }

    pub(super) fn role(self, parameter: usize) -> Role {
        match self {
            Self::Gd | Self::Preconditioned => Role::Step,
            _ if parameter == 0 => Role::Step,
            _ => Role::Momentum,
        }
    }

    /// Returns the initial state of a run from x, with zero velocity and moments.
    pub(super) fn state(self, x: &[f64]) -> Vec<f64> {
        let (zeros, same) = self.beside_x();
        let mut state = x.repeat(1 + same);
        state.resize(x.len() * (1 + same + zeros), 0.0);
        state
    }

    /// Returns the numbers of the state that there are for every variable.
    pub(super) fn states_per_variable(self) -> usize {
        let (zeros, same) = self.beside_x();
        1 + same + zeros
    }

    /// Returns the parts of the state beside x: those that begin with zero, and those that begin with x.
    fn beside_x(self) -> (usize, usize) {
        match self {
            Self::Gd | Self::Preconditioned => (0, 0),
            Self::HeavyBall => (1, 0),
            Self::Nesterov => (0, 1),
            Self::Adam => (2, 0),
        }
    }

    /// Returns the iteration on this objective.
    pub(super) fn system<'o>(
        self,
        objective: &'o (dyn Objective<f64> + Send + Sync),
        stop: Optimality,
    ) -> Box<dyn System<f64> + Send + Sync + 'o> {
        match self {
            Self::Gd => Box::new(GradientFlow::new(objective, Constant).stop_on(stop)),
            Self::HeavyBall => Box::new(HeavyBall::new(objective).stop_on(stop)),
            Self::Nesterov => Box::new(Nesterov::new(objective).stop_on(stop)),
            Self::Adam => Box::new(Adam::new(objective).stop_on(stop)),
            Self::Preconditioned => Box::new(Preconditioned::new(objective).stop_on(stop)),
        }
    }

    /// Returns θ(u).
    pub(super) fn theta(self, u: &[f64]) -> Vec<f64> {
        let value = |(i, &u)| match self.role(i) {
            Role::Step => libm::exp(u),
            Role::Momentum => 1.0 / (1.0 + libm::exp(-u)),
        };
        u.iter().enumerate().map(value).collect()
    }

    /// Returns u(θ).
    pub(super) fn coordinates(self, theta: &[f64]) -> Vec<f64> {
        let value = |(i, &theta)| match self.role(i) {
            Role::Step => libm::log(theta),
            Role::Momentum => libm::log(theta) - libm::log1p(-theta),
        };
        theta.iter().enumerate().map(value).collect()
    }

    /// Converts a derivative by θ to one by u.
    pub(super) fn chain(self, theta: &[f64], gradient: &mut [f64]) {
        for (i, (gradient, &theta)) in gradient.iter_mut().zip(theta).enumerate() {
            *gradient *= match self.role(i) {
                Role::Step => theta,
                Role::Momentum => theta * (1.0 - theta),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_invert_and_every_vector_is_valid() {
        for method in TunedMethod::ALL {
            let theta = method.textbook(8.0, 3);
            let back = method.theta(&method.coordinates(&theta));
            for (a, b) in theta.iter().zip(&back) {
                assert!((a / b - 1.0).abs() < 1e-14, "{method:?}: {a} {b}");
            }
            // Any vector is valid.
            let wild: Vec<f64> = theta.iter().map(|_| -30.0).collect();
            assert!(method.theta(&wild).iter().all(|&t| t > 0.0 && t < 1.0));
        }
    }

    #[test]
    fn the_chain_rule_agrees_with_differences() {
        let (method, u, d) = (TunedMethod::Adam, [-2.0, 1.5, 4.0], 1e-6);
        for i in 0..3 {
            let moved = |by: f64| {
                let mut v = u;
                v[i] += by;
                method.theta(&v)[i]
            };
            let mut slope = [1.0; 3];
            method.chain(&method.theta(&u), &mut slope);
            let difference = (moved(d) - moved(-d)) / (2.0 * d);
            assert!((slope[i] / difference - 1.0).abs() < 1e-8, "{i}");
        }
    }
}
