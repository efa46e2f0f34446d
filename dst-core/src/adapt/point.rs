//! State that [`AdamOla`](super::AdamOla), [`GuardedOla`](super::GuardedOla) and [`NewtonOla`](super::NewtonOla) share.

use super::moments::Moments;
use crate::error::{Argument, Error, at_least, exact};
use crate::scalar::Scalar;
use crate::slices::{all_finite, copy, split_mut};
use crate::system::objective::{Objective, Optimality};

/// Current point of an adaptive run: x_k with f and ∇f, Adam's moments, the learning rate and the counts.
#[derive(Debug)]
pub(super) struct Point<'m, S, O> {
    objective: O,
    pub(super) moments: Moments<'m, S>,
    pub(super) x: &'m mut [S],
    pub(super) gradient: &'m mut [S],
    tape: &'m mut [S],
    scratch: &'m mut [S],
    pub(super) f: S,
    pub(super) alpha: S,
    pub(super) iterations: usize,
    pub(super) adaptations: usize,
}

/// Hyperparameters of Adam.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hyperparameters<S> {
    pub(super) alpha: S,
    pub(super) betas: [S; 2],
    pub(super) stability: S,
}

impl<S: Scalar> Hyperparameters<S> {
    /// Checks that they, and further numbers of a variant, are in range. Written so that a NaN is out of range.
    pub(super) fn check(self, not_negative: [S; 2]) -> Result<Self, Error> {
        let [first, second] = not_negative;
        let not_negative = [self.stability, first, second];
        let sound = self.alpha > S::ZERO
            && self.alpha.is_finite()
            && (self.betas.iter()).all(|&beta| beta >= S::ZERO && beta < S::ONE)
            && not_negative.iter().all(|&number| number >= S::ZERO)
            && S::all_finite(&not_negative);
        if sound {
            Ok(self)
        } else {
            Err(Error::Invalid(Argument::Hyperparameter))
        }
    }
}

impl<'m, S: Scalar, O: Objective<S>> Point<'m, S, O> {
    /// Entries of memory for `own` vectors of a variant beside x, ∇f and the moments, and for the objective.
    pub(super) fn memory_len(objective: &O, own: usize) -> usize {
        let vectors = objective.dim().saturating_mul(own.saturating_add(4));
        vectors
            .saturating_add(objective.tape_len())
            .saturating_add(objective.scratch_len())
    }

    /// Point over a memory whose content is kept, and the `own` vectors of the variant, stored consecutively.
    pub(super) fn over(
        adam: Hyperparameters<S>,
        objective: O,
        memory: &'m mut [S],
        own: usize,
    ) -> Result<(Self, &'m mut [S]), Error> {
        let len = Self::memory_len(&objective, own);
        at_least(Argument::Memory, len, memory.len())?;
        let dim = objective.dim();
        let (x, rest) = split_mut(memory, dim);
        let (m, rest) = split_mut(rest, dim);
        let (v, rest) = split_mut(rest, dim);
        let (gradient, rest) = split_mut(rest, dim);
        let (vectors, rest) = split_mut(rest, dim.saturating_mul(own));
        let (tape, rest) = split_mut(rest, objective.tape_len());
        let (scratch, _) = split_mut(rest, objective.scratch_len());
        let point = Self {
            objective,
            moments: Moments::over((m, v), adam.betas, adam.stability),
            x,
            gradient,
            tape,
            scratch,
            f: S::NAN,
            alpha: adam.alpha,
            iterations: 0,
            adaptations: 0,
        };
        Ok((point, vectors))
    }

    /// Point at x0, with moments at zero and one evaluation; otherwise as [`over`](Self::over).
    pub(super) fn at(
        x0: &[S],
        adam: Hyperparameters<S>,
        objective: O,
        memory: &'m mut [S],
        own: usize,
    ) -> Result<(Self, &'m mut [S]), Error> {
        exact(Argument::X0, objective.dim(), x0.len())?;
        let (mut point, vectors) = Self::over(adam, objective, memory, own)?;
        copy(point.x, x0);
        point.moments.m.fill(S::ZERO);
        point.moments.v.fill(S::ZERO);
        if point.evaluate() {
            Ok((point, vectors))
        } else {
            Err(Error::NonFinite { step: 0 })
        }
    }

    /// Evaluates f and ∇f at x. True if both are finite.
    pub(super) fn evaluate(&mut self) -> bool {
        self.f = self
            .objective
            .value_gradient(self.x, self.gradient, self.tape, self.scratch);
        self.f.is_finite() && all_finite(self.gradient)
    }

    /// Counts an iteration and evaluates f and ∇f at a trial point. Returns f, and true if point, f and ∇f are finite.
    pub(super) fn evaluate_at(&mut self, trial: &[S], gradient: &mut [S]) -> (S, bool) {
        self.iterations = self.iterations.saturating_add(1);
        let f = self
            .objective
            .value_gradient(trial, gradient, self.tape, self.scratch);
        let finite = f.is_finite() && all_finite(trial) && all_finite(gradient);
        (f, finite)
    }

    /// Makes a trial point the current one; `trial` and `gradient` then hold the previous point.
    pub(super) fn accept(&mut self, f: S, trial: &mut &'m mut [S], gradient: &mut &'m mut [S]) {
        self.f = f;
        core::mem::swap(&mut self.x, trial);
        core::mem::swap(&mut self.gradient, gradient);
    }

    /// max |∇f(x_k)|; NaN if any entry is NaN.
    pub(super) fn gradient_max(&self) -> S {
        Optimality::ResidualMax.value(self.f, self.gradient)
    }

    /// Adds the products of the Hessian at x with vectors stored consecutively.
    pub(super) fn add_hessian_vectors(&mut self, vectors: &[S], products: &mut [S]) {
        self.objective
            .add_hessian_vectors(self.x, vectors, self.tape, products, self.scratch);
    }
}

/// Accessors that every adaptation has. The arguments document those whose meaning differs.
macro_rules! accessors {
    (alpha: $alpha:literal, iterations: $iterations:literal, adaptations: $adaptations:literal) => {
        /// x_k
        pub fn state(&self) -> &[S] {
            self.point.x
        }
        /// f(x_k)
        pub fn value(&self) -> S {
            self.point.f
        }
        /// ∇f(x_k)
        pub fn gradient(&self) -> &[S] {
            self.point.gradient
        }
        /// max |∇f(x_k)|; NaN if any entry is NaN.
        pub fn gradient_max(&self) -> S {
            self.point.gradient_max()
        }
        #[doc = $alpha]
        pub fn alpha(&self) -> S {
            self.point.alpha
        }
        #[doc = $iterations]
        pub fn iterations(&self) -> usize {
            self.point.iterations
        }
        #[doc = $adaptations]
        pub fn adaptations(&self) -> usize {
            self.point.adaptations
        }
        fn is_converged(&self) -> bool {
            self.gradient_max() < self.config.tolerance
        }
    };
}
pub(super) use accessors;
