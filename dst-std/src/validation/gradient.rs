//! The gradient of a stopping time by one integrator and one crossing, and the truth it is held against.

use std::fmt;

use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Mode, Plan, Rk4, Status, System,
};
use serde::Serialize;

use super::euler::WideEuler;
use super::instance::Instance;
use crate::machine::Footprint;
use crate::ode::{self, EventGradient, OdeError};
use crate::progress::Progress;

/// An integrator by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IntegratorName {
    /// The paper's.
    Euler,
    /// Second order.
    Heun,
    /// Fourth order.
    Rk4,
}

impl IntegratorName {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Euler, Self::Heun, Self::Rk4];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Euler => "Euler",
            Self::Heun => "Heun",
            Self::Rk4 => "RK4",
        }
    }

    /// Evaluations of A per step.
    pub const fn stages(self) -> usize {
        match self {
            Self::Euler => 1,
            Self::Heun => 2,
            Self::Rk4 => 4,
        }
    }

    /// Vectors in a slot, if not everything is kept.
    pub(crate) const fn vectors_per_slot(self) -> usize {
        match self {
            Self::Euler => 2,
            Self::Heun | Self::Rk4 => 1,
        }
    }
}

/// Number of states that the backward sweep may keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Slots {
    /// Every state with its record: nothing is computed twice.
    #[serde(serialize_with = "serialize_all")]
    All,
    /// This many states. With Euler's method each has its record, which is Qx and no longer than the state; those of the other methods are
    /// computed again.
    Number(usize),
}

impl fmt::Display for Slots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Number(count) => count.fmt(f),
        }
    }
}

/// Settings of a run and its gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct GradientRun {
    /// Integrator of the flow.
    #[serde(rename = "integrator")]
    pub method: IntegratorName,
    /// Crossing: the formula for T on the last step.
    #[serde(serialize_with = "serialize_crossing")]
    pub crossing: Crossing,
    /// h
    pub step: f64,
    /// ε
    pub epsilon: f64,
    /// States that the backward sweep may keep.
    pub slots: Slots,
    /// The step limit of the run.
    pub max_steps: usize,
}

pub(crate) fn serialize_crossing<S: serde::Serializer>(
    crossing: &Crossing,
    to: S,
) -> Result<S::Ok, S::Error> {
    to.serialize_str(&crossing.name().to_lowercase())
}

fn serialize_all<S: serde::Serializer>(to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str("all")
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// N
    pub steps: usize,
    /// T as the crossing reads it.
    pub time: f64,
    /// ∂T/∂θ
    pub theta: Vec<f64>,
    /// ∂T/∂x0
    pub x0: Vec<f64>,
    /// Evaluations of A, those of the backward sweep included.
    pub rates: usize,
    /// Pullbacks.
    pub pullbacks: usize,
    /// Bytes of trajectory that were kept.
    pub kept_bytes: usize,
}

/// A run whose memory is there already, to be repeated at will.
pub struct Prepared<'p> {
    /// Runs and differentiates; everything is written anew.
    pub repeat: Box<dyn FnMut() -> Result<Answer, String> + Send + 'p>,
    /// N, from a run without a gradient.
    pub steps: usize,
}

impl fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prepared")
            .field("steps", &self.steps)
            .finish_non_exhaustive()
    }
}

