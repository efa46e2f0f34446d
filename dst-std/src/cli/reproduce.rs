//! `dst reproduce`: every experiment of the paper, and a page with a verdict on every claim.
//!
//! The files and the page are written after each experiment, so that Ctrl-C keeps the finished ones. An experiment that fails
//! is reported and does not stop the others.

use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;

use super::arguments::one_of;
use super::common::{Files, General, Speech};
use super::{CommandError, complain, output, printable, terminal};
use crate::experiments::{self, ALL, Context, Experiment};
use crate::files::is_stream;
use crate::machine;
use crate::parallel::{self, ranks};
use crate::report::{Claim, OutDir, Page, Section, Stage, Verdict};

/// Run the experiments of the paper and write a page with a verdict on every claim.
///
/// The page is DIR/index.html, with every plot as .svg and every table as .csv beside it.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst reproduce --quick
  dst reproduce --only illustration --out pictures
  dst reproduce --threads 8 --seed 7 --json

Ctrl-C keeps what is finished; a second Ctrl-C ends at once.")]
pub(super) struct Args {
    /// Small sizes: half a minute instead of hours.
    #[arg(long)]
    quick: bool,
    /// Only these experiments.
    #[arg(long, value_name = "NAME", num_args = 1.., value_parser = known)]
    only: Vec<String>,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    general: General,
}

/// Reads the name of an experiment.
fn known(text: &str) -> Result<String, String> {
    one_of(text, ALL, |experiment| experiment.name).map(|found| found.name.to_owned())
}

/// The outcome of all experiments.
#[derive(Debug, PartialEq, Serialize)]
struct Summary {
    page: PathBuf,
    quick: bool,
    seed: u64,
    threads: usize,
    interrupted: bool,
    experiments: Vec<Outcome>,
    files: Vec<String>,
}

/// The outcome of one experiment.
#[derive(Debug, PartialEq, Serialize)]
struct Outcome {
    name: &'static str,
    title: &'static str,
    seconds: f64,
    /// The error, if the experiment failed.
    error: Option<String>,
    interrupted: bool,
    claims: Vec<Claim>,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let progress = args.general.speech.interruptible()?;
    // Before the work: a directory that cannot be written should not cost an hour.
    let out = OutDir::create(&args.files.out).map_err(CommandError::NoAnswer)?;
    let out = Arc::new(out);
    let Speech { json, quiet } = args.general.speech;
    let context = Context {
        quick: args.quick,
        seed: args.general.seeded.seed,
        threads: args.general.parallel.threads(),
        progress,
    };
    let chosen: Vec<Experiment> = ALL
        .iter()
        .filter(|e| args.only.is_empty() || args.only.iter().any(|name| name == e.name))
        .copied()
        .collect();
    let lines = !json && !quiet && ranks::is_first();
    let summary = parallel::with(context.threads, || {
        carry_out(&chosen, &context, &out, |line| {
            if lines {
                // A closed output does not stop the work: the results are in the files.
                context.progress.suspend(|| {
                    let mut to = io::stdout();
                    let line = printable::printable(line);
                    let _ = writeln!(to, "{line}").and_then(|()| to.flush());
                });
            }
        })
    })
    .map_err(CommandError::NoAnswer)??;
    output::print(json, &summary, |to| show(&summary, to))?;
    verdict(&summary)
}

/// Name of the page.
const PAGE: &str = "index.html";

/// The notice on the page of a quick run.
const QUICK: &str = "Quick run: small problems, few repetitions and small trained networks. The verdicts on this page are those of the small sizes. \
     Run dst reproduce without --quick for the sizes of the paper.";

/// The first sentences of the abstract: the paper, the subject, the size of the run.
fn opening(experiments: usize, context: &Context) -> String {
    let size = if context.quick {
        "a quick run at small sizes"
    } else {
        "a full run at the sizes of the paper"
    };
    format!(
        "This page reproduces the experiments of “Accelerating Optimization via Differentiable Stopping Time” by Zhonglin Xie, Yiman Fong, \
         Haoran Yuan and Zaiwen Wen, and adds experiments of our own. The subject is the gradient of a stopping time: the number of steps N, \
         or the time T, until a criterion J first falls to a tolerance ε (first passage). Every claim is judged by numbers from our own runs. \
         This is {size}: {}, seed {}, {}.",
        counted(experiments, "experiment"),
        context.seed,
        counted(context.threads, "thread")
    )
}

