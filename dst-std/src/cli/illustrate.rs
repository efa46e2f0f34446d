//! `dst illustrate`: the problem of the paper's Figure 1, where the answer is known.
//!
//! f = ½x₁² + 2x₂², A = diag(1, θ)·∇f, J = ‖∇f‖², x₀ = (1, 1). The flow is x₁ = e^{−t}, x₂ = e^{−4θt}, so T solves
//! e^{−2t} + 16·e^{−8θt} = ε, and dT/dθ follows by differentiating that equation.

use std::io::{self, Write};

use dst_core::checkpoint::optimum;
use dst_core::{
    Crossing, Error, Euler, Evaluations, HeapMemory, Heun, Integrator, Mode, Rk4, Status, System,
    formula,
};
use serde::Serialize;

use super::arguments::{finite, positive, positive_count};
use super::{Failure, output};

/// Runs are given up after this many steps.
const MAX_STEPS: usize = 1_000_000;
/// Reversals of more forward steps than this are refused: they take minutes.
const MOST_FORWARD: usize = 100_000_000;

/// Differentiate the stopping time of the paper's Figure 1 in twelve ways, and compare with the exact value.
///
/// The problem: f = 0.5*x1^2 + 2*x2^2, x' = -diag(1, theta)*grad f from (1, 1), stopped at |grad f|^2 <= eps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst illustrate
  dst illustrate --theta 0.5 --step 0.01
  dst illustrate --json

Note: at theta = 1 the second state has long died out at the stop, so dT/dtheta is tiny and its relative error
large; at theta = 0.25 both states matter.")]
pub(super) struct Args {
    /// The parameter.
    #[arg(long, value_name = "T", default_value = "0.25", value_parser = finite, allow_hyphen_values = true)]
    theta: f64,
    /// The step size h.
    #[arg(long, value_name = "H", default_value = "0.05", value_parser = positive, allow_hyphen_values = true)]
    step: f64,
    /// The tolerance: the run stops at the first J <= E.
    #[arg(long, value_name = "E", default_value = "1e-4", value_parser = positive, allow_hyphen_values = true)]
    eps: f64,
    /// Checkpoint slots of the backward sweep.
    #[arg(long, value_name = "S", default_value = "8", value_parser = positive_count, allow_hyphen_values = true)]
    slots: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    theta: f64,
    step: f64,
    epsilon: f64,
    slots: usize,
    exact: Exact,
    runs: Vec<Row>,
}

/// The closed form.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Exact {
    time: f64,
    time_gradient: f64,
}

/// One integrator with one crossing.
#[derive(Debug, Serialize)]
struct Row {
    integrator: &'static str,
    crossing: &'static str,
    steps: usize,
    time: f64,
    time_gradient: f64,
    steps_gradient: f64,
    relative_error: f64,
    evaluations: Calls,
}

/// Calls into the system.
#[derive(Clone, Copy, Debug, Serialize)]
struct Calls {
    rate: usize,
    pullback: usize,
    pushforward: usize,
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

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    let report = compute(args)?;
    output::print(args.json, &report, |out| show(&report, out))
}

fn compute(args: &Args) -> Result<Report, Failure> {
    let flow = formula!(
        |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
        |x| x[0] * x[0] + x[1] * x[1] * 16.0,
    );
    let h = args.step;
    // The runs first: where there is none, they know better than the closed form what is wrong.
    let mut measured = Vec::new();
    differentiate("Euler", Euler::new(h), &flow, args, &mut measured)?;
    differentiate("Heun", Heun::new(h), &flow, args, &mut measured)?;
    differentiate("RK4", Rk4::new(h), &flow, args, &mut measured)?;
    let exact = Exact::solve(args.theta, args.eps).ok_or_else(|| {
        Failure::NoAnswer(format!(
            "the exact flow never reaches eps = {:?} with theta = {:?}, although the steps do; lower --step",
            args.eps, args.theta
        ))
    })?;
    for row in &mut measured {
        row.relative_error =
            ((row.time_gradient - exact.time_gradient) / exact.time_gradient).abs();
    }
    Ok(Report {
        theta: args.theta,
        step: h,
        epsilon: args.eps,
        slots: args.slots,
        exact,
        runs: measured,
    })
}

