//! What to run and what to ask of it: the immutable configuration, apart from the memory.

use crate::adjoint::{Adjoint, AdjointState};
use crate::checkpoint::{Schedule, Store};
use crate::crossing::Crossing;
use crate::engine::{Engine, Order};
use crate::error::{Argument, Error, exact, finite};
use crate::integrator::Integrator;
use crate::loss::{NoLoss, Weights};
use crate::run::{NoRecording, Recording, Run, RunState};
use crate::scalar::Scalar;
use crate::system::{Dims, System};
use crate::tangent::{Tangent, TangentState};
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
    pub(crate) weights: W,
    pub(crate) goal: Goal<S>,
}

/// The numbers and choices of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goal<S> {
    pub(crate) epsilon: S,
    pub(crate) max_steps: usize,
    pub(crate) t0: S,
    pub(crate) crossing: Crossing,
    pub(crate) mode: Mode,
    pub(crate) x0_gradient: bool,
    pub(crate) time_weight: S,
}

/// The step limit of a plan that does not set one: nothing runs for ever.
pub const DEFAULT_MAX_STEPS: usize = 1_000_000;

impl<S: Scalar, I: Integrator<S>> Plan<S, I> {
    pub(crate) fn new(integrator: I, epsilon: S) -> Self {
        let goal = Goal {
            epsilon,
            max_steps: DEFAULT_MAX_STEPS,
            t0: S::ZERO,
            crossing: Crossing::default(),
            mode: Mode::default(),
            x0_gradient: true,
            time_weight: S::ONE,
        };
        Self {
            integrator,
            weights: NoLoss,
            goal,
        }
    }
}

impl<S: Scalar, I: Integrator<S>, W: Weights<S> + Copy> Plan<S, I, W> {
    fn with(self, goal: Goal<S>) -> Self {
        Self { goal, ..self }
    }

    /// Gives up after this many steps.
    pub fn at_most(self, max_steps: usize) -> Self {
        self.with(Goal {
            max_steps,
            ..self.goal
        })
    }

    /// Starts at another time than zero.
    pub fn from_time(self, t0: S) -> Self {
        self.with(Goal { t0, ..self.goal })
    }

    /// Reads the stopping time off the last step in another way.
    pub fn crossing(self, crossing: Crossing) -> Self {
        self.with(Goal {
            crossing,
            ..self.goal
        })
    }

    /// Decides between adjoint and tangent mode by hand.
    pub fn mode(self, mode: Mode) -> Self {
        self.with(Goal { mode, ..self.goal })
    }

    /// Leaves out the gradient with respect to x0: the tangent mode then needs no directions for it.
    pub fn theta_only(self) -> Self {
        self.with(Goal {
            x0_gradient: false,
            ..self.goal
        })
    }

    /// Adds a running loss: the objective becomes Σ w_k f(x_k) + `time_weight`·T. A weight of zero leaves the loss
    /// alone, which then needs no stop; see [`gradient`](Self::gradient).
    pub fn running_loss<V: Weights<S>>(self, weights: V, time_weight: S) -> Plan<S, I, V> {
        Plan {
            integrator: self.integrator,
            weights,
            goal: Goal {
                time_weight,
                ..self.goal
            },
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
        Ok(Run::new(engine, NoRecording, self.weights, self.goal))
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
            store,
        } = memory.into();
        let engine = self.engine(system, theta, x0, rows, params)?;
        let schedule = Schedule::new(marks).ok_or(Error::NoSlots)?;
        let recording = Recording::new(schedule, store, record_shape::<S, I>(engine.dims))?;
        Ok(Run::new(engine, recording, self.weights, self.goal))
    }

    /// Goes on with a run that was [suspended](Run::suspend), over the same system, θ, x0 and memory.
    pub fn resume<'p, 'm, Y, St>(
        self,
        state: RunState<S>,
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
            store,
        } = memory.into();
        exact(Argument::Slots, state.slots, marks.len())?;
        let engine = self.engine(system, theta, x0, rows, params)?;
        let schedule = state.schedule(marks).ok_or(Error::NoSlots)?;
        let recording = Recording::new(schedule, store, record_shape::<S, I>(engine.dims))?;
        Ok(Run::resumed(
            state,
            engine,
            recording,
            self.weights,
            self.goal,
        ))
    }

    /// Goes on with a backward sweep that was [suspended](Adjoint::suspend), over the same system, θ, x0 and memory.
    pub fn resume_adjoint<'p, 'm, Y, St>(
        self,
        state: AdjointState<S>,
        system: &'p Y,
        theta: &'p [S],
        x0: &'p [S],
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Adjoint<'p, 'm, S, Y, I, W, St>, Error>
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
        exact(Argument::Slots, state.slots, marks.len())?;
        let engine = self.engine(system, theta, x0, rows, params)?;
        let (states, record) = record_shape::<S, I>(engine.dims);
        let keeps_records = store.prepare(marks.len(), states, record)? || record == 0;
        let reversal = state.reversal(marks).ok_or(Error::NoSlots)?;
        Ok(Adjoint::resumed(
            state,
            engine,
            reversal,
            store,
            keeps_records,
            self.weights,
        ))
    }

    /// Goes on with a tangent computation that was [suspended](Tangent::suspend), over the same system, θ, x0 and memory.
    pub fn resume_tangent<'p, 'm, Y, St>(
        self,
        state: TangentState<S>,
        system: &'p Y,
        theta: &'p [S],
        x0: &'p [S],
        memory: impl Into<Workspace<'m, S, St>>,
    ) -> Result<Tangent<'p, 'm, S, Y, I, W, St>, Error>
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
        exact(Argument::Slots, state.slots, marks.len())?;
        let engine = self.engine(system, theta, x0, rows, params)?;
        store.prepare(marks.len(), engine.dims.states, 0)?;
        Ok(Tangent::resumed(state, engine, store, self.weights))
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
        let Goal {
            epsilon,
            t0,
            time_weight,
            ..
        } = self.goal;
        if !(h.is_finite() && h > S::ZERO) {
            return Err(Error::Invalid(Argument::StepSize));
        }
        for (number, argument) in [
            (epsilon, Argument::Epsilon),
            (t0, Argument::StartTime),
            (time_weight, Argument::TimeWeight),
        ] {
            if !number.is_finite() {
                return Err(Error::Invalid(argument));
            }
        }
        exact(Argument::Theta, dims.params, theta.len())?;
        exact(Argument::X0, dims.states, x0.len())?;
        finite(Argument::Theta, theta)?;
        finite(Argument::X0, x0)?;
        self.integrator.check(dims)?;
        system.check(h, self.integrator.is_euler())?;
        let work = Work::carve::<I>(rows, params, dims)?;
        Ok(Engine {
            system,
            integrator: self.integrator,
            theta,
            x0,
            t0,
            dims,
            work,
            order: Order::NEW,
        })
    }
}

/// What a slot holds: the lengths of a state and of a step's record.
fn record_shape<S: Scalar, I: Integrator<S>>(dims: Dims) -> (usize, usize) {
    (dims.states, record_len(dims, I::STAGES))
}
