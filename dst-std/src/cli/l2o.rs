//! `dst l2o`: learning to optimise. Train a network, test it against classical methods, measure a training step.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Subcommand;
use serde::Serialize;

use super::arguments::{named, not_negative, one_of, positive, positive_count};
use super::common::{General, Parallel, Speech};
use super::{CommandError, output, terminal};
use crate::experiments::l2o::{MethodTable, table as shown, test as tested};
use crate::files::{is_stream, write_file};
use crate::l2o::{
    ASSETS, Architecture, Asset, Evaluation, Family, Feed, Loss, Penalty, Recipe,
    ResumableTraining, TrainError, Trained, TrainingFiles, TrainingPlan, bench,
};
use crate::machine;
use crate::parallel;

/// Learning to optimise: recurrent networks that choose every step, trained through their own runs.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst l2o test                                          the networks of the program against GD, NAG and Adam
  dst l2o test --weights mine.safetensors --dim 2048 --samples 1024
  dst l2o train --out mine.safetensors                  500 steps; a quarter of an hour on two cores
  dst l2o train --out mine.safetensors --resume         goes on where it was killed
  dst l2o train --loss log --out log.safetensors        on ln f: lower in the end
  dst l2o train --penalty guarded --out guarded.safetensors
  dst l2o train --from rnnprop-1 --rate 3e-4 --steps 100 --seed 9 --out tuned.safetensors
  dst l2o bench --json")]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Train(Box<Train>),
    Test(Test),
    Bench(Measure),
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    match &args.command {
        Command::Train(args) => train(args),
        Command::Test(args) => test(args),
        Command::Bench(args) => measure(args),
    }
}

/// Value of --penalty; the details come from other arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
enum PenaltyName {
    None,
    Literal(f64),
    Guarded,
    Carried,
    Target,
}

const PENALTIES: [(&str, PenaltyName); 5] = [
    ("none", PenaltyName::None),
    ("literal", PenaltyName::Literal(1.0)),
    ("guarded", PenaltyName::Guarded),
    ("carried", PenaltyName::Carried),
    ("target", PenaltyName::Target),
];

/// Reads the name of a penalty, or the weight of the literal one.
fn penalty(text: &str) -> Result<PenaltyName, String> {
    match one_of(text, &PENALTIES, |(name, _)| name) {
        Ok(&(_, penalty)) => Ok(penalty),
        Err(reason) => not_negative(text)
            .map(PenaltyName::Literal)
            .map_err(|_| format!("{reason}, or a number that is not negative")),
    }
}

/// Size and scale of the problems.
#[derive(clap::Args)]
struct FamilyArgs {
    /// Variables of a problem.
    #[arg(long, value_name = "D", default_value = "512", value_parser = positive_count, allow_hyphen_values = true)]
    dim: usize,
    /// Examples of a problem.
    #[arg(long, value_name = "N", default_value = "256", value_parser = positive_count, allow_hyphen_values = true)]
    samples: usize,
    /// Standard deviation of the data. The smaller it is, the less a step of a network changes f, since steps are at most 0.1.
    #[arg(long, value_name = "S", default_value = "1", value_parser = positive, allow_hyphen_values = true)]
    spread: f64,
}

impl FamilyArgs {
    fn family(&self) -> Family {
        Family {
            spread: self.spread,
            ..Family::new(self.dim, self.samples)
        }
    }
}

