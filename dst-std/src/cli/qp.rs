//! `dst qp`: solvers for quadratic programs that are solved again and again.

use std::io::{self, Write};
use std::path::PathBuf;

use super::arguments::{named, positive, positive_count};
use super::common::General;
use super::{CommandError, output};
use crate::control::{exported_files, identifier};
use crate::format::{at_most, percent, short};
use crate::parallel;
use crate::qp::{
    Counts, ParametricProgram, ProgramTuning, SolverChoice, TunedProgram, tune_program,
};
use crate::report::{OutDir, Table};

/// Quadratic programs that are solved again and again: choose a solver, certify its budget, export it.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Sub,
}

#[derive(clap::Subcommand)]
enum Sub {
    Tune(TuneArgs),
}

/// Find a solver and its budget for min 0.5*x'Px + q'x with l <= Ax <= u, given as samples of q, l and u.
///
/// Even instances tune, odd ones are held out and scored. The dual active set is compared with ADMM tuned by its stopping time, with the
/// best of a grid and with OSQP's defaults, all at the same accuracy against the exact solution.
#[derive(clap::Args)]
#[command(after_help = "\
The file has P (n x n, positive definite), A (m x n), q (a row per instance), l and u (a row per instance, or one for
all). An .npz file is written by numpy.savez(FILE, P=P, A=A, q=q, l=l, u=u). A .json file has the same fields as rows
of numbers. A bound beyond 1e20, an infinity or null is none; l or u may be left out.

With --out, writes NAME.rs (constants of dst_core::qp::Dense), NAME.h (the same numbers for C, with libdst) and
NAME_certificate.json. How a program in C uses them: tests/c/own_program.c. ADMM is written as NAME.rs only.

Examples:
  dst qp tune --problem walking.npz
  dst qp tune --problem walking.npz --accuracy 1e-3 --late 1e-2 --out firmware
  dst qp tune --problem walking.json --solver active-set --budget 20 --json | jq .late.bound

Ctrl-C ends it without a result.")]
struct TuneArgs {
    /// Samples of the program: .npz or .json.
    #[arg(long, value_name = "FILE")]
    problem: PathBuf,
    /// Largest error of a variable, relative to half the width of its bounds, or to 1 + |x| if it has none.
    #[arg(long, value_name = "E", default_value = "1e-6", value_parser = positive, allow_hyphen_values = true)]
    accuracy: f64,
    /// Share of late solves that is asked for.
    #[arg(long, value_name = "P", default_value = "1e-2", value_parser = share, allow_hyphen_values = true)]
    late: f64,
    /// Confidence of the certificate.
    #[arg(long, value_name = "C", default_value = "0.95", value_parser = share, allow_hyphen_values = true)]
    confidence: f64,
    /// auto, active-set or admm; auto takes the one with fewer multiply-adds.
    #[arg(long, value_name = "S", default_value = "auto", value_parser = named::<SolverChoice>)]
    solver: SolverChoice,
    /// Steps or iterations per solve; by default a quarter above the largest count of the tuning instances.
    #[arg(long, value_name = "N", value_parser = positive_count, allow_hyphen_values = true)]
    budget: Option<usize>,
    /// Write the exported files to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// A coarser grid and fewer steps of tuning.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    general: General,
}

/// Reads a number strictly between 0 and 1.
fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("must be a number between 0 and 1, both excluded".to_owned()),
    }
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let Sub::Tune(args) = &args.command;
    let progress = args.general.speech.interruptible()?;
    let reading = progress.phase("reading the problem");
    let program = ParametricProgram::read(&args.problem).map_err(CommandError::NoAnswer)?;
    drop(reading);
    let name = args
        .problem
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned());
    let name = identifier(&name.unwrap_or_default());
    let options = ProgramTuning {
        accuracy: args.accuracy,
        late: args.late,
        confidence: args.confidence,
        solver: args.solver,
        budget: args
            .budget
            .map(|b| u32::try_from(b).unwrap_or(u32::MAX - 1)),
        quick: args.quick,
        seed: args.general.seeded.seed,
    };
    let out = args.out.as_ref().map(OutDir::create).transpose();
    let out = out.map_err(CommandError::NoAnswer)?;
    if let Some(out) = &out {
        for file in exported_files(&name) {
            out.try_to_write(&file).map_err(CommandError::NoAnswer)?;
        }
    }
    let whole = progress.phase(format!("tuning {name}"));
    let tuned = parallel::with(args.general.parallel.threads(), || {
        tune_program(&program, &name, &options, &progress)
    })
    .map_err(CommandError::NoAnswer)?
    .map_err(|failure| match CommandError::from(failure) {
        CommandError::NoAnswer(why) => {
            CommandError::NoAnswer(format!("'{}' {why}", args.problem.display()))
        }
        other => other,
    })?;
    drop(whole);
    let written = out.map(|out| out.write_all(&tuned.files)).transpose();
    let written = written.map_err(CommandError::NoAnswer)?.unwrap_or_default();
    output::print(args.general.speech.json, &tuned.summary, |to| {
        show(&program, &tuned, to)?;
        output::written(to, &written)
    })
}

fn show(program: &ParametricProgram, tuned: &TunedProgram, to: &mut dyn Write) -> io::Result<()> {
    let summary = &tuned.summary;
    let admm = summary.solver == "admm";
    writeln!(
        to,
        "{} in {} precision, at most {} {} per solve ({} variables, {} rows, {} instances)",
        if admm { "ADMM" } else { "active set" },
        if tuned.double { "double" } else { "single" },
        summary.budget,
        if admm { "iterations" } else { "steps" },
        program.variables,
        program.rows,
        program.len()
    )?;
    writeln!(
        to,
        "error against the exact solution: mean {}, at most {} on the held-out instances",
        short(summary.input_error.mean),
        short(summary.input_error.max)
    )?;
    let late = summary.late;
    writeln!(
        to,
        "P(a solve is late) <= {} with {} % confidence: {} of {} held-out instances were late",
        at_most(late.bound),
        percent(late.confidence),
        late.late_runs,
        late.runs
    )?;
    writeln!(
        to,
        "Cortex-M4F, estimated: {} instructions per solve, {} at the budget; {} bytes of flash, {} bytes of RAM",
        short(summary.instructions.mean.round()),
        short(summary.instructions.budget.round()),
        summary.flash,
        summary.ram
    )?;
    let mut table = Table::new()
        .left("held-out instances")
        .right("mean")
        .right("p99")
        .right("max")
        .right("unsolved");
    let mut row = |name: &str, counts: Option<&Counts>| {
        if let Some(c) = counts {
            let cells = [
                name.to_owned(),
                short(c.mean),
                c.p99.to_string(),
                c.max.to_string(),
                c.unsolved.to_string(),
            ];
            table.row(cells.map(Into::into));
        }
    };
    row(
        &format!("{}, cold", summary.solver),
        summary.held_out.as_ref(),
    );
    row(
        &format!("{}, warm", summary.solver),
        summary.held_out_warm.as_ref(),
    );
    for baseline in &summary.baselines {
        row(&baseline.name, baseline.held_out.as_ref());
    }
    writeln!(to, "\n{}", table.to_text())?;
    for warning in &summary.warnings {
        writeln!(to, "warning: {warning}")?;
    }
    Ok(())
}
