//! E4, the paper's Figures 4 and 5: online adaptation of the learning rate, on the smooth SVM.
//!
//! Every method runs from the same starting point with every setting of its grid, until ‖∇f‖_∞ < 1e-4 or for 1000
//! iterations. The best setting of a method has the fewest iterations; among settings that do not converge, it has the
//! lowest f. This rule is fair to the baselines. The variants of Adam-OLA have one setting for all data sets. Only the
//! literal Adam-OLA is tuned per data set, as in the paper (its Table 1).
//!
//! The runs themselves are in [`crate::ola`]; this folder has the configuration, the grid, the claims and the figures.

mod claims;
mod grid;
mod section;

use serde::Serialize;

use super::{Context, Failure};
use crate::ola::{Limits, OlaComparison, STRONG_CONVEXITY, SvmProblem, compare};
use crate::report::Section;

pub use section::{section, times};

/// The headline.
pub const TITLE: &str = "Online learning-rate adaptation on the smooth SVM (Figures 4 and 5)";

/// The data sets, the limits of a run and the grid of settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OlaConfig {
    /// Names of data sets, or files.
    pub datasets: Vec<String>,
    /// The ends of a run.
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
    /// Seed of the starting points of data sets without a file `x0_NAME.txt`.
    pub seed: u64,
}

impl Default for OlaConfig {
    /// Returns the configuration of the paper.
    fn default() -> Self {
        Self {
            datasets: ["a1a", "a2a", "a3a", "w3a"].map(str::to_owned).to_vec(),
            limits: Limits::default(),
            regularisation: 0.0,
            rates: vec![1e-3, 1e-2, 1e-1, 1.0, 10.0],
            momenta: vec![0.1, 0.5, 0.9, 0.99],
            hypergradient_rates: vec![1e-3, 1e-4, 1e-5, 1e-6],
            strong_convexity: STRONG_CONVEXITY,
            windows: vec![8],
            seed: 1,
        }
    }
}

/// Loads all data sets, and refuses those whose runs do not fit into memory on this number of threads.
pub fn problems(config: &OlaConfig, threads: usize) -> Result<Vec<SvmProblem>, Failure> {
    let work = grid::workload(config, threads);
    let problem = |name: &String| SvmProblem::load(name, config.regularisation, config.seed, work);
    config.datasets.iter().map(problem).collect()
}

/// Runs all methods with all settings of the grid on these problems, in parallel.
pub fn run(
    config: &OlaConfig,
    problems: &[SvmProblem],
    context: &Context,
) -> Result<OlaComparison, Failure> {
    let settings = |problem: &SvmProblem| grid::settings(config, problem);
    compare(problems, settings, config.limits, &context.progress)
}

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let mut config = OlaConfig {
        seed: context.seed,
        ..OlaConfig::default()
    };
    if context.quick {
        config.datasets.truncate(2);
    }
    let results = run(&config, &problems(&config, context.threads)?, context)?;
    Ok(section(&config, &results))
}
