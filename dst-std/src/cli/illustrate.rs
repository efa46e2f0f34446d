//! `dst illustrate`: the problem of the paper's Figure 1, where the answer is known.

use std::io::{self, Write};
use std::path::PathBuf;

use super::arguments::{finite, positive, positive_count};
use super::common::Speech;
use super::{CommandError, output};
use crate::experiments::illustration::{
    self, Comparison, FlowProblem, IllustrationConfig, compare,
};
use crate::report::OutDir;

/// Differentiate the stopping time of the paper's Figure 1 in twelve ways, and compare with the exact value.
///
/// The problem: f = 0.5*x1^2 + 2*x2^2, x' = -diag(1, theta)*grad f from (1, 1), stopped at |grad f|^2 <= eps.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst illustrate
  dst illustrate --theta 0.5 --step 0.01
  dst illustrate --json
  dst illustrate --out pictures

Note: at theta = 1 the second state has decayed long before the stop, so dT/dtheta is tiny and its relative error
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
    /// Write the figures and their data to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    speech: Speech,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let problem = FlowProblem {
        theta: args.theta,
        step: args.step,
        epsilon: args.eps,
        slots: args.slots,
    };
    let progress = args.speech.interruptible()?;
    let (comparison, files) = match &args.out {
        None => {
            let _comparing = progress.phase("comparing twelve ways");
            (compare(&problem)?, Vec::new())
        }
        Some(path) => {
            let out = OutDir::create(path).map_err(CommandError::NoAnswer)?;
            let config = IllustrationConfig::new(problem, false);
            let results = illustration::run(&config, &progress)?;
            let section = illustration::section(&config, &results);
            let files = out
                .write_section(&section)
                .map_err(CommandError::NoAnswer)?;
            (results.comparison, files)
        }
    };
    output::print(args.speech.json, &comparison, |to| {
        show(&comparison, to)?;
        if !files.is_empty() {
            writeln!(to)?;
        }
        output::written(to, &files)
    })
}

fn show(comparison: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let Comparison {
        theta,
        step,
        epsilon,
        slots,
        exact,
        runs,
    } = comparison;
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
