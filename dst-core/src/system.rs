//! The traits a user implements, and the adapter between them.
//!
//! An iteration is x_{k+1} = x_k − h·A(θ, x_k, t_k), stopped at the first J(x_N) ≤ ε. A [`System`] supplies
//! A *and* J from one evaluation, because a stop test such as ‖∇f‖² wants the same gradient as the step.
//! What the derivative will want again (∇f, gates, …) it writes on a *tape* of a length it declares.
//!
//! | you have | implement | you get |
//! |---|---|---|
//! | a formula | [`Formula`](crate::Formula), or [`formula!`](crate::formula) | everything |
//! | an objective f | [`Objective`](crate::Objective) | the ready-made [`methods`](crate::methods) |
//! | A and J apart | [`Dynamics`] + [`Criterion`] | [`Pair`] |
//! | speed in mind | [`System`] | one evaluation per step, exactly |
//!
//! All slices have the lengths that [`System::dims`] declares; they were checked at the door. Outputs of
//! `rate` and `pushforward` are overwritten; those of `pullback` are *added to*.

use crate::error::Error;
use crate::scalar::Scalar;

/// A place on the trajectory.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a, S> {
    /// Parameters θ.
    pub theta: &'a [S],
    /// State x.
    pub x: &'a [S],
    /// Time t.
    pub t: S,
}

/// What is read off at a point: the stopping criterion J and the running loss f.
///
/// In a pushforward, their derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading<S> {
    /// J(x), compared with ε.
    pub criterion: S,
    /// f(x), summed in a running loss Σ w_k f(x_k); a system without one repeats the criterion.
    pub loss: S,
}

/// What a pullback starts from: the cotangents of everything that `rate` returned.
#[derive(Clone, Copy, Debug)]
pub struct Seed<'a, S> {
    /// Cotangent of A.
    pub rate: &'a [S],
    /// Cotangent of J.
    pub criterion: S,
    /// Cotangent of f.
    pub loss: S,
}

/// Where a pullback adds its result.
#[derive(Debug)]
pub struct Bar<'a, S> {
    /// Cotangent of θ.
    pub theta: &'a mut [S],
    /// Cotangent of x.
    pub x: &'a mut [S],
}

/// A direction in parameters and state.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a, S> {
    /// dθ
    pub theta: &'a [S],
    /// dx
    pub x: &'a [S],
}

/// The lengths of a system's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Number of states.
    pub states: usize,
    /// Number of parameters.
    pub params: usize,
    /// What `rate` writes for `pullback` and `pushforward` to read.
    pub tape: usize,
    /// Working memory of any one call; its content does not survive the call.
    pub scratch: usize,
}

impl Dims {
    /// A system that needs neither tape nor scratch memory.
    pub const fn new(states: usize, params: usize) -> Self {
        Self {
            states,
            params,
            tape: 0,
            scratch: 0,
        }
    }

    /// The same with a tape.
    pub const fn with_tape(self, tape: usize) -> Self {
        Self { tape, ..self }
    }

    /// The same with scratch memory.
    pub const fn with_scratch(self, scratch: usize) -> Self {
        Self { scratch, ..self }
    }
}

/// What the derivatives cost, in evaluations of `rate`; `None` where the system does not have one.
///
/// The front door compares these to choose between adjoint and tangent mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// One pullback.
    pub pullback: Option<u32>,
    /// One pushforward along one direction.
    pub pushforward: Option<u32>,
}

/// An iteration to be stopped and differentiated: the rate A, the criterion J and their derivatives.
pub trait System<S: Scalar> {
    /// The lengths of all vectors; must not change while a run is under way.
    fn dims(&self) -> Dims;

    /// Can this system be run with step size `h`, by Euler's method or by another? Asked once, at the door.
    fn check(&self, h: S, euler: bool) -> Result<(), Error> {
        let _ = (h, euler);
        Ok(())
    }

    /// Writes A(θ, x, t) to `rate` and returns J(x) and f(x).
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S>;

    /// Adds (∂A/∂θ)ᵀa + j·∂J/∂θ + l·∂f/∂θ to `bar.theta`, and the same with ∂x to `bar.x`, where (a, j, l) is the
    /// seed and `tape` is what `rate` wrote at this point. Optional: say so in [`cost`](Self::cost). A seed of zero asks
    /// for nothing: skip its term, which may be infinite.
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let _ = (at, tape, seed, scratch);
        bar.theta.fill(S::NAN);
        bar.x.fill(S::NAN);
    }

    /// As [`pullback`](Self::pullback), but what is in `bar.x` counts as nothing and is written over: what a
    /// [`Map`](crate::Map) asks for. A system with a large state can save a pass over it.
    fn pullback_afresh(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        bar.x.fill(S::ZERO);
        self.pullback(at, tape, seed, bar, scratch);
    }

    /// Writes (∂A/∂θ)dθ + (∂A/∂x)dx to `rate` and returns dJ and df. Optional: say so in [`cost`](Self::cost).
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let _ = (at, tape, along, scratch);
        rate.fill(S::NAN);
        Reading {
            criterion: S::NAN,
            loss: S::NAN,
        }
    }

    /// What the derivatives cost. A system with a pushforward overrides this.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: None,
        }
    }

    /// Are all of these finite? Asked of every cotangent, and of the states of a [`Map`](crate::Map). A system that works with wider
    /// vectors than the engine was compiled for may know it sooner; one some of whose entries tell of all others may look at those
    /// alone. What a sweep hands over in the end is looked at in full.
    #[inline(always)]
    fn all_finite(&self, values: &[S]) -> bool {
        S::all_finite(values)
    }
}

