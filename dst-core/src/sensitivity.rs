//! The front door: run, then gradient, in one call.

use crate::checkpoint::{Store, optimum};
use crate::error::Error;
use crate::gradient::{Gradient, Sensitivity};
use crate::integrator::Integrator;
use crate::loss::{NoLoss, Weights};
use crate::plan::{Mode, Plan};
use crate::run::{Recording, Run};
use crate::scalar::Scalar;
use crate::system::System;
use crate::workspace::{Workspace, record_len};

impl<S: Scalar, I: Integrator<S>> Plan<S, I, NoLoss> {
    /// Runs until the stop and differentiates the stopping time with respect to θ, x0 and ε.
    ///
    /// A run that does not stop is [`Error::NotStopped`]; use [`record`](Self::record) to keep its iterate.
    pub fn sensitivity<'m, Y, St>(
        self,
        system: &Y,
        theta: &[S],
        x0: &[S],
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Sensitivity<'m, S>, Error>
    where
        Y: System<S> + ?Sized,
        St: Store<S>,
    {
        let gradient = self.gradient(system, theta, x0, memory)?;
        match gradient.stop {
            Some(stop) => Ok(Sensitivity::new(gradient, stop)),
            None => Err(Error::NotStopped {
                steps: gradient.steps,
            }),
        }
    }
}

impl<S: Scalar, I: Integrator<S>, W: Weights<S> + Copy> Plan<S, I, W> {
    /// Runs, then differentiates Σ w_k f(x_k) + μ·T: the running loss with the stopping time, in one sweep.
    ///
    /// With μ = 0 the run may end at its step limit. Otherwise it must stop.
    pub fn gradient<'m, Y, St>(
        self,
        system: &Y,
        theta: &[S],
        x0: &[S],
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Gradient<'m, S>, Error>
    where
        Y: System<S> + ?Sized,
        St: Store<S>,
    {
        let mut run = self.record(system, theta, x0, memory)?;
        run.complete()?;
        let tangent = match self.goal.mode {
            Mode::Adjoint => false,
            Mode::Tangent => true,
            Mode::Auto => run.tangent_is_cheaper(),
        };
        if tangent {
            run.tangent()?.finish()
        } else {
            run.adjoint()?.finish()
        }
    }
}

impl<'m, S, Y, I, W, St> Run<'_, 'm, S, Y, I, W, Recording<'m, St>>
where
    S: Scalar,
    Y: System<S> + ?Sized,
    I: Integrator<S>,
    W: Weights<S>,
    St: Store<S>,
{
    /// Would the tangent mode cost less than the adjoint? Compares the work that is left after the stop, counted in
    /// evaluations of the rate; a system that has one of the two only gets that one.
    pub fn tangent_is_cheaper(&self) -> bool {
        let (dims, cost) = (self.engine.dims, self.engine.system.cost());
        let (Some(pullback), Some(pushforward)) = (cost.pullback, cost.pushforward) else {
            return cost.pullback.is_none();
        };
        let Recording {
            schedule,
            keeps_records,
            ..
        } = &self.recorder;
        let (n, s, stages) = (self.state.steps, schedule.slots(), I::STAGES);
        let evaluations = n.saturating_mul(stages).saturating_add(1);
        // Recomputed steps, records that were not kept, and the pullbacks themselves.
        let recomputed = optimum(n, s).saturating_sub(n);
        let rerecorded = if *keeps_records || record_len(dims, I::STAGES) == 0 {
            0
        } else {
            n
        };
        let adjoint = recomputed
            .saturating_add(rerecorded)
            .saturating_mul(stages)
            .saturating_add(evaluations.saturating_mul(pullback as usize));
        let x0 = if self.goal.x0_gradient {
            dims.states
        } else {
            0
        };
        let directions = dims.params.saturating_add(x0);
        let tangent = directions
            .div_ceil(s.max(1))
            .saturating_add(directions.saturating_mul(pushforward as usize))
            .saturating_mul(evaluations);
        tangent < adjoint
    }
}
