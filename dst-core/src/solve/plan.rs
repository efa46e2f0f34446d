//! Plan and problem: the immutable part of a run, separate from its memory.

use super::crossing::{Crossing, Seeds, Weights};
use super::memory::{Stage, Workspace};
use super::{Progress, Sensitivity};
use crate::checkpoint::optimum;
use crate::error::{Argument, Error, exact, finite};
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::system::{Point, System};

/// Method by which a gradient is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Mode {
    /// The cheaper mode for this system, these slots and the N at which the run stopped.
    #[default]
    Auto,
    /// Backward sweep over checkpoints: cost independent of the number of parameters.
    Adjoint,
    /// One direction per parameter carried forward: no checkpoints, cost proportional to the number of parameters.
    Tangent,
}

/// Step limit of a plan that does not set one: every run is finite.
pub const DEFAULT_MAX_STEPS: usize = 1_000_000;

/// Run to make: integrator, tolerance, limit, and the method of differentiation.
///
/// `until(ε)` stops at the **first passage**: the first N with J ≤ ε, whatever J does afterwards. An oscillating loop passes its
/// target long before it settles. [`staying`](Self::staying) and [`staying_to_the_end`](Self::staying_to_the_end) require J to
/// stay below ε after the stop.
///
/// ```
/// use dst_core::{Crossing, Heun};
/// let plan = Heun::new(0.01).until(1e-6).at_most(5_000).crossing(Crossing::Slope);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan<S, I> {
    pub(crate) integrator: I,
    pub(crate) epsilon: S,
    pub(crate) max_steps: usize,
    /// Number of steps for which J has to stay below ε; `usize::MAX` for all remaining steps.
    pub(crate) stay: usize,
    pub(crate) t0: S,
    pub(crate) crossing: Crossing,
    pub(crate) mode: Mode,
    pub(crate) x0_gradient: bool,
}

impl<S: Scalar, I: Integrator<S>> Plan<S, I> {
    /// Plan that runs until the first J ≤ ε; same as `until` of the integrator.
    pub fn new(integrator: I, epsilon: S) -> Self {
        Self {
            integrator,
            epsilon,
            max_steps: DEFAULT_MAX_STEPS,
            stay: 0,
            t0: S::ZERO,
            crossing: Crossing::default(),
            mode: Mode::default(),
            x0_gradient: true,
        }
    }

    /// Sets the step limit.
    pub fn at_most(self, max_steps: usize) -> Self {
        Self { max_steps, ..self }
    }

    /// Ends the run when J ≤ ε has held for `steps` further steps. The stopping time is the crossing at which this stay began. A
    /// stay that the step limit cuts short does not count.
    ///
    /// J can also pass through a short stay and leave again; if it may oscillate, use
    /// [`staying_to_the_end`](Self::staying_to_the_end).
    pub fn staying(self, steps: usize) -> Self {
        Self {
            stay: steps,
            ..self
        }
    }

    /// Runs to the step limit, and takes the last crossing of ε as the stopping time: the settling time over that horizon. A run
    /// that ends above ε has not settled.
    pub fn staying_to_the_end(self) -> Self {
        self.staying(usize::MAX)
    }

    /// Sets the start time; the default is zero.
    pub fn from_time(self, t0: S) -> Self {
        Self { t0, ..self }
    }

    /// Sets the crossing that [`sensitivity`](Self::sensitivity) uses.
    pub fn crossing(self, crossing: Crossing) -> Self {
        Self { crossing, ..self }
    }

    /// Selects adjoint or tangent mode explicitly.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Leaves out the gradient with respect to x0: the tangent mode then needs no directions for it.
    pub fn theta_only(self) -> Self {
        Self {
            x0_gradient: false,
            ..self
        }
    }

    /// Integrator, with its step size.
    pub fn integrator(&self) -> I {
        self.integrator
    }

    /// Applies this plan to a system. Checks every argument, so that nothing can be out of bounds later.
    pub fn on<'p, Y: System<S> + ?Sized>(
        self,
        system: &'p Y,
        theta: &'p [S],
        x0: &'p [S],
    ) -> Result<Problem<'p, S, Y, I>, Error> {
        let dims = system.dims();
        let h = self.integrator.step_size();
        if !(h.is_finite() && h > S::ZERO) {
            return Err(Error::Invalid(Argument::StepSize));
        }
        if !self.epsilon.is_finite() {
            return Err(Error::Invalid(Argument::Epsilon));
        }
        if !self.t0.is_finite() {
            return Err(Error::Invalid(Argument::StartTime));
        }
        exact(Argument::Theta, dims.params, theta.len())?;
        exact(Argument::X0, dims.states, x0.len())?;
        finite(Argument::Theta, theta)?;
        finite(Argument::X0, x0)?;
        self.integrator.check(dims)?;
        system.check(self.integrator.is_map())?;
        Ok(Problem {
            plan: self,
            system,
            theta,
            x0,
        })
    }

    /// Runs until the stop and differentiates the stopping time with respect to θ, x0 and ε.
    ///
    /// Returns [`Error::NotStopped`] if the run does not stop; its iterate is still in the memory ([`Problem::iterate`]).
    pub fn sensitivity<'m, Y, M>(
        self,
        system: &Y,
        theta: &[S],
        x0: &[S],
        memory: &'m mut M,
    ) -> Result<Sensitivity<'m, S>, Error>
    where
        Y: System<S> + ?Sized,
        M: Workspace<S> + ?Sized,
    {
        let problem = self.on(system, theta, x0)?;
        problem.start(memory)?;
        problem.complete(memory)?;
        problem.differentiate(memory, Seeds::stop(self.crossing), usize::MAX)?;
        problem.sensitivity(memory)
    }
}

