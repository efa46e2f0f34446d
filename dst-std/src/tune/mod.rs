//! Tuning the hyperparameters of a method by descending its stopping time.
//!
//! For a problem, a method and a tolerance, the number of iterations N until the tolerance is met is a function of the
//! method's hyperparameters. The engine of [`dst_core`] differentiates it. [`tune()`] descends the score of ln N over
//! training starts by a [trust region](crate::family::TrustRegion), from the best of several starts, and then from points around
//! the best one. Other starts choose among the best points. Held-out starts are evaluated once, for the tuned values, CMA-ES and a
//! grid with the same number of evaluations, and known optima.
//!
//! | file | content |
//! |---|---|
//! | `config`, `outcome`, `saved` | the question, the result, hyperparameters in a file |
//! | `problem` | the objectives and their starting points |
//! | `method` | the methods, their hyperparameters as free coordinates |
//! | `trial` | one run: its stopping time, or an extrapolation if the run did not stop; the gradient |
//! | `runs` | the family ([`crate::family`]) of all starting points |
//! | `search`, `grid` | CMA-ES and a grid with the same number of evaluations |
//! | `known` | known optima on quadratics |
//! | `section` | figures |

mod config;
mod grid;
mod known;
mod method;
mod outcome;
mod problem;
mod runs;
mod saved;
mod search;
#[cfg(feature = "cli")]
mod section;
#[cfg(test)]
mod tests;
mod trial;

pub use crate::family::End;
pub use config::{Criterion, TuningConfig};
pub use method::TunedMethod;
pub use outcome::{Counts, KnownOptimum, Round, ScoredValues, TuningOutcome, Work};
pub use problem::{ProblemKind, TuningProblem};
pub use saved::SavedTheta;
#[cfg(feature = "cli")]
pub use section::picture;

use crate::Failure;
use crate::family::{
    self, Descent, Evaluation, Evaluator, Restarts, Score, Stream, TrustRegion, choose, perturbed,
};
use crate::format::short;
use crate::parallel::try_instances;
use crate::progress::{Interrupt, Progress};
use runs::Runs;
use search::{Baseline, CHOICE, Chosen, Evolution, Grid, compete};
use trial::Trial;

/// The score: mostly the mean of ln N; a little of the soft maximum keeps away from values at which a few starts do not stop.
const SCORE: Score = Score::new(0.1);
/// Perturbed textbook values among the starts, and their distance in the coordinates u.
const PERTURBED: usize = 2;
const SPREAD: f64 = 0.5;
/// The difference of coordinates below which the initial values are one of the starts.
const SAME: f64 = 0.05;

