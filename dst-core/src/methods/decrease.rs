//! Stop when the objective hardly falls any more: J = f(x_{k−1}) − f(x_k).
//!
//! The paper augments the state by x_{k−1}. All that J needs of it is the number f(x_{k−1}), so one more state w
//! suffices, with w_{k+1} = f(x_k): A_w = (w − f(x))/h and J = w − f(x). No second evaluation of f, no second vector.
//! J also falls below ε when f *rises*; look at f at the stop.

use crate::error::Error;
use crate::integrator::{split, split_mut};
use crate::scalar::{Scalar, copy};
use crate::system::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};

/// A system whose criterion is the decrease of its own running loss over the last step.
///
/// The state is that of the inner system, followed by w. Start with w > f(x0) + ε, since nothing has been measured yet:
/// w = f(x0) + 1, say. It has no influence after the first step. For the Euler integrator with step `h`: any other
/// is refused when the run starts.
#[derive(Clone, Copy, Debug)]
pub struct Decrease<Y, S> {
    /// The iteration; its loss is f.
    pub inner: Y,
    /// The step size of the plan: w must follow in one step.
    pub h: S,
}

impl<Y, S> Decrease<Y, S> {
    /// Watches the decrease of the loss of `inner`, run with step size `h`.
    pub const fn new(inner: Y, h: S) -> Self {
        Self { inner, h }
    }
}

fn last<S: Scalar>(v: &[S]) -> S {
    v.last().copied().unwrap_or(S::ZERO)
}

impl<S: Scalar, Y: System<S>> Decrease<Y, S> {
    fn inner_point<'p>(&self, at: Point<'p, S>) -> Point<'p, S> {
        Point {
            x: split(at.x, at.x.len().saturating_sub(1)).0,
            ..at
        }
    }
}

impl<S: Scalar, Y: System<S>> System<S> for Decrease<Y, S> {
    fn dims(&self) -> Dims {
        let inner = self.inner.dims();
        Dims {
            states: inner.states + 1,
            ..inner
        }
    }

    fn check(&self, h: S, euler: bool) -> Result<(), Error> {
        if h != self.h || !euler {
            return Err(Error::WrongStep);
        }
        self.inner.check(h, euler)
    }

    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let inner = self.inner_point(at);
        let (inner_rate, w_rate) = split_mut(rate, inner.x.len());
        let f = self.inner.rate(inner, inner_rate, tape, scratch).loss;
        let fall = last(at.x) - f;
        copy(w_rate, &[fall / self.h]);
        Reading {
            criterion: fall,
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
        let (rate_bar, _) = split(seed.rate, inner.x.len());
        let fall_bar = last(seed.rate) / self.h + seed.criterion;
        let (x_bar, w_bar) = split_mut(bar.x, inner.x.len());
        if let [w_bar] = w_bar {
            *w_bar += fall_bar;
        }
        let seed = Seed {
            rate: rate_bar,
            criterion: S::ZERO,
            loss: seed.loss - fall_bar,
        };
        self.inner.pullback(
            inner,
            tape,
            seed,
            Bar {
                theta: bar.theta,
                x: x_bar,
            },
            scratch,
        );
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let inner = self.inner_point(at);
        let (dx, _) = split(along.x, inner.x.len());
        let (inner_rate, w_rate) = split_mut(rate, inner.x.len());
        let direction = Direction {
            theta: along.theta,
            x: dx,
        };
        let df = self
            .inner
            .pushforward(inner, tape, direction, inner_rate, scratch)
            .loss;
        let fall = last(along.x) - df;
        copy(w_rate, &[fall / self.h]);
        Reading {
            criterion: fall,
            loss: df,
        }
    }

    fn cost(&self) -> Cost {
        self.inner.cost()
    }
}
