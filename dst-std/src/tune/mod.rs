//! Tuning the hyperparameters of a method by descending its stopping time.
//!
//! For a problem, a method and a tolerance, the number of iterations N until the tolerance is met is a function of the
//! method's hyperparameters. The engine of [`dst_core`] differentiates it. [`tune()`] descends the mean of ln N over
//! training starts. Validation starts choose among the last stages of the descent. The result is evaluated on held-out
//! starts, beside a grid search with the same number of evaluations.
//!
//! | file | content |
//! |---|---|
//! | `config`, `outcome` | the question and the result |
//! | `problem` | the objectives and their starting points |
//! | `method` | the methods, their hyperparameters as free coordinates |
//! | `trial` | one run: its stopping time, or an extrapolation if the run did not stop; the gradient |
//! | `starts` | all starting points together |
//! | `descent` | the descent of the mean score |
//! | `grid` | the grid search for comparison |
//! | `section` | figures |

mod config;
mod descent;
mod grid;
mod method;
mod outcome;
mod problem;
#[cfg(feature = "cli")]
mod section;
mod starts;
#[cfg(test)]
mod tests;
mod trial;

use dst_core::System;

pub use config::{Criterion, TuningConfig};
pub use descent::End;
pub use method::TunedMethod;
pub use outcome::{Counts, Round, ScoredValues, TuningOutcome};
pub use problem::{ProblemKind, TuningProblem};
#[cfg(feature = "cli")]
pub use section::picture;
pub use trial::Work;

use crate::Failure;
use crate::format::short;
use crate::progress::{Interrupt, Progress};
use descent::{Descent, Stage, descend};
use starts::Starts;
use trial::{NoTrial, Trial};

/// Independent streams of random numbers for the starting points.
const TRAINING: u64 = 0x7261_696e;
const VALIDATION: u64 = 0x7661_6c69;
const HELD_OUT: u64 = 0x6865_6c64;
/// The last stages of the descent, among which the validation starts choose.
const CHOICE: usize = 8;
/// The largest number of stages at which the figure shows held-out starts.
const LOOKS: usize = 12;

/// A method on a problem, ready to be run.
#[derive(Clone, Copy)]
struct PreparedRun<'a> {
    system: &'a (dyn System<f64> + Send + Sync),
    epsilon: f64,
    /// The least value of J.
    floor: f64,
    max_steps: usize,
}