/// Train a network on random logistic regressions.
///
/// Writes the weights that did best on a validation set to FILE.safetensors, one line per step to FILE.csv, and, every two
/// minutes, everything it needs to continue to FILE.checkpoint. Killed at any moment and started again with --resume, it ends with the
/// same bits. FILE.lock is there as long as the training, and keeps a second one away.
#[derive(clap::Args)]
struct Train {
    /// The network: dm (11551 weights) or rnnprop (15001).
    #[arg(long, value_name = "M", default_value = "rnnprop", value_parser = named::<Architecture>)]
    model: Architecture,
    /// The quantity to be minimised over a run: mean, the mean of f, as published; log, the mean of ln f, in which small values of f
    /// count as well.
    #[arg(long, value_name = "L", default_value = "mean", value_parser = named::<Loss>)]
    loss: Loss,
    /// The term added to the loss: none; literal, the stopping time as in the paper, or a number, which is its weight;
    /// guarded, which counts only stops where f is low and does not rise; carried, the same without a reward for a shorter
    /// last step; target, the time to a level of f.
    #[arg(long, value_name = "P", default_value = "none", value_parser = penalty, allow_hyphen_values = true)]
    penalty: PenaltyName,
    /// target: the level of f, above its infimum. [default: 1e-4]
    #[arg(long, value_name = "F", value_parser = positive, allow_hyphen_values = true)]
    target: Option<f64>,
    /// guarded, carried, target: initial training steps without the penalty. [default: 150]
    #[arg(long, value_name = "N", value_parser = super::arguments::count, allow_hyphen_values = true)]
    warm_up: Option<usize>,
    /// Training steps.
    #[arg(long, value_name = "N", default_value = "500", value_parser = positive_count, allow_hyphen_values = true)]
    steps: usize,
    #[command(flatten)]
    problem: FamilyArgs,
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
    /// Start from these weights, a file or a network of the program (rnnprop-1), instead of random ones.
    #[arg(long, value_name = "FILE|NAME")]
    from: Option<String>,
    /// File for the weights.
    #[arg(long, value_name = "FILE.safetensors")]
    out: PathBuf,
    /// Seconds between two checkpoints; 0 for one after every step.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = super::arguments::count, allow_hyphen_values = true)]
    checkpoint_every: usize,
    /// Continue from FILE.checkpoint if it exists. Every option that changes the result must be the same; only --steps may be larger.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    general: General,
}

impl Train {
    /// Refuses options that the chosen penalty does not use.
    fn check(&self) -> Result<(), CommandError> {
        use PenaltyName::{Literal, None, Target};
        let refused = |option: &str, penalties: &str| {
            Err(CommandError::Usage(format!(
                "{option} is for --penalty {penalties}"
            )))
        };
        match self.penalty {
            None | Literal(_) if self.warm_up.is_some() => {
                refused("--warm-up", "guarded, carried or target")
            }
            penalty if penalty != Target && self.target.is_some() => refused("--target", "target"),
            _ => Ok(()),
        }
    }

    fn plan(&self) -> TrainingPlan {
        let from = self.warm_up.unwrap_or(150);
        let model = self.model;
        let recipe = Recipe {
            model,
            feed: if self.second_order {
                Feed::Full
            } else {
                Feed::Detached
            },
            loss: self.loss,
            penalty: match self.penalty {
                PenaltyName::None => Penalty::None,
                PenaltyName::Literal(weight) => Penalty::Literal { weight },
                PenaltyName::Guarded => Penalty::Guarded { from },
                PenaltyName::Carried => Penalty::Carried { from },
                PenaltyName::Target => Penalty::Target {
                    level: self.target.unwrap_or(1e-4),
                    from,
                },
            },
            family: self.problem.family(),
            batch: self.batch,
            segments: self.segments,
            steps: self.segment_steps,
            rate: self.rate,
        };
        TrainingPlan {
            recipe,
            seed: self.general.seeded.seed,
            steps: self.steps,
            validate_every: self.validate_every,
            validation_problems: self.batch,
        }
    }
}

fn train(args: &Train) -> Result<(), CommandError> {
    args.check()?;
    parallel::with(args.general.parallel.threads(), || train_here(args))
        .map_err(CommandError::Usage)?
}

fn train_here(args: &Train) -> Result<(), CommandError> {
    let plan = args.plan();
    let footprint = plan.recipe.footprint(args.general.parallel.threads());
    footprint.check().map_err(CommandError::Usage)?;
    let refused = |error| refusal(args, &plan, error);
    let files = TrainingFiles::new(&args.out).map_err(refused)?;
    let started = Instant::now();
    let from = args
        .from
        .as_ref()
        .map(|name| start(name, plan.recipe.model));
    let from = from.transpose()?;
    let progress = args.general.speech.interruptible()?;
    let preparing = progress.phase("preparing the training");
    let mut training = ResumableTraining::open(plan, files.clone(), from.as_deref(), args.resume)
        .map_err(refused)?;
    drop(preparing);
    let period = Duration::from_secs(args.checkpoint_every as u64);
    let kept = |bytes: Vec<u8>| {
        let path = files.checkpoint().to_owned();
        terminal::rescue(move || {
            if !is_stream(&path) {
                // If the disk is full, the report of it has no reader any more.
                let _ = write_file(&path, &bytes);
            }
        });
    };
    let ended = training.run_keeping(period, &progress, kept);
    // The files are written, or as they were.
    terminal::rescue(|| {});
    ended.map_err(refused)?;
    let session = training.session();
    let (weights, log) = (files.weights(), files.log());
    let best = session.best();
    let note = |key: &str| best.notes.get(key).cloned().unwrap_or_default();
    let summary = Summary {
        model: best.model.name(),
        loss: plan.recipe.loss.title(),
        penalty: plan.recipe.penalty.name(),
        steps: session.done(),
        best_step: note("best_step").parse().ok(),
        validation: note("validation").parse().ok(),
        seconds: started.elapsed().as_secs_f64(),
        weights: weights.display().to_string(),
    };
    output::print(args.general.speech.json, &summary, |to| {
        writeln!(
            to,
            "{}: {} steps in {:.0} s; the best of the validations, {} {}, was after step {}",
            best.model.title(),
            summary.steps,
            summary.seconds,
            summary.loss,
            note("validation"),
            note("best_step")
        )?;
        writeln!(
            to,
            "weights: {}, log: {}; test them with dst l2o test --weights {}",
            weights.display(),
            log.display(),
            weights.display()
        )
    })
}

