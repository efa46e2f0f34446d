//! `dst control`: the control loop of the experiment, and its tuned controllers as source code.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::arguments::{finite, named, names, positive_count};
use super::common::General;
use super::{CommandError, output};
use crate::control::export::{self, Exported, Request, SolverChoice};
use crate::control::plants::plants;
use crate::control::{Model, ModelError, Scenario, exported_files};
use crate::experiments::control::{self, ControlConfig, section};
use crate::parallel;
use crate::report::{OutDir, Section};

/// Cut the iterations of a solver that must meet a deadline: tune, compare with every baseline, export.
///
/// Two plants: a safety filter with four axes, and a quadrotor. Counts iterations per tick, on held-out ticks.
#[derive(clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  dst control --quick
  dst control --out pictures
  dst control --json | jq .quadrotor.rows[0].loop.p99
  dst control template > motor.json
  dst control export --model motor.json --out firmware"
)]
pub(super) struct Args {
    #[command(subcommand)]
    sub: Option<Sub>,
    /// Small sizes: half a minute instead of several.
    #[arg(long)]
    quick: bool,
    /// Write the figures and their data to this directory.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    general: General,
}

#[derive(clap::Subcommand)]
enum Sub {
    Export(ExportArgs),
    /// Print a model file with a sentence for every field.
    Template,
}

/// Write a controller for the device, with a certificate: calibrated, compared, certified in simulated closed loops.
///
/// You say how accurate the inputs must be and how seldom a run may be late. The command finds the solver, the budget per tick and
/// its cost, and writes a Rust module, a C header and the certificate. `dst control template` prints a model file.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst control template > motor.json
  dst control export --model motor.json --out firmware
  dst control export --model motor.json --accuracy 1e-4 --late 1e-4 --confidence 0.99 --out firmware
  dst control export --model motor.json --quick --json | jq .budget

A page of code from a model to a running loop: tests/c/own_controller.c (C), dst-std/examples/own_plant.rs (Rust).
Exit codes: 0: exported; 1: no result, such as a model that is never solved; 2: usage error; 130: Ctrl-C.")]
struct ExportArgs {
    /// Folder to write to; created if it does not exist. Without it nothing is written.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Your own model instead of the two built-in plants.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Largest error of an input against the exact solution, as a part of half the width of its bounds.
    #[arg(long, value_name = "E", default_value = "1e-3", value_parser = share, allow_hyphen_values = true)]
    accuracy: f64,
    /// Largest probability that a run has a tick beyond the budget.
    #[arg(long, value_name = "P", default_value = "1e-3", value_parser = share, allow_hyphen_values = true)]
    late: f64,
    /// Confidence of the certificate.
    #[arg(long, value_name = "C", default_value = "0.95", value_parser = share, allow_hyphen_values = true)]
    confidence: f64,
    /// Ticks of a run.
    #[arg(long, value_name = "N", default_value = "100", value_parser = tick_count, allow_hyphen_values = true)]
    ticks: usize,
    /// Solver: auto, active-set or admm.
    #[arg(long, value_name = "NAME", default_value = "auto", value_parser = named::<Solver>)]
    solver: Solver,
    /// Few runs: seconds, and the bound that they certify, whatever --late asks for.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    general: General,
}

names! {
    /// Solver to export.
    enum Solver {
        Auto = "auto",
        ActiveSet = "active-set",
        Admm = "admm",
    }
}

/// Reads a number between 0 and 1, both excluded.
fn share(text: &str) -> Result<f64, String> {
    match finite(text) {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("must be a number between 0 and 1".to_owned()),
    }
}

/// Reads a number of ticks.
fn tick_count(text: &str) -> Result<usize, String> {
    match positive_count(text)? {
        ticks @ ..=MOST_TICKS => Ok(ticks),
        _ => Err(format!("must be at most {MOST_TICKS}")),
    }
}

