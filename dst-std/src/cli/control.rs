//! `dst control`: the control loop of the experiment, and its tuned controllers as source code.

use std::fmt;
use std::io::{self, Write};
use std::path::PathBuf;

use super::common::{General, Parallel, Seeded};
use super::{CommandError, output};
use crate::control::{Model, Sizes, export};
use crate::experiments::control::{self, ControlConfig, section};
use crate::parallel;
use crate::progress::Progress;
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
  dst control --json | jq .quadrotor.tuned.p99
  dst control export --out controllers
  dst control export --model my.json --out controllers"
)]
pub(super) struct Args {
    #[command(subcommand)]
    export: Option<Sub>,
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
}

/// Tune the controllers and write each as a Rust module and a C header, with its knobs in a file.
///
/// Your own model is a JSON object: a, b (rows), q, r (diagonals), inputs (pairs of bounds), states (which, lower,
/// upper), horizon, primal_tolerance, dual_tolerance; ticks start anywhere within "start", a bound for every state.
#[derive(clap::Args)]
struct ExportArgs {
    /// Folder to write to; created if it does not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Your own model instead of the two plants.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Small sizes: seconds instead of minutes.
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    parallel: Parallel,
    #[command(flatten)]
    seeded: Seeded,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    if let Some(Sub::Export(args)) = &args.export {
        return run_export(args);
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

fn run_export(args: &ExportArgs) -> Result<(), CommandError> {
    let model = match &args.model {
        None => None,
        Some(path) => {
            let refused =
                |e: &dyn fmt::Display| CommandError::NoAnswer(format!("{}: {e}", path.display()));
            let name = path.file_stem().map(|s| s.to_string_lossy().into_owned());
            let model = Model::read(path).map_err(|e| refused(&e))?;
            // Before a directory is made for it.
            model.program().map_err(|e| refused(&e))?;
            Some((name.unwrap_or_default(), model))
        }
    };
    let out = OutDir::create(&args.out).map_err(CommandError::NoAnswer)?;
    let sizes = if args.quick {
        Sizes::quick()
    } else {
        Sizes::full()
    };
    let made = parallel::with(args.parallel.threads(), || {
        export::controllers(
            model.as_ref().map(|(n, m)| (n.as_str(), m)),
            &sizes,
            args.seeded.seed,
            &Progress::hidden(),
        )
    })
    .map_err(CommandError::NoAnswer)??;
    let mut written = Vec::new();
    for (name, content) in &made.files {
        written.push(out.write(name, content).map_err(CommandError::NoAnswer)?);
    }
    output::print(false, &(), |to| {
        made.notes
            .iter()
            .try_for_each(|note| writeln!(to, "{note}"))?;
        output::written(to, &written)
    })
}
