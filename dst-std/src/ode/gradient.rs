//! The gradient of the event's time, through the accepted steps.
//!
//! T is the end of the last step, and J = ε there, so ∂T/∂p = −(∂J/∂p at fixed T)/(dJ/dt) with dJ/dt = ∂J/∂t − ∇J·A (Theorem 1
//! of the paper). The numerator is the exact derivative of the chain of accepted steps, their lengths held fixed: λ = ∇J(x_N) is pulled
//! back through the transposes of the steps, last first. A state that was not kept is computed again, forwards, from
//! a checkpoint; the ODE is never solved backwards in time, which for a flow that contracts means one that explodes.
//!
//! The checkpoints are chosen while the solver runs ([`Checkpoints`]). Replaying its steps as an Euler iteration of `dst-core` would
//! need no sweep of its own, but 6N + 1 evaluations more.

use dst_core::checkpoint::Action;
use dst_core::solve::Condition;
use dst_core::{Error, System};

use super::checkpoints::Checkpoints;
use super::error::OdeError;
use super::solver::{Accepted, Event, solve};
use super::step::{INNER, Step};
use super::{Options, check};

/// The event's time with its gradient.
#[derive(Clone, Debug, PartialEq)]
pub struct EventGradient {
    /// T, x(T), and the steps that led there.
    pub event: Event,
    /// ∂T/∂θ
    pub theta: Vec<f64>,
    /// ∂T/∂x0
    pub x0: Vec<f64>,
    /// ∂T/∂ε
    pub epsilon: f64,
    /// dJ/dt = ∂J/∂t − ∇J·A at T; negative.
    pub slope: f64,
    /// The condition of the crossing; its fall of J is that over the crossing step before it was cut.
    pub condition: Condition<f64>,
    /// Calls into the system.
    pub evaluations: Evaluations,
}

/// Calls into the system, exactly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evaluations {
    /// Rates in the forward solve.
    pub forward: usize,
    /// Rates in the backward sweep, for states and stages that were not kept: 6 for each step run again.
    pub recomputed: usize,
    /// Pullbacks: 6 for each accepted step, and 1 for ∇J.
    pub pullbacks: usize,
}

/// Solves until J(x) = ε and differentiates the time T of that event with respect to θ, x0 and ε.
///
/// ```
/// use dst_core::formula;
/// use dst_std::ode::{Options, event_gradient};
///
/// // x' = −θx from 1 to 0.01: T = ln(100)/θ and dT/dθ = −T/θ.
/// let decay = formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0]);
/// let found = event_gradient(&decay, &[2.0], &[1.0], 0.0, 0.01, &Options::default())?;
/// let exact = 100.0_f64.ln() / 2.0;
/// assert!((found.event.time - exact).abs() < 1e-6);
/// assert!((found.theta[0] + exact / 2.0).abs() < 1e-6);
/// # Ok::<(), dst_std::ode::OdeError>(())
/// ```
pub fn event_gradient<Y: System<f64> + ?Sized>(
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    t0: f64,
    epsilon: f64,
    options: &Options,
) -> Result<EventGradient, OdeError> {
    check(system, theta, x0, t0, epsilon, options)?;
    if system.cost().pullback.is_none() {
        return Err(Error::NoPullback.into());
    }
    if options.slots == 0 {
        return Err(Error::NoSlots.into());
    }
    let mut step = Step::new(system, theta, x0);
    let mut checkpoints = Checkpoints::new(options.slots);
    let event = solve(&mut step, t0, epsilon, options, &mut |segment| {
        // The last step is still at hand when the sweep begins.
        if !segment.is_last {
            checkpoints.pass(segment.index, segment.before);
        }
    })?;
    let mut answer = EventGradient {
        theta: vec![0.0; theta.len()],
        x0: vec![0.0; x0.len()],
        epsilon: f64::NAN,
        slope: f64::NAN,
        condition: Condition {
            rounding: f64::NAN,
            transversality: f64::NAN,
        },
        evaluations: Evaluations {
            forward: event.evaluations,
            ..Evaluations::default()
        },
        event,
    };
    answer.seed(&mut step, epsilon)?;
    answer.sweep(&mut step, &mut checkpoints)?;
    answer.evaluations.recomputed = step.evaluations - answer.evaluations.forward;
    answer.evaluations.pullbacks = step.pullbacks;
    Ok(answer)
}

impl EventGradient {
    /// λ = −∇J(x_N)/(dJ/dt), and the same for θ̄.
    fn seed<Y: System<f64> + ?Sized>(
        &mut self,
        step: &mut Step<'_, Y>,
        epsilon: f64,
    ) -> Result<(), OdeError> {
        let time = self.event.time;
        let in_time = step.criterion_gradient(time, &mut self.x0, &mut self.theta);
        let products = self.x0.iter().zip(&step.rates[INNER]).map(|(g, a)| g * a);
        let (sum, size) =
            products.fold((0.0, 0.0), |(sum, size), p: f64| (sum + p, size + p.abs()));
        let (before, after) = self.event.crossing;
        self.slope = in_time - sum;
        self.condition = Condition {
            rounding: (before - after)
                / before.abs().max(after.abs()).max(epsilon.abs())
                / f64::EPSILON,
            transversality: self.slope.abs() / (in_time.abs() + size),
        };
        // Asked this way round, a NaN counts as flat.
        let falls = self.slope < 0.0 && self.condition.transversality >= 64.0 * f64::EPSILON;
        if !falls || self.slope.is_infinite() {
            return Err(OdeError::FlatCrossing { time });
        }
        self.epsilon = 1.0 / self.slope;
        for bar in [&mut self.x0, &mut self.theta] {
            for value in bar {
                *value /= -self.slope;
            }
        }
        Ok(())
    }

    /// Pulls λ back through all steps.
    fn sweep<Y: System<f64> + ?Sized>(
        &mut self,
        step: &mut Step<'_, Y>,
        checkpoints: &mut Checkpoints,
    ) -> Result<(), OdeError> {
        let steps = &self.event.steps;
        let mut reversal = checkpoints.reverse(steps.len());
        let all_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        // The stages of the last step are those of the solve.
        let mut recorded = true;
        loop {
            match checkpoints.next_action(&mut reversal) {
                Action::Load { slot, .. } => {
                    step.states[0].copy_from_slice(checkpoints.load(slot));
                    recorded = false;
                }
                Action::Advance { from, to } => {
                    for &Accepted { time, length } in &steps[from..to] {
                        step.replay(time, length);
                    }
                    recorded = false;
                }
                Action::Save { slot, .. } => checkpoints.save(slot, &step.states[0]),
                Action::Pull { step: k } => {
                    let Accepted { time, length } = steps[k];
                    if !recorded {
                        step.record(time, length);
                    }
                    step.pull(time, length, &mut self.x0, &mut self.theta);
                    if !all_finite(&self.x0) {
                        return Err(OdeError::NonFiniteGradient { step: k });
                    }
                }
                Action::Done => break,
            }
        }
        if all_finite(&self.theta) {
            Ok(())
        } else {
            Err(OdeError::NonFiniteGradient { step: 0 })
        }
    }
}
