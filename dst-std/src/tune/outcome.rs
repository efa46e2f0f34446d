//! The result of a tuning.

use serde::Serialize;

use super::config::Criterion;
use super::descent::End;
use super::trial::{Trial, Work};

/// Iteration counts of several runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// N for every starting point; none if the limit came first.
    pub steps: Vec<Option<usize>>,
    /// The upper median; none if it is beyond the limit.
    pub median: Option<usize>,
    /// The largest; none if it is beyond the limit.
    pub worst: Option<usize>,
    /// The share of runs that met the tolerance.
    pub reached: f64,
    /// The geometric mean of N + 1, less one. Runs that did not stop count by extrapolation.
    pub mean: f64,
    /// The largest final value of the quantity that is compared with the tolerance.
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

/// Hyperparameters with their iteration counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredValues {
    /// The hyperparameters in the order of the method; `preconditioned` has one per variable.
    pub theta: Vec<f64>,
    /// Counts on the training starts.
    pub training: Counts,
    /// Counts on the held-out starts.
    pub held_out: Counts,
    /// Evaluations spent on finding them.
    pub work: Work,
}

/// One round of the descent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Round {
    /// 0 is the start.
    pub round: usize,
    /// The hyperparameters; of `preconditioned`, their geometric mean.
    pub theta: Vec<f64>,
    /// The mean over the training starts, as in [`Counts::mean`].
    pub training: f64,
    /// The median over the held-out starts, if it was evaluated and is within the limit.
    pub held_out: Option<usize>,
    /// Evaluations spent up to this round.
    pub work: Work,
}

/// The result of a tuning.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningOutcome {
    /// The name of the problem.
    pub problem: String,
    /// The size of the problem as text.
    pub size: String,
    /// The name of the method.
    pub method: &'static str,
    /// The names of the hyperparameters.
    pub parameters: &'static [&'static str],
    /// The name of the criterion.
    pub criterion: &'static str,
    /// The value at which runs stop.
    pub tolerance: f64,
    /// The iteration limit of a run.
    pub max_steps: usize,
    /// The seed of the starting points.
    pub seed: u64,
    /// The initial values: the textbook's, or those of the configuration.
    pub before: ScoredValues,
    /// The tuned values.
    pub tuned: ScoredValues,
    /// The best values of a grid search with the same number of evaluations; none after an interrupt.
    pub grid: Option<ScoredValues>,
    /// Points of the grid search.
    pub grid_points: usize,
    /// The rounds from `before` to `tuned`.
    pub rounds: Vec<Round>,
    /// The reason for the end of the descent.
    pub end: End,
}
