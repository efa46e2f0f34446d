//! The configuration of a tuning and its stopping criterion.

use dst_core::Optimality;

use super::method::{self, TunedMethod};
use super::problem::TuningProblem;
use crate::machine::Footprint;

/// The quantity that must fall to the tolerance.
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
    /// Every criterion.
    pub const ALL: [Self; 3] = [Self::GradientMax, Self::GradientNorm, Self::ValueGap];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::GradientMax => "gradient-max",
            Self::GradientNorm => "gradient-norm",
            Self::ValueGap => "value-gap",
        }
    }

    /// Returns the formula.
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

    /// Converts the engine's J to the number that is compared with the tolerance.
    pub(super) fn shown(self, j: f64, floor: f64) -> f64 {
        match self {
            Self::GradientMax => j,
            Self::GradientNorm => j.sqrt(),
            Self::ValueGap => j - floor,
        }
    }
}

/// The configuration of a tuning.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningConfig {
    /// The method.
    pub method: TunedMethod,
    /// The quantity that must fall to the tolerance.
    pub criterion: Criterion,
    /// The factor by which the quantity must fall from its value at the start; with `absolute`, the value at which a run stops.
    pub tolerance: f64,
    /// True if the tolerance is a value of the quantity, not a factor.
    pub absolute: bool,
    /// The iteration limit of a run.
    pub max_steps: usize,
    /// Starting points to tune on.
    pub starts: usize,
    /// Held-out starting points for evaluation.
    pub held_out: usize,
    /// The largest number of rounds of a descent.
    pub rounds: usize,
    /// Descents, from the best of several starts.
    pub descents: usize,
    /// Further descents from points around the best one so far.
    pub hops: usize,
    /// Seed of the starting points.
    pub seed: u64,
    /// The initial step size; the textbook's if absent.
    pub alpha: Option<f64>,
    /// The initial momentum (Adam: β₁); the textbook's if absent.
    pub beta: Option<f64>,
    /// All initial hyperparameters, in the place of the textbook's, `alpha` and `beta`.
    pub theta: Option<Vec<f64>>,
}

impl TuningConfig {
    /// Returns a configuration of this method that suits most problems.
    pub fn new(method: TunedMethod) -> Self {
        Self {
            method,
            criterion: Criterion::default(),
            tolerance: 1e-2,
            absolute: false,
            max_steps: 2000,
            starts: 16,
            held_out: 32,
            rounds: 40,
            descents: 3,
            hops: 10,
            seed: 1,
            alpha: None,
            beta: None,
            theta: None,
        }
    }

    /// Returns ε of the engine's J for a run that starts at `first`, if the least value of J is `floor`.
    pub(super) fn epsilon(&self, first: f64, floor: f64) -> f64 {
        let tolerance = match self.criterion {
            // The engine's J is the square.
            Criterion::GradientNorm => self.tolerance * self.tolerance,
            Criterion::GradientMax | Criterion::ValueGap => self.tolerance,
        };
        if self.absolute {
            floor + tolerance
        } else {
            floor + tolerance * (first - floor)
        }
    }

    /// Returns the number of starts that choose between candidates.
    pub(super) fn choosing(&self) -> usize {
        self.starts.saturating_mul(2)
    }

    /// About the memory that a tuning takes in `dim` variables, apart from its data.
    pub fn footprint(&self, dim: usize, threads: usize) -> Footprint {
        const NUMBER: f64 = size_of::<f64>() as f64;
        /// Vectors of a run: states, records of a few steps and their sweep.
        const RUN: f64 = 40.0;
        /// Points of all descents whose gradient rows are kept.
        const POINTS: f64 = 40.0;
        let (dim, threads) = (dim as f64, threads as f64);
        let states = self.method.states_per_variable() as f64 * dim;
        let parameters = match self.method {
            TunedMethod::Preconditioned => dim,
            _ => self.method.parameters().len() as f64,
        };
        // Every start also has its count in the result, several times.
        let start = states + 16.0;
        let (training, choosing) = (self.starts as f64, self.choosing() as f64);
        let slots = super::trial::MEMORY as f64;
        Footprint::of("this tuning")
            .with(
                "the starting points",
                [NUMBER, training + choosing, start],
                "lower --starts or --dim, or take data with fewer features",
            )
            .with(
                "the held-out starting points",
                [NUMBER, self.held_out as f64, start],
                "lower --held-out or --dim, or take data with fewer features",
            )
            .with(
                "the gradients",
                [NUMBER, training, POINTS, parameters],
                "lower --starts, or take a method with fewer parameters",
            )
            .with(
                "the runs of the threads",
                [threads, slots + NUMBER * RUN * dim],
                "lower --threads or --dim, or take data with fewer features",
            )
    }

    /// Returns the initial hyperparameters.
    pub(super) fn first(&self, problem: &TuningProblem) -> Vec<f64> {
        let dim = problem.objective.dim();
        if let Some(theta) = &self.theta {
            return theta.clone();
        }
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