impl<S: Scalar, Y: System<S> + ?Sized> System<S> for &Y {
    fn pullback_afresh(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        (**self).pullback_afresh(at, tape, seed, bar, scratch);
    }
    #[inline(always)]
    fn all_finite(&self, values: &[S]) -> bool {
        (**self).all_finite(values)
    }
    fn dims(&self) -> Dims {
        (**self).dims()
    }
    fn check(&self, h: S, euler: bool) -> Result<(), Error> {
        (**self).check(h, euler)
    }
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        (**self).rate(at, rate, tape, scratch)
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        (**self).pullback(at, tape, seed, bar, scratch);
    }
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        (**self).pushforward(at, tape, along, rate, scratch)
    }
    fn cost(&self) -> Cost {
        (**self).cost()
    }
}

/// The rate alone, for those who state the criterion apart.
pub trait Dynamics<S: Scalar> {
    /// The lengths of all vectors.
    fn dims(&self) -> Dims;

    /// Can this system be run with step size `h`, by Euler's method or by another? Asked once, at the door.
    fn check(&self, h: S, euler: bool) -> Result<(), Error> {
        let _ = (h, euler);
        Ok(())
    }

    /// Writes A(θ, x, t) and returns the running loss f(x), or zero where there is none.
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], tape: &mut [S], scratch: &mut [S]) -> S;

    /// Adds the products of the seed (a, l) with the derivatives of A and f; see [`System::pullback`].
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        rate_bar: &[S],
        loss_bar: S,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    );

    /// Writes the derivative of A along a direction and returns that of f; see [`System::pushforward`].
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> S {
        let _ = (at, tape, along, scratch);
        rate.fill(S::NAN);
        S::NAN
    }

    /// What the derivatives cost.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: None,
        }
    }
}

/// The rate of a system, its own criterion left out: a ready-made method with a criterion of one's own is
/// `Pair { dynamics: RateOf(method), criterion }`.
#[derive(Clone, Copy, Debug)]
pub struct RateOf<Y>(pub Y);

impl<S: Scalar, Y: System<S>> Dynamics<S> for RateOf<Y> {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
    fn check(&self, h: S, euler: bool) -> Result<(), Error> {
        self.0.check(h, euler)
    }
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], tape: &mut [S], scratch: &mut [S]) -> S {
        self.0.rate(at, rate, tape, scratch).loss
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        rate_bar: &[S],
        loss_bar: S,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let seed = Seed {
            rate: rate_bar,
            criterion: S::ZERO,
            loss: loss_bar,
        };
        self.0.pullback(at, tape, seed, bar, scratch);
    }
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> S {
        self.0.pushforward(at, tape, along, rate, scratch).loss
    }
    fn cost(&self) -> Cost {
        self.0.cost()
    }
}

/// A stopping criterion J(x) of one's own.
pub trait Criterion<S: Scalar> {
    /// J(x)
    fn value(&self, x: &[S]) -> S;
    /// Adds seed·∇J(x) to `x_bar`.
    fn pullback(&self, x: &[S], seed: S, x_bar: &mut [S]);
    /// ∇J(x)·dx
    fn pushforward(&self, x: &[S], dx: &[S]) -> S;
}

/// Dynamics and a criterion, composed into a [`System`].
#[derive(Clone, Copy, Debug)]
pub struct Pair<D, C> {
    /// A(θ, x, t)
    pub dynamics: D,
    /// J(x)
    pub criterion: C,
}

impl<S: Scalar, D: Dynamics<S>, C: Criterion<S>> System<S> for Pair<D, C> {
    fn dims(&self) -> Dims {
        self.dynamics.dims()
    }
    fn check(&self, h: S, euler: bool) -> Result<(), Error> {
        self.dynamics.check(h, euler)
    }
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let loss = self.dynamics.rate(at, rate, tape, scratch);
        Reading {
            criterion: self.criterion.value(at.x),
            loss,
        }
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        if seed.criterion != S::ZERO {
            self.criterion.pullback(at.x, seed.criterion, bar.x);
        }
        self.dynamics
            .pullback(at, tape, seed.rate, seed.loss, bar, scratch);
    }
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let loss = self.dynamics.pushforward(at, tape, along, rate, scratch);
        Reading {
            criterion: self.criterion.pushforward(at.x, along.x),
            loss,
        }
    }
    fn cost(&self) -> Cost {
        self.dynamics.cost()
    }
}