/// Runs the experiments one after the other and passes every line of progress to `say`.
fn carry_out(
    chosen: &[Experiment],
    context: &Context,
    out: &Arc<OutDir>,
    say: impl Fn(&str),
) -> Result<Summary, CommandError> {
    let size = if context.quick { "quick" } else { "full" };
    say(&format!(
        "{size} run of {}, {} threads, seed {}, into {}",
        counted(chosen.len(), "experiment"),
        context.threads,
        context.seed,
        out.path().display()
    ));
    let mut page = Page::new("Differentiable stopping times: the experiments");
    page.opening(opening(chosen.len(), context));
    if context.quick {
        page.banner(QUICK);
    }
    page.fact("size", size);
    page.fact("seed", context.seed);
    for (name, value) in machine::facts(context.threads) {
        page.fact(name, value);
    }
    keep_if_ended(&mut page, out);
    let mut outcomes: Vec<Outcome> = Vec::new();
    for (i, experiment) in chosen.iter().enumerate() {
        if context.interrupted() {
            break;
        }
        let &Experiment { name, title, .. } = experiment;
        let start = Instant::now();
        let result = guarded(experiment, context);
        let mut outcome = Outcome {
            name,
            title,
            seconds: start.elapsed().as_secs_f64(),
            error: None,
            interrupted: false,
            claims: Vec::new(),
        };
        match result {
            Ok(section) => {
                write_files(&section, out)?;
                outcome.interrupted = section.interrupted;
                outcome.claims.clone_from(&section.claims);
                page.section(name, section);
            }
            Err(experiments::Failure::Interrupted) => break,
            Err(experiments::Failure::NoAnswer(reason)) => {
                // The job goes on: the other ranks have nothing to add.
                if ranks::is_first() {
                    context
                        .progress
                        .suspend(|| complain(&format_args!("{name}: {reason}")));
                }
                page.failure(name, title, &reason);
                outcome.error = Some(reason);
            }
        }
        page.fact(
            format!("time of {name}"),
            format_args!("{:.1} s", outcome.seconds),
        );
        say(&line(&outcome));
        outcomes.push(outcome);
        page.stage(match (context.interrupted(), i + 1 == chosen.len()) {
            (true, _) => Stage::Interrupted,
            (false, true) => Stage::Complete,
            (false, false) => Stage::Running,
        });
        write_page(&page, out)?;
        keep_if_ended(&mut page, out);
    }
    // An interrupt after the last experiment cut nothing short.
    let interrupted = outcomes.len() < chosen.len() || outcomes.iter().any(|o| o.interrupted);
    page.stage(if interrupted {
        Stage::Interrupted
    } else {
        Stage::Complete
    });
    let page = write_page(&page, out)?;
    terminal::rescue(|| {});
    Ok(Summary {
        page,
        quick: context.quick,
        seed: context.seed,
        threads: context.threads,
        interrupted,
        experiments: outcomes,
        files: out.written(),
    })
}

/// Runs an experiment; a panic is a failure like any other.
fn guarded(experiment: &Experiment, context: &Context) -> Result<Section, experiments::Failure> {
    let _whole = context.progress.phase(experiment.name);
    catch_unwind(AssertUnwindSafe(|| (experiment.run)(context))).unwrap_or_else(|payload| {
        Err(experiments::Failure::NoAnswer(format!(
            "a fault of this program: {}",
            message(&*payload)
        )))
    })
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("it gave no reason")
}

fn write_files(section: &Section, out: &OutDir) -> Result<(), CommandError> {
    for (name, content) in section.files() {
        if out.written().contains(&name) {
            return Err(CommandError::NoAnswer(format!(
                "a fault of this program: two files of the report are called '{name}'"
            )));
        }
        out.write(&name, &content).map_err(CommandError::NoAnswer)?;
    }
    Ok(())
}

/// Writes the page with what is finished now if the process is ended in the middle of the next experiment.
fn keep_if_ended(page: &mut Page, out: &Arc<OutDir>) {
    page.stage(Stage::Interrupted);
    let (html, out) = (page.to_html(), out.clone());
    terminal::rescue(move || {
        if !is_stream(&out.path().join(PAGE)) {
            // If the disk is full, the report of it has no reader any more.
            let _ = out.write(PAGE, &html);
        }
    });
}

fn write_page(page: &Page, out: &OutDir) -> Result<PathBuf, CommandError> {
    out.write(PAGE, &page.to_html())
        .map_err(CommandError::NoAnswer)
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Returns one line about a finished experiment.
fn line(outcome: &Outcome) -> String {
    let Outcome {
        name,
        seconds,
        claims,
        ..
    } = outcome;
    let how = if outcome.error.is_some() {
        "failed".to_owned()
    } else {
        let number = |verdict| claims.iter().filter(|c| c.verdict == verdict).count();
        let (yes, partly) = (number(Verdict::Holds), number(Verdict::Partly));
        let part = if partly > 0 {
            format!(", {partly} partly")
        } else {
            String::new()
        };
        let cut = if outcome.interrupted {
            ", interrupted"
        } else {
            ""
        };
        format!(
            "{yes} of {} hold{part}{cut}",
            counted(claims.len(), "claim")
        )
    };
    format!("{name:<14} {seconds:>8.1} s   {how}")
}

fn show(summary: &Summary, to: &mut dyn Write) -> io::Result<()> {
    writeln!(to)?;
    for outcome in &summary.experiments {
        output::claims(to, &outcome.claims)?;
    }
    writeln!(to, "\npage: {}", summary.page.display())
}

/// Converts the summary to the result of the program.
fn verdict(summary: &Summary) -> Result<(), CommandError> {
    let page = summary.page.display();
    let failed = summary.experiments.iter().filter(|o| o.error.is_some());
    let failed = failed.count();
    if summary.interrupted {
        return Err(CommandError::Interrupted(format!(
            "interrupted; what is finished is in {page}"
        )));
    }
    if failed > 0 {
        return Err(CommandError::NoAnswer(format!(
            "{failed} of {} failed; see {page}",
            counted(summary.experiments.len(), "experiment")
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
