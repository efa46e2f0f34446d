//! `dst tune`: hyperparameters that make a method stop sooner, found by descending its stopping time.

use std::io::{self, Write};
use std::path::PathBuf;

use super::arguments::{named, not_negative, positive, positive_count, whole_at_least};
use super::common::{Files, Parallel, Seeded, Speech};
use super::{CommandError, output};
use crate::data::{data_folder, load};
use crate::files::try_to_write;
use crate::format::short;
use crate::parallel;
use crate::report::OutDir;
use crate::tune::{
    Counts, Criterion, End, ProblemKind, SavedTheta, ScoredValues, TunedMethod, TuningConfig,
    TuningOutcome, TuningProblem, picture, tune,
};

/// Find hyperparameters with which a method stops sooner, by descending its stopping time.
///
/// Tunes on random starting points, chooses on others, then evaluates on held-out ones, beside CMA-ES and a grid search with the same
/// number of evaluations and known optima. The figure is DIR/tune-PROBLEM-METHOD.svg.
#[derive(clap::Args)]
#[command(after_help = "\
Problems:
  quadratic    0.5*x'Qx in --dim variables (100), eigenvalues from 0.1 to 10; starts: standard normal
  logistic     logistic regression on --data, or on a synthetic set of the size of a1a; starts: 0.1 * normal
  svm          smooth support vector machine on the same; starts: 0.1 * normal
  rosenbrock   the curved valley in --dim variables (2); starts: (-1.2, 1) + 0.1 * normal; with more than two variables
               0.8 + 0.02 * normal in each, and L = 1400

Methods and their initial values (L: the largest curvature):
  gd, preconditioned    step size 1/L, for preconditioned one for every variable
  heavy-ball, nesterov  step size 1/L, momentum 0.9
  adam                  step size 0.01, momenta 0.9 and 0.999

A run stops when the criterion has fallen to --tolerance times its value at the start; with --absolute, to --tolerance.

Examples:
  dst tune
  dst tune --method nesterov --tolerance 1e-6 --absolute
  dst tune --data my.libsvm --method heavy-ball --save theta.json
  dst tune --data other.libsvm --method heavy-ball --from theta.json
  dst tune --problem rosenbrock --dim 50 --method nesterov --max-steps 20000
  dst tune --problem logistic --method preconditioned --json

Ctrl-C keeps the best so far if it can be evaluated within a second; a second Ctrl-C ends at once.")]
pub(super) struct Args {
    /// quadratic, logistic, svm or rosenbrock; svm if there is --data, else quadratic.
    #[arg(long, value_name = "P", value_parser = named::<ProblemKind>)]
    problem: Option<ProblemKind>,
    /// A file in LIBSVM format, or the name of one in the folder DST_DATA; without a file, a1a, a2a, a3a and w3a are synthetic.
    #[arg(long, value_name = "FILE|NAME")]
    data: Option<String>,
    /// gd, heavy-ball, nesterov, adam or preconditioned.
    #[arg(long, value_name = "M", default_value = "heavy-ball", value_parser = named::<TunedMethod>)]
    method: TunedMethod,
    /// Factor by which the criterion must fall; with --absolute, the value at which a run stops.
    #[arg(long, value_name = "E", default_value = "1e-2", value_parser = positive, allow_hyphen_values = true)]
    tolerance: f64,
    /// Take the tolerance as a value, not as a factor on the value at the start.
    #[arg(long)]
    absolute: bool,
    /// Number of variables of quadratic and rosenbrock. [default: 100 and 2]
    #[arg(long, value_name = "D", value_parser = dimension, allow_hyphen_values = true)]
    dim: Option<usize>,
    /// Quantity that must fall to the tolerance: gradient-max, gradient-norm or value-gap.
    #[arg(long, value_name = "C", default_value = "gradient-max", value_parser = named::<Criterion>)]
    criterion: Criterion,
    /// Largest number of iterations of a run.
    #[arg(long, value_name = "N", default_value = "2000", value_parser = positive_count, allow_hyphen_values = true)]
    max_steps: usize,
    /// Starting points to tune on.
    #[arg(long, value_name = "K", default_value = "16", value_parser = positive_count, allow_hyphen_values = true)]
    starts: usize,
    /// Held-out starting points for evaluation.
    #[arg(long, value_name = "K", default_value = "32", value_parser = positive_count, allow_hyphen_values = true)]
    held_out: usize,
    /// Largest number of rounds of a descent.
    #[arg(long, value_name = "R", default_value = "40", value_parser = positive_count, allow_hyphen_values = true)]
    rounds: usize,
    /// Initial step size.
    #[arg(long, value_name = "A", value_parser = positive, allow_hyphen_values = true)]
    alpha: Option<f64>,
    /// Initial momentum (adam: the first).
    #[arg(long, value_name = "B", value_parser = momentum, allow_hyphen_values = true)]
    beta: Option<f64>,
    /// Begin with the values that --save wrote to this file.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Write the tuned values to this file as JSON.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Regularisation of logistic and svm: R/2 * |x|^2 is added to f.
    #[arg(long, value_name = "R", default_value = "0", value_parser = not_negative, allow_hyphen_values = true)]
    reg: f64,
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    parallel: Parallel,
    #[command(flatten)]
    seeded: Seeded,
    #[command(flatten)]
    speech: Speech,
}

