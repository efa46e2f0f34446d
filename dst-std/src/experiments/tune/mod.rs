//! Tuning by the stopping time beside CMA-ES and a grid, all at the same counted cost.
//!
//! Five problems × two methods with momentum, and a step size per variable on two of the problems. The score is the median over
//! held-out starts.

mod section;

use serde::Serialize;

use super::{Context, Failure};
use crate::data::{data_folder, load};
use crate::report::Section;
use crate::tune::{ProblemKind, TunedMethod, TuningConfig, TuningOutcome, TuningProblem, tune};

pub use section::section;

/// The headline.
pub const TITLE: &str = "Tuning methods by their stopping time, beside searches of the same cost";

/// The data set of the linear models.
const DATA: &str = "a1a";
/// The methods that are compared on every problem.
const METHODS: [TunedMethod; 2] = [TunedMethod::HeavyBall, TunedMethod::Nesterov];

/// All that the experiment depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuneConfig {
    /// Problems: name, and the setting of their runs.
    pub problems: Vec<TuneProblem>,
    /// The seed of the starting points.
    pub seed: u64,
}

/// A problem with the setting of its runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuneProblem {
    /// The kind, as on the command line.
    pub kind: &'static str,
    /// Variables, if the kind has a choice.
    pub dim: Option<usize>,
    /// The tolerance.
    pub tolerance: f64,
    /// True if it is absolute.
    pub absolute: bool,
    /// The iteration limit of a run.
    pub max_steps: usize,
    /// True if a step size per variable is tuned as well.
    pub preconditioned: bool,
}

impl TuneConfig {
    /// The configuration of the report. The quick one leaves out the data set.
    pub fn new(quick: bool, seed: u64) -> Self {
        let problem = |kind: ProblemKind, tolerance| TuneProblem {
            kind: kind.name(),
            dim: None,
            tolerance,
            absolute: false,
            max_steps: 2000,
            preconditioned: false,
        };
        let mut problems = vec![
            TuneProblem {
                preconditioned: true,
                ..problem(ProblemKind::Quadratic, 1e-4)
            },
            problem(ProblemKind::Rosenbrock, 1e-4),
            TuneProblem {
                dim: Some(50),
                absolute: true,
                max_steps: 20_000,
                ..problem(ProblemKind::Rosenbrock, 1e-4)
            },
        ];
        if !quick {
            problems.push(TuneProblem {
                preconditioned: true,
                ..problem(ProblemKind::Svm, 1e-3)
            });
            problems.push(problem(ProblemKind::Logistic, 1e-3));
        }
        Self { problems, seed }
    }
}

/// All that the experiment finds: one tuning per problem and method.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuneResults {
    /// The tunings.
    pub outcomes: Vec<TuningOutcome>,
    /// True if an interrupt left some out.
    pub interrupted: bool,
}

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = TuneConfig::new(context.quick, context.seed);
    let results = run(&config, context)?;
    Ok(section(&config, &results))
}

/// Runs the experiment. An interrupt keeps the finished tunings.
pub fn run(config: &TuneConfig, context: &Context) -> Result<TuneResults, Failure> {
    let count = config.problems.iter().map(|p| methods(p).len()).sum();
    let task = context.progress.task("tuning", count);
    let mut outcomes = Vec::new();
    for setting in &config.problems {
        let problem = problem(setting, config.seed).map_err(Failure::NoAnswer)?;
        for method in methods(setting) {
            let question = TuningConfig {
                tolerance: setting.tolerance,
                absolute: setting.absolute,
                max_steps: setting.max_steps,
                seed: config.seed,
                ..TuningConfig::new(method)
            };
            let found = tune(&question, &problem, &context.progress.unobserved());
            match found {
                Ok(_) | Err(Failure::Interrupted) if context.interrupted() => {
                    let interrupted = true;
                    return match outcomes.is_empty() {
                        true => Err(Failure::Interrupted),
                        false => Ok(TuneResults {
                            outcomes,
                            interrupted,
                        }),
                    };
                }
                found => outcomes.push(found?),
            }
            task.advance(1);
        }
    }
    Ok(TuneResults {
        outcomes,
        interrupted: false,
    })
}

fn methods(setting: &TuneProblem) -> Vec<TunedMethod> {
    let mut methods = METHODS.to_vec();
    if setting.preconditioned {
        methods.push(TunedMethod::Preconditioned);
    }
    methods
}

fn problem(setting: &TuneProblem, seed: u64) -> Result<TuningProblem, String> {
    let mut kinds = ProblemKind::ALL.into_iter();
    let kind = kinds.find(|kind| kind.name() == setting.kind);
    let kind = kind.unwrap_or(ProblemKind::Quadratic);
    if let Some(dim) = setting.dim {
        return TuningProblem::of_size(kind, dim, seed);
    }
    if !kind.wants_data() {
        return TuningProblem::built_in(kind, 0.0, seed);
    }
    let set = load(DATA, data_folder().as_deref())?;
    let name = if set.synthetic {
        format!("{DATA}-synthetic")
    } else {
        DATA.to_owned()
    };
    TuningProblem::on_data(kind, &name, set.examples, 0.0)
}