/// Tunes a method on a problem. An interrupt keeps the best values so far; before the first result it is a failure.
pub fn tune(
    config: &TuningConfig,
    problem: &TuningProblem,
    progress: &Progress,
) -> Result<TuningOutcome, Failure> {
    let method = config.method;
    let system = method.system(&*problem.objective, config.criterion.optimality());
    let (epsilon, floor) = config.criterion.level(config.tolerance, problem);
    let prepared = PreparedRun {
        system: &*system,
        epsilon,
        floor,
        max_steps: config.max_steps,
    };
    let (interrupt, never) = (progress.interrupt(), Interrupt::never());
    let starts = |stream: u64, count, interrupt| Starts {
        prepared,
        method,
        points: (0..count)
            .map(|i| method.state(&problem.start(stream ^ config.seed.rotate_left(32), i)))
            .collect(),
        interrupt,
        work: Work::default(),
    };
    let mut training = starts(TRAINING, config.starts, interrupt);
    let mut held_out = starts(HELD_OUT, config.held_out, interrupt);
    let failure = |why: NoTrial| match why {
        NoTrial::AtStart => Failure::NoAnswer(format!(
            "the tolerance {} is met before the first iteration; lower --tolerance",
            short(config.tolerance)
        )),
        NoTrial::Interrupted => Failure::Interrupted,
        NoTrial::Engine(error) => Failure::NoAnswer(error.to_string()),
    };
    let counts = |trials: &[Trial]| Counts::new(trials, config.criterion, floor);

    let theta = config.first(problem);
    let u = method.coordinates(&theta);
    // Fails here if the tolerance is met at the start.
    let held_out_before = counts(&held_out.trials(&u, false).map_err(failure)?);
    let task = progress.task("descending the stopping time", config.rounds);
    let Descent { stages, end } = descend(&mut training, u.clone(), config.rounds, || {
        task.advance(1);
    })
    .map_err(failure)?;
    drop(task);
    let mut validation = starts(VALIDATION, 2 * config.starts, interrupt);
    let stages = choose(&mut validation, stages).map_err(failure)?;
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        return Err(Failure::Interrupted);
    };
    let mut tuned_work = training.work;
    tuned_work.add(validation.work);

    // The remaining work is short, and without it there is no result to show: it ignores the interrupt.
    (training.interrupt, held_out.interrupt) = (&never, &never);
    let before = ScoredValues {
        theta,
        training: counts(&training.trials(&first.u, false).map_err(failure)?),
        held_out: held_out_before,
        work: Work::default(),
    };
    let mut setting = |u: &[f64], work| -> Result<ScoredValues, Failure> {
        Ok(ScoredValues {
            theta: method.theta(u),
            training: counts(&training.trials(u, false).map_err(failure)?),
            held_out: counts(&held_out.trials(u, false).map_err(failure)?),
            work,
        })
    };
    let tuned = setting(&last.u, tuned_work)?;
    if tuned.training.reached == 0.0 && end != End::Interrupted {
        return Err(no_run_stops(config, &before, &tuned));
    }

    let (mut grid, mut grid_points) = (None, 0);
    if end != End::Interrupted {
        let budget = tuned_work.total();
        let task = progress.task("grid search for comparison", budget);
        let mut starts = starts(TRAINING, config.starts, interrupt);
        let tick = |work| task.advance(work);
        match grid::search(&mut starts, &u, first.score, budget, config.seed, tick) {
            Ok(found) => {
                grid = Some(setting(&found.u, starts.work)?);
                grid_points = found.points;
            }
            Err(NoTrial::Interrupted) => {}
            Err(other) => return Err(failure(other)),
        }
    }

    let looks = stages.len().div_ceil(LOOKS).max(1);
    let mut rounds = Vec::new();
    for (round, stage) in stages.iter().enumerate() {
        let median = if round == 0 {
            before.held_out.median
        } else if round + 1 == stages.len() {
            tuned.held_out.median
        } else if round % looks == 0 && !interrupt.raised() {
            counts(&held_out.trials(&stage.u, false).map_err(failure)?).median
        } else {
            None
        };
        rounds.push(Round {
            round,
            theta: summary(method, &stage.u),
            training: libm::expm1(stage.score),
            held_out: median,
            work: stage.work,
        });
    }
    let end = if interrupt.raised() {
        End::Interrupted
    } else {
        end
    };
    Ok(TuningOutcome {
        problem: problem.name.clone(),
        size: problem.size.clone(),
        method: method.name(),
        parameters: method.parameters(),
        criterion: config.criterion.name(),
        tolerance: config.tolerance,
        max_steps: config.max_steps,
        seed: config.seed,
        before,
        tuned,
        grid,
        grid_points,
        rounds,
        end,
    })
}

/// Returns the stages up to the one with the lowest score on validation starts. The last values of the descent are the
/// quickest on the training starts and may be unstable on others.
fn choose(validation: &mut Starts<'_>, mut stages: Vec<Stage>) -> Result<Vec<Stage>, NoTrial> {
    let (mut best, mut keep) = (f64::INFINITY, stages.len());
    for (i, stage) in stages.iter().enumerate().rev().take(CHOICE) {
        match validation.mean(&stage.u, false) {
            Ok(mean) if mean.score < best => (best, keep) = (mean.score, i + 1),
            Ok(_) => {}
            Err(NoTrial::Interrupted) => break,
            Err(other) => return Err(other),
        }
    }
    stages.truncate(keep);
    Ok(stages)
}

/// The failure of a tuning in which no run stops, not even with the tuned values.
fn no_run_stops(config: &TuningConfig, before: &ScoredValues, tuned: &ScoredValues) -> Failure {
    Failure::NoAnswer(format!(
        "no run reached the tolerance {} within {} iterations, not even tuned ({} = {} at the end, {} untuned); \
         raise --max-steps or --tolerance, or take another --method",
        short(config.tolerance),
        config.max_steps,
        config.criterion.formula(),
        short(tuned.training.residual),
        short(before.training.residual),
    ))
}

/// Returns θ, or its geometric mean where there is one entry per variable.
fn summary(method: TunedMethod, u: &[f64]) -> Vec<f64> {
    if method == TunedMethod::Preconditioned {
        vec![libm::exp(u.iter().sum::<f64>() / u.len().max(1) as f64)]
    } else {
        method.theta(u)
    }
}
