//! The C functions of a problem as a system, of an objective as an objective.
//!
//! The engine knows no "abort". A callback that asks for it is answered with NaN, which the engine reports as a
//! non-finite value within the same step; the code is kept here, and the report is then DST_ABORTED.

use core::cell::Cell;
use core::ffi::c_int;

use dst_core::{Bar, Cost, Dims, Direction, Point, Reading, Scalar, Seed, System, Weights};

use crate::status::{Outcome, dst_status};
use crate::types::{Objective, Options, Problem};

/// The code of the callback that aborted first, or zero.
#[derive(Debug)]
pub(crate) struct Abort {
    code: Cell<c_int>,
    /// The caller's copy, or NULL.
    report: *mut c_int,
}

impl Abort {
    pub(crate) fn new(report: *mut c_int) -> Self {
        Self {
            code: Cell::new(0),
            report,
        }
    }

    /// Calls back, unless a callback has aborted before. Returns whether the results count.
    fn call<F>(&self, callback: Option<F>, with: impl FnOnce(F) -> c_int) -> bool {
        let Some(callback) = callback else {
            return false;
        };
        if self.code.get() == 0 {
            self.code.set(with(callback));
        }
        self.code.get() == 0
    }

    /// What the engine says, unless a callback aborted: then that, whatever the NaNs became.
    pub(crate) fn judge<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        if self.code.get() == 0 {
            return outcome;
        }
        if !self.report.is_null() {
            // SAFETY: the caller promises an `int` there for as long as the run is used; its alignment was checked
            // when the run was initialised.
            unsafe { self.report.write(self.code.get()) };
        }
        Err(dst_status::DST_ABORTED)
    }
}

/// A problem in C.
#[derive(Debug)]
pub(crate) struct Callbacks<S> {
    problem: Problem<S>,
    /// Without a running loss, what the problem leaves in *loss does not matter.
    reads_loss: bool,
    pub(crate) abort: Abort,
}

impl<S: Scalar> Callbacks<S> {
    pub(crate) fn new(problem: Problem<S>, options: &Options<S>) -> Self {
        Self {
            problem,
            reads_loss: options.weight.is_some() || options.loss_weight != S::ZERO,
            abort: Abort::new(problem.abort_code),
        }
    }

    fn reading(&self, counts: bool, criterion: S, loss: S) -> Reading<S> {
        match (counts, self.reads_loss) {
            (true, true) => Reading { criterion, loss },
            (true, false) => Reading {
                criterion,
                loss: S::ZERO,
            },
            (false, _) => Reading {
                criterion: S::NAN,
                loss: S::NAN,
            },
        }
    }
}

impl<S> Problem<S> {
    pub(crate) fn dims(&self) -> Dims {
        Dims::new(self.state_dim, self.param_dim).with_tape(self.tape_len)
    }

    pub(crate) fn cost(&self) -> Cost {
        Cost {
            pullback: self.pullback.map(|_| 2),
            pushforward: self.pushforward.map(|_| 2),
        }
    }
}

impl<S: Scalar> System<S> for Callbacks<S> {
    fn dims(&self) -> Dims {
        self.problem.dims()
    }

    fn rate(&self, at: Point<'_, S>, rate: &mut [S], tape: &mut [S], _: &mut [S]) -> Reading<S> {
        // What a callback forgets to write is found.
        let (mut criterion, mut loss) = (S::NAN, S::NAN);
        let user = self.problem.user;
        let counts = self.abort.call(self.problem.rate, |callback| {
            // SAFETY: the caller promises a function of this type that keeps to the lengths of `dims`; the engine's
            // slices have them.
            unsafe {
                callback(
                    user,
                    at.theta.as_ptr(),
                    at.x.as_ptr(),
                    at.t,
                    rate.as_mut_ptr(),
                    tape.as_mut_ptr(),
                    &raw mut criterion,
                    &raw mut loss,
                )
            }
        });
        if !counts {
            rate.fill(S::NAN);
        }
        self.reading(counts, criterion, loss)
    }

    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        _: &mut [S],
    ) {
        let user = self.problem.user;
        let counts = self.abort.call(self.problem.pullback, |callback| {
            // SAFETY: as for `rate`.
            unsafe {
                callback(
                    user,
                    at.theta.as_ptr(),
                    at.x.as_ptr(),
                    at.t,
                    tape.as_ptr(),
                    seed.rate.as_ptr(),
                    seed.criterion,
                    seed.loss,
                    bar.theta.as_mut_ptr(),
                    bar.x.as_mut_ptr(),
                )
            }
        });
        if !counts {
            bar.x.fill(S::NAN);
        }
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let (mut criterion, mut loss) = (S::NAN, S::NAN);
        let user = self.problem.user;
        let counts = self.abort.call(self.problem.pushforward, |callback| {
            // SAFETY: as for `rate`.
            unsafe {
                callback(
                    user,
                    at.theta.as_ptr(),
                    at.x.as_ptr(),
                    at.t,
                    tape.as_ptr(),
                    along.theta.as_ptr(),
                    along.x.as_ptr(),
                    rate.as_mut_ptr(),
                    &raw mut criterion,
                    &raw mut loss,
                )
            }
        });
        if !counts {
            rate.fill(S::NAN);
        }
        self.reading(counts, criterion, loss)
    }

    fn cost(&self) -> Cost {
        self.problem.cost()
    }
}

/// The weights of the running loss: none, the same for all steps, or the caller's function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Weighting<S> {
    uniform: S,
    callback: Option<unsafe extern "C" fn(*mut core::ffi::c_void, usize) -> S>,
    user: *mut core::ffi::c_void,
    /// Of the other callbacks: after one of them has aborted, this one is not asked either.
    abort: &'static Abort,
}

impl<S: Scalar> Weighting<S> {
    pub(crate) fn new(callbacks: &'static Callbacks<S>, options: &Options<S>) -> Self {
        Self {
            uniform: options.loss_weight,
            callback: options.weight,
            user: callbacks.problem.user,
            abort: &callbacks.abort,
        }
    }
}

impl<S: Scalar> Weights<S> for Weighting<S> {
    fn weight(&self, step: usize) -> S {
        match self.callback {
            None => self.uniform,
            Some(_) if self.abort.code.get() != 0 => S::ZERO,
            // SAFETY: the caller promises a function of this type.
            Some(callback) => unsafe { callback(self.user, step) },
        }
    }
}

/// An objective in C.
#[derive(Debug)]
pub(crate) struct ObjectiveCallbacks<S> {
    objective: Objective<S>,
    pub(crate) abort: Abort,
}

impl<S: Scalar> ObjectiveCallbacks<S> {
    pub(crate) fn new(objective: Objective<S>) -> Self {
        Self {
            objective,
            abort: Abort::new(objective.abort_code),
        }
    }
}

impl<S: Scalar> dst_core::Objective<S> for ObjectiveCallbacks<S> {
    fn dim(&self) -> usize {
        self.objective.dim
    }

    fn tape_len(&self) -> usize {
        self.objective.tape_len
    }

    fn value_gradient(&self, x: &[S], gradient: &mut [S], tape: &mut [S], _: &mut [S]) -> S {
        let mut value = S::NAN;
        let user = self.objective.user;
        let counts = self.abort.call(self.objective.value_gradient, |callback| {
            // SAFETY: the caller promises a function of this type that keeps to the lengths `dim` and `tape_len`; the
            // slices have them.
            unsafe {
                callback(
                    user,
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
        let user = self.objective.user;
        let counts = self.abort.call(self.objective.hessian_vector, |callback| {
            // SAFETY: as for `value_gradient`.
            unsafe {
                callback(
                    user,
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
