//! One step of the iteration, the exact transpose of that step, and its exact tangent.
//!
//! Euler is the paper's. The others reduce the error of the *trajectory*; the order of the *gradient* also needs a
//! sharper [`Crossing`](crate::Crossing). Every derivative here is that of the discrete step, not of the ODE:
//! the adjoint of a run is exact to rounding for any h.
//!
//! A step leaves a *record*: the tape of its first evaluation, then stage states and tapes of the others.
//! The record is what the transpose and the tangent read.

mod euler;
mod heun;
mod map;
mod rk4;
mod runge_kutta;
mod symplectic;

pub use euler::{Euler, EulerTableau};
pub use heun::{Heun, HeunTableau};
pub use map::Map;
pub use rk4::{Rk4, Rk4Tableau};
pub use runge_kutta::{RungeKutta, Tableau};
pub use symplectic::SymplecticEuler;

use crate::error::Error;
use crate::plan::Plan;
use crate::scalar::Scalar;
use crate::system::{Dims, Direction, Point, Reading, System};

/// A one-step method with its transpose and tangent.
pub trait Integrator<S: Scalar>: Copy {
    /// Evaluations of the rate per step; the first is shared with the stopping check.
    const STAGES: usize;

    /// Is the system's rate the next state itself, as with [`Map`]? Vectors then change places instead of being copied:
    /// [`step`](Self::step) is not asked, and [`pull`](Self::pull) finds λ in the first temporary and anything in its place.
    const REPLACES: bool = false;

    /// h
    fn step_size(&self) -> S;

    /// Is this x⁺ = x − h·A? Some systems are made for that step alone.
    fn is_euler(&self) -> bool {
        false
    }

    /// Can this method integrate a system of these dimensions?
    fn check(&self, dims: Dims) -> Result<(), Error> {
        let _ = dims;
        Ok(())
    }

    /// Writes x_{k+1} to `next`. On entry `rate` is A(θ, x_k, t_k) and the head of `record` its tape; on return
    /// the record is complete and `rate` arbitrary. Returns whether `next` is finite.
    fn step<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        rate: &mut [S],
        record: &mut [S],
        next: &mut [S],
        scratch: &mut [S],
    ) -> bool;

    /// Pulls `lambda`, the cotangent of x_{k+1}, back to the cotangent of x_k, in place, and adds that of θ to
    /// `theta_bar`. `reading` holds the cotangents of J(x_k) and f(x_k), which ride along. The temporaries are
    /// state-sized, their content arbitrary before and after.
    fn pull<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        reading: Reading<S>,
        lambda: &mut [S],
        theta_bar: &mut [S],
        temporaries: [&mut [S]; 3],
        scratch: &mut [S],
    );

    /// Pushes the direction (dθ, dx_k) through the step: writes dx_{k+1} to `next`, returns dJ(x_k) and df(x_k).
    fn push<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        temporaries: [&mut [S]; 2],
        scratch: &mut [S],
    ) -> Reading<S>;

    /// An entry of A, along −A the state moves, from that of x and of what the system's `rate` wrote: the same, for every
    /// method but [`Map`].
    #[inline(always)]
    fn descent(&self, x: S, rate: S) -> S {
        let _ = x;
        rate
    }

    /// The plan to run until J(x) ≤ ε.
    fn until(self, epsilon: S) -> Plan<S, Self> {
        Plan::new(self, epsilon)
    }
}

/// Splits without panicking: the lengths fit by construction, and if they did not, both parts would be empty.
#[inline(always)]
pub(crate) fn split<S>(slice: &[S], mid: usize) -> (&[S], &[S]) {
    slice.split_at_checked(mid).unwrap_or_default()
}

/// The mutable twin of [`split`].
#[inline(always)]
pub(crate) fn split_mut<S>(slice: &mut [S], mid: usize) -> (&mut [S], &mut [S]) {
    slice.split_at_mut_checked(mid).unwrap_or_default()
}