/// Reads 2, 3, …
fn dimension(text: &str) -> Result<usize, String> {
    whole_at_least(text, 2)
}

/// Reads a number strictly between 0 and 1.
fn momentum(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("must be a number between 0 and 1, both excluded".to_owned()),
    }
}

fn not_for_data(kind: ProblemKind) -> CommandError {
    CommandError::Usage(format!(
        "--data is for the problems logistic and svm, not for {}",
        kind.name()
    ))
}

/// Makes the problem. What does not fit into memory is refused before.
fn problem(args: &Args, config: &TuningConfig) -> Result<TuningProblem, CommandError> {
    let threads = args.parallel.threads();
    let must_fit = |dim: usize| {
        let footprint = config.footprint(dim, threads);
        footprint.check().map_err(CommandError::NoAnswer)
    };
    let default = if args.data.is_some() {
        ProblemKind::Svm
    } else {
        ProblemKind::Quadratic
    };
    let kind = args.problem.unwrap_or(default);
    if args.reg > 0.0 && !kind.wants_data() {
        return Err(CommandError::Usage(format!(
            "--reg is for the problems logistic and svm, not for {}",
            kind.name()
        )));
    }
    if let Some(dim) = args.dim {
        if kind.wants_data() {
            return Err(CommandError::Usage(format!(
                "--dim is for the problems quadratic and rosenbrock, not for {}",
                kind.name()
            )));
        }
        if args.data.is_some() {
            return Err(not_for_data(kind));
        }
        must_fit(dim)?;
        return TuningProblem::of_size(kind, dim, args.seeded.seed).map_err(CommandError::NoAnswer);
    }
    let Some(data) = &args.data else {
        // Their sizes are small.
        must_fit(0)?;
        return TuningProblem::built_in(kind, args.reg, args.seeded.seed)
            .map_err(CommandError::NoAnswer);
    };
    if !kind.wants_data() {
        return Err(not_for_data(kind));
    }
    let set = load(data, data_folder().as_deref())
        .map_err(|reason| CommandError::NoAnswer(format!("--data: {reason}")))?;
    must_fit(set.examples.rows.columns().saturating_add(1))?;
    let name = if set.synthetic {
        format!("{}-synthetic", set.name)
    } else {
        set.name
    };
    TuningProblem::on_data(kind, &name, set.examples, args.reg).map_err(CommandError::NoAnswer)
}

