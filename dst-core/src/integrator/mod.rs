//! One step of the iteration, the exact transpose of that step, and its exact tangent.
//!
//! Euler is the paper's. The others reduce the error of the *trajectory*; the order of the *gradient* also needs a
//! sharper [`Crossing`](crate::Crossing). Every derivative here is that of the discrete step, not of the ODE:
//! the adjoint of a run is exact to rounding for any h.
//!
//! A step leaves a *record*: the tape of its first evaluation, then stage states and tapes of the others.
//! The record is what the transpose and the tangent read.

mod map;
mod runge_kutta;
mod symplectic;

pub use map::Map;
pub use runge_kutta::{Euler, Heun, Rk4};
pub use symplectic::SymplecticEuler;

use crate::error::Error;
use crate::scalar::Scalar;
use crate::system::{Dims, Direction, Point, Reading, System};

/// A one-step method with its transpose and tangent.
pub trait Integrator<S: Scalar>: Copy {
    /// Evaluations of the rate per step; the first is shared with the stopping check. At least one.
    fn stages(&self) -> usize;

    /// A number that no other method has: a run that one method has begun is refused by the others.
    fn kind(&self) -> u8;

    /// True for [`Map`] alone: the system's rate is the next state itself. It is then written where that state belongs,
    /// [`step`](Self::step) is not called, and [`pull`](Self::pull) finds λ in the first temporary and anything in its place.
    #[inline(always)]
    fn is_map(&self) -> bool {
        false
    }

    /// h
    fn step_size(&self) -> S;

    /// Refuses dimensions that this method cannot integrate.
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
}
