//! `dst l2o`: learning to optimise. Train a network, test it against classical methods, measure a training step.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::{Subcommand, ValueEnum};

use super::Failure;
use super::arguments::{choice, not_negative, positive, positive_count};
use super::common::{Parallel, Seeded, Speech};
use crate::l2o::{Course, Feed, Model, Penalty, Recipe, Session, Size};
use crate::linalg::threads;
use crate::report::{Interrupt, Progress, try_to_write, write_file};

/// Learning to optimise: recurrent networks that choose every step, trained through their own runs.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Train(Box<Train>),
}

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    match &args.command {
        Command::Train(args) => train(args),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModelName {
    Dm,
    Rnnprop,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PenaltyName {
    None,
    Literal,
    Guarded,
}

/// Train a network on random logistic regressions.
///
/// Writes the weights that did best on a validation set to FILE.safetensors, one line per step to FILE.csv, and, every two
/// minutes, all it needs to go on to FILE.checkpoint. Killed at any moment and started again with --resume, it ends with the
/// same bits.
#[derive(clap::Args)]
struct Train {
    /// The network: dm (11551 weights) or rnnprop (15001).
    #[arg(long, value_name = "M", default_value = "rnnprop", value_parser = choice::<ModelName>)]
    model: ModelName,
    /// What is added to the loss: none; literal, lambda times the stopping time, as the paper has it; guarded, which counts
    /// honest stops only.
    #[arg(long, value_name = "P", default_value = "none", value_parser = choice::<PenaltyName>)]
    penalty: PenaltyName,
    /// literal: the weight of the stopping time.
    #[arg(long, value_name = "L", default_value = "1", value_parser = not_negative, allow_hyphen_values = true)]
    lambda: f64,
    /// guarded: training steps without it at the beginning.
    #[arg(long, value_name = "N", default_value = "150", value_parser = super::arguments::count, allow_hyphen_values = true)]
    warm_up: usize,
    /// Training steps.
    #[arg(long, value_name = "N", default_value = "500", value_parser = positive_count, allow_hyphen_values = true)]
    steps: usize,
    /// Variables of a problem.
    #[arg(long, value_name = "D", default_value = "512", value_parser = positive_count, allow_hyphen_values = true)]
    dim: usize,
    /// Examples of a problem.
    #[arg(long, value_name = "N", default_value = "256", value_parser = positive_count, allow_hyphen_values = true)]
    samples: usize,
    /// Problems per training step.
    #[arg(long, value_name = "B", default_value = "64", value_parser = positive_count, allow_hyphen_values = true)]
    batch: usize,
    /// Segments of a run, with an update of the weights after each.
    #[arg(long, value_name = "N", default_value = "5", value_parser = positive_count, allow_hyphen_values = true)]
    segments: usize,
    /// Steps of a segment.
    #[arg(long, value_name = "K", default_value = "20", value_parser = positive_count, allow_hyphen_values = true)]
    segment_steps: usize,
    /// Learning rate of the weights.
    #[arg(long, value_name = "R", default_value = "3e-3", value_parser = positive, allow_hyphen_values = true)]
    rate: f64,
    /// Differentiate the gradient that is fed to the network, too: one Hessian-vector product per step.
    #[arg(long)]
    second_order: bool,
    /// Steps between two validations.
    #[arg(long, value_name = "N", default_value = "25", value_parser = positive_count, allow_hyphen_values = true)]
    validate_every: usize,
    /// Where the weights go.
    #[arg(long, value_name = "FILE.safetensors")]
    out: PathBuf,
    /// Seconds between two checkpoints; 0 for one after every step.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = super::arguments::count, allow_hyphen_values = true)]
    checkpoint_every: usize,
    /// Go on from FILE.checkpoint.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    parallel: Parallel,
    #[command(flatten)]
    seeded: Seeded,
    #[command(flatten)]
    speech: Speech,
}

impl Train {
    fn course(&self) -> Course {
        let model = match self.model {
            ModelName::Dm => Model::Dm,
            ModelName::Rnnprop => Model::RnnProp,
        };
        let recipe = Recipe {
            model,
            feed: if self.second_order {
                Feed::Full
            } else {
                Feed::Detached
            },
            penalty: match self.penalty {
                PenaltyName::None => Penalty::None,
                PenaltyName::Literal => Penalty::Literal {
                    weight: self.lambda,
                },
                PenaltyName::Guarded => Penalty::Guarded { from: self.warm_up },
            },
            size: Size {
                dim: self.dim,
                samples: self.samples,
            },
            batch: self.batch,
            segments: self.segments,
            steps: self.segment_steps,
            rate: self.rate,
        };
        Course {
            recipe,
            seed: self.seeded.seed,
            steps: self.steps,
            validate_every: self.validate_every,
            validation_problems: self.batch,
        }
    }
}

fn train(args: &Train) -> Result<(), Failure> {
    threads::with(args.parallel.threads(), || train_here(args)).map_err(Failure::Usage)?
}

fn train_here(args: &Train) -> Result<(), Failure> {
    let (weights, log, checkpoint) = (
        args.out.clone(),
        args.out.with_extension("csv"),
        args.out.with_extension("checkpoint"),
    );
    if weights == log || weights == checkpoint {
        return Err(Failure::Usage(format!(
            "--out must not end in .csv or .checkpoint, as the log and the checkpoint do, got '{}'",
            weights.display()
        )));
    }
    for path in [&weights, &log, &checkpoint] {
        try_to_write(path).map_err(Failure::Usage)?;
    }
    let course = args.course();
    let mut session = if args.resume {
        resume(course, &checkpoint)?
    } else {
        Session::new(course)
    };
    let interrupt = Interrupt::install().map_err(Failure::NoAnswer)?;
    let progress = if args.speech.quiet {
        Progress::hidden()
    } else {
        Progress::new()
    };
    let task = progress.task("training", course.steps);
    task.advance(session.done());
    let save_best = |session: &Session| {
        let best = session.best().to_bytes()?;
        write_file(&weights, &best).and_then(|()| write_file(&log, session.log().as_bytes()))
    };
    let save = |session: &Session| -> Result<(), Failure> {
        let bytes = session.checkpoint().map_err(Failure::NoAnswer)?;
        write_file(&checkpoint, &bytes)
            .and_then(|()| save_best(session))
            .map_err(Failure::NoAnswer)
    };
    let period = Duration::from_secs(args.checkpoint_every as u64);
    let mut saved = Instant::now();
    while !session.is_finished() {
        if interrupt.raised() {
            save(&session)?;
            return Err(Failure::Interrupted(format!(
                "interrupted after {} of {} steps; go on with --resume",
                session.done(),
                course.steps
            )));
        }
        if let Err(mut sentence) = session.step() {
            // The step has moved the weights before it failed: only a checkpoint before it can be gone on from.
            let saved = session.has_chosen().then(|| save_best(&session));
            if let Some(Err(other)) = saved {
                sentence = format!("{sentence}; {other}");
            }
            return Err(Failure::NoAnswer(sentence));
        }
        task.advance(1);
        if saved.elapsed() >= period {
            save(&session)?;
            saved = Instant::now();
        }
    }
    save(&session)
}

fn resume(course: Course, checkpoint: &Path) -> Result<Session, Failure> {
    let bytes = std::fs::read(checkpoint).map_err(|error| {
        Failure::NoAnswer(format!(
            "there is no checkpoint '{}' to resume from ({}); start without --resume",
            checkpoint.display(),
            error.kind()
        ))
    })?;
    Session::resume(course, &bytes).map_err(|error| {
        Failure::NoAnswer(format!("the checkpoint '{}' {error}", checkpoint.display()))
    })
}
