//! Rescaled gradient flow: A = α(θ, t)·∇f(x), with a parametric schedule α.

use super::method::{Method, Transposed, Update};
use crate::scalar::Scalar;
use crate::system::{Arithmetic, Number};

/// Step size as a function of parameters and time.
pub trait StepSchedule<S: Scalar> {
    /// Number of parameters.
    fn params(&self) -> usize;
    /// α(θ, t); `theta(j)` is parameter j.
    fn alpha<N: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<N>,
        t: S,
    ) -> Number<N>;
}

/// α = θ₁
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constant;

impl<S: Scalar> StepSchedule<S> for Constant {
    fn params(&self) -> usize {
        1
    }
    fn alpha<N: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<N>,
        _: S,
    ) -> Number<N> {
        theta(0)
    }
}

/// α = θ₁·exp(−θ₂(t − t0)), the paper's example.
#[cfg(feature = "libm")]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Exponential<S> {
    /// t0
    pub start: S,
}

#[cfg(feature = "libm")]
impl<S: Scalar> StepSchedule<S> for Exponential<S> {
    fn params(&self) -> usize {
        2
    }
    fn alpha<N: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<N>,
        t: S,
    ) -> Number<N> {
        theta(0) * (theta(1) * Number::constant(self.start - t)).exp()
    }
}

/// Update of [`GradientFlow`].
#[derive(Clone, Copy, Debug)]
pub struct Scaled<A> {
    /// α(θ, t)
    pub schedule: A,
}

/// Gradient descent with a step-size schedule. The state is x; the parameters are those of the schedule.
pub type GradientFlow<O, A = Constant> = Method<O, Scaled<A>, 1, 1, 3>;

impl<O, A> GradientFlow<O, A> {
    /// Gradient descent on this objective, with this schedule.
    pub const fn new(objective: O, schedule: A) -> Self {
        Self::with_update(objective, Scaled { schedule })
    }
}

impl<S: Scalar, A: StepSchedule<S>> Update<S, 1, 1> for Scaled<A> {
    fn params(&self) -> usize {
        self.schedule.params()
    }
    #[inline(always)]
    fn coefficients<N: Arithmetic<Scalar = S>>(
        &self,
        theta: impl Fn(usize) -> Number<N>,
        t: S,
    ) -> [Number<N>; 1] {
        [self.schedule.alpha(theta, t)]
    }
    #[inline(always)]
    fn rate<N: Arithmetic<Scalar = S>>(
        &self,
        _: usize,
        [alpha]: &[Number<N>; 1],
        _: &[Number<N>; 1],
        g: Number<N>,
    ) -> [Number<N>; 1] {
        [*alpha * g]
    }
    #[inline(always)]
    fn transpose<const K: usize>(
        &self,
        _: usize,
        &[alpha]: &[S; 1],
        _: &[S; 1],
        g: S,
        &[seed]: &[S; 1],
    ) -> Transposed<S, 1, 1> {
        Transposed {
            state: [-S::ZERO],
            gradient: seed * alpha,
            coefficients: [seed * g],
        }
    }
}
