//! Adam-OLA, exactly as Algorithm 2 of the paper.
//!
//! Each iteration evaluates f and ∇f once: the values that Algorithm 2 computes at x_{k+1} are kept for the next iteration.
//! The sensitivity is truncated to one step, S_k = ∇f(x_{k+1})·d_k / (f_{k+1} − f_k), and α ← α − η·S_k whenever
//! f_ref − f_{k+1} > ε_desc·(number of adaptations so far).

use super::moments::{Moments, in_range};
use crate::error::{Argument, Error, at_least, exact, finite};
use crate::scalar::Scalar;
use crate::slices::{all_finite, copy, dot, split_mut};
use crate::system::objective::{Objective, Optimality};

/// Parameters of Adam-OLA.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct OlaConfig<S> {
    /// Initial learning rate α₀.
    pub alpha: S,
    /// Decay of the first moment.
    pub beta1: S,
    /// Decay of the second moment.
    pub beta2: S,
    /// ε_stab, the small constant in Adam's denominator.
    pub stability: S,
    /// Adaptation rate η_adapt.
    pub eta: S,
    /// ε_desc: the decrease of f that triggers an adaptation, per adaptation so far.
    pub descent: S,
    /// Convergence threshold: max |∇f| < tolerance, tested before each update. [`WindowedOla`](super::WindowedOla) ignores it.
    pub tolerance: S,
}

impl<S: Scalar> OlaConfig<S> {
    /// Values of the paper: β = (0.9, 0.999), ε_stab = 1e-8, tolerance 1e-4.
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

    /// Checks that every number is in range. Also called when a run starts.
    pub fn check(&self) -> Result<(), Error> {
        finite(Argument::Hyperparameter, &[self.eta])?;
        in_range(
            self.alpha,
            [self.beta1, self.beta2],
            [self.stability, self.descent, self.tolerance],
        )
    }
}

/// Status of an adaptive run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum OlaStatus {
    /// The budget of the call is exhausted.
    Running,
    /// The gradient is below the tolerance.
    Converged,
}

impl OlaStatus {
    /// Iterates until convergence, at most `budget` times. Tests before each iteration and after the last.
    pub(super) fn within<T>(
        budget: usize,
        run: &mut T,
        is_converged: impl Fn(&T) -> bool,
        mut iterate: impl FnMut(&mut T) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        for _ in 0..budget {
            if is_converged(run) {
                return Ok(Self::Converged);
            }
            iterate(run)?;
        }
        Ok(if is_converged(run) {
            Self::Converged
        } else {
            Self::Running
        })
    }
}

/// Scalars of an adaptive run; its vectors are in the memory. Plain data: from it and the memory, moved or not,
/// [`AdamOla::from_parts`] and [`WindowedOla::from_parts`](super::WindowedOla::from_parts) continue with the same bits.
#[derive(Clone, Copy, Debug)]
pub struct OlaCursor<S> {
    pub(super) config: OlaConfig<S>,
    pub(super) alpha: S,
    pub(super) f: S,
    /// Reference value for the decrease of f; NaN before the first evaluation.
    pub(super) f_ref: S,
    /// β₁^k and β₂^k; used only by Adam-OLA.
    powers: (S, S),
    pub(super) iterations: usize,
    pub(super) adaptations: usize,
    failed: Option<Error>,
}

impl<S: Scalar> OlaCursor<S> {
    /// Cursor before the first evaluation.
    pub fn new(config: OlaConfig<S>) -> Self {
        Self {
            config,
            alpha: config.alpha,
            f: S::NAN,
            f_ref: S::NAN,
            powers: (S::ONE, S::ONE),
            iterations: 0,
            adaptations: 0,
            failed: None,
        }
    }
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
    /// All scalars but the powers, which are in the moments.
    cursor: OlaCursor<S>,
    objective: O,
    x: &'m mut [S],
    moments: Moments<'m, S>,
    gradient: &'m mut [S],
    direction: &'m mut [S],
    tape: &'m mut [S],
    scratch: &'m mut [S],
}

impl<'m, S: Scalar, O: Objective<S>> AdamOla<'m, S, O> {
    /// Entries of working memory: five vectors and the memory of the objective.
    pub fn memory_len(objective: &O) -> usize {
        let vectors = objective.dim().saturating_mul(5);
        vectors
            .saturating_add(objective.tape_len())
            .saturating_add(objective.scratch_len())
    }

