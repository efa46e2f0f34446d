//! What to run and what to ask of it: the immutable configuration, apart from the memory.

use crate::checkpoint::{Schedule, Store};
use crate::crossing::Crossing;
use crate::engine::Engine;
use crate::error::{Argument, Error, exact};
use crate::integrator::Integrator;
use crate::loss::{NoLoss, Weights};
use crate::run::{NoRecording, Recording, Run};
use crate::scalar::{Scalar, all_finite};
use crate::system::System;
use crate::workspace::{Work, Workspace, record_len};

/// How the gradient is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Mode {
    /// Whichever costs less for this system, these slots and the N at which the run stopped.
    #[default]
    Auto,
    /// Backward sweep over checkpoints: cost independent of the number of parameters.
    Adjoint,
    /// One direction per parameter carried forward: no checkpoints, cost proportional to their number.
    Tangent,
}

/// A run to be made: integrator, tolerance, limit, and what to differentiate.
///
/// ```
/// use dst_core::{Crossing, Heun, Integrator};
/// let plan = Heun::new(0.01).until(1e-6).at_most(5_000).crossing(Crossing::Slope);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan<S, I, W = NoLoss> {
    pub(crate) integrator: I,
    pub(crate) epsilon: S,
    pub(crate) max_steps: usize,
    pub(crate) t0: S,
    pub(crate) crossing: Crossing,
    pub(crate) mode: Mode,
    pub(crate) x0_gradient: bool,
    pub(crate) weights: W,
    pub(crate) time_weight: S,
}

/// The step limit of a plan that does not set one: nothing runs for ever.
pub const DEFAULT_MAX_STEPS: usize = 1_000_000;

impl<S: Scalar, I: Integrator<S>> Plan<S, I> {
    pub(crate) fn new(integrator: I, epsilon: S) -> Self {
        Self {
            integrator,
            epsilon,
            max_steps: DEFAULT_MAX_STEPS,
            t0: S::ZERO,
            crossing: Crossing::default(),
            mode: Mode::default(),
            x0_gradient: true,
            weights: NoLoss,
            time_weight: S::ONE,
        }
    }
}

impl<S: Scalar, I: Integrator<S>, W: Weights<S> + Copy> Plan<S, I, W> {
    /// Gives up after this many steps.
    pub fn at_most(self, max_steps: usize) -> Self {
        Self { max_steps, ..self }
    }

    /// Starts at another time than zero.
    pub fn from_time(self, t0: S) -> Self {
        Self { t0, ..self }
    }

    /// Reads the stopping time off the last step in another way.
    pub fn crossing(self, crossing: Crossing) -> Self {
        Self { crossing, ..self }
    }

    /// Decides between adjoint and tangent mode by hand.
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Leaves out the gradient with respect to x0: the tangent mode then needs no columns for it.
    pub fn theta_only(self) -> Self {
        Self {
            x0_gradient: false,
            ..self
        }
    }

    /// Adds a running loss: the objective becomes Σ w_k f(x_k) + `time_weight`·T. A weight of zero leaves the loss
    /// alone, which then needs no stop; see [`gradient`](Self::gradient).
    pub fn running_loss<V: Weights<S>>(self, weights: V, time_weight: S) -> Plan<S, I, V> {
        Plan {
            integrator: self.integrator,
            epsilon: self.epsilon,
            max_steps: self.max_steps,
            t0: self.t0,
            crossing: self.crossing,
            mode: self.mode,
            x0_gradient: self.x0_gradient,
            weights,
            time_weight,
        }
    }

    /// The integrator, with its step size.
    pub fn integrator(&self) -> I {
        self.integrator
    }

    /// A forward run that keeps no checkpoints.
    pub fn run<'p, 'm, Y, St>(
        self,
        system: &'p Y,
        theta: &'p [S],
        x0: &'p [S],
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Run<'p, 'm, S, Y, I, W, NoRecording>, Error>
    where
        Y: System<S> + ?Sized,
    {
        let Workspace { rows, params, .. } = memory.into();
        let engine = self.engine(system, theta, x0, rows, params)?;
        Ok(Run::new(
            engine,
            NoRecording,
            self.weights,
            self.epsilon,
            self.max_steps,
        ))
    }

    /// A forward run that keeps checkpoints, ready to be differentiated when it stops.
    pub fn record<'p, 'm, Y, St>(
        self,
        system: &'p Y,
        theta: &'p [S],
        x0: &'p [S],
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Run<'p, 'm, S, Y, I, W, Recording<'m, St>>, Error>
    where
        Y: System<S> + ?Sized,
        St: Store<S>,
    {
        let Workspace {
            rows,
            params,
            marks,
            mut store,
        } = memory.into();
        let engine = self.engine(system, theta, x0, rows, params)?;
        let schedule = Schedule::new(marks).ok_or(Error::NoSlots)?;
        let record = record_len(engine.dims, I::STAGES);
        let keeps_records = store.prepare(schedule.slots(), engine.dims.states, record)?;
        let recording = Recording {
            schedule,
            store,
            keeps_records,
        };
        Ok(Run::new(
            engine,
            recording,
            self.weights,
            self.epsilon,
            self.max_steps,
        ))
    }

    /// Checks every argument once, at the door; behind it nothing can be out of bounds.
    fn engine<'p, 'm, Y: System<S> + ?Sized>(
        &self,
        system: &'p Y,
        theta: &'p [S],
        x0: &'p [S],
        rows: &'m mut [S],
        params: &'m mut [S],
    ) -> Result<Engine<'p, 'm, S, Y, I>, Error> {
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
        if !self.time_weight.is_finite() {
            return Err(Error::Invalid(Argument::TimeWeight));
        }
        exact(Argument::Theta, dims.params, theta.len())?;
        exact(Argument::X0, dims.states, x0.len())?;
        if !all_finite(theta) {
            return Err(Error::Invalid(Argument::Theta));
        }
        if !all_finite(x0) {
            return Err(Error::Invalid(Argument::X0));
        }
        self.integrator.check(dims)?;
        let work = Work::carve::<I>(rows, params, dims)?;
        Ok(Engine {
            system,
            integrator: self.integrator,
            theta,
            x0,
            t0: self.t0,
            dims,
            work,
        })
    }
}
