//! Twelve ways to differentiate the stopping time, three integrators with four crossings, against the closed form.

use dst_core::checkpoint::optimum;
use dst_core::solve::Evaluations;
use dst_core::{
    Crossing, Error, Euler, HeapMemory, Heun, Integrator, Mode, Plan, Rk4, Status, System,
};
use serde::Serialize;

use super::{Exact, FlowProblem, system};
use crate::Failure;

/// Runs are given up after this many steps.
const MAX_STEPS: usize = 1_000_000;
/// Reversals of more forward steps than this are refused: they take minutes.
const MOST_FORWARD: usize = 100_000_000;

/// The twelve ways side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// θ
    pub theta: f64,
    /// h
    pub step: f64,
    /// ε
    pub epsilon: f64,
    /// Checkpoint slots.
    pub slots: usize,
    /// The closed form.
    pub exact: Exact,
    /// The twelve.
    pub runs: Vec<ComparisonRow>,
}

/// One integrator with one crossing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonRow {
    /// Its name.
    pub integrator: &'static str,
    /// Its name.
    pub crossing: &'static str,
    /// N
    pub steps: usize,
    /// T as the crossing reads it.
    pub time: f64,
    /// dT/dθ
    pub time_gradient: f64,
    /// dN/dθ
    pub steps_gradient: f64,
    /// The gradient's.
    pub relative_error: f64,
    /// Calls that it took.
    pub evaluations: Calls,
}

/// Calls into the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// The rate's.
    pub rate: usize,
    /// Pullbacks.
    pub pullback: usize,
    /// Pushforwards.
    pub pushforward: usize,
}

impl From<Evaluations> for Calls {
    fn from(counted: Evaluations) -> Self {
        Self {
            rate: counted.rate,
            pullback: counted.pullback,
            pushforward: counted.pushforward,
        }
    }
}

/// Differentiates in all twelve ways. Errors name the options of `dst illustrate`.
pub fn compare(problem: &FlowProblem) -> Result<Comparison, Failure> {
    let flow = system!();
    let &FlowProblem {
        theta,
        step: h,
        epsilon,
        slots,
    } = problem;
    // The runs first: where there is none, they know better than the closed form what is wrong.
    let mut runs = Vec::new();
    differentiate("Euler", Euler::new(h), &flow, problem, &mut runs)?;
    differentiate("Heun", Heun::new(h), &flow, problem, &mut runs)?;
    differentiate("RK4", Rk4::new(h), &flow, problem, &mut runs)?;
    let exact = Exact::solve(theta, epsilon).ok_or_else(|| {
        Failure::NoAnswer(format!(
            "the exact flow never reaches eps = {epsilon:?} with theta = {theta:?}, although the steps do; lower --step"
        ))
    })?;
    for row in &mut runs {
        row.relative_error =
            ((row.time_gradient - exact.time_gradient) / exact.time_gradient).abs();
    }
    Ok(Comparison {
        theta,
        step: h,
        epsilon,
        slots,
        exact,
        runs,
    })
}

/// Adds the rows of one integrator.
fn differentiate<I: Integrator<f64>, Y: System<f64>>(
    name: &'static str,
    integrator: I,
    flow: &Y,
    problem: &FlowProblem,
    rows: &mut Vec<ComparisonRow>,
) -> Result<(), Failure> {
    let (theta, x0) = ([problem.theta], [1.0, 1.0]);
    let plan = Plan::new(integrator, problem.epsilon)
        .at_most(MAX_STEPS)
        .mode(Mode::Adjoint);
    let explain = |error| explain(name, problem, error);
    // A run without a gradient tells N, and with it how many slots can be of use and what the reversal will take.
    let mut memory = HeapMemory::new(&plan, flow, 0);
    let run = plan.on(flow, &theta, &x0).map_err(explain)?;
    run.start(&mut memory).map_err(explain)?;
    let steps = match run.complete(&mut memory).map_err(explain)? {
        Status::Reached(stop) => stop.steps,
        other => {
            let at = other.iterate();
            return Err(not_stopped(name, problem, at.steps, at.criterion));
        }
    };
    let slots = problem.slots.min(steps.max(1));
    let forward = optimum(steps, slots);
    if forward > MOST_FORWARD {
        return Err(Failure::NoAnswer(format!(
            "{name} stops after {steps} steps, whose reversal with {slots} slots takes {forward} forward steps; raise \
             --slots or --step"
        )));
    }
    for crossing in Crossing::ALL {
        let mut memory = HeapMemory::new(&plan, flow, slots);
        let answer = plan
            .crossing(crossing)
            .sensitivity(flow, &theta, &x0, &mut memory)
            .map_err(explain)?;
        let first = |gradient: &[f64]| gradient.first().copied().unwrap_or(f64::NAN);
        rows.push(ComparisonRow {
            integrator: name,
            crossing: crossing.name(),
            steps: answer.steps,
            time: answer.stop.time,
            time_gradient: first(answer.time_gradient()),
            steps_gradient: first(answer.steps_gradient()),
            relative_error: f64::NAN,
            evaluations: answer.evaluations.into(),
        });
    }
    Ok(())
}

/// The engine's error in terms of the options of `dst illustrate`.
fn explain(integrator: &str, problem: &FlowProblem, error: Error) -> Failure {
    let &FlowProblem {
        theta,
        step,
        epsilon: eps,
        ..
    } = problem;
    Failure::NoAnswer(match error {
        Error::NonFinite { step: at } if theta < 0.0 => format!(
            "{integrator} left the finite numbers at step {at}: with theta = {theta:?} the flow runs away; use --theta \
             above 0"
        ),
        Error::NonFinite { step: at } => format!(
            "{integrator} left the finite numbers at step {at}: h = {step:?} is too long for theta = {theta:?}; lower \
             --step"
        ),
        Error::StoppedAtStart => {
            format!("J = 17 at the starting point is not above eps = {eps:?}; use --eps below 17")
        }
        Error::FlatCrossing { step: at } => format!(
            "J is flat to rounding where it crosses eps = {eps:?} at step {at} of {integrator}, so the stopping time \
             has no derivative; change --eps or --step"
        ),
        other => format!("{integrator}: {other}"),
    })
}

fn not_stopped(integrator: &str, problem: &FlowProblem, steps: usize, criterion: f64) -> Failure {
    let &FlowProblem {
        theta,
        step,
        epsilon: eps,
        ..
    } = problem;
    let remedy = if theta <= 0.0 {
        "use --theta above 0"
    } else if step * (4.0 * theta).max(1.0) >= 2.0 {
        "the step is too long to be stable, lower --step"
    } else {
        "raise --step or --eps"
    };
    Failure::NoAnswer(format!(
        "the run of {integrator} did not reach eps = {eps:?} within {steps} steps (J = {criterion:.2e}); {remedy}"
    ))
}
