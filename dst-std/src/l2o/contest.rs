//! Learned and classical methods on the same problems.

use super::model::Model;
use super::runs::{Classical, Runner, StepSize};
use super::score::Score;
use super::session::{TEST, TUNING};
use super::task::Size;

/// The problems of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contest {
    /// Extents of the problems.
    pub size: Size,
    /// How many.
    pub problems: usize,
    /// Steps of a run.
    pub steps: usize,
}

/// Step sizes from which that of Adam is chosen.
pub const ADAM_GRID: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

impl Contest {
    fn runner(&self, model: Model) -> Runner<f32> {
        Runner::new(model, self.size, self.steps)
    }

    fn room(&self) -> Vec<f32> {
        vec![0.0; self.problems * (self.steps + 1)]
    }

    /// A learned method.
    pub fn learned(&self, name: impl Into<String>, model: Model, theta: &[f32]) -> Score {
        let mut values = self.room();
        self.runner(model).learned(theta, TEST, &mut values);
        Score::new(name, &values, self.steps + 1)
    }

    /// A classical method.
    pub fn classical(&self, method: Classical) -> Score {
        let mut values = self.room();
        self.runner(Model::Dm).classical(method, TEST, &mut values);
        Score::new(method.title(), &values, self.steps + 1)
    }

    /// Adam with the step size that has the least mean f after 100 steps, on problems of their own.
    pub fn tuned_adam(&self) -> Classical {
        let tuning = Self {
            problems: self.problems.min(32),
            steps: self.steps.min(100),
            ..*self
        };
        let runner = tuning.runner(Model::Dm);
        let mut values = tuning.room();
        let mut mean = |alpha: f64| {
            let method = Classical::Adam(StepSize::Fixed(alpha));
            runner.classical(method, TUNING, &mut values);
            Score::new("", &values, tuning.steps + 1).f_at_100
        };
        let (mut best, mut least) = (ADAM_GRID[0], f64::INFINITY);
        for alpha in ADAM_GRID {
            let value = mean(alpha);
            if value < least {
                (best, least) = (alpha, value);
            }
        }
        Classical::Adam(StepSize::Fixed(best))
    }

    /// The methods that everything is compared with: GD, NAG and Adam with 1/L, and Adam tuned.
    pub fn classics(&self) -> [Classical; 4] {
        [
            Classical::Gd(StepSize::OverL),
            Classical::Nag(StepSize::OverL),
            Classical::Adam(StepSize::OverL),
            self.tuned_adam(),
        ]
    }
}