/// The result and the path of the figure.
#[derive(serde::Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    outcome: &'a TuningOutcome,
    plot: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    let has_momentum = args.method.parameters().len() > 1;
    if args.beta.is_some() && !has_momentum {
        return Err(CommandError::Usage(format!(
            "--beta is for methods with momentum, not for {}",
            args.method.name()
        )));
    }
    if args.from.is_some() && (args.alpha.is_some() || args.beta.is_some()) {
        return Err(CommandError::Usage(
            "--from gives all initial values; leave out --alpha and --beta".to_owned(),
        ));
    }
    if !args.absolute && args.tolerance >= 1.0 {
        return Err(CommandError::Usage(format!(
            "--tolerance is a factor below 1 on the value at the start, got {}; --absolute makes it a value",
            short(args.tolerance)
        )));
    }
    let mut config = TuningConfig {
        criterion: args.criterion,
        tolerance: args.tolerance,
        max_steps: args.max_steps,
        starts: args.starts,
        held_out: args.held_out,
        rounds: args.rounds,
        absolute: args.absolute,
        seed: args.seeded.seed,
        alpha: args.alpha,
        beta: args.beta,
        ..TuningConfig::new(args.method)
    };
    let progress = args.speech.interruptible()?;
    let loading = progress.phase("making the problem");
    let problem = problem(args, &config)?;
    drop(loading);
    config.theta = match &args.from {
        Some(path) => {
            let saved = SavedTheta::read(path).map_err(CommandError::NoAnswer)?;
            let fitting = saved.fitting(args.method, problem.objective.dim());
            let refuse = |why| CommandError::NoAnswer(format!("{}: {why}", path.display()));
            Some(fitting.map_err(refuse)?)
        }
        None => None,
    };
    if let Some(path) = &args.save {
        try_to_write(path).map_err(CommandError::NoAnswer)?;
    }
    // The figure has a name of its own: others may write to the same directory.
    let out = OutDir::shared(&args.files.out).map_err(CommandError::NoAnswer)?;
    let name = format!("tune-{}-{}.svg", problem.name, args.method.name());
    out.try_to_write(&name).map_err(CommandError::NoAnswer)?;
    let whole = progress.phase(format!("tuning {}", args.method.name()));
    let outcome = parallel::with(args.parallel.threads(), || {
        tune(&config, &problem, &progress)
    })
    .map_err(CommandError::NoAnswer)??;
    drop(whole);
    let plot = out
        .write(&name, &picture(&outcome))
        .map_err(CommandError::NoAnswer)?;
    if let Some(path) = &args.save {
        let saved = SavedTheta::of(&outcome);
        saved.write(path).map_err(CommandError::NoAnswer)?;
    }
    let report = Report {
        outcome: &outcome,
        plot,
    };
    output::print(args.speech.json, &report, |to| {
        show(&report, args.criterion, to)
    })?;
    if outcome.end == End::Interrupted {
        return Err(CommandError::Interrupted(
            "interrupted; the best values so far are above".to_owned(),
        ));
    }
    Ok(())
}

fn show(report: &Report<'_>, criterion: Criterion, out: &mut dyn Write) -> io::Result<()> {
    let outcome = report.outcome;
    let TuningOutcome {
        problem,
        size,
        method,
        before,
        tuned,
        ..
    } = outcome;
    let limit = outcome.max_steps;
    let count =
        |steps: Option<usize>| steps.map_or_else(|| format!("{limit}+"), |steps| steps.to_string());
    let target = if outcome.absolute {
        short(outcome.tolerance)
    } else {
        format!("{} of the start", short(outcome.tolerance))
    };
    writeln!(
        out,
        "{method} on {problem} ({size}): {} → {} iterations to {} ≤ {target} ({})",
        count(before.training.median),
        count(tuned.training.median),
        criterion.formula(),
        changes(outcome)
    )?;
    let line = |counts: &Counts| {
        let (median, worst) = (count(counts.median), count(counts.worst));
        if counts.reached == 0.0 {
            "none stopped".to_owned()
        } else if counts.reached < 1.0 {
            format!("median {median}, {:.0} % stopped", 100.0 * counts.reached)
        } else {
            format!("median {median}, worst {worst}")
        }
    };
    let row = |out: &mut dyn Write, name: &str, training: &Counts, held_out: &Counts| {
        writeln!(
            out,
            "  {name:<12} training ({}): {:<28} held-out ({}): {}",
            training.steps.len(),
            line(training),
            held_out.steps.len(),
            line(held_out)
        )
    };
    row(out, "before", &before.training, &before.held_out)?;
    row(out, "tuned", &tuned.training, &tuned.held_out)?;
    let searches = searches(outcome);
    for (name, found, _) in &searches {
        row(out, name, &found.training, &found.held_out)?;
    }
    for known in &outcome.known {
        row(out, known.name, &known.training, &known.held_out)?;
    }
    writeln!(
        out,
        "  cost of tuning: {} gradients and {} Hessian-vector products",
        tuned.work.gradients, tuned.work.products
    )?;
    for (name, found, points) in &searches {
        writeln!(
            out,
            "  {name}: {points} points, {} gradients, best {}",
            found.work.gradients,
            values(outcome, name, found)
        )?;
    }
    writeln!(out, "  {}", verdict(outcome))?;
    writeln!(out, "  plot: {}", report.plot.display())
}

