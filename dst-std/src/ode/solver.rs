//! The forward solve: accepted steps until J falls to ε.
//!
//! J is known at every accepted point without further evaluations, because the rate returns it. The first accepted step that
//! ends with J ≤ ε is cut to the length at which J = ε ([`locate`](super::event)), and is the last. Evaluations, exactly:
//! 1 at x0, 1 for the length of the first step unless it is given, 6 for each step (accepted, rejected or
//! repeated to find the event) and 1 for each probe between the ends of the crossing step.
//!
//! J is looked at where steps end: a dip below ε and back within one step is not seen.

use dst_core::System;

use super::controller::{Controller, first_step};
use super::error::OdeError;
use super::event::{is_reached, locate};
use super::step::{INNER, Step, descend};
use super::tableau::{STAGES, dense};
use super::{Options, check};

/// An accepted step: from `time` to `time + length`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accepted {
    /// t_k
    pub time: f64,
    /// h_k
    pub length: f64,
}

/// The event: the first time T at which J(x(T)) = ε, coming from above.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// T
    pub time: f64,
    /// x(T)
    pub state: Vec<f64>,
    /// J(x(T)): ε, to rounding.
    pub criterion: f64,
    /// The accepted steps; the last one ends at T.
    pub steps: Vec<Accepted>,
    /// Steps tried and found too inaccurate.
    pub rejected: usize,
    /// Evaluations between the ends of the crossing step, for a first guess of T.
    pub probes: usize,
    /// The number of times that the crossing step was repeated with another length.
    pub repeats: usize,
    /// Evaluations of the rate in all.
    pub evaluations: usize,
    /// J before the crossing step, and after it had it not been cut.
    pub(super) crossing: (f64, f64),
}

/// An accepted step with what lies between its ends.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// The number of the step, from 0.
    pub index: usize,
    /// Its start and length.
    pub step: Accepted,
    /// State at its start.
    pub before: &'a [f64],
    /// State at its end.
    pub after: &'a [f64],
    /// J at its start and end.
    pub criterion: (f64, f64),
    /// True if it ends at the event.
    pub is_last: bool,
    rates: &'a [Vec<f64>; STAGES],
}

impl Segment<'_> {
    /// Writes x(time + u·length), for u in [0, 1], to `state`: the dense output, whose error is O(length⁵).
    pub fn at(&self, u: f64, state: &mut [f64]) {
        descend(state, self.before, self.step.length, &dense(u), self.rates);
    }
}

/// Solves x' = −A(θ, x, t) from x(t0) = x0 until J(x) = ε, and shows every accepted step to `visit`, in order.
pub fn trace<Y: System<f64> + ?Sized>(
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    t0: f64,
    epsilon: f64,
    options: &Options,
    mut visit: impl FnMut(Segment<'_>),
) -> Result<Event, OdeError> {
    check(system, theta, x0, t0, epsilon, options)?;
    let mut step = Step::new(system, theta, x0);
    solve(&mut step, t0, epsilon, options, &mut visit)
}

/// The event alone; see [`trace`].
pub fn event_time<Y: System<f64> + ?Sized>(
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    t0: f64,
    epsilon: f64,
    options: &Options,
) -> Result<Event, OdeError> {
    trace(system, theta, x0, t0, epsilon, options, |_| ())
}

/// The solve itself, from checked arguments. Afterwards `step` still holds the last step, evaluated at both ends.
pub(super) fn solve<Y: System<f64> + ?Sized>(
    step: &mut Step<'_, Y>,
    t0: f64,
    epsilon: f64,
    options: &Options,
    visit: &mut dyn FnMut(Segment<'_>),
) -> Result<Event, OdeError> {
    let &Options { rtol, atol, .. } = options;
    let mut criterion = step.evaluate(t0, 0.0, 0).criterion;
    if !(criterion.is_finite() && step.rates[0].iter().all(|a| a.is_finite())) {
        return Err(OdeError::NonFiniteStart);
    }
    if criterion <= epsilon {
        return Err(OdeError::AtStart { criterion });
    }
    let mut length = match options.first_step {
        Some(length) => length,
        None => first_step(step, t0, rtol, atol),
    };
    let mut control = Controller::new();
    let (mut time, mut steps, mut rejected) = (t0, Vec::new(), 0);
    loop {
        if steps.len() + rejected >= options.max_steps || !(time + length).is_finite() {
            return Err(OdeError::NotReached {
                steps: steps.len() + rejected,
                time,
                criterion,
            });
        }
        if time + length <= time {
            return Err(OdeError::StepTooSmall { time });
        }
        let mut now = Accepted { time, length };
        let mut after = step.run(time, length).criterion;
        let error = step.error(length, rtol, atol);
        let finite = after.is_finite() && step.states[INNER].iter().all(|x| x.is_finite());
        if !control.judge(if finite { error } else { f64::NAN }, &mut length) {
            rejected += 1;
            continue;
        }
        let mut found = None;
        if is_reached(after, epsilon) {
            let located = locate(step, now, (criterion, after), epsilon);
            found = Some((located, (criterion, after)));
            (now.length, after) = (located.length, located.criterion);
            if !after.is_finite() {
                return Err(OdeError::NonFinite { time });
            }
        }
        visit(Segment {
            index: steps.len(),
            step: now,
            before: &step.states[0],
            after: &step.states[INNER],
            criterion: (criterion, after),
            is_last: found.is_some(),
            rates: &step.rates,
        });
        steps.push(now);
        time += now.length;
        if let Some((located, crossing)) = found {
            return Ok(Event {
                time,
                state: step.states[INNER].clone(),
                criterion: after,
                steps,
                rejected,
                probes: located.probes,
                repeats: located.repeats,
                evaluations: step.evaluations,
                crossing,
            });
        }
        criterion = after;
        step.accept();
    }
}