/// Result of a training.
#[derive(Debug, Serialize)]
struct Summary {
    model: &'static str,
    loss: &'static str,
    penalty: &'static str,
    steps: usize,
    best_step: Option<usize>,
    /// Mean f over the steps of the validation runs.
    validation: Option<f64>,
    seconds: f64,
    weights: String,
}

/// The failure of a training, in terms of the arguments.
fn refusal(args: &Train, plan: &TrainingPlan, error: TrainError) -> CommandError {
    let files = TrainingFiles::new(&args.out);
    let checkpoint = files.as_ref().map_or(&*args.out, TrainingFiles::checkpoint);
    let checkpoint = checkpoint.display();
    match error {
        TrainError::SameName => CommandError::Usage(format!(
            "--out must not end in .csv, .checkpoint or .lock, as the other files do, got '{}'",
            args.out.display()
        )),
        TrainError::InUse => CommandError::NoAnswer(format!(
            "another training writes to --out '{}'; wait for its end, or choose another --out",
            args.out.display()
        )),
        TrainError::NotWritable(sentence) => CommandError::Usage(sentence),
        TrainError::CheckpointExists => CommandError::Usage(format!(
            "there is a checkpoint of an earlier training in '{checkpoint}'; go on with --resume, or choose another --out"
        )),
        TrainError::OtherStart => CommandError::Usage(format!(
            "the checkpoint '{checkpoint}' belongs to a training that did not begin from --from {}; leave it out, or choose another --out",
            args.from.as_deref().unwrap_or_default()
        )),
        TrainError::CheckpointUnreadable(why) => CommandError::NoAnswer(format!(
            "the checkpoint '{checkpoint}' cannot be read: {why}; start without --resume"
        )),
        TrainError::CheckpointRefused(reason) => {
            CommandError::NoAnswer(format!("the checkpoint '{checkpoint}' {reason}"))
        }
        TrainError::Step(sentence) | TrainError::Save(sentence) => CommandError::NoAnswer(sentence),
        TrainError::Interrupted { done } => CommandError::Interrupted(format!(
            "interrupted after {done} of {} steps; go on with --resume",
            plan.steps
        )),
    }
}

/// Test networks and classical methods on fresh problems.
///
/// f(x) along the runs, the iteration N at which f falls by 1e-5 or less (or rises), and f at that stop.
#[derive(clap::Args)]
struct Test {
    /// Files of dst l2o train, or names of networks of the program (rnnprop-1); all of those if not given.
    #[arg(long, value_name = "FILE|NAME", num_args = 1..)]
    weights: Vec<String>,
    #[command(flatten)]
    problem: FamilyArgs,
    /// Number of problems.
    #[arg(long, value_name = "P", default_value = "256", value_parser = positive_count, allow_hyphen_values = true)]
    problems: usize,
    /// Steps of a run.
    #[arg(long, value_name = "K", default_value = "1000", value_parser = positive_count, allow_hyphen_values = true)]
    steps: usize,
    /// The networks only, without GD, NAG and Adam.
    #[arg(long)]
    learned_only: bool,
    #[command(flatten)]
    parallel: Parallel,
    #[command(flatten)]
    speech: Speech,
}

/// The networks asked for, with their names.
fn networks(names: &[String]) -> Result<Vec<(String, Trained)>, CommandError> {
    if names.is_empty() {
        let all = ASSETS.iter();
        return Ok(all
            .map(|asset| (asset.name.to_owned(), asset.load()))
            .collect());
    }
    let with_name = |name: &String| Ok((name.clone(), load(name)?));
    names.iter().map(with_name).collect()
}

