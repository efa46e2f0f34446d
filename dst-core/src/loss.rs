//! The running loss Σ w_k f(x_k), k = 0 … N, that can ride along with a stopping time.
//!
//! The objective of learning to optimise is Σ w_k f(x_k) + μ·T: both parts are linear in the seeds of the
//! backward sweep, so their sum costs one sweep.

use crate::scalar::Scalar;

/// The weights w_k.
pub trait Weights<S: Scalar> {
    /// False only for [`NoLoss`]: lets the compiler drop the sum altogether.
    const ACTIVE: bool = true;
    /// w_k
    fn weight(&self, step: usize) -> S;
}

/// No running loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoLoss;

impl<S: Scalar> Weights<S> for NoLoss {
    const ACTIVE: bool = false;
    fn weight(&self, _: usize) -> S {
        S::ZERO
    }
}

/// The same weight at every step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uniform<S>(pub S);

impl<S: Scalar> Weights<S> for Uniform<S> {
    fn weight(&self, _: usize) -> S {
        self.0
    }
}

impl<S: Scalar, F: Fn(usize) -> S> Weights<S> for F {
    fn weight(&self, step: usize) -> S {
        self(step)
    }
}
