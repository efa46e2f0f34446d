//! `dst validate`: the gradient of one stopping time, against the adaptive solver, with what it costs.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use dst_core::Crossing;
use dst_core::solve::DEFAULT_MAX_STEPS;
use serde::Serialize;

use super::arguments::{finite, named, positive, positive_count, whole_at_least};
use super::common::General;
use super::{CommandError, output};
use crate::files::{try_to_write, write_file};
use crate::format::short;
use crate::machine;
use crate::ode::OdeError;
use crate::parallel::{self, ranks};
use crate::progress::Progress;
use crate::validation::{
    Answer, Basis, GradientRun, InstanceSpec, IntegratorName, Slots, TRUTH_RTOL, USUAL_RTOL, norm,
    relative_error, truth,
};

/// Differentiate one stopping time of the validation problem and compare it with an adaptive solver.
///
/// The problem: f = x'Qx/2 with a random Q of condition number 100, x' = -p(theta, x, t)*grad f with a small network for every
/// coordinate (10 parameters each), stopped at |grad f|^2 <= eps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst validate --dim 100
  dst validate --dim 1000 --step 0.01 --eps 1e-5 --json
  dst validate --dim 10000 --basis hh8 --slots 10
  dst validate --dim 10000 --basis hh8 --dense --no-truth
  dst validate --dim 100 --integrator rk4 --crossing hermite --gradient-out g.txt")]
pub(super) struct Args {
    /// Number of variables.
    #[arg(long, value_name = "D", default_value = "100", value_parser = dimension, allow_hyphen_values = true)]
    dim: usize,
    /// Step size h.
    #[arg(long, value_name = "H", default_value = "0.1", value_parser = positive, allow_hyphen_values = true)]
    step: f64,
    /// Tolerance: the run stops at the first |grad f|^2 <= E.
    #[arg(long, value_name = "E", default_value = "1e-3", value_parser = positive, allow_hyphen_values = true)]
    eps: f64,
    /// Basis of the spectrum: haar (dense), or hhM, a product of M reflections (structured).
    #[arg(long, value_name = "haar|hhM", default_value = "haar", value_parser = basis)]
    basis: Basis,
    /// Form the matrix of an hhM basis.
    #[arg(long)]
    dense: bool,
    /// States that the backward sweep keeps: a number, or all. Euler's method keeps Qx with each.
    #[arg(long, value_name = "S|all", default_value = "all", value_parser = slots, allow_hyphen_values = true)]
    slots: Slots,
    /// Integrator: euler, heun or rk4.
    #[arg(long, value_name = "NAME", default_value = "euler", value_parser = named::<IntegratorName>)]
    integrator: IntegratorName,
    /// Crossing, the way to read the stopping time off the last step: paper, interpolated, slope or hermite.
    #[arg(long, value_name = "NAME", default_value = "paper", value_parser = named::<Crossing>)]
    crossing: Crossing,
    /// Give up after this many steps.
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_STEPS, value_parser = positive_count, allow_hyphen_values = true)]
    max_steps: usize,
    /// Relative tolerance of the adaptive solver. [default: 1e-11]
    #[arg(long, value_name = "R", value_parser = tolerance, allow_hyphen_values = true)]
    rtol: Option<f64>,
    /// Leave out the adaptive solver.
    #[arg(long)]
    no_truth: bool,
    /// Write the gradient with respect to theta to this file, a number per line.
    #[arg(long, value_name = "FILE")]
    gradient_out: Option<PathBuf>,
    #[command(flatten)]
    general: General,
}

fn dimension(text: &str) -> Result<usize, String> {
    // One eigenvalue has no spacing.
    whole_at_least(text, 2)
}

fn basis(text: &str) -> Result<Basis, String> {
    text.parse()
}

fn tolerance(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(value) if (1e-13..=0.1).contains(&value) => Ok(value),
        _ => Err("must be from 1e-13 to 0.1".to_owned()),
    }
}

fn slots(text: &str) -> Result<Slots, String> {
    if text == "all" {
        return Ok(Slots::All);
    }
    positive_count(text)
        .map(Slots::Number)
        .map_err(|reason| format!("{reason}, or all"))
}

