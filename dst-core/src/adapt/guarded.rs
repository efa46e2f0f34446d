//! G-OLA: Adam-OLA with a bounded learning rate, at the same cost.
//!
//! The literal algorithm fails because S_k = ∇f(x_{k+1})·d_k / (f_{k+1} − f_k) is unbounded. Near the minimum along d_k the
//! denominator vanishes, and α − η·S_k can take any value, even a negative one. Then f rises, the trigger never fires again, and
//! α does not recover. A lower bound on α does not help.
//!
//! The dimensionless σ_k = α·S_k = ∂N/∂ln α is the natural signal. It is −1 while α is far too small (doubling α halves the
//! steps), 0 at the minimum along d_k, and tends to +∞ as the decrease vanishes. Clipped and applied to ln α, it is safe:
//!
//! - σ ← ¼ if f rose, else clipped to \[−1, ¼\];
//! - α ← α·exp(−rate·σ), kept inside \[1e-12, 1e6\], after every step;
//! - at the start, α doubles while σ < −½, and a step that raises f is undone and repeated with α/10.
//!
//! A step to infinity or NaN is always undone. f need not fall in every step: near instability, Adam can diverge for a while
//! before α has come down. The best point is therefore kept; see [`best`](GuardedOla::best).

use super::OlaStatus;
use super::point::{Hyperparameters, Point, accessors};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{all_finite, copy, dot, split_mut};
use crate::system::objective::Objective;

/// Bounds of α, for every α₀.
const LEAST: f64 = 1e-12;
const MOST: f64 = 1e6;

/// Parameters of G-OLA. One setting worked for every data set tried.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct GuardedConfig<S> {
    /// Initial learning rate α₀; if it is far off, a few steps correct it.
    pub alpha: S,
    /// Decay of the first moment.
    pub beta1: S,
    /// Decay of the second moment.
    pub beta2: S,
    /// Small constant in Adam's denominator.
    pub stability: S,
    /// Change of ln α per unit of σ.
    pub rate: S,
    /// Convergence threshold: max |∇f| < tolerance, tested before each update.
    pub tolerance: S,
}

impl<S: Scalar> GuardedConfig<S> {
    /// β = (0.9, 0.999), rate 0.05, tolerance 1e-4.
    pub fn new(alpha: S) -> Self {
        Self {
            alpha,
            beta1: S::from_f64(0.9),
            beta2: S::from_f64(0.999),
            stability: S::from_f64(1e-8),
            rate: S::from_f64(0.05),
            tolerance: S::from_f64(1e-4),
        }
    }

    fn adam(&self) -> Result<Hyperparameters<S>, Error> {
        let adam = Hyperparameters {
            alpha: self.alpha,
            betas: [self.beta1, self.beta2],
            stability: self.stability,
        };
        adam.check([self.rate, self.tolerance])
    }
}

/// Adam with a bounded learning rate.
///
/// A separate type beside [`AdamOla`](super::AdamOla): the literal algorithm does not pay for the guard.
///
/// ```
/// use dst_core::adapt::{GuardedConfig, GuardedOla, OlaStatus};
/// # use dst_core::Objective;
/// # struct Bowl;
/// # impl Objective<f64> for Bowl {
/// #     fn dim(&self) -> usize { 2 }
/// #     fn value_gradient(&self, x: &[f64], g: &mut [f64], _: &mut [f64], _: &mut [f64]) -> f64 {
/// #         g[0] = x[0]; g[1] = 4.0 * x[1]; 0.5 * x[0] * x[0] + 2.0 * x[1] * x[1]
/// #     }
/// #     fn add_hessian_vector(&self, _: &[f64], v: &[f64], _: &[f64], out: &mut [f64], _: &mut [f64]) {
/// #         out[0] += v[0]; out[1] += 4.0 * v[1];
/// #     }
/// # }
/// for alpha in [1e-9, 1.0, 1e9] {
///     let mut memory = [0.0; 8 * 2]; // GuardedOla::memory_len(&Bowl)
///     let mut ola = GuardedOla::new(GuardedConfig::new(alpha), &Bowl, &[1.0, 1.0], &mut memory)?;
///     assert_eq!(ola.advance(1000)?, OlaStatus::Converged);
/// }
/// # Ok::<(), dst_core::Error>(())
/// ```
#[derive(Debug)]
pub struct GuardedOla<'m, S, O> {
    config: GuardedConfig<S>,
    point: Point<'m, S, O>,
    direction: &'m mut [S],
    trial: &'m mut [S],
    trial_gradient: &'m mut [S],
    /// The best point from which f rose, and f there.
    low: &'m mut [S],
    f_low: S,
    /// True while the initial search for α goes on.
    warming_up: bool,
    /// True if the last step was undone; its direction is still valid.
    again: bool,
}

