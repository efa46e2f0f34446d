//! The result of a tuning.

use serde::Serialize;

use super::config::Criterion;
use super::trial::Trial;
use crate::family::{self, End};

/// Evaluations of gradients, and of products with the Hessian, which cost about the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Gradients: one for every iteration of a forward run.
    pub gradients: usize,
    /// Hessian-vector products, which differentiation takes.
    pub products: usize,
}

impl Work {
    /// Returns the sum of both.
    pub fn total(self) -> usize {
        self.gradients + self.products
    }
}

impl From<family::Work> for Work {
    fn from(work: family::Work) -> Self {
        Self {
            gradients: work.forward,
            products: work.backward,
        }
    }
}

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

/// A known optimum: that of a method on quadratics with extreme eigenvalues μ and L, or Chebyshev's semi-iteration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KnownOptimum {
    /// The name: `Polyak`, `Nesterov`, `2/(L + μ)` or `Chebyshev`.
    pub name: &'static str,
    /// The hyperparameters; of Chebyshev's schedule, μ and L.
    pub theta: Vec<f64>,
    /// Counts on the training starts.
    pub training: Counts,
    /// Counts on the held-out starts.
    pub held_out: Counts,
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
    /// The factor by which the criterion falls, or with `absolute` its value at which runs stop.
    pub tolerance: f64,
    /// True if the tolerance is absolute.
    pub absolute: bool,
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
    /// The best values of CMA-ES with the same number of evaluations; none after an interrupt.
    pub cmaes: Option<ScoredValues>,
    /// Points of CMA-ES.
    pub cmaes_points: usize,
    /// Known optima, if the problem is a quadratic.
    pub known: Vec<KnownOptimum>,
    /// The rounds of the best descent from its start to `tuned`.
    pub rounds: Vec<Round>,
    /// The reason for the end of the descent.
    pub end: End,
}