    /// Starts at x0, with one evaluation.
    pub fn new(
        config: OlaConfig<S>,
        objective: O,
        x0: &[S],
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        config.check()?;
        exact(Argument::X0, objective.dim(), x0.len())?;
        let mut ola = Self::from_parts(OlaCursor::new(config), objective, memory)?;
        copy(ola.x, x0);
        ola.moments.m.fill(S::ZERO);
        ola.moments.v.fill(S::ZERO);
        ola.direction.fill(S::ZERO);
        let f = ola
            .objective
            .value_gradient(ola.x, ola.gradient, ola.tape, ola.scratch);
        if !(f.is_finite() && all_finite(ola.gradient)) {
            return Err(Error::NonFinite { step: 0 });
        }
        ola.cursor.f = f;
        ola.cursor.f_ref = f;
        Ok(ola)
    }

    /// Continues from [`cursor`](Self::cursor), with a memory of the same content.
    pub fn from_parts(
        cursor: OlaCursor<S>,
        objective: O,
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        let dim = objective.dim();
        at_least(Argument::Memory, Self::memory_len(&objective), memory.len())?;
        let (x, rest) = split_mut(memory, dim);
        let (m, rest) = split_mut(rest, dim);
        let (v, rest) = split_mut(rest, dim);
        let (gradient, rest) = split_mut(rest, dim);
        let (direction, rest) = split_mut(rest, dim);
        let (tape, rest) = split_mut(rest, objective.tape_len());
        let (scratch, _) = split_mut(rest, objective.scratch_len());
        let OlaConfig {
            beta1,
            beta2,
            stability,
            ..
        } = cursor.config;
        let powers = cursor.powers;
        Ok(Self {
            cursor,
            objective,
            x,
            moments: Moments {
                m,
                v,
                beta1,
                beta2,
                stability,
                powers,
            },
            gradient,
            direction,
            tape,
            scratch,
        })
    }

    /// Scalars of the run, to continue it later.
    pub fn cursor(&self) -> OlaCursor<S> {
        OlaCursor {
            powers: self.moments.powers,
            ..self.cursor
        }
    }

    /// Makes at most `budget` iterations, each with one evaluation of f and ∇f.
    ///
    /// The literal algorithm can diverge. This gives [`Error::NonFinite`] with the iteration number, and the run cannot continue.
    /// The counts and the last finite α remain readable.
    pub fn advance(&mut self, budget: usize) -> Result<OlaStatus, Error> {
        if let Some(error) = self.cursor.failed {
            return Err(error);
        }
        let status = OlaStatus::within(budget, self, Self::is_converged, Self::iterate);
        self.cursor.failed = status.err();
        status
    }

    fn is_converged(&self) -> bool {
        self.gradient_max() < self.cursor.config.tolerance
    }

    fn iterate(&mut self) -> Result<(), Error> {
        let cursor = &mut self.cursor;
        let vectors = self.x.iter_mut().zip(self.direction.iter_mut());
        for ((x, d), (m, root)) in vectors.zip(self.moments.update(self.gradient)) {
            *d = m / root;
            *x -= cursor.alpha * *d;
        }
        let f_prev = cursor.f;
        cursor.iterations = cursor.iterations.saturating_add(1);
        cursor.f = self
            .objective
            .value_gradient(self.x, self.gradient, self.tape, self.scratch);
        let step = cursor.iterations;
        if !(cursor.f.is_finite() && all_finite(self.x) && all_finite(self.gradient)) {
            return Err(Error::NonFinite { step });
        }
        if cursor.f_ref - cursor.f > cursor.config.descent * S::from_count(cursor.adaptations) {
            let fall = cursor.f - f_prev;
            if fall != S::ZERO {
                let sensitivity = dot(self.gradient, self.direction) / fall;
                let alpha = cursor.alpha - cursor.config.eta * sensitivity;
                if !alpha.is_finite() {
                    return Err(Error::NonFinite { step });
                }
                cursor.alpha = alpha;
            }
            cursor.f_ref = cursor.f;
            cursor.adaptations = cursor.adaptations.saturating_add(1);
        }
        Ok(())
    }

    /// x_k
    pub fn state(&self) -> &[S] {
        self.x
    }
    /// f(x_k)
    pub fn value(&self) -> S {
        self.cursor.f
    }
    /// ∇f(x_k)
    pub fn gradient(&self) -> &[S] {
        self.gradient
    }
    /// max |∇f(x_k)|; NaN if any entry is NaN.
    pub fn gradient_max(&self) -> S {
        Optimality::ResidualMax.value(self.cursor.f, self.gradient)
    }
    /// The current learning rate.
    pub fn alpha(&self) -> S {
        self.cursor.alpha
    }
    /// Number of iterations.
    pub fn iterations(&self) -> usize {
        self.cursor.iterations
    }
    /// Number of adaptations.
    pub fn adaptations(&self) -> usize {
        self.cursor.adaptations
    }
}
