//! Traits that a user implements, and the adapter between them.
//!
//! An iteration is x_{k+1} = x_k − h·A(θ, x_k, t_k), stopped at the first J(x_N) ≤ ε. A [`System`] computes A *and* J in one
//! evaluation, because a stop test such as ‖∇f‖² uses the same gradient as the step. Values that the derivatives reuse (∇f,
//! gates, …) go on a *tape* whose length the system declares.
//!
//! | you have | implement | you get |
//! |---|---|---|
//! | a formula | [`Formula`], or [`formula!`](crate::formula) | everything |
//! | an objective f | [`objective!`](crate::objective), or [`Objective`] with derivatives | the ready-made [`methods`](crate::methods) |
//! | separate A and J | [`Dynamics`] + [`Criterion`] | [`Pair`] |
//! | performance needs | [`System`] | one evaluation per step, exactly |
//!
//! All slices have the lengths that [`System::dims`] declares; [`Plan::on`](crate::Plan::on) checks them. `rate` and
//! `pushforward` overwrite their outputs; `pullback` *adds* to them.
//!
//! J and f may depend on θ and t as well as on x. ∂J/∂θ goes to `bar.theta`. Crossings that use dJ/dt = ∂J/∂t − ∇J·A also need
//! ∂J/∂t: a pullback then gets `bar.t`, a pushforward a direction with `t` = 1.

mod arithmetic;
pub(crate) mod dual;
#[cfg(feature = "nalgebra")]
pub mod fixed;
pub(crate) mod formula;
pub(crate) mod number;
pub(crate) mod objective;
mod pair;
pub mod trace;
mod value;

pub use arithmetic::Arithmetic;
pub use dual::Dual;
pub use formula::{Capture, Derived, Formula};
pub use number::Number;
pub use objective::{Objective, Optimality};
pub use pair::{Criterion, Dynamics, Pair, RateOf};
pub use value::{FromValue, Value};

use crate::error::Error;
use crate::scalar::Scalar;

/// Point on the trajectory.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a, S> {
    /// Parameters θ.
    pub theta: &'a [S],
    /// State x.
    pub x: &'a [S],
    /// Time t.
    pub t: S,
}

/// Readings at a point: the stopping criterion J and the loss f.
///
/// In a pushforward they are derivatives; in [`Seeds`](crate::Seeds), weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading<S> {
    /// J(θ, x, t), compared with ε.
    pub criterion: S,
    /// f(θ, x, t), summed in a running loss Σ w_k f(x_k); a system without a loss repeats the criterion.
    pub loss: S,
}

impl<S: Scalar> Reading<S> {
    /// No weight on either.
    pub const ZERO: Self = Self {
        criterion: S::ZERO,
        loss: S::ZERO,
    };

    /// A weight on f alone.
    pub const fn loss(weight: S) -> Self {
        Self {
            criterion: S::ZERO,
            loss: weight,
        }
    }

    /// A weight on J alone.
    pub const fn criterion(weight: S) -> Self {
        Self {
            criterion: weight,
            loss: S::ZERO,
        }
    }
}

/// Cotangents of everything that `rate` returned: the input of a pullback.
#[derive(Clone, Copy, Debug)]
pub struct Seed<'a, S> {
    /// Cotangent of A.
    pub rate: &'a [S],
    /// Cotangent of J.
    pub criterion: S,
    /// Cotangent of f.
    pub loss: S,
}

impl<'a, S> Seed<'a, S> {
    /// Seed from a cotangent of A and those of J and f.
    pub fn new(rate: &'a [S], reading: Reading<S>) -> Self {
        Self {
            rate,
            criterion: reading.criterion,
            loss: reading.loss,
        }
    }
}

/// Sums to which a pullback adds its result.
#[derive(Debug)]
pub struct Bar<'a, S> {
    /// Cotangent of θ.
    pub theta: &'a mut [S],
    /// Cotangent of x.
    pub x: &'a mut [S],
    /// Cotangent of t, if needed: only to form dJ/dt at a crossing.
    pub t: Option<&'a mut S>,
}

impl<'a, S> Bar<'a, S> {
    /// Sums for θ and x, without time.
    pub fn new(theta: &'a mut [S], x: &'a mut [S]) -> Self {
        Self { theta, x, t: None }
    }
}

/// Direction in parameters, state and time.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a, S> {
    /// dθ
    pub theta: &'a [S],
    /// dx
    pub x: &'a [S],
    /// dt; zero except when dJ/dt is formed at a crossing.
    pub t: S,
}

