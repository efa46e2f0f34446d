//! Adam-OLA, exactly as Algorithm 2 of the paper.
//!
//! One evaluation of f and ∇f per iteration: what Algorithm 2 evaluates at x_{k+1} is kept for the next round.
//! The sensitivity is truncated to one step, S_k = ∇f(x_{k+1})·d_k / (f_{k+1} − f_k), and α ← α − η·S_k whenever
//! f_ref − f_{k+1} > ε_desc·(number of adaptations so far).

use super::moments::{Moments, in_range};
use crate::error::{Argument, Error, at_least, exact, finite};
use crate::integrator::split_mut;
use crate::objective::{Objective, Optimality};
use crate::scalar::{Scalar, all_finite, copy, dot};

/// The parameters of Adam-OLA.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OlaConfig<S> {
    /// Learning rate to start with, α₀.
    pub alpha: S,
    /// Decay of the first moment.
    pub beta1: S,
    /// Decay of the second moment.
    pub beta2: S,
    /// ε_stab, the small number in Adam's denominator.
    pub stability: S,
    /// Adaptation rate η_adapt.
    pub eta: S,
    /// ε_desc: the fall of f that triggers, per adaptation so far.
    pub descent: S,
    /// Converged when max |∇f| < tolerance, tested before each update. [`WindowedOla`](super::WindowedOla) does not look at it.
    pub tolerance: S,
}

impl<S: Scalar> OlaConfig<S> {
    /// β = (0.9, 0.999), ε_stab = 1e-8, tolerance 1e-4: what the paper uses.
    pub fn new(alpha: S, eta: S, descent: S) -> Self {
        Self {
            alpha,
            beta1: S::from_f64(0.9),
            beta2: S::from_f64(0.999),
            stability: S::from_f64(1e-8),
            eta,
            descent,
            tolerance: S::from_f64(1e-4),
        }
    }

    /// Is every number in its range? Asked when a run starts, too.
    pub fn check(&self) -> Result<(), Error> {
        finite(Argument::Hyperparameter, &[self.eta])?;
        in_range(
            self.alpha,
            [self.beta1, self.beta2],
            [self.stability, self.descent, self.tolerance],
        )
    }
}

/// Where an adaptive run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum OlaStatus {
    /// The budget of the call is used up.
    Running,
    /// The gradient is below the tolerance.
    Converged,
}

/// Adam with online learning-rate adaptation.
///
/// ```
/// use dst_core::adapt::{AdamOla, OlaConfig, OlaStatus};
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
/// let mut memory = [0.0; 5 * 2]; // AdamOla::memory_len(&Bowl)
/// let mut ola = AdamOla::new(OlaConfig::new(0.05, 1e-4, 1e-3), &Bowl, &[1.0, 1.0], &mut memory)?;
/// assert_eq!(ola.advance(500)?, OlaStatus::Converged);
/// assert!(ola.alpha() != 0.05 && ola.value() < 1e-8);
/// # Ok::<(), dst_core::Error>(())
/// ```
#[derive(Debug)]
pub struct AdamOla<'m, S, O> {
    config: OlaConfig<S>,
    objective: O,
    x: &'m mut [S],
    moments: Moments<'m, S>,
    gradient: &'m mut [S],
    direction: &'m mut [S],
    tape: &'m mut [S],
    scratch: &'m mut [S],
    alpha: S,
    f: S,
    f_ref: S,
    iterations: usize,
    adaptations: usize,
    failed: Option<Error>,
}

impl<'m, S: Scalar, O: Objective<S>> AdamOla<'m, S, O> {
    /// Entries of working memory: five vectors and what the objective asks for.
    pub fn memory_len(objective: &O) -> usize {
        let vectors = objective.dim().saturating_mul(5);
        vectors
            .saturating_add(objective.tape_len())
            .saturating_add(objective.scratch_len())
    }

