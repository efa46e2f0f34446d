//! Stop when the objective hardly decreases any more: J = f(x_{k−1}) − f(x_k).
//!
//! The paper augments the state by x_{k−1}. J only needs the number f(x_{k−1}), so one more state w suffices: the map (x, w) → (x
//! − h·A(x), f(x)) with J = w − f(x). There is no second evaluation of f and no second vector. J also falls below ε when f
//! *rises*; check f at the stop.

use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, copy, split, split_mut};
use crate::system::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};

/// System whose criterion is the decrease of its own loss over the last step.
///
/// The state is that of the inner system, followed by w. Start with w > f(x0) + ε, for example w = f(x0) + 1: there is no
/// previous value yet, and w has no influence after the first step. The system is a map that makes Euler steps of length `h`: run
/// it with [`Map`](crate::Map), in whose time a step has length 1.
#[derive(Clone, Copy, Debug)]
pub struct Decrease<Y, S> {
    /// Inner iteration; its loss is f.
    pub inner: Y,
    /// Length of its steps.
    pub h: S,
}

impl<Y, S> Decrease<Y, S> {
    /// Criterion on the decrease of the loss of `inner`, run with step size `h`.
    pub const fn new(inner: Y, h: S) -> Self {
        Self { inner, h }
    }
}

fn last<S: Scalar>(v: &[S]) -> S {
    v.last().copied().unwrap_or(S::ZERO)
}

impl<S: Scalar, Y: System<S>> Decrease<Y, S> {
    /// The same point for the inner system, whose time is h·t.
    fn inner_point<'p>(&self, at: Point<'p, S>) -> Point<'p, S> {
        Point {
            x: split(at.x, at.x.len().saturating_sub(1)).0,
            t: at.t * self.h,
            ..at
        }
    }
}

impl<S: Scalar, Y: System<S>> System<S> for Decrease<Y, S> {
    fn dims(&self) -> Dims {
        let inner = self.inner.dims();
        Dims {
            states: inner.states.saturating_add(1),
            scratch: inner.scratch.saturating_add(inner.states),
            ..inner
        }
    }

    fn check(&self, map: bool) -> Result<(), Error> {
        if !map {
            return Err(Error::WrongStep);
        }
        self.inner.check(false)
    }

    fn rate(
        &self,
        at: Point<'_, S>,
        next: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let inner = self.inner_point(at);
        let (x_next, w_next) = split_mut(next, inner.x.len());
        let (_, scratch) = split_mut(scratch, inner.x.len());
        let f = self.inner.rate(inner, x_next, tape, scratch).loss;
        for (next, &x) in x_next.iter_mut().zip(inner.x) {
            *next = x - self.h * *next;
        }
        copy(w_next, &[f]);
        Reading {
            criterion: last(at.x) - f,
            loss: f,
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
        let inner = self.inner_point(at);
        let (next_bar, w_next_bar) = split(seed.rate, inner.x.len());
        let (rate_bar, scratch) = split_mut(scratch, inner.x.len());
        let (x_bar, w_bar) = split_mut(bar.x, inner.x.len());
        if let [w_bar] = w_bar {
            *w_bar += seed.criterion;
        }
        for (to, &next) in rate_bar.iter_mut().zip(next_bar) {
            *to = -self.h * next;
        }
        add_scaled(x_bar, S::ONE, next_bar);
        let seed = Seed {
            rate: rate_bar,
            criterion: S::ZERO,
            loss: seed.loss + last(w_next_bar) - seed.criterion,
        };
        // The inner time is h·t.
        let mut inner_t_bar = S::ZERO;
        let inner_bar = Bar {
            theta: bar.theta,
            x: x_bar,
            t: bar.t.is_some().then_some(&mut inner_t_bar),
        };
        self.inner.pullback(inner, tape, seed, inner_bar, scratch);
        if let Some(t_bar) = bar.t {
            *t_bar += self.h * inner_t_bar;
        }
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let inner = self.inner_point(at);
        let (dx, _) = split(along.x, inner.x.len());
        let (x_next, w_next) = split_mut(next, inner.x.len());
        let (_, scratch) = split_mut(scratch, inner.x.len());
        let direction = Direction {
            theta: along.theta,
            x: dx,
            t: along.t * self.h,
        };
        let df = self
            .inner
            .pushforward(inner, tape, direction, x_next, scratch)
            .loss;
        for (next, &dx) in x_next.iter_mut().zip(dx) {
            *next = dx - self.h * *next;
        }
        copy(w_next, &[df]);
        Reading {
            criterion: last(along.x) - df,
            loss: df,
        }
    }

    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        self.inner.fault(self.inner_point(at))
    }

    fn cost(&self) -> Cost {
        self.inner.cost()
    }
}
