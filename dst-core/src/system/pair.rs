//! Rate and criterion stated separately, and combined into one system.

use super::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};
use crate::error::Error;
use crate::scalar::Scalar;

/// Rate without a criterion, for a criterion that is stated separately.
pub trait Dynamics<S: Scalar> {
    /// Lengths of all vectors.
    fn dims(&self) -> Dims;

    /// Rejects a system that cannot be run; see [`System::check`].
    fn check(&self, map: bool) -> Result<(), Error> {
        let _ = map;
        Ok(())
    }

    /// Writes A(θ, x, t) and returns the loss f there, or zero if there is none.
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

    /// Reason for values that are not finite; see [`System::fault`].
    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        let _ = at;
        None
    }

    /// Cost of the derivatives.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: None,
        }
    }
}

/// Rate of a system without its criterion: `Pair { dynamics: RateOf(method), criterion }` is a ready-made method with a custom
/// criterion.
#[derive(Clone, Copy, Debug)]
pub struct RateOf<Y>(pub Y);

impl<S: Scalar, Y: System<S>> Dynamics<S> for RateOf<Y> {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
    fn check(&self, map: bool) -> Result<(), Error> {
        self.0.check(map)
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
    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        self.0.fault(at)
    }
    fn cost(&self) -> Cost {
        self.0.cost()
    }
}

/// Custom stopping criterion J(θ, x, t).
pub trait Criterion<S: Scalar> {
    /// J
    fn value(&self, at: Point<'_, S>) -> S;
    /// Adds seed·∂J/∂x to `bar.x`, and likewise for θ and, if present, for t.
    fn pullback(&self, at: Point<'_, S>, seed: S, bar: Bar<'_, S>);
    /// Derivative of J along a direction.
    fn pushforward(&self, at: Point<'_, S>, along: Direction<'_, S>) -> S;
}

/// Dynamics and a criterion, combined into a [`System`].
#[derive(Clone, Copy, Debug)]
pub struct Pair<D, C> {
    /// A(θ, x, t)
    pub dynamics: D,
    /// J(θ, x, t)
    pub criterion: C,
}

impl<S: Scalar, D: Dynamics<S>, C: Criterion<S>> System<S> for Pair<D, C> {
    fn dims(&self) -> Dims {
        self.dynamics.dims()
    }
    fn check(&self, map: bool) -> Result<(), Error> {
        self.dynamics.check(map)
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
            criterion: self.criterion.value(at),
            loss,
        }
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        mut bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        if seed.criterion != S::ZERO {
            let part = Bar {
                theta: &mut *bar.theta,
                x: &mut *bar.x,
                t: bar.t.as_deref_mut(),
            };
            self.criterion.pullback(at, seed.criterion, part);
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
            criterion: self.criterion.pushforward(at, along),
            loss,
        }
    }
    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        self.dynamics.fault(at)
    }
    fn cost(&self) -> Cost {
        self.dynamics.cost()
    }
}
