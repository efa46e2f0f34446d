//! What to tune, and when a run counts as stopped.

use dst_core::Optimality;

use super::method::{self, TunedMethod};
use super::problem::TuningProblem;

/// When a run stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Criterion {
    /// max |∇f| ≤ tolerance
    #[default]
    GradientMax,
    /// ‖∇f‖ ≤ tolerance
    GradientNorm,
    /// f − min f ≤ tolerance
    ValueGap,
}

impl Criterion {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::GradientMax, Self::GradientNorm, Self::ValueGap];

    /// As the command line knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::GradientMax => "gradient-max",
            Self::GradientNorm => "gradient-norm",
            Self::ValueGap => "value-gap",
        }
    }

    /// As people write it.
    pub fn formula(self) -> &'static str {
        match self {
            Self::GradientMax => "max |∇f|",
            Self::GradientNorm => "‖∇f‖",
            Self::ValueGap => "f − min f",
        }
    }

    pub(super) fn optimality(self) -> Optimality {
        match self {
            Self::GradientMax => Optimality::ResidualMax,
            Self::GradientNorm => Optimality::ResidualSquared,
            Self::ValueGap => Optimality::Value,
        }
    }

    /// The ε of the engine's J, and the least value that J can have.
    pub(super) fn level(self, tolerance: f64, problem: &TuningProblem) -> (f64, f64) {
        match self {
            Self::GradientMax => (tolerance, 0.0),
            Self::GradientNorm => (tolerance * tolerance, 0.0),
            Self::ValueGap => {
                let least = problem.least();
                (least + tolerance, least)
            }
        }
    }

    /// From the engine's J to the number that is held against the tolerance.
    pub(super) fn shown(self, j: f64, floor: f64) -> f64 {
        match self {
            Self::GradientMax => j,
            Self::GradientNorm => j.sqrt(),
            Self::ValueGap => j - floor,
        }
    }
}

/// What to tune, and how hard.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningConfig {
    /// The method.
    pub method: TunedMethod,
    /// When a run stops.
    pub criterion: Criterion,
    /// At which value.
    pub tolerance: f64,
    /// Runs are given up after this many iterations.
    pub max_steps: usize,
    /// Starting points to tune on.
    pub starts: usize,
    /// Starting points to look at afterwards.
    pub held_out: usize,
    /// Rounds of the descent, at the most.
    pub rounds: usize,
    /// Of the starting points.
    pub seed: u64,
    /// The step size to begin with, instead of the textbook's.
    pub alpha: Option<f64>,
    /// The momentum to begin with (Adam: β₁), instead of the textbook's.
    pub beta: Option<f64>,
}

impl TuningConfig {
    /// For this method, with values that suit most problems.
    pub fn new(method: TunedMethod) -> Self {
        Self {
            method,
            criterion: Criterion::default(),
            tolerance: 1e-4,
            max_steps: 2000,
            starts: 16,
            held_out: 32,
            rounds: 40,
            seed: 1,
            alpha: None,
            beta: None,
        }
    }

    /// The hyperparameters to begin with.
    pub(super) fn first(&self, problem: &TuningProblem) -> Vec<f64> {
        let dim = problem.objective.dim();
        let mut theta = self.method.textbook(problem.lipschitz, dim);
        for (i, theta) in theta.iter_mut().enumerate() {
            let asked = match self.method.role(i) {
                method::Role::Step => self.alpha,
                method::Role::Momentum if i == 1 => self.beta,
                method::Role::Momentum => None,
            };
            *theta = asked.unwrap_or(*theta);
        }
        theta
    }
}
