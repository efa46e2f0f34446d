//! The traits a user implements, and the adapter between them.
//!
//! An iteration is x_{k+1} = x_k − h·A(θ, x_k, t_k), stopped at the first J(x_N) ≤ ε. A [`System`] supplies
//! A *and* J from one evaluation, because a stop test such as ‖∇f‖² wants the same gradient as the step.
//! Values that the derivative needs again (∇f, gates, …) go on a *tape* whose length the system declares.
//!
//! | you have | implement | you get |
//! |---|---|---|
//! | a formula | [`Formula`], or [`formula!`](crate::formula) | everything |
//! | an objective f | [`Objective`] | the ready-made [`methods`](crate::methods) |
//! | A and J apart | [`Dynamics`] + [`Criterion`] | [`Pair`] |
//! | speed in mind | [`System`] | one evaluation per step, exactly |
//!
//! All slices have the lengths that [`System::dims`] declares; [`Plan::on`](crate::Plan::on) checks them. Outputs of
//! `rate` and `pushforward` are overwritten; those of `pullback` are *added to*.
//!
//! J and f may depend on θ and t as well as on x. ∂J/∂θ goes to `bar.theta`. ∂J/∂t is asked for by the crossings that use
//! dJ/dt = ∂J/∂t − ∇J·A: a pullback finds `bar.t` there, a pushforward a direction with `t` = 1.

pub(crate) mod dual;
#[cfg(feature = "nalgebra")]
pub mod fixed;
pub(crate) mod formula;
pub(crate) mod objective;
mod pair;

pub use dual::Dual;
pub use formula::{Derived, Formula};
pub use objective::{Objective, Optimality};
pub use pair::{Criterion, Dynamics, Pair, RateOf};

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

/// The two numbers read off at a point: the stopping criterion J and the loss f.
///
/// In a pushforward, their derivatives; in [`Seeds`](crate::Seeds), their weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading<S> {
    /// J(θ, x, t), compared with ε.
    pub criterion: S,
    /// f(θ, x, t), which a running loss Σ w_k f(x_k) sums; a system without one repeats the criterion.
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

/// The cotangents of everything that `rate` returned: where a pullback starts.
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
    /// A cotangent of A, and those of J and f.
    pub fn new(rate: &'a [S], reading: Reading<S>) -> Self {
        Self {
            rate,
            criterion: reading.criterion,
            loss: reading.loss,
        }
    }
}

/// The sums to which a pullback adds its result.
#[derive(Debug)]
pub struct Bar<'a, S> {
    /// Cotangent of θ.
    pub theta: &'a mut [S],
    /// Cotangent of x.
    pub x: &'a mut [S],
    /// Cotangent of t, where it is wanted: only to form dJ/dt at a crossing.
    pub t: Option<&'a mut S>,
}

impl<'a, S> Bar<'a, S> {
    /// Sums for θ and x; time is not asked for.
    pub fn new(theta: &'a mut [S], x: &'a mut [S]) -> Self {
        Self { theta, x, t: None }
    }
}

/// A direction in parameters, state and time.
#[derive(Clone, Copy, Debug)]
pub struct Direction<'a, S> {
    /// dθ
    pub theta: &'a [S],
    /// dx
    pub x: &'a [S],
    /// dt; zero but where dJ/dt is formed at a crossing.
    pub t: S,
}

/// The lengths of a system's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    /// Number of states.
    pub states: usize,
    /// Number of parameters.
    pub params: usize,
    /// Numbers that `rate` writes for `pullback` and `pushforward` to read.
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

    /// Length of a step's record for a method with this many evaluations per step (Euler, symplectic Euler and Map 1, Heun 2,
    /// RK4 4): the tape of the first, then states and tapes of the others.
    pub const fn record_len(self, stages: usize) -> usize {
        let later = self
            .states
            .saturating_add(self.tape)
            .saturating_mul(stages.saturating_sub(1));
        self.tape.saturating_add(later)
    }

    /// Working numbers of a run: seven states, two records and the scratch memory.
    pub const fn rows_len(self, stages: usize) -> usize {
        self.states
            .saturating_mul(7)
            .saturating_add(self.record_len(stages).saturating_mul(2))
            .saturating_add(self.scratch)
    }

    /// Working numbers of a run that grow with the parameters.
    pub const fn params_len(self) -> usize {
        self.params.saturating_mul(2)
    }

    /// Numbers of this many checkpoint slots, with or without room for the records.
    pub const fn slots_len(self, stages: usize, slots: usize, keep_records: bool) -> usize {
        let record = if keep_records {
            self.record_len(stages)
        } else {
            0
        };
        slots.saturating_mul(self.states.saturating_add(record))
    }
}

/// Cost of the derivatives, in evaluations of `rate`; `None` where the system does not have one.
///
/// [`Mode::Auto`](crate::Mode::Auto) compares these to choose between adjoint and tangent.
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

    /// Refuses a system that cannot be run, or not in this way: `map` tells whether its rate is taken as the next state, by
    /// [`Map`](crate::Map). Called once, by [`Plan::on`](crate::Plan::on).
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

    /// Adds (∂A/∂θ)ᵀa + j·∂J/∂θ + l·∂f/∂θ to `bar.theta`, the same with ∂x to `bar.x` and, where it is wanted, with ∂t to
    /// `bar.t`, where (a, j, l) is the seed and `tape` is what `rate` wrote at this point. Optional: say so in
    /// [`cost`](Self::cost). Skip the term of a seed of zero: it may be infinite. `bar.t` is wanted with a = 0 only, so a
    /// system whose J and f do not depend on time may ignore it.
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

    /// The same with `bar.x` overwritten instead of added to, as a [`Map`](crate::Map) wants it. A system with a large state can
    /// save a pass over it.
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

    /// Writes (∂A/∂θ)dθ + (∂A/∂x)dx + (∂A/∂t)dt to `rate` and returns dJ and df. Optional: say so in [`cost`](Self::cost). A
    /// direction with dt ≠ 0 asks for dJ alone.
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

    /// Cost of the derivatives. A system with a pushforward overrides this.
    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(2),
            pushforward: None,
        }
    }

    /// True if all of these are finite. Applied to every cotangent, and to the states of a [`Map`](crate::Map). A system with wide
    /// vectors may check faster than the engine, or check only entries that depend on all others; a finished gradient is
    /// always checked in full.
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
