//! Checker of hand-written derivatives.
//!
//! A wrong pullback gives a wrong gradient without an error. [`Plan::check`] compares it with differences of `rate`:
//!
//! - **Values.** For every output (each entry of A, J, f, and all together) and every entry of θ, x and t, the pullback and the
//!   pushforward are compared with central differences of two step sizes; then the two with each other, along a random
//!   direction. t is compared for J only: the engine uses no other derivative with respect to time.
//! - **Outputs.** A pullback must add to its sums, a rate and a pushforward must overwrite their outputs.
//! - **Memory.** Before every call scratch memory, outputs and an unwritten tape hold NaN or arbitrary numbers, and `rate` is
//!   evaluated at another point between the evaluation that wrote a tape and the derivative that reads it.
//!
//! This is repeated at x0, at a point beside it, and after 3 and 20 steps of the run: a wrong term may vanish at x0.
//!
//! # Tolerances
//!
//! The rounding error of an output is measured: it is the largest change when all of θ and x change by a few units in the last
//! place. An entry of size s is changed by s·2·ε^⅓ (about 1.2e-5·s in double, 0.01·s in single precision) and by half of that. The
//! two quotients estimate the error of the differences. A value is wrong if it differs from them by more than this error and ε^⅓
//! of its size, for every one of three step sizes. Relative errors above about 1e-5 in double and 1 % in single precision are
//! therefore found.
//!
//! # Kinks
//!
//! Where an output has a kink (`abs`, `max`, a box), differences say nothing about the derivative. A kink at the point is
//! recognised by its slopes on both sides, one close to it by quotients that depend on the step size. Such a value counts as
//! [undecided](Checked::undecided) and is compared at the other points.
//!
//! # Large systems
//!
//! Up to 16 entries of A and 32 entries each of θ and x are compared one by one. More are combined into that many groups with
//! random signs and, after a mismatch, taken one by one again. The number of evaluations is therefore bounded, at about 16·(D +
//! 3)·(D + P + 1) for a small system.

mod desk;
mod mismatch;
mod points;
mod sentence;
mod slope;

pub use mismatch::{
    CheckError, Checked, Entry, Function, Kind, Mismatch, Output, Place, Reference,
};
pub use sentence::Sentence;

use super::memory::{Cursor, Work, Workspace};
use super::plan::{Plan, Problem};
use crate::error::Error;
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::slices::{copy, split_mut};
use crate::system::System;
use desk::{Desk, scatter};
use points::Point;

/// Numbers of steps after which the derivatives are checked again.
const STEPS: [usize; 2] = [3, 20];

impl<S: Scalar, I: Integrator<S>> Plan<S, I> {
    /// Checks the derivatives that a system provides against differences of its rate; see [`check`](crate::solve::check).
    ///
    /// The memory is that of a run, whose rows are the working memory; slots are not needed. A run in it is discarded.
    ///
    /// ```
    /// use dst_core::{Bar, Dims, Euler, Memory, Point, Reading, Seed, System};
    ///
    /// struct Decay; // A = θx, J = x²
    ///
    /// impl System<f64> for Decay {
    ///     fn dims(&self) -> Dims {
    ///         Dims::new(1, 1)
    ///     }
    ///     fn rate(&self, at: Point<'_, f64>, rate: &mut [f64], _: &mut [f64], _: &mut [f64]) -> Reading<f64> {
    ///         rate[0] = at.theta[0] * at.x[0];
    ///         let j = at.x[0] * at.x[0];
    ///         Reading { criterion: j, loss: j }
    ///     }
    ///     fn pullback(&self, at: Point<'_, f64>, _: &[f64], seed: Seed<'_, f64>, bar: Bar<'_, f64>, _: &mut [f64]) {
    ///         bar.theta[0] += seed.rate[0] * at.x[0];
    ///         bar.x[0] += seed.rate[0] * at.theta[0] + (seed.criterion + seed.loss) * at.x[0]; // 2x is right
    ///     }
    /// }
    ///
    /// let plan = Euler::new(0.1).until(1e-3);
    /// let mut memory = Memory::<f64, 1, 1, 4>::new();
    /// let wrong = plan.check(&Decay, &[1.0], &[1.0], &mut memory).unwrap_err();
    /// assert_eq!(wrong.to_string(), "pullback: d(J)/d(x[0]) is 1 where differences give 2 (half of it)");
    /// ```
    pub fn check<Y, M>(
        self,
        system: &Y,
        theta: &[S],
        x0: &[S],
        memory: &mut M,
    ) -> Result<Checked, CheckError>
    where
        Y: System<S> + ?Sized,
        M: Workspace<S> + ?Sized,
    {
        self.on(system, theta, x0)?.check(memory)
    }
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Problem<'_, S, Y, I> {
    /// Checks the derivatives of the system; see [`Plan::check`].
    pub fn check<M: Workspace<S> + ?Sized>(&self, memory: &mut M) -> Result<Checked, CheckError> {
        let (dims, stages) = (self.system.dims(), self.plan.integrator.stages());
        let cost = self.system.cost();
        if cost.pullback.is_none() && cost.pushforward.is_none() {
            return Err(Error::NoPullback.into());
        }
        let mut work = Work::carve(memory.view_mut(), dims, stages)?;
        *work.cursor = Cursor::new();
        let mut checked = Checked::default();

        let [x, ..] = &mut work.rows;
        copy(x, self.x0);
        self.check_at(&mut work, Place::Step(0), &mut checked)?;
        let [x, ..] = &mut work.rows;
        scatter(x);
        self.check_at(&mut work, Place::Beside, &mut checked)?;

        let [x, ..] = &mut work.rows;
        copy(x, self.x0);
        let mut step = 0;
        for goal in STEPS {
            while step < goal.min(self.plan.max_steps) {
                if !self.proceed(&mut work, step) {
                    return Ok(checked);
                }
                step += 1;
            }
            if step == goal {
                self.check_at(&mut work, Place::Step(step), &mut checked)?;
            }
        }
        Ok(checked)
    }

    /// Compares everything at the state in the first row.
    fn check_at(
        &self,
        work: &mut Work<'_, S>,
        place: Place,
        checked: &mut Checked,
    ) -> Result<(), CheckError> {
        let step = match place {
            Place::Step(step) => step,
            Place::Beside => 0,
        };
        let h = self.plan.integrator.step_size();
        let desk = Desk::new(self.system, self.theta, self.time(step), h, work);
        Point::new(desk, self.plan.integrator.is_map(), place).check(checked)
    }

    /// Makes one step of the run; false if the run ends here.
    fn proceed(&self, work: &mut Work<'_, S>, step: usize) -> bool {
        let [x, next, rate, _] = &mut work.rows;
        let [record, _] = &mut work.records;
        let (tape, _) = split_mut(record, self.system.dims().tape);
        let at = self.at(x, step);
        let reading = self.system.rate(at, rate, tape, work.scratch);
        let stops = reading.criterion <= self.plan.epsilon && self.plan.stay == 0;
        if stops || !reading.criterion.is_finite() {
            return false;
        }
        let integrator = self.plan.integrator;
        let finite = integrator.step(self.system, at, rate, record, next, work.scratch);
        work.rows.swap(0, 1);
        finite
    }
}