/// Adds the rows of one integrator.
fn differentiate<I: Integrator<f64>, Y: System<f64>>(
    name: &'static str,
    integrator: I,
    flow: &Y,
    args: &Args,
    rows: &mut Vec<Row>,
) -> Result<(), Failure> {
    let (theta, x0) = ([args.theta], [1.0, 1.0]);
    let plan = integrator
        .until(args.eps)
        .at_most(MAX_STEPS)
        .mode(Mode::Adjoint);
    let explain = |error| explain(name, args, error);
    // A run without a gradient tells N, and with it how many slots can be of use and what the reversal will take.
    let mut memory = HeapMemory::new(&plan, flow, 1);
    let steps = match plan
        .run(flow, &theta, &x0, &mut memory)
        .map_err(explain)?
        .complete()
        .map_err(explain)?
    {
        Status::Reached(stop) => stop.steps,
        other => {
            let at = other.iterate();
            return Err(not_stopped(name, args, at.steps, at.criterion));
        }
    };
    let slots = args.slots.min(steps.max(1));
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
        rows.push(Row {
            integrator: name,
            crossing: crossing_name(crossing),
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

fn crossing_name(crossing: Crossing) -> &'static str {
    match crossing {
        Crossing::Paper => "Paper",
        Crossing::Interpolated => "Interpolated",
        Crossing::Slope => "Slope",
        Crossing::Hermite => "Hermite",
    }
}

/// The engine's error in terms of the options of this command.
fn explain(integrator: &str, args: &Args, error: Error) -> Failure {
    let &Args {
        theta, step, eps, ..
    } = args;
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

fn not_stopped(integrator: &str, args: &Args, steps: usize, criterion: f64) -> Failure {
    let &Args {
        theta, step, eps, ..
    } = args;
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

impl Exact {
    /// The first t with e^{−2t} + 16·e^{−8θt} = ε. `None` if there is none, or it is at the start.
    fn solve(theta: f64, epsilon: f64) -> Option<Self> {
        let j = |t: f64| (-2.0 * t).exp() + 16.0 * (-8.0 * theta * t).exp();
        // J is convex: it falls until its minimum (θ < 0) or for ever.
        let mut high = if theta < 0.0 {
            (-1.0 / (64.0 * theta)).ln() / (2.0 - 8.0 * theta)
        } else {
            1.0
        };
        while theta >= 0.0 && j(high) > epsilon && high < 1e300 {
            high *= 2.0;
        }
        let mut low = 0.0;
        if !(j(low) > epsilon && high > 0.0 && j(high) <= epsilon) {
            return None;
        }
        // Halving until the two are neighbours: as exact as j itself, with nothing to go wrong.
        loop {
            let middle = low + 0.5 * (high - low);
            if middle <= low || middle >= high {
                break;
            }
            if j(middle) > epsilon {
                low = middle;
            } else {
                high = middle;
            }
        }
        let second = 128.0 * (-8.0 * theta * high).exp();
        Some(Self {
            time: high,
            time_gradient: -second * high / (2.0 * (-2.0 * high).exp() + theta * second),
        })
    }
}

fn show(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Report {
        theta,
        step,
        epsilon,
        slots,
        exact,
        runs,
    } = report;
    writeln!(
        out,
        "f = 0.5*x1^2 + 2*x2^2, x' = -diag(1, theta)*grad f from (1, 1), stopped at |grad f|^2 <= eps"
    )?;
    writeln!(
        out,
        "theta = {theta:?}, h = {step:?}, eps = {epsilon:?}, {slots} checkpoint slots\n"
    )?;
    writeln!(
        out,
        "exact: T = {:.10}, dT/dtheta = {:.10e}\n",
        exact.time, exact.time_gradient
    )?;
    writeln!(
        out,
        "{:<10} {:<12} {:>7} {:>14} {:>18} {:>10} {:>9} {:>9}",
        "integrator", "crossing", "N", "T", "dT/dtheta", "rel.error", "rates", "pullbacks"
    )?;
    for row in runs {
        writeln!(
            out,
            "{:<10} {:<12} {:>7} {:>14.10} {:>18.10e} {:>10.1e} {:>9} {:>9}",
            row.integrator,
            row.crossing,
            row.steps,
            row.time,
            row.time_gradient,
            row.relative_error,
            row.evaluations.rate,
            row.evaluations.pullback
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Exact;

    #[test]
    fn the_closed_form_agrees_with_its_difference_quotient() {
        for (theta, epsilon) in [(1.0, 1.0), (0.25, 1e-4), (0.1, 1e-2), (-0.001, 16.9)] {
            let exact = Exact::solve(theta, epsilon).unwrap();
            let d = 1e-5 * f64::abs(theta);
            let time = |theta| Exact::solve(theta, epsilon).unwrap().time;
            let quotient = (time(theta + d) - time(theta - d)) / (2.0 * d);
            let error = (quotient / exact.time_gradient - 1.0).abs();
            assert!(error < 1e-5, "theta {theta}, eps {epsilon}: {error:e}");
        }
    }

    #[test]
    fn no_crossing_is_none() {
        for (theta, epsilon) in [(1.0, 17.0), (0.0, 15.9), (-1.0, 1.0), (-0.001, 15.0)] {
            assert_eq!(Exact::solve(theta, epsilon), None);
        }
    }
}