impl GradientRun {
    /// Finds N by a run without a gradient and allocates what the gradient will need. Its progress
    /// is the share of the way to ε.
    pub fn prepare<'p>(
        &self,
        instance: &'p Instance,
        progress: &Progress,
    ) -> Result<Prepared<'p>, String> {
        match self.method {
            IntegratorName::Euler => {
                self.prepare_with(WideEuler(Euler::new(self.step)), instance, progress)
            }
            IntegratorName::Heun => self.prepare_with(Heun::new(self.step), instance, progress),
            IntegratorName::Rk4 => self.prepare_with(Rk4::new(self.step), instance, progress),
        }
    }

    /// Runs and differentiates, once.
    pub fn answer(&self, instance: &Instance) -> Result<Answer, String> {
        (self.prepare(instance, &Progress::hidden())?.repeat)()
    }

    fn prepare_with<'p, I: Integrator<f64> + Send + 'p>(
        &self,
        integrator: I,
        instance: &'p Instance,
        progress: &Progress,
    ) -> Result<Prepared<'p>, String> {
        let plan = Plan::new(integrator, self.epsilon)
            .at_most(self.max_steps)
            .crossing(self.crossing)
            .mode(Mode::Adjoint);
        let run = *self;
        let steps = run.count(plan, instance, progress)?;
        let dims = instance.system.dims();
        let record = dims.record_len(integrator.stages());
        let (slots, per_slot) = match run.slots {
            Slots::All => (steps.max(1), dims.states + record),
            Slots::Number(count) => (
                count.min(steps).max(1),
                dims.states * self.method.vectors_per_slot(),
            ),
        };
        let with_records = per_slot == dims.states + record;
        let number = size_of::<f64>() as f64;
        Footprint::of(format!("a sweep over {steps} steps"))
            .with(
                format!("{slots} states"),
                [number, slots as f64, per_slot as f64],
                "use fewer --slots",
            )
            .check()?;
        let mut memory = if with_records {
            HeapMemory::with_records(&plan, &instance.system, slots)
        } else {
            HeapMemory::new(&plan, &instance.system, slots)
        };
        let kept_bytes = memory.slot_bytes();
        let repeat = Box::new(move || {
            let Instance { system, theta, x0 } = instance;
            let found = plan
                .sensitivity(system, theta, x0, &mut memory)
                .map_err(|error| run.explain(error))?;
            Ok(Answer {
                steps: found.steps,
                time: found.stop.time,
                theta: found.time_gradient().to_vec(),
                x0: found.time_gradient_x0().to_vec(),
                rates: found.evaluations.rate,
                pullbacks: found.evaluations.pullback,
                kept_bytes,
            })
        });
        Ok(Prepared { repeat, steps })
    }

    /// N, or why there is none.
    fn count<I: Integrator<f64>>(
        &self,
        plan: Plan<f64, I>,
        instance: &Instance,
        progress: &Progress,
    ) -> Result<usize, String> {
        /// Steps between two reports of progress.
        const PORTION: usize = 16;
        /// Parts of the way to ε.
        const PARTS: usize = 1000;
        let task = progress.task("running", PARTS);
        let Instance { system, theta, x0 } = instance;
        let mut memory = HeapMemory::new(&plan, system, 0);
        let explain = |error| self.explain(error);
        let problem = plan.on(system, theta, x0).map_err(explain)?;
        problem.start(&mut memory).map_err(explain)?;
        let start = problem.advance(&mut memory, 0).map_err(explain)?;
        let start = start.iterate().criterion;
        // J falls about exponentially.
        while let Status::Running(now) = problem.advance(&mut memory, PORTION).map_err(explain)? {
            let share = libm::log(start / now.best_criterion) / libm::log(start / self.epsilon);
            let parts = (PARTS as f64 * share) as usize;
            task.advance(parts.saturating_sub(task.done()));
        }
        match problem.complete(&mut memory).map_err(explain)? {
            Status::Reached(stop) if stop.steps == 0 => Err(self.explain(Error::StoppedAtStart)),
            Status::Reached(stop) => Ok(stop.steps),
            status => {
                let at = status.iterate();
                // A run that oscillates falls every other step: what counts is how far it has come.
                let share = libm::log(start / at.best_criterion) / libm::log(start / self.epsilon);
                let remedy = if share > 0.05 {
                    "raise --max-steps or --eps"
                } else {
                    "change --step, or raise --max-steps"
                };
                Err(format!(
                    "the run did not reach eps = {:?} within {} steps (J = {:.1e}, at best {:.1e}); {remedy}",
                    self.epsilon, at.steps, at.criterion, at.best_criterion
                ))
            }
        }
    }

    fn explain(&self, error: Error) -> String {
        let &Self { step, epsilon, .. } = self;
        match error {
            Error::NonFinite { step: at } => {
                format!(
                    "the run left the finite numbers at step {at}: h = {step:?} is too long; lower --step"
                )
            }
            Error::StoppedAtStart => {
                format!("J is not above eps = {epsilon:?} at the starting point; lower --eps")
            }
            Error::FlatCrossing { step: at } => format!(
                "J is flat to rounding where it crosses eps = {epsilon:?} at step {at}; change --eps or --step"
            ),
            other => other.to_string(),
        }
    }
}

/// T and its gradient by the adaptive solver, and what a solve at the usual tolerance takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// At the tight tolerance.
    pub exact: EventGradient,
    /// Evaluations of a forward solve at the usual tolerance.
    pub evaluations: usize,
}

/// Solves twice: at the first tolerance with the gradient, keeping at most `slots` states, and at the second for its count of
/// evaluations.
pub fn truth(
    instance: &Instance,
    epsilon: f64,
    (rtol, usual): (f64, f64),
    slots: usize,
) -> Result<Truth, OdeError> {
    let Instance { system, theta, x0 } = instance;
    let options = |rtol: f64| ode::Options {
        rtol,
        atol: 0.01 * rtol,
        slots: slots.max(1),
        ..ode::Options::default()
    };
    let exact = ode::event_gradient(system, theta, x0, 0.0, epsilon, &options(rtol))?;
    let counted = ode::event_time(system, theta, x0, 0.0, epsilon, &options(usual))?;
    Ok(Truth {
        exact,
        evaluations: counted.evaluations,
    })
}

/// ‖v‖
pub fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// ‖a − b‖/(‖a‖ + ‖b‖), the paper's measure.
pub fn relative_error(a: &[f64], b: &[f64]) -> f64 {
    let difference = a
        .iter()
        .zip(b)
        .map(|(a, b)| (a - b) * (a - b))
        .sum::<f64>()
        .sqrt();
    difference / (norm(a) + norm(b))
}
