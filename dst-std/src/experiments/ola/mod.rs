//! E4, the paper's Figures 4 and 5: online adaptation of the learning rate, on the smooth SVM.
//!
//! Every method runs from the same starting point with every setting of its grid, to ‖∇f‖_∞ < 1e-4 or 1000 iterations.
//! The best setting of a method is the one with the fewest iterations, and among those that do not converge the one with the
//! lowest f: a rule that is fair to the baselines. The variants of Adam-OLA have one setting for all data sets; only the
//! literal one is tuned per data set, as the paper does it (its Table 1).
//!
//! All runs are independent and each is sequential, so any number of threads gives the same bits.

mod baselines;
mod claims;
mod grid;
mod optimiser;
mod problem;
mod run;
mod show;

use rayon::prelude::*;
use serde::Serialize;

use super::{Context, Failure};
use crate::report::Section;

pub use grid::{Setting, ola_parameters};
pub use problem::{Problem, ProblemError};
pub use run::{Limits, Method, Run};
pub use show::{section, times};

/// The headline.
pub const TITLE: &str = "Online learning-rate adaptation on the smooth SVM (Figures 4 and 5)";

/// What to compare.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// Names of data sets, or files.
    pub datasets: Vec<String>,
    /// When a run ends.
    pub limits: Limits,
    /// reg, the weight of ½‖w‖².
    pub regularisation: f64,
    /// Learning rates; 1/L is added for each data set.
    pub rates: Vec<f64>,
    /// β of the heavy ball. The paper's 1.0 does not converge; the code it builds on has 0.99.
    pub momenta: Vec<f64>,
    /// Rates of Adam-HD.
    pub hypergradient_rates: Vec<f64>,
    /// μ of NAG-SC where reg = 0.
    pub strong_convexity: f64,
    /// W of the windowed Adam-OLA.
    pub windows: Vec<usize>,
    /// Seed of starting points for data sets that have none of their own.
    pub seed: u64,
}

impl Default for Config {
    /// The paper's.
    fn default() -> Self {
        Self {
            datasets: ["a1a", "a2a", "a3a", "w3a"].map(str::to_owned).to_vec(),
            limits: Limits::default(),
            regularisation: 0.0,
            rates: vec![1e-3, 1e-2, 1e-1, 1.0, 10.0],
            momenta: vec![0.1, 0.5, 0.9, 0.99],
            hypergradient_rates: vec![1e-3, 1e-4, 1e-5, 1e-6],
            strong_convexity: 1e-4,
            windows: vec![8],
            seed: 1,
        }
    }
}

/// What was found on one data set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The name of the data set.
    pub name: String,
    /// Made up, because there was no file.
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
    /// Every run, in the order of the grid.
    pub runs: Vec<Run>,
}

impl Comparison {
    /// f − f*, but not below what doubles can tell.
    pub fn gap(&self, f: f64) -> f64 {
        (f - self.f_min).max(f64::EPSILON * self.f_min.abs())
    }

    /// The best run of the methods with this name.
    pub fn best(&self, name: &str) -> Option<&Run> {
        let runs = self.runs.iter().filter(|run| run.method.name() == name);
        runs.min_by(|a, b| better(a, b))
    }

    /// The names of the methods, in the order of the grid.
    pub fn methods(&self) -> Vec<String> {
        let mut names: Vec<String> = self.runs.iter().map(|run| run.method.name()).collect();
        names.dedup();
        names
    }
}

/// Converged before not converged before diverged; then fewer iterations, then the lower f. The first of equals.
fn better(a: &Run, b: &Run) -> std::cmp::Ordering {
    let key = |run: &Run| {
        let iterations = if run.converged { run.iterations } else { 0 };
        (run.diverged, !run.converged, iterations)
    };
    key(a).cmp(&key(b)).then(a.f.total_cmp(&b.f))
}

/// What an iteration costs, measured on one run with nothing else going on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// The data set.
    pub dataset: String,
    /// The method.
    pub method: String,
    /// Evaluations of f and ∇f per iteration.
    pub evaluations: f64,
    /// Hessian-vector products per iteration.
    pub hessian_products: f64,
    /// Products with Z or its transpose per iteration: two for either.
    pub products: f64,
    /// Microseconds per iteration.
    pub microseconds: f64,
}

/// Everything.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// One entry per data set.
    pub comparisons: Vec<Comparison>,
    /// What iterations cost; the times differ from run to run.
    pub costs: Vec<Cost>,
}

/// Loads all data sets.
pub fn problems(config: &Config) -> Result<Vec<Problem>, ProblemError> {
    let problem = |name: &String| Problem::load(name, config.regularisation, config.seed);
    config.datasets.iter().map(problem).collect()
}

/// Runs all methods with all settings on all data sets, in parallel.
pub fn run(config: &Config, problems: &[Problem], context: &Context) -> Result<Results, Failure> {
    let settings: Vec<(usize, Setting)> = problems
        .iter()
        .enumerate()
        .flat_map(|(i, problem)| {
            grid::settings(config, problem)
                .into_iter()
                .map(move |s| (i, s))
        })
        .collect();
    let task = context.progress.task("ola", settings.len());
    let runs: Vec<Run> = settings
        .par_iter()
        .map(|&(i, setting)| {
            if context.interrupted() {
                return Err(Failure::Interrupted);
            }
            let run = problems[i].run(setting, config.limits);
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
    let comparisons: Vec<Comparison> = problems
        .par_iter()
        .enumerate()
        .map(|(i, problem)| problem.comparison(owned(i)))
        .collect();
    let costs = problems
        .iter()
        .zip(&comparisons)
        .flat_map(|(problem, comparison)| costs(problem, comparison, config.limits))
        .collect();
    Ok(Results { comparisons, costs })
}

/// Times the best setting of each method once more, one after the other.
fn costs(problem: &Problem, comparison: &Comparison, limits: Limits) -> Vec<Cost> {
    let timed = |name: &String| {
        let best = comparison.best(name)?;
        let setting = Setting {
            method: best.method,
            alpha: best.alpha0,
        };
        let start = std::time::Instant::now();
        let run = problem.run(setting, limits).ok()?;
        let seconds = start.elapsed().as_secs_f64();
        // Iterations count the last test, which is not followed by an update.
        let updates = (run.iterations - usize::from(run.converged)).max(1) as f64;
        let (evaluations, products) = (run.evaluations as f64 - 1.0, run.hessian_products as f64);
        Some(Cost {
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

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let mut config = Config {
        seed: context.seed,
        ..Config::default()
    };
    if context.quick {
        config.datasets.truncate(2);
    }
    let problems = problems(&config).map_err(|error| Failure::NoAnswer(error.to_string()))?;
    let results = run(&config, &problems, context)?;
    Ok(section(&config, &results))
}