/// Checked combination of a plan, a system, θ and x0. It borrows them and owns nothing, so a control loop can build it again in
/// every tick; the only cost is the check that all numbers are finite.
///
/// Call [`start`](Self::start), [`advance`](Self::advance), [`differentiate`](Self::differentiate) and
/// [`gradient`](Self::gradient) in this order, as in the example of the [crate](crate#four-types).
#[derive(Debug)]
pub struct Problem<'p, S, Y: ?Sized, I> {
    pub(crate) plan: Plan<S, I>,
    pub(crate) system: &'p Y,
    pub(crate) theta: &'p [S],
    pub(crate) x0: &'p [S],
}

impl<S: Copy, Y: ?Sized, I: Copy> Clone for Problem<'_, S, Y, I> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Copy, Y: ?Sized, I: Copy> Copy for Problem<'_, S, Y, I> {}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Problem<'_, S, Y, I> {
    /// Point of the trajectory with this state as x_k.
    #[inline(always)]
    pub(crate) fn at<'a>(&'a self, x: &'a [S], step: usize) -> Point<'a, S> {
        Point {
            theta: self.theta,
            x,
            t: self.time(step),
        }
    }

    /// t_k, computed from k: repeated sums of h would drift.
    #[inline(always)]
    pub(crate) fn time(&self, step: usize) -> S {
        self.plan.t0 + S::from_count(step) * self.plan.integrator.step_size()
    }

    /// Differentiates the quantity given by the seeds, in at most `budget` operations: by the adjoint or by tangents, depending
    /// on the plan's [`mode`](crate::Plan::mode).
    ///
    /// The first call begins a sweep and costs up to three pullbacks and one evaluation beyond its budget; further calls with the
    /// same seeds continue it until [`Done`](Progress::Done). A call after that, or after an error, begins another sweep over the
    /// same run. The run must have stopped if the stop is among the seeds; otherwise it may be at any step.
    pub fn differentiate<M: Workspace<S> + ?Sized, W: Weights<S>>(
        &self,
        memory: &mut M,
        seeds: Seeds<S, W>,
        budget: usize,
    ) -> Result<Progress, Error> {
        let stage = memory.view().cursor.stage;
        let tangent = match (stage, self.plan.mode) {
            (Stage::Adjoint, _) | (Stage::Before | Stage::Done, Mode::Adjoint) => false,
            (Stage::Tangent, _) | (Stage::Before | Stage::Done, Mode::Tangent) => true,
            _ => !seeds.has_window() && self.tangent_is_cheaper(memory),
        };
        if tangent {
            self.tangent(memory, seeds, budget)
        } else {
            self.adjoint(memory, seeds, budget)
        }
    }

    /// True if the tangent mode costs less than the adjoint. Compares the remaining work after the stop, counted in evaluations
    /// of the rate; a system with only one of the two modes always uses that one.
    pub fn tangent_is_cheaper<M: Workspace<S> + ?Sized>(&self, memory: &M) -> bool {
        let (dims, cost) = (self.system.dims(), self.system.cost());
        let (Some(pullback), Some(pushforward)) = (cost.pullback, cost.pushforward) else {
            // Without any derivative the adjoint names the missing one.
            return cost.pullback.is_none() && cost.pushforward.is_some();
        };
        let view = memory.view();
        let (n, s, stages) = (
            view.cursor.steps,
            view.marks.len(),
            self.plan.integrator.stages(),
        );
        let record = dims.record_len(stages);
        let evaluations = n.saturating_mul(stages).saturating_add(1);
        // Recomputed steps, missing records, and the pullbacks themselves.
        let recomputed = optimum(n, s).saturating_sub(n);
        let kept = record == 0 || view.in_place() > 0 && self.shape(&view).record == record;
        let rerecorded = if kept { 0 } else { n };
        let adjoint = recomputed
            .saturating_add(rerecorded)
            .saturating_mul(stages)
            .saturating_add(evaluations.saturating_mul(pullback as usize));
        let directions = self.directions();
        let tangent = directions
            .div_ceil(s.max(1))
            .saturating_add(directions.saturating_mul(pushforward as usize))
            .saturating_mul(evaluations);
        tangent < adjoint
    }

    /// Directions of the tangent mode: one per parameter and, unless x0 is left out, one per entry of x0.
    pub(super) fn directions(&self) -> usize {
        let dims = self.system.dims();
        let states = if self.plan.x0_gradient {
            dims.states
        } else {
            0
        };
        dims.params.saturating_add(states)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Error, Map, Memory, formula};

    /// A map has h = 1, so both gradients are equal, whichever row λ ended in.
    #[test]
    fn a_map_has_the_same_gradient_in_time_and_in_steps() -> Result<(), Error> {
        let shrink = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
        for epsilon in [0.2, 0.1, 0.04] {
            let mut memory = Memory::<f64, 1, 1, 3>::new();
            let plan = Map.until(epsilon).mode(crate::Mode::Adjoint);
            let s = plan.sensitivity(&shrink, &[0.5], &[1.0], &mut memory)?;
            assert_eq!(s.time_gradient_x0(), s.steps_gradient_x0());
            assert!(s.time_gradient_x0()[0] > 1.0, "{s:?}");
        }
        Ok(())
    }
}