/// The most ticks of a run; of a certificate the error of every tick is kept until all are counted.
const MOST_TICKS: usize = 2000;

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    match &args.sub {
        Some(Sub::Export(args)) => return run_export(args),
        Some(Sub::Template) => return run_template(),
        None => {}
    }
    let progress = args.general.speech.interruptible()?;
    let out = match &args.out {
        Some(path) => Some(OutDir::create(path).map_err(CommandError::NoAnswer)?),
        None => None,
    };
    let config = ControlConfig::new(args.general.seeded.seed, args.quick);
    let results = parallel::with(args.general.parallel.threads(), || {
        control::run(&config, &progress)
    })
    .map_err(CommandError::NoAnswer)??;
    let section = section(&config, &results);
    let files = match out {
        Some(out) => out
            .write_section(&section)
            .map_err(CommandError::NoAnswer)?,
        None => Vec::new(),
    };
    output::print(args.general.speech.json, &results, |to| {
        show(&section, to)?;
        output::written(to, &files)
    })
}

fn show(section: &Section, to: &mut dyn Write) -> io::Result<()> {
    for table in section.tables.iter().filter(|t| t.in_page) {
        writeln!(to, "{}\n\n{}", table.caption, table.table.to_text())?;
    }
    output::claims(to, &section.claims)
}

fn run_template() -> Result<(), CommandError> {
    output::print(false, &(), |to| write!(to, "{}", Model::template()))
}

fn run_export(args: &ExportArgs) -> Result<(), CommandError> {
    let progress = args.general.speech.interruptible()?;
    let preparing = progress.phase("preparing the model");
    let scenarios = scenarios(args.model.as_deref())?;
    drop(preparing);
    let out = match &args.out {
        Some(path) => Some(OutDir::create(path).map_err(CommandError::NoAnswer)?),
        None => None,
    };
    if let Some(out) = &out {
        for scenario in &scenarios {
            for name in exported_files(&scenario.name) {
                out.try_to_write(&name).map_err(CommandError::NoAnswer)?;
            }
        }
    }
    let request = Request {
        accuracy: args.accuracy,
        late: args.late,
        confidence: args.confidence,
        ticks: args.ticks,
        solver: match args.solver {
            Solver::Auto => SolverChoice::Auto,
            Solver::ActiveSet => SolverChoice::ActiveSet,
            Solver::Admm => SolverChoice::Admm,
        },
        quick: args.quick,
        seed: args.general.seeded.seed,
    };
    let made = parallel::with(args.general.parallel.threads(), || {
        let all = scenarios.iter();
        let made = all.map(|scenario| {
            let _whole = progress.phase(format!("exporting {}", scenario.name));
            export::export(scenario, &request, &progress)
        });
        made.collect::<Result<Vec<Exported>, _>>()
    })
    .map_err(CommandError::NoAnswer)??;
    let files: Vec<_> = made.iter().flat_map(|m| m.files.clone()).collect();
    let written = out.map(|out| out.write_all(&files)).transpose();
    let mut written = written.map_err(CommandError::NoAnswer)?.unwrap_or_default();
    let summaries: BTreeMap<&str, _> = made
        .iter()
        .map(|exported| (exported.name.as_str(), &exported.summary))
        .collect();
    let show = |to: &mut dyn Write| {
        for exported in &made {
            writeln!(to, "{}", exported.name)?;
            let mut lines = exported.statement.iter();
            lines.try_for_each(|line| writeln!(to, "  {line}"))?;
            let files = written.drain(..exported.files.len().min(written.len()));
            let names: Vec<String> = files.map(|f| f.display().to_string()).collect();
            if !names.is_empty() {
                writeln!(to, "  {}", names.join("  "))?;
            }
        }
        Ok(())
    };
    let json = args.general.speech.json;
    match &made[..] {
        [only] if args.model.is_some() => output::print(json, &only.summary, show),
        _ => output::print(json, &summaries, show),
    }
}

/// The plant of a model file, or both built-in plants.
fn scenarios(model: Option<&Path>) -> Result<Vec<Scenario>, CommandError> {
    let Some(path) = model else {
        let built_in = plants().map_err(|e| CommandError::NoAnswer(e.to_string()))?;
        return Ok(built_in.iter().map(Scenario::of_plant).collect());
    };
    let refused = |e: ModelError| {
        let (sentence, file) = (e.to_string(), path.display().to_string());
        CommandError::NoAnswer(match sentence.starts_with(&file) {
            true => sentence,
            false => format!("{file}: {sentence}"),
        })
    };
    let name = path.file_stem().map(|s| s.to_string_lossy().into_owned());
    let model = Model::read(path).map_err(refused)?;
    let scenario = Scenario::of_model(&name.unwrap_or_default(), &model);
    Ok(vec![scenario.map_err(refused)?])
}
