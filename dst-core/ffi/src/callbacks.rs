//! Adapters from the C callbacks to a system and to an objective.
//!
//! The engine has no "abort". After a callback has aborted, no callback is called again and every result is NaN, which the engine
//! reports as a non-finite value within the same step. The object keeps the code, and the call returns DST_ABORTED.

use core::cell::Cell;
use core::ffi::c_int;
use core::ptr::null_mut;

use dst_core::{Bar, Cost, Dims, Direction, Error, Point, Reading, Scalar, Seed, System};

use crate::object::Given;
use crate::status::{Outcome, dst_status};
use crate::types::{Objective, Problem, Seeds};

/// Struct of callbacks, and the code of the callback that aborted, or zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calls<'a, G> {
    pub(crate) given: &'a G,
    code: &'a Cell<c_int>,
}

impl<'a, G: Given> Calls<'a, G> {
    pub(crate) fn new(given: &'a G, code: &'a Cell<c_int>) -> Self {
        Self { given, code }
    }

    /// Computes a value that depends on the struct alone, without any callback.
    pub(crate) fn with<T>(given: &G, ask: impl FnOnce(Calls<'_, G>) -> T) -> T {
        let code = Cell::new(0);
        ask(Calls { given, code: &code })
    }

    /// Calls a callback, unless one has aborted before. Returns true if the results are valid.
    fn call<F>(&self, callback: Option<F>, with: impl FnOnce(F) -> c_int) -> bool {
        let Some(callback) = callback else {
            return false;
        };
        if self.code.get() == 0 {
            self.code.set(with(callback));
        }
        self.code.get() == 0
    }

    /// Outcome of the engine, or the abort if a callback aborted, whatever the NaNs led to.
    pub(crate) fn judge<T>(&self, outcome: Result<T, Error>) -> Outcome<T> {
        let code = self.code.get();
        if code == 0 {
            return outcome.map_err(dst_status::from);
        }
        let report = self.given.abort_code();
        if !report.is_null() {
            // SAFETY: the caller guarantees an `int` there for the lifetime of the object; its alignment was checked when the
            // object was initialised.
            unsafe { report.write(code) };
        }
        Err(dst_status::DST_ABORTED)
    }
}

impl<S> Given for Problem<S>
where
    Self: Copy,
{
    fn abort_code(&self) -> *mut c_int {
        self.abort_code
    }
}

impl<S> Given for Objective<S>
where
    Self: Copy,
{
    fn abort_code(&self) -> *mut c_int {
        self.abort_code
    }
}

impl<S> Problem<S> {
    pub(crate) fn dims(&self) -> Dims {
        Dims::new(self.state_dim, self.param_dim).with_tape(self.tape_len)
    }
}

impl<S: Scalar> Calls<'_, Problem<S>> {
    /// Weights of J and f at a step: constant, or from the caller's function.
    #[inline(never)]
    pub(crate) fn weights(&self, seeds: &Seeds<S>, step: usize) -> Reading<S> {
        let mut weights = Reading {
            criterion: seeds.criterion_weight,
            loss: seeds.loss_weight,
        };
        let counts = self.call(seeds.weight, |callback| {
            // SAFETY: the caller guarantees a function of this type.
            unsafe {
                callback(
                    seeds.user,
                    step,
                    &raw mut weights.criterion,
                    &raw mut weights.loss,
                )
            }
        });
        if counts || seeds.weight.is_none() {
            weights
        } else {
            nothing()
        }
    }
}

impl<S: Scalar> System<S> for Calls<'_, Problem<S>> {
    fn dims(&self) -> Dims {
        self.given.dims()
    }

    #[inline(never)]
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], tape: &mut [S], _: &mut [S]) -> Reading<S> {
        // NaN, so that a number not written by the callback is detected.
        let mut reading = nothing();
        let counts = self.call(self.given.rate, |callback| {
            // SAFETY: the caller guarantees a function of this type that respects the lengths of `dims`; the engine's slices have
            // these lengths.
            unsafe {
                callback(
                    self.given.user,
                    at.theta.as_ptr(),
                    at.x.as_ptr(),
                    at.t,
                    rate.as_mut_ptr(),
                    tape.as_mut_ptr(),
                    &raw mut reading.criterion,
                    &raw mut reading.loss,
                )
            }
        });
        if counts {
            return reading;
        }
        rate.fill(S::NAN);
        nothing()
    }

    #[inline(never)]
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        _: &mut [S],
    ) {
        let counts = self.call(self.given.pullback, |callback| {
            // SAFETY: as for `rate`; an unused time is NULL.
            unsafe {
                callback(
                    self.given.user,
                    at.theta.as_ptr(),
                    at.x.as_ptr(),
                    at.t,
                    tape.as_ptr(),
                    seed.rate.as_ptr(),
                    seed.criterion,
                    seed.loss,
                    bar.theta.as_mut_ptr(),
                    bar.x.as_mut_ptr(),
                    bar.t.map_or(null_mut(), |t| &raw mut *t),
                )
            }
        });
        if !counts {
            bar.x.fill(S::NAN);
        }
    }

    #[inline(never)]
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let mut reading = nothing();
        let counts = self.call(self.given.pushforward, |callback| {
            // SAFETY: as for `rate`.
            unsafe {
                callback(
                    self.given.user,
                    at.theta.as_ptr(),
                    at.x.as_ptr(),
                    at.t,
                    tape.as_ptr(),
                    along.theta.as_ptr(),
                    along.x.as_ptr(),
                    along.t,
                    rate.as_mut_ptr(),
                    &raw mut reading.criterion,
                    &raw mut reading.loss,
                )
            }
        });
        if counts {
            return reading;
        }
        rate.fill(S::NAN);
        nothing()
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: self.given.pullback.map(|_| 2),
            pushforward: self.given.pushforward.map(|_| 2),
        }
    }
}

/// Reading of NaNs.
fn nothing<S: Scalar>() -> Reading<S> {
    Reading {
        criterion: S::NAN,
        loss: S::NAN,
    }
}

impl<S: Scalar> dst_core::Objective<S> for Calls<'_, Objective<S>> {
    fn dim(&self) -> usize {
        self.given.dim
    }

    fn tape_len(&self) -> usize {
        self.given.tape_len
    }

    fn value_gradient(&self, x: &[S], gradient: &mut [S], tape: &mut [S], _: &mut [S]) -> S {
        let mut value = S::NAN;
        let counts = self.call(self.given.value_gradient, |callback| {
            // SAFETY: the caller guarantees a function of this type that respects the lengths `dim` and `tape_len`; the slices
            // have these lengths.
            unsafe {
                callback(
                    self.given.user,
                    x.as_ptr(),
                    &raw mut value,
                    gradient.as_mut_ptr(),
                    tape.as_mut_ptr(),
                )
            }
        });
        if counts { value } else { S::NAN }
    }

    fn add_hessian_vector(&self, x: &[S], v: &[S], tape: &[S], out: &mut [S], _: &mut [S]) {
        let counts = self.call(self.given.hessian_vector, |callback| {
            // SAFETY: as for `value_gradient`.
            unsafe {
                callback(
                    self.given.user,
                    x.as_ptr(),
                    v.as_ptr(),
                    tape.as_ptr(),
                    out.as_mut_ptr(),
                )
            }
        });
        if !counts {
            out.fill(S::NAN);
        }
    }
}