    /// Starts at x0; evaluates there once.
    pub fn new(
        config: OlaConfig<S>,
        objective: O,
        x0: &[S],
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        config.check()?;
        let dim = objective.dim();
        exact(Argument::X0, dim, x0.len())?;
        at_least(Argument::Memory, Self::memory_len(&objective), memory.len())?;
        let (x, rest) = split_mut(memory, dim);
        let (m, rest) = split_mut(rest, dim);
        let (v, rest) = split_mut(rest, dim);
        let (gradient, rest) = split_mut(rest, dim);
        let (direction, rest) = split_mut(rest, dim);
        let (tape, rest) = split_mut(rest, objective.tape_len());
        let (scratch, _) = split_mut(rest, objective.scratch_len());
        copy(x, x0);
        direction.fill(S::ZERO);
        let f = objective.value_gradient(x, gradient, tape, scratch);
        if !(f.is_finite() && all_finite(gradient)) {
            return Err(Error::NonFinite { step: 0 });
        }
        Ok(Self {
            config,
            objective,
            x,
            moments: Moments::new((m, v), [config.beta1, config.beta2], config.stability),
            gradient,
            direction,
            tape,
            scratch,
            alpha: config.alpha,
            f,
            f_ref: f,
            iterations: 0,
            adaptations: 0,
            failed: None,
        })
    }

    /// Makes at most `budget` iterations, one evaluation of f and ∇f each.
    ///
    /// The literal algorithm can diverge: that is [`Error::NonFinite`], with the iteration, and final. The counts and the
    /// last finite α stay readable.
    pub fn advance(&mut self, budget: usize) -> Result<OlaStatus, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        for _ in 0..budget {
            if self.gradient_max() < self.config.tolerance {
                return Ok(OlaStatus::Converged);
            }
            if let Err(error) = self.iterate() {
                self.failed = Some(error);
                return Err(error);
            }
        }
        let converged = self.gradient_max() < self.config.tolerance;
        Ok(if converged {
            OlaStatus::Converged
        } else {
            OlaStatus::Running
        })
    }

    fn iterate(&mut self) -> Result<(), Error> {
        let vectors = self.x.iter_mut().zip(self.direction.iter_mut());
        for ((x, d), (m, root)) in vectors.zip(self.moments.update(self.gradient)) {
            *d = m / root;
            *x -= self.alpha * *d;
        }
        let f_prev = self.f;
        self.iterations = self.iterations.saturating_add(1);
        self.f = self
            .objective
            .value_gradient(self.x, self.gradient, self.tape, self.scratch);
        if !(self.f.is_finite() && all_finite(self.x) && all_finite(self.gradient)) {
            return Err(Error::NonFinite {
                step: self.iterations,
            });
        }
        if self.f_ref - self.f > self.config.descent * S::from_count(self.adaptations) {
            let fall = self.f - f_prev;
            if fall != S::ZERO {
                let sensitivity = dot(self.gradient, self.direction) / fall;
                let alpha = self.alpha - self.config.eta * sensitivity;
                if !alpha.is_finite() {
                    return Err(Error::NonFinite {
                        step: self.iterations,
                    });
                }
                self.alpha = alpha;
            }
            self.f_ref = self.f;
            self.adaptations = self.adaptations.saturating_add(1);
        }
        Ok(())
    }

    /// x_k
    pub fn state(&self) -> &[S] {
        self.x
    }
    /// f(x_k)
    pub fn value(&self) -> S {
        self.f
    }
    /// ∇f(x_k)
    pub fn gradient(&self) -> &[S] {
        self.gradient
    }
    /// max |∇f(x_k)|; NaN if any entry is.
    pub fn gradient_max(&self) -> S {
        Optimality::ResidualMax.value(self.f, self.gradient)
    }
    /// The current learning rate.
    pub fn alpha(&self) -> S {
        self.alpha
    }
    /// Iterations made.
    pub fn iterations(&self) -> usize {
        self.iterations
    }
    /// Adaptations made.
    pub fn adaptations(&self) -> usize {
        self.adaptations
    }
}
