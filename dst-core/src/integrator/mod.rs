//! One step of the iteration, the exact transpose of that step, and its exact tangent.
//!
//! Euler is the paper's method. The others reduce the error of the *trajectory*; a higher order of the *gradient* also needs a
//! more accurate [`Crossing`](crate::Crossing). Every derivative here is that of the discrete step, not of the ODE: the adjoint
//! of a run is exact to rounding for any h.
//!
//! A step leaves a *record* for the transpose and the tangent: the tape of its first evaluation, then the states and tapes of the
//! later stages.

mod map;
mod runge_kutta;
mod symplectic;

pub use map::Map;
pub use runge_kutta::{Euler, Heun, Rk4};
pub use symplectic::SymplecticEuler;

use crate::error::Error;
use crate::scalar::Scalar;
use crate::system::{Dims, Direction, Point, Reading, System};

/// One-step method with its transpose and tangent.
pub trait Integrator<S: Scalar>: Copy {
    /// Evaluations of the rate per step; the first is shared with the stopping check. At least one.
    fn stages(&self) -> usize;

    /// Unique number of the method: a run begun with one method is rejected by the others.
    fn kind(&self) -> u8;

    /// True only for [`Map`], where the system's rate is the next state itself. `rate` then writes directly to the next state,
    /// [`step`](Self::step) is not called, and [`pull`](Self::pull) finds λ in the first temporary; the content of `lambda` is
    /// arbitrary.
    #[inline(always)]
    fn is_map(&self) -> bool {
        false
    }

    /// Step size h.
    fn step_size(&self) -> S;

    /// Checks that this method can integrate a system of these dimensions.
    fn check(&self, dims: Dims) -> Result<(), Error> {
        let _ = dims;
        Ok(())
    }

    /// Writes x_{k+1} to `next` and returns true if it is finite. On entry `rate` is A(θ, x_k, t_k) and the head of `record` its
    /// tape; on return the record is complete and `rate` arbitrary.
    fn step<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        rate: &mut [S],
        record: &mut [S],
        next: &mut [S],
        scratch: &mut [S],
    ) -> bool;

    /// Copies a state or a record to its slot and returns true, or leaves that to the engine. A method for long states may divide
    /// the work among threads.
    #[inline(always)]
    fn keep(&self, slot: &mut [S], values: &[S]) -> bool {
        let _ = (slot, values);
        false
    }

    /// True if [`step_in_place`](Self::step_in_place) makes a step.
    #[inline(always)]
    fn in_place(&self) -> bool {
        false
    }

    /// Replaces x_k by x_{k+1}, with the operations of [`step`](Self::step), from the rate at x_k. It leaves no record; for
    /// methods of one stage.
    #[inline(always)]
    fn step_in_place(&self, x: &mut [S], rate: &[S]) {
        let _ = (x, rate);
    }

    /// Pulls `lambda`, the cotangent of x_{k+1}, back to the cotangent of x_k, in place, and adds the cotangent of θ to
    /// `theta_bar`. `reading` holds the cotangents of J(x_k) and f(x_k), which are pulled back in the same pass. The temporaries
    /// have the length of a state; their content is arbitrary before and after.
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
