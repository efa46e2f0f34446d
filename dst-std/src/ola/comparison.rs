//! Every setting on every problem, in parallel.

use rayon::prelude::*;
use serde::Serialize;

use super::algorithm::Setting;
use super::problem::SvmProblem;
use super::run::{Limits, OlaRun};
use crate::Failure;
use crate::progress::Progress;

/// The runs on one data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SvmComparison {
    /// The name of the data set.
    pub name: String,
    /// True if the data set is synthetic because there was no file.
    pub synthetic: bool,
    /// Examples.
    pub rows: usize,
    /// Variables, the intercept included.
    pub dim: usize,
    /// Features that are not zero.
    pub nonzeros: usize,
    /// L
    pub lipschitz: f64,
    /// f(x0)
    pub f0: f64,
    /// f*, by Newton's method.
    pub f_min: f64,
    /// Every run, in the order of the settings.
    pub runs: Vec<OlaRun>,
}

impl SvmComparison {
    /// Returns f − f*, bounded below by the rounding error of f*.
    pub fn gap(&self, f: f64) -> f64 {
        (f - self.f_min).max(f64::EPSILON * self.f_min.abs())
    }

    /// Returns the best run of the algorithms with this name.
    pub fn best(&self, name: &str) -> Option<&OlaRun> {
        self.of(name).min_by(|a, b| a.order(b))
    }

    /// Returns the runs of the algorithms with this name.
    pub fn of(&self, name: &str) -> impl Iterator<Item = &OlaRun> {
        let runs = self.runs.iter();
        runs.filter(move |run| run.method.name() == name)
    }

    /// Returns the names of the algorithms, in the order of the settings.
    pub fn methods(&self) -> Vec<String> {
        let mut names: Vec<String> = self.runs.iter().map(|run| run.method.name()).collect();
        names.dedup();
        names
    }
}

/// The cost of an iteration, measured on one run at a time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IterationCost {
    /// The data set.
    pub dataset: String,
    /// The algorithm.
    pub method: String,
    /// Evaluations of f and ∇f per iteration.
    pub evaluations: f64,
    /// Hessian-vector products per iteration.
    pub hessian_products: f64,
    /// Products with Z or its transpose per iteration: two per evaluation and two per Hessian-vector product.
    pub products: f64,
    /// Microseconds per iteration.
    pub microseconds: f64,
}

/// A comparison over several data sets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OlaComparison {
    /// One entry per data set.
    pub comparisons: Vec<SvmComparison>,
    /// The costs of iterations; the times differ from run to run.
    pub costs: Vec<IterationCost>,
}

/// Runs the settings that `settings` returns for a problem, on all problems, in parallel.
///
/// # Errors
/// An interrupt, or a setting that dst-core refuses.
pub fn compare(
    problems: &[SvmProblem],
    settings: impl Fn(&SvmProblem) -> Vec<Setting>,
    limits: Limits,
    progress: &Progress,
) -> Result<OlaComparison, Failure> {
    let settings: Vec<(usize, Setting)> = problems
        .iter()
        .enumerate()
        .flat_map(|(i, problem)| settings(problem).into_iter().map(move |s| (i, s)))
        .collect();
    let task = progress.task("ola", settings.len());
    let runs: Vec<OlaRun> = settings
        .par_iter()
        .map(|&(i, setting)| {
            progress.check()?;
            let run = problems[i].run(setting, limits);
            task.advance(1);
            run.map_err(|error| Failure::NoAnswer(error.to_string()))
        })
        .collect::<Result<_, _>>()?;
    let owned = |i| {
        let runs = settings
            .iter()
            .zip(&runs)
            .filter(move |((owner, _), _)| *owner == i);
        runs.map(|(_, run)| run.clone()).collect()
    };
    drop(task);
    let minimising = progress.phase("least values");
    let comparisons: Vec<SvmComparison> = problems
        .par_iter()
        .enumerate()
        .map(|(i, problem)| comparison(problem, owned(i)))
        .collect();
    drop(minimising);
    progress.check()?;
    let _timing = progress.phase("cost of iterations");
    let costs = problems
        .iter()
        .zip(&comparisons)
        .flat_map(|(problem, comparison)| costs(problem, comparison, limits))
        .collect();
    Ok(OlaComparison { comparisons, costs })
}

fn comparison(problem: &SvmProblem, runs: Vec<OlaRun>) -> SvmComparison {
    let margins = problem.svm().margins();
    SvmComparison {
        name: problem.name().to_owned(),
        synthetic: problem.is_synthetic(),
        rows: margins.rows(),
        dim: margins.dim(),
        nonzeros: margins.nonzeros(),
        lipschitz: problem.lipschitz(),
        f0: problem.start(),
        f_min: problem.minimum(),
        runs,
    }
}

/// Times the best setting of each algorithm once more, one run after the other.
fn costs(problem: &SvmProblem, comparison: &SvmComparison, limits: Limits) -> Vec<IterationCost> {
    let timed = |name: &String| {
        let best = comparison.best(name)?;
        let setting = Setting {
            algorithm: best.method,
            alpha: best.alpha0,
        };
        let start = std::time::Instant::now();
        let run = problem.run(setting, limits).ok()?;
        let seconds = start.elapsed().as_secs_f64();
        // Iterations count the last test, which is not followed by an update.
        let updates = (run.iterations - usize::from(run.converged)).max(1) as f64;
        let (evaluations, products) = (run.evaluations as f64 - 1.0, run.hessian_products as f64);
        Some(IterationCost {
            dataset: comparison.name.clone(),
            method: name.clone(),
            evaluations: evaluations / updates,
            hessian_products: products / updates,
            products: 2.0 * (evaluations + products) / updates,
            microseconds: 1e6 * seconds / updates,
        })
    };
    comparison.methods().iter().filter_map(timed).collect()
}