/// The answer.
#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    problem: InstanceSpec,
    /// True if the matrix is stored densely.
    dense: bool,
    #[serde(flatten)]
    run: GradientRun,
    threads: usize,
    /// N
    steps: usize,
    /// T as the crossing reads it.
    time: f64,
    /// ‖∂T/∂θ‖
    time_gradient_norm: f64,
    /// ‖∂T/∂x0‖
    x0_gradient_norm: f64,
    /// T of the adaptive solver.
    truth_time: Option<f64>,
    /// Relative error of ∂T/∂θ against the adaptive solver.
    relative_error: Option<f64>,
    /// Evaluations of A in the forward run: N times the stages of the integrator.
    forward_evaluations: usize,
    /// Evaluations of A in a forward solve by the adaptive solver at the usual tolerance.
    ode_evaluations: Option<usize>,
    nfe_ratio: Option<f64>,
    /// Evaluations of A and pullbacks in all.
    rates: usize,
    pullbacks: usize,
    /// The states kept for the backward sweep, with their records if all are.
    trajectory_mb: f64,
    /// GradientRun and gradient together: the median of several, after one to warm up.
    seconds_gradient: f64,
    repetitions: usize,
    peak_rss_mb: Option<f64>,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    if args.no_truth && args.rtol.is_some() {
        return Err(CommandError::Usage(
            "--rtol is for the adaptive solver, which --no-truth leaves out".to_owned(),
        ));
    }
    if args.dense && args.basis == Basis::Haar {
        return Err(CommandError::Usage(
            "--dense is for an hhM basis; that of haar is always dense".to_owned(),
        ));
    }
    let refused =
        |reason| CommandError::NoAnswer(format!("--gradient-out {reason}; choose another file"));
    if let Some(path) = &args.gradient_out {
        // Before the work, which may take long.
        try_to_write(path).map_err(refused)?;
    }
    let count = args.general.parallel.threads();
    let progress = args.general.speech.interruptible()?;
    let (report, answer) = parallel::with(count, || compute(args, count, &progress))
        .map_err(CommandError::NoAnswer)?
        .map_err(|reason| match progress.interrupted() {
            true => CommandError::Interrupted("interrupted".to_owned()),
            false => CommandError::NoAnswer(reason),
        })?;
    if let Some(path) = &args.gradient_out {
        let mut text = String::with_capacity(26 * answer.theta.len());
        for value in &answer.theta {
            let _ = writeln!(text, "{value:.16e}");
        }
        write_file(path, text.as_bytes()).map_err(refused)?;
    }
    output::print(args.general.speech.json, &report, |out| {
        show(&report, out)?;
        match &args.gradient_out {
            Some(path) => writeln!(out, "written: {}", path.display()),
            None => Ok(()),
        }
    })
}

fn compute(args: &Args, threads: usize, progress: &Progress) -> Result<(Report, Answer), String> {
    let rtol = args.rtol.unwrap_or(TRUTH_RTOL);
    let problem = InstanceSpec {
        dim: args.dim,
        basis: args.basis,
        dense: args.dense,
        seed: args.general.seeded.seed,
    };
    let run = GradientRun {
        method: args.integrator,
        crossing: args.crossing,
        step: args.step,
        epsilon: args.eps,
        slots: args.slots,
        max_steps: args.max_steps,
    };
    let making = progress.phase("making the problem");
    let instance = problem.build()?;
    drop(making);
    let mut prepared = run.prepare(&instance, progress)?;
    let first = progress.phase("the first gradient");
    let started = Instant::now();
    let answer = (prepared.repeat)()?;
    let once = started.elapsed().as_secs_f64();
    drop(first);
    // The ranks of an MPI job do the same work: what depends on their times and memories is decided by the first.
    let repetitions = ranks::from_first(|| ((1.0 / once) as usize).clamp(3, 51));
    let task = progress.task("repeating the gradient", repetitions);
    let mut seconds = Vec::with_capacity(repetitions);
    for _ in 0..repetitions {
        let started = Instant::now();
        (prepared.repeat)()?;
        seconds.push(started.elapsed().as_secs_f64());
        task.advance(1);
    }
    drop(task);
    seconds.sort_by(f64::total_cmp);
    drop(prepared);
    // Before the adaptive solver, which has memory of its own.
    let peak = machine::peak_memory();
    let truth = if args.no_truth {
        None
    } else {
        let _solving = progress.phase("the adaptive solver");
        let free = ranks::from_first(machine::available_memory);
        let slots = slots_of_truth(args.slots, args.dim, free);
        let solved = truth(&instance, args.eps, (rtol, USUAL_RTOL), slots);
        Some(solved.map_err(|error| match error {
            OdeError::NotReached { steps, .. } => format!(
                "the adaptive solver did not reach eps = {:?} within {steps} steps; raise --eps or leave it out with --no-truth",
                args.eps
            ),
            OdeError::StepTooSmall { .. } => format!(
                "the adaptive solver cannot meet rtol = {:?}; raise --rtol",
                rtol
            ),
            other => format!("the adaptive solver: {other}"),
        })?)
    };
    let forward_evaluations = answer.steps * args.integrator.stages();
    let ode_evaluations = truth.as_ref().map(|truth| truth.evaluations);
    let report = Report {
        problem,
        dense: problem.is_dense(),
        run,
        threads,
        steps: answer.steps,
        time: answer.time,
        time_gradient_norm: norm(&answer.theta),
        x0_gradient_norm: norm(&answer.x0),
        truth_time: truth.as_ref().map(|truth| truth.exact.event.time),
        relative_error: truth
            .as_ref()
            .map(|truth| relative_error(&answer.theta, &truth.exact.theta)),
        forward_evaluations,
        ode_evaluations,
        nfe_ratio: ode_evaluations.map(|ode| forward_evaluations as f64 / ode as f64),
        rates: answer.rates,
        pullbacks: answer.pullbacks,
        trajectory_mb: answer.kept_bytes as f64 / 1e6,
        seconds_gradient: seconds[repetitions / 2],
        repetitions,
        peak_rss_mb: peak.map(|bytes| bytes as f64 / 1e6),
    };
    Ok((report, answer))
}