/// A network of the program, or of a file.
fn load(name: &str) -> Result<Trained, CommandError> {
    match Asset::named(name) {
        Some(asset) => Ok(asset.load()),
        None => Trained::load(Path::new(name)).map_err(CommandError::NoAnswer),
    }
}

/// The weights that a training of this model begins from.
fn start(name: &str, model: Architecture) -> Result<Vec<f32>, CommandError> {
    let trained = load(name)?;
    if trained.model == model {
        return Ok(trained.theta);
    }
    Err(CommandError::Usage(format!(
        "--from must name weights of --model {}, got '{name}', which holds those of {}",
        model.name(),
        trained.model.name()
    )))
}

fn test(args: &Test) -> Result<(), CommandError> {
    let networks = networks(&args.weights)?;
    let evaluation = Evaluation::new(args.problem.family(), args.problems, args.steps);
    let progress = args.speech.interruptible()?;
    let work = || -> Result<MethodTable, CommandError> {
        let footprint = evaluation.footprint(args.parallel.threads(), networks.len());
        footprint.check().map_err(CommandError::Usage)?;
        let classics = match args.learned_only {
            true => Vec::new(),
            false => evaluation.classics(&progress)?.to_vec(),
        };
        let networks: Vec<(String, &Trained)> = networks
            .iter()
            .map(|(name, trained)| (name.clone(), trained))
            .collect();
        let entries = tested(&evaluation, &classics, &networks, &progress)?;
        Ok(MethodTable {
            name: format!("{} problems", args.problems),
            dim: args.problem.dim,
            entries,
        })
    };
    let table = parallel::with(args.parallel.threads(), work).map_err(CommandError::Usage)??;
    output::print(args.speech.json, &table, |to| {
        writeln!(
            to,
            "{} problems of {} examples in {} variables, {} steps from x = 0. N: f falls by 1e-5 or less, or rises.\n",
            args.problems, args.problem.samples, args.problem.dim, args.steps
        )?;
        write!(to, "{}", shown(&table).to_text())
    })
}

/// Measure a training step: seconds, operations per second, memory.
#[derive(clap::Args)]
struct Measure {
    /// The network: dm or rnnprop.
    #[arg(long, value_name = "M", default_value = "rnnprop", value_parser = named::<Architecture>)]
    model: Architecture,
    /// Problems per training step.
    #[arg(long, value_name = "B", default_value = "64", value_parser = positive_count, allow_hyphen_values = true)]
    batch: usize,
    /// Variables of a problem, with half as many examples.
    #[arg(long, value_name = "D", default_value = "512", value_parser = positive_count, allow_hyphen_values = true)]
    dim: usize,
    /// Steps measured, after one warm-up step.
    #[arg(long, value_name = "R", default_value = "5", value_parser = positive_count, allow_hyphen_values = true)]
    repeat: usize,
    #[command(flatten)]
    parallel: Parallel,
    #[command(flatten)]
    speech: Speech,
}

fn measure(args: &Measure) -> Result<(), CommandError> {
    let recipe = Recipe {
        batch: args.batch,
        family: Family::new(args.dim, args.dim.div_ceil(2)),
        rate: 1e-3,
        ..Recipe::paper(args.model)
    };
    let progress = args.speech.interruptible()?;
    let work = || {
        let footprint = recipe.footprint(args.parallel.threads()).with(
            "the times",
            [size_of::<f64>() as f64, args.repeat as f64],
            "lower --repeat",
        );
        footprint.check().map_err(CommandError::Usage)?;
        bench(recipe, args.repeat, &progress)
            .map_err(|error| CommandError::NoAnswer(error.to_string()))
    };
    let result = parallel::with(args.parallel.threads(), work).map_err(CommandError::Usage)??;
    output::print(args.speech.json, &result, |to| {
        let [median, least, most] = result.seconds;
        writeln!(
            to,
            "{}: {median:.3} s per training step ({least:.3} to {most:.3}) on {} threads, and {:.3} s to draw its problems",
            args.model.title(),
            result.threads,
            result.draw_seconds
        )?;
        writeln!(
            to,
            "  products with weights: {:.0} GFLOP, {:.0} GFLOP/s, {:.0} % of the {:.0} GFLOP/s that these threads do in registers",
            result.gflop,
            result.gflop_per_second,
            100.0 * result.gflop_per_second / result.peak_gflop_per_second,
            result.peak_gflop_per_second
        )?;
        let memory = result
            .peak_bytes
            .map_or("unknown".to_owned(), |peak| machine::bytes(peak as f64));
        writeln!(to, "  memory at the most: {memory}")
    })
}