/// Vectors beside those of [`Point`]: direction, trial, its gradient, and the best point.
const OWN: usize = 4;

impl<'m, S: Scalar, O: Objective<S>> GuardedOla<'m, S, O> {
    /// Entries of working memory: eight vectors and the memory of the objective.
    pub fn memory_len(objective: &O) -> usize {
        Point::memory_len(objective, OWN)
    }

    /// Starts at x0, with one evaluation.
    pub fn new(
        config: GuardedConfig<S>,
        objective: O,
        x0: &[S],
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        let (point, rest) = Point::at(x0, config.adam()?, objective, memory, OWN)?;
        let (direction, rest) = split_mut(rest, x0.len());
        let (trial, rest) = split_mut(rest, x0.len());
        let (trial_gradient, low) = split_mut(rest, x0.len());
        Ok(Self {
            config,
            point,
            direction,
            trial,
            trial_gradient,
            low,
            f_low: S::INFINITY,
            warming_up: true,
            again: false,
        })
    }

    /// Makes at most `budget` iterations, each with one evaluation of f and ∇f. A step that is undone counts.
    ///
    /// Returns [`Error::NonFinite`] only if the direction itself is not finite, because squared gradients overflow.
    pub fn advance(&mut self, budget: usize) -> Result<OlaStatus, Error> {
        OlaStatus::within(budget, self, Self::is_converged, Self::iterate)
    }

    fn iterate(&mut self) -> Result<(), Error> {
        let point = &mut self.point;
        if !self.again {
            let update = point.moments.update(point.gradient);
            for (d, (mean, scale)) in self.direction.iter_mut().zip(update) {
                *d = mean / scale;
            }
            if !all_finite(self.direction) {
                return Err(Error::NonFinite {
                    step: point.iterations,
                });
            }
        }
        let (alpha, before) = (point.alpha, point.f);
        let from = point.x.iter().zip(self.direction.iter());
        for (trial, (&x, &d)) in self.trial.iter_mut().zip(from) {
            *trial = x - alpha * d;
        }
        let (f, finite) = point.evaluate_at(self.trial, self.trial_gradient);
        self.again = !finite || (self.warming_up && f > before);
        if self.again {
            self.set_alpha(alpha / S::from_f64(10.0));
            // α cannot go below its lower bound.
            self.warming_up = self.warming_up && self.point.alpha > S::from_f64(LEAST);
            return Ok(());
        }
        let sigma = if f < before {
            alpha * dot(self.trial_gradient, self.direction) / (f - before)
        } else {
            S::INFINITY
        };
        // If f has not changed at all, α is too small to have an effect.
        self.warming_up = self.warming_up && (sigma < -S::HALF || f == before);
        if self.warming_up {
            self.set_alpha(S::TWO * alpha);
        } else {
            // `min` ignores NaN, so the NaN of 0/0 becomes ¼.
            let sigma = sigma.min(S::from_f64(0.25)).max(-S::ONE);
            self.set_alpha(alpha * (-self.config.rate * sigma).exp());
        }
        if f >= before && before < self.f_low {
            copy(self.low, self.point.x);
            self.f_low = before;
        }
        self.point
            .accept(f, &mut self.trial, &mut self.trial_gradient);
        Ok(())
    }

    fn set_alpha(&mut self, alpha: S) {
        let point = &mut self.point;
        point.alpha = alpha.max(S::from_f64(LEAST)).min(S::from_f64(MOST));
        point.adaptations = point.adaptations.saturating_add(1);
    }

    /// Point with the least f so far, and f there.
    pub fn best(&self) -> (&[S], S) {
        if self.point.f <= self.f_low {
            (self.point.x, self.point.f)
        } else {
            (self.low, self.f_low)
        }
    }

    accessors!(
        alpha: "The current learning rate.",
        iterations: "Number of iterations.",
        adaptations: "Number of changes of α."
    );
}