/// Tunes a method on a problem. An interrupt keeps the best values so far; before the first result it is a failure.
pub fn tune(
    config: &TuningConfig,
    problem: &TuningProblem,
    progress: &Progress,
) -> Result<TuningOutcome, Failure> {
    let method = config.method;
    let footprint = config.footprint(problem.objective.dim(), rayon::current_num_threads());
    footprint.check().map_err(Failure::NoAnswer)?;
    let drawing = progress.phase("drawing starting points");
    let runs = Runs::new(config, problem);
    drop(drawing);
    let contest = Contest {
        config,
        problem,
        runs: &runs,
        progress,
    };
    let first = config.first(problem);
    let u0 = method.coordinates(&first);
    let (descents, chosen) = contest.descend(&u0)?;
    let Some(best) = descents.first() else {
        return Err(Failure::Interrupted);
    };
    let mut end = best.end;

    // The remaining evaluations are short, and without them there is no result to show: they ignore the interrupt.
    let before = contest.scored(Default::default(), &first)?;
    let tuned = contest.scored(chosen.work, &method.theta(&chosen.u))?;
    if tuned.training.reached == 0.0 && end != End::Interrupted {
        return Err(no_run_stops(config, &before, &tuned));
    }
    let budget = chosen.training_work;
    let (mut grid, mut grid_points, mut cmaes, mut cmaes_points) = (None, 0, None, 0);
    if end != End::Interrupted {
        let (starts, seed) = (contest.starts(&u0), config.seed);
        let evolution = Evolution { starts, seed };
        if let Some(found) = contest.baseline("CMA-ES for comparison", &evolution, &u0, budget)? {
            cmaes_points = found.points;
            cmaes = Some(contest.scored(found.work, &method.theta(&found.u))?);
        }
        let search = Grid { method, seed };
        if let Some(found) = contest.baseline("grid for comparison", &search, &u0, budget)? {
            grid_points = found.points;
            grid = Some(contest.scored(found.work, &method.theta(&found.u))?);
        }
    }
    if progress.interrupted() {
        end = End::Interrupted;
    }
    Ok(TuningOutcome {
        problem: problem.name.clone(),
        size: problem.size.clone(),
        method: method.name(),
        parameters: method.parameters(),
        criterion: config.criterion.name(),
        tolerance: config.tolerance,
        absolute: config.absolute,
        max_steps: config.max_steps,
        seed: config.seed,
        before,
        tuned,
        grid,
        grid_points,
        cmaes,
        cmaes_points,
        known: contest.known()?,
        rounds: rounds(method, best, &chosen.u),
        end,
    })
}

/// The parts of a tuning that all contestants share.
struct Contest<'a> {
    config: &'a TuningConfig,
    problem: &'a TuningProblem,
    runs: &'a Runs<'a>,
    progress: &'a Progress,
}

/// The result of the descents.
struct Tuned {
    u: Vec<f64>,
    /// Work on the training starts, and in all.
    training_work: usize,
    work: family::Work,
}

impl<'a> Contest<'a> {
    fn evaluator(&self, stream: Stream, interrupt: &'a Interrupt) -> Evaluator<'a, Runs<'a>> {
        let count = self.runs.starts(stream).len();
        let instances = stream.instances(self.config.seed, count);
        let mut evaluator = Evaluator::new(self.runs, instances, SCORE, interrupt);
        evaluator.limit = self.config.max_steps;
        evaluator
    }

    /// Returns the starts of the method for this problem, perturbed textbook values, and the initial values. The initial values come
    /// last: the race of the others does not depend on them, nor does the result if another start is better.
    fn starts(&self, u0: &[f64]) -> Vec<Vec<f64>> {
        let method = self.config.method;
        let (lipschitz, dim) = (self.problem.lipschitz, self.problem.objective.dim());
        let anchors = method.anchors(lipschitz, dim).into_iter();
        let textbook = method.coordinates(&method.textbook(lipschitz, dim));
        let mut starts: Vec<Vec<f64>> = anchors
            .map(|theta| method.coordinates(&theta))
            .chain(perturbed(&textbook, SPREAD, PERTURBED, self.config.seed))
            .collect();
        let apart = |u: &Vec<f64>| u.iter().zip(u0).any(|(a, b)| (a - b).abs() > SAME);
        if starts.iter().all(apart) {
            starts.push(u0.to_vec());
        }
        starts
    }

    /// Descends from several starts and chooses among the last points.
    fn descend(&self, u0: &[f64]) -> Result<(Vec<Descent>, Tuned), Failure> {
        let config = self.config;
        let interrupt = self.progress.interrupt();
        let mut training = self.evaluator(Stream::Tuning, interrupt);
        let restarts = Restarts {
            trust_region: TrustRegion {
                rounds: config.rounds,
                ..TrustRegion::default()
            },
            descents: config.descents,
            hops: config.hops,
            ..Restarts::default()
        };
        let starts = self.starts(u0);
        let total = config.rounds.saturating_mul(config.descents + config.hops);
        let task = self.progress.task("descending the stopping time", total);
        let descents = restarts.descend(&mut training, &starts, config.seed, || task.advance(1))?;
        drop(task);
        let mut candidates: Vec<&Evaluation> = descents.iter().flat_map(|d| &d.points).collect();
        candidates.sort_by(|a, b| a.score.total_cmp(&b.score));
        let candidates: Vec<Vec<f64>> = candidates.iter().map(|e| e.u.clone()).collect();
        let mut choosing = self.evaluator(Stream::Choosing, interrupt);
        let place = choose(&mut choosing, &candidates, CHOICE)?;
        let mut work = training.work;
        work += choosing.work;
        let u = candidates.into_iter().nth(place).unwrap_or_default();
        let tuned = Tuned {
            u,
            training_work: training.work.total(),
            work,
        };
        Ok((descents, tuned))
    }

