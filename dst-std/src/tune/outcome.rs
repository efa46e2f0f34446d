//! What tuning has found.

use serde::Serialize;

use super::config::Criterion;
use super::descent::End;
use super::trial::{Trial, Work};

/// How many iterations some runs took.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// N for every starting point; none where the limit came first.
    pub steps: Vec<Option<usize>>,
    /// The middle one, the larger of two; none if it is beyond the limit.
    pub median: Option<usize>,
    /// The largest; none if it is beyond the limit.
    pub worst: Option<usize>,
    /// The share of runs that met the tolerance.
    pub reached: f64,
    /// The mean, where runs that did not stop are counted by extrapolation (the geometric mean of N + 1, less one).
    pub mean: f64,
    /// The largest value at the end of a run of what is held against the tolerance.
    pub residual: f64,
}

impl Counts {
    pub(super) fn new(trials: &[Trial], criterion: Criterion, floor: f64) -> Self {
        let steps: Vec<Option<usize>> = trials.iter().map(|trial| trial.steps).collect();
        let mut sorted = steps.clone();
        // Those that did not stop are the last.
        sorted.sort_by_key(|steps| steps.unwrap_or(usize::MAX));
        let count = trials.len().max(1) as f64;
        let score = trials.iter().map(|trial| trial.score).sum::<f64>() / count;
        Self {
            median: sorted.get(sorted.len() / 2).copied().flatten(),
            worst: sorted.last().copied().flatten(),
            reached: steps.iter().flatten().count() as f64 / count,
            mean: libm::expm1(score),
            residual: trials.iter().fold(0.0, |max, trial| {
                f64::max(max, criterion.shown(trial.criterion, floor))
            }),
            steps,
        }
    }
}

/// Hyperparameters and what they achieve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evaluation {
    /// In the order of the method; `preconditioned` has one per variable.
    pub theta: Vec<f64>,
    /// On the starts that were tuned on.
    pub training: Counts,
    /// On starts that had no part in it.
    pub held_out: Counts,
    /// What it took to find them.
    pub work: Work,
}

/// A point on the way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// 0 is the start.
    pub round: usize,
    /// The hyperparameters; of `preconditioned`, their geometric mean.
    pub theta: Vec<f64>,
    /// The mean over the training starts, as in [`Counts::mean`].
    pub training: f64,
    /// The median over the held-out starts, where it was looked at and is within the limit.
    pub held_out: Option<usize>,
    /// Evaluations spent until here.
    pub work: Work,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningOutcome {
    /// The name of the problem.
    pub problem: String,
    /// Its size in words.
    pub size: String,
    /// The name of the method.
    pub method: &'static str,
    /// The names of the hyperparameters.
    pub parameters: &'static [&'static str],
    /// The name of the criterion.
    pub criterion: &'static str,
    /// Where runs stop.
    pub tolerance: f64,
    /// Where they are given up.
    pub max_steps: usize,
    /// The seed of the starting points.
    pub seed: u64,
    /// The textbook's values, or those asked for.
    pub before: Evaluation,
    /// The tuned ones.
    pub tuned: Evaluation,
    /// What a grid search finds with the same number of evaluations; none after Ctrl-C.
    pub grid: Option<Evaluation>,
    /// The points that it tried.
    pub grid_points: usize,
    /// The way from `before` to `tuned`.
    pub rounds: Vec<Round>,
    /// Why it ended there.
    pub end: End,
}
