//! Adam-OLA, exactly as Algorithm 2 of the paper.
//!
//! Each iteration evaluates f and ∇f once: the values that Algorithm 2 computes at x_{k+1} are kept for the next iteration.
//! The sensitivity is truncated to one step, S_k = ∇f(x_{k+1})·d_k / (f_{k+1} − f_k), and α ← α − η·S_k whenever
//! f_ref − f_{k+1} > ε_desc·(number of adaptations so far).

use super::point::{Hyperparameters, Point, accessors};
use crate::error::{Argument, Error, finite};
use crate::scalar::Scalar;
use crate::slices::{all_finite, dot};
use crate::system::objective::Objective;

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

    fn adam(&self) -> Hyperparameters<S> {
        Hyperparameters {
            alpha: self.alpha,
            betas: [self.beta1, self.beta2],
            stability: self.stability,
        }
    }

    /// Checks that every number is in range. Also called when a run starts.
    pub fn check(&self) -> Result<(), Error> {
        finite(Argument::Hyperparameter, &[self.eta])?;
        self.adam().check([self.descent, self.tolerance])?;
        Ok(())
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
    config: OlaConfig<S>,
    point: Point<'m, S, O>,
    direction: &'m mut [S],
    /// f at the last adaptation.
    f_ref: S,
    failed: Option<Error>,
}

/// Vectors beside those of [`Point`]: the direction.
const OWN: usize = 1;

impl<'m, S: Scalar, O: Objective<S>> AdamOla<'m, S, O> {
    /// Entries of working memory: five vectors and the memory of the objective.
    pub fn memory_len(objective: &O) -> usize {
        Point::memory_len(objective, OWN)
    }

    /// Starts at x0, with one evaluation.
    pub fn new(
        config: OlaConfig<S>,
        objective: O,
        x0: &[S],
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        config.check()?;
        let (point, direction) = Point::at(x0, config.adam(), objective, memory, OWN)?;
        Ok(Self {
            config,
            f_ref: point.f,
            point,
            direction,
            failed: None,
        })
    }

    /// Continues from [`cursor`](Self::cursor), with a memory of the same content.
    pub fn from_parts(
        cursor: OlaCursor<S>,
        objective: O,
        memory: &'m mut [S],
    ) -> Result<Self, Error> {
        let (mut point, direction) = Point::over(cursor.config.adam(), objective, memory, OWN)?;
        point.moments.powers = cursor.powers;
        point.f = cursor.f;
        point.alpha = cursor.alpha;
        point.iterations = cursor.iterations;
        point.adaptations = cursor.adaptations;
        Ok(Self {
            config: cursor.config,
            point,
            direction,
            f_ref: cursor.f_ref,
            failed: cursor.failed,
        })
    }

    /// Scalars of the run, to continue it later.
    pub fn cursor(&self) -> OlaCursor<S> {
        OlaCursor {
            config: self.config,
            alpha: self.point.alpha,
            f: self.point.f,
            f_ref: self.f_ref,
            powers: self.point.moments.powers,
            iterations: self.point.iterations,
            adaptations: self.point.adaptations,
            failed: self.failed,
        }
    }

    /// Makes at most `budget` iterations, each with one evaluation of f and ∇f.
    ///
    /// The literal algorithm can diverge. This gives [`Error::NonFinite`] with the iteration number, and the run cannot continue.
    /// The counts and the last finite α remain readable.
    pub fn advance(&mut self, budget: usize) -> Result<OlaStatus, Error> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        let status = OlaStatus::within(budget, self, Self::is_converged, Self::iterate);
        self.failed = status.err();
        status
    }

    fn iterate(&mut self) -> Result<(), Error> {
        let point = &mut self.point;
        let vectors = point.x.iter_mut().zip(self.direction.iter_mut());
        for ((x, d), (m, root)) in vectors.zip(point.moments.update(point.gradient)) {
            *d = m / root;
            *x -= point.alpha * *d;
        }
        let before = point.f;
        point.iterations = point.iterations.saturating_add(1);
        let step = point.iterations;
        if !(point.evaluate() && all_finite(point.x)) {
            return Err(Error::NonFinite { step });
        }
        if self.f_ref - point.f > self.config.descent * S::from_count(point.adaptations) {
            let fall = point.f - before;
            if fall != S::ZERO {
                let sensitivity = dot(point.gradient, self.direction) / fall;
                let alpha = point.alpha - self.config.eta * sensitivity;
                if !alpha.is_finite() {
                    return Err(Error::NonFinite { step });
                }
                point.alpha = alpha;
            }
            self.f_ref = point.f;
            point.adaptations = point.adaptations.saturating_add(1);
        }
        Ok(())
    }

    accessors!(
        alpha: "The current learning rate.",
        iterations: "Number of iterations.",
        adaptations: "Number of adaptations."
    );
}