/// Returns the searches without a gradient that were finished: name, result, points.
fn searches(outcome: &TuningOutcome) -> Vec<(&'static str, &ScoredValues, usize)> {
    let cmaes = outcome.cmaes.as_ref();
    let cmaes = cmaes.map(|found| ("CMA-ES", found, outcome.cmaes_points));
    let grid = outcome.grid.as_ref();
    let grid = grid.map(|found| ("grid search", found, outcome.grid_points));
    cmaes.into_iter().chain(grid).collect()
}

/// Returns the hyperparameters before and after as text.
fn changes(outcome: &TuningOutcome) -> String {
    let (before, tuned) = (&outcome.before.theta, &outcome.tuned.theta);
    if outcome.method == TunedMethod::Preconditioned.name() {
        let (low, high) = range(tuned);
        let first = before.first().copied().unwrap_or(0.0);
        return format!(
            "α {} → {} … {}, one per variable",
            short(first),
            short(low),
            short(high)
        );
    }
    let changes = outcome.parameters.iter().zip(before.iter().zip(tuned));
    let texts: Vec<String> = changes
        .map(|(name, (from, to))| format!("{name} {} → {}", short(*from), short(*to)))
        .collect();
    texts.join(", ")
}

/// Returns the hyperparameters that a search found as text.
fn values(outcome: &TuningOutcome, search: &str, found: &ScoredValues) -> String {
    if outcome.method == TunedMethod::Preconditioned.name() {
        let (low, high) = range(&found.theta);
        return match search {
            "grid search" => format!("α = {}, one step size for all variables", short(low)),
            _ => format!("α = {} … {}, one per variable", short(low), short(high)),
        };
    }
    let parameters = outcome.parameters.iter().zip(&found.theta);
    let texts: Vec<String> = parameters
        .map(|(name, value)| format!("{name} = {}", short(*value)))
        .collect();
    texts.join(", ")
}

/// Returns the smallest and the largest value.
fn range(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}

/// Returns the gain on held-out starts as one sentence.
fn verdict(outcome: &TuningOutcome) -> String {
    let (before, tuned) = (&outcome.before.held_out, &outcome.tuned.held_out);
    let limit = outcome.max_steps as f64;
    let gain = match (before.median, tuned.median) {
        (Some(before), Some(tuned)) => {
            let factor = before as f64 / tuned as f64;
            if factor < 1.02 {
                "no gain".to_owned()
            } else {
                format!("{factor:.1} times fewer iterations")
            }
        }
        (None, Some(tuned)) => format!(
            "more than {:.1} times fewer iterations",
            limit / tuned as f64
        ),
        (_, None) => "most runs still do not stop; raise --max-steps or --tolerance".to_owned(),
    };
    let late = tuned.steps.iter().filter(|steps| steps.is_none()).count();
    let but = if late > 0 && tuned.median.is_some() {
        format!(
            ", but {late} of {} do not stop; tune on more --starts",
            tuned.steps.len()
        )
    } else {
        String::new()
    };
    let better: Vec<&str> = searches(outcome)
        .into_iter()
        .filter(|(_, found, _)| {
            let median = |counts: &Counts| counts.median.unwrap_or(usize::MAX);
            median(&found.held_out) < median(tuned)
        })
        .map(|(name, ..)| name)
        .collect();
    let and = if better.is_empty() {
        String::new()
    } else {
        format!("; better values by {}", better.join(" and "))
    };
    format!("on starting points that had no part in the tuning: {gain}{but}{and}")
}