/// Lengths of a system's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Number of states.
    pub states: usize,
    /// Number of parameters.
    pub params: usize,
    /// Number of values that `rate` writes for `pullback` and `pushforward`.
    pub tape: usize,
    /// Working memory of any one call; its content is lost after the call.
    pub scratch: usize,
}

impl Dims {
    /// Dimensions of a system without tape or scratch memory.
    pub const fn new(states: usize, params: usize) -> Self {
        Self {
            states,
            params,
            tape: 0,
            scratch: 0,
        }
    }

    /// The same dimensions with a tape.
    pub const fn with_tape(self, tape: usize) -> Self {
        Self { tape, ..self }
    }

    /// The same dimensions with scratch memory.
    pub const fn with_scratch(self, scratch: usize) -> Self {
        Self { scratch, ..self }
    }

    /// Length of a step's record for a method with this many evaluations per step (Euler, symplectic Euler and Map 1, Heun 2, RK4
    /// 4): the tape of the first evaluation, then states and tapes of the others.
    pub const fn record_len(self, stages: usize) -> usize {
        let later = self
            .states
            .saturating_add(self.tape)
            .saturating_mul(stages.saturating_sub(1));
        self.tape.saturating_add(later)
    }

    /// Working memory of a run, in numbers: seven states, two records and the scratch memory.
    pub const fn rows_len(self, stages: usize) -> usize {
        self.states
            .saturating_mul(7)
            .saturating_add(self.record_len(stages).saturating_mul(2))
            .saturating_add(self.scratch)
    }

    /// Part of the working memory of a run that grows with the parameters.
    pub const fn params_len(self) -> usize {
        self.params.saturating_mul(2)
    }

    /// Length of this many checkpoint slots, with or without room for the records.
    pub const fn slots_len(self, stages: usize, slots: usize, keep_records: bool) -> usize {
        let record = if keep_records {
            self.record_len(stages)
        } else {
            0
        };
        slots.saturating_mul(self.states.saturating_add(record))
    }
}

/// Cost of the derivatives, in evaluations of `rate`; `None` if the system does not provide one.
///
/// Used by [`Mode::Auto`](crate::Mode::Auto) to choose between adjoint and tangent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// One pullback.
    pub pullback: Option<u32>,
    /// One pushforward along one direction.
    pub pushforward: Option<u32>,
}

/// Iteration to be stopped and differentiated: the rate A, the criterion J and their derivatives.
pub trait System<S: Scalar> {
    /// Lengths of all vectors; must not change during a run.
    fn dims(&self) -> Dims;

    /// Rejects a system that cannot be run, or not in this way: `map` is true if [`Map`](crate::Map) takes its rate as the next
    /// state. Called once, by [`Plan::on`](crate::Plan::on).
    fn check(&self, map: bool) -> Result<(), Error> {
        let _ = map;
        Ok(())
    }

    /// Writes A(θ, x, t) to `rate` and returns J and f there.
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S>;

    /// Adds (∂A/∂θ)ᵀa + j·∂J/∂θ + l·∂f/∂θ to `bar.theta`, the same with ∂x to `bar.x` and, if present, with ∂t to `bar.t`, where
    /// (a, j, l) is the seed and `tape` was written by `rate` at this point. Optional; declare it in [`cost`](Self::cost). Skip
    /// the term of a zero seed: it may be infinite. `bar.t` is only present with a = 0, so a system whose J and f do not depend
    /// on time may ignore it.
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

    /// Same as [`pullback`](Self::pullback), but overwrites `bar.x`, as a [`Map`](crate::Map) needs it. A system with a large
    /// state can save a pass over it.
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

    /// Writes (∂A/∂θ)dθ + (∂A/∂x)dx + (∂A/∂t)dt to `rate` and returns dJ and df. Optional; declare it in [`cost`](Self::cost).
    /// With dt ≠ 0 only dJ is used.
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

    /// Cost of the derivatives. A system with a pushforward overrides this method.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: None,
        }
    }

    /// Reason for values at this point that are not finite, if the system knows one: a trace that did not fit, say. Asked only
    /// after such a value was met.
    #[inline(always)]
    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        let _ = at;
        None
    }

    /// True if all values are finite. Applied to every cotangent, and to the states of a [`Map`](crate::Map). A system with long
    /// vectors may check faster than the engine, or check only entries that depend on all others; a finished gradient is always
    /// checked in full.
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
    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        (**self).fault(at)
    }
    fn dims(&self) -> Dims {
        (**self).dims()
    }
    fn check(&self, map: bool) -> Result<(), Error> {
        (**self).check(map)
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