/// The adaptive solver finds out how many steps it takes as it goes: all of its states, but no more than fill half of what is free.
/// The bits of its gradient do not depend on it.
fn slots_of_truth(asked: Slots, dim: usize, free: Option<u64>) -> usize {
    let room = free.map_or(usize::MAX, |free| {
        let states = free / 2 / (dim as u64).saturating_mul(8).max(1);
        usize::try_from(states).unwrap_or(usize::MAX).max(1)
    });
    match asked {
        Slots::Number(count) => count.min(room),
        Slots::All => room,
    }
}

fn show(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let InstanceSpec {
        dim, basis, seed, ..
    } = report.problem;
    let GradientRun {
        method,
        crossing,
        step,
        epsilon,
        slots,
        ..
    } = report.run;
    let stored = if report.problem.is_dense() {
        "dense"
    } else {
        "structured"
    };
    writeln!(
        out,
        "{dim} variables, {} parameters, {basis} ({stored}), seed {seed}; {} with h = {step:?}, {} crossing, eps = {epsilon:?}",
        10 * dim,
        method.name(),
        crossing.name()
    )?;
    writeln!(
        out,
        "  stops after N         {:>12} steps, T = {:.9}",
        report.steps, report.time
    )?;
    writeln!(
        out,
        "  |dT/dtheta|           {:>12.6e}",
        report.time_gradient_norm
    )?;
    writeln!(
        out,
        "  |dT/dx0|              {:>12.6e}",
        report.x0_gradient_norm
    )?;
    if let (Some(time), Some(error), Some(ode), Some(ratio)) = (
        report.truth_time,
        report.relative_error,
        report.ode_evaluations,
        report.nfe_ratio,
    ) {
        writeln!(out, "  adaptive solver       {:>12.9} = T", time)?;
        writeln!(out, "  relative error        {error:>12.3e} of dT/dtheta")?;
        writeln!(
            out,
            "  evaluations           {:>12} forward, {ode} by the adaptive solver: ratio {ratio:.3}",
            report.forward_evaluations
        )?;
    }
    writeln!(
        out,
        "  run and gradient      {:>12} s, median of {} on {} threads; {} rates, {} pullbacks",
        short(report.seconds_gradient),
        report.repetitions,
        report.threads,
        report.rates,
        report.pullbacks
    )?;
    write!(
        out,
        "  memory                {:>12} MB of trajectory ({slots} slots)",
        short(report.trajectory_mb)
    )?;
    match report.peak_rss_mb {
        Some(peak) => writeln!(out, ", {peak:.0} MB at the most in all"),
        None => writeln!(out),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_truth_asks_how_much_memory_there_is() {
        let free = Some(1 << 30);
        assert_eq!(slots_of_truth(Slots::All, 1 << 20, free), 64);
        assert_eq!(slots_of_truth(Slots::All, 1 << 30, free), 1);
        assert_eq!(slots_of_truth(Slots::All, 100, None), usize::MAX);
        assert_eq!(slots_of_truth(Slots::Number(7), 1 << 20, free), 7);
        assert_eq!(slots_of_truth(Slots::Number(usize::MAX), 1 << 20, free), 64);
    }
}