    /// Runs a search without a gradient at the same cost; none after an interrupt.
    fn baseline(
        &self,
        name: &str,
        baseline: &impl Baseline,
        u0: &[f64],
        budget: usize,
    ) -> Result<Option<Chosen>, Failure> {
        let interrupt = self.progress.interrupt();
        let task = self.progress.task(name, budget);
        let training = self.evaluator(Stream::Tuning, interrupt);
        let choosing = self.evaluator(Stream::Choosing, interrupt);
        let mut tick = |work| task.advance(work);
        match compete(baseline, training, choosing, u0, budget, &mut tick) {
            Ok(found) => Ok(Some(found)),
            Err(Failure::Interrupted) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Counts at θ on the training and the held-out starts.
    fn scored(&self, work: family::Work, theta: &[f64]) -> Result<ScoredValues, Failure> {
        Ok(ScoredValues {
            theta: theta.to_vec(),
            training: self.counts(Stream::Tuning, theta)?,
            held_out: self.counts(Stream::Testing, theta)?,
            work: work.into(),
        })
    }

    fn counts(&self, stream: Stream, theta: &[f64]) -> Result<Counts, Failure> {
        let never = Interrupt::never();
        let limits = (self.config.max_steps, 1.0);
        let starts = self.runs.starts(stream);
        let trials: Vec<Trial> = try_instances(starts.len(), |i| {
            self.runs.trial(&starts[i], theta, limits, false, &never)
        })?;
        Ok(Counts::new(
            &trials,
            self.config.criterion,
            self.runs.floor(),
        ))
    }

    /// The known optima of a quadratic.
    fn known(&self) -> Result<Vec<KnownOptimum>, Failure> {
        let Some(extremes) = self.problem.extremes else {
            return Ok(Vec::new());
        };
        let mut known = Vec::new();
        if let Some((name, theta)) = self.config.method.optimum(extremes) {
            known.push(KnownOptimum {
                name,
                training: self.counts(Stream::Tuning, &theta)?,
                held_out: self.counts(Stream::Testing, &theta)?,
                theta,
            });
        }
        let (criterion, limit) = (self.config.criterion, self.config.max_steps);
        let counts = |stream| {
            let objective = &*self.problem.objective;
            let trials = known::chebyshev(self.runs, objective, criterion, extremes, stream, limit);
            Counts::new(&trials, criterion, self.runs.floor())
        };
        known.push(KnownOptimum {
            name: "Chebyshev",
            theta: vec![extremes.0, extremes.1],
            training: counts(Stream::Tuning),
            held_out: counts(Stream::Testing),
        });
        Ok(known)
    }
}

/// The points of the descent that led to u.
fn rounds(method: TunedMethod, descent: &Descent, u: &[f64]) -> Vec<Round> {
    let place = descent.points.iter().position(|p| p.u == u);
    let count = place.map_or(descent.points.len(), |place| place + 1);
    let points = descent.points.iter().take(count).enumerate();
    points
        .map(|(round, point)| Round {
            round,
            theta: summary(method, &point.u),
            training: libm::expm1(point.score),
            work: point.work.into(),
        })
        .collect()
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
