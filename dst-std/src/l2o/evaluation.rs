//! Learned and classical methods on the same problems.

use std::sync::OnceLock;

use super::architecture::Architecture;
use super::optimiser;
use super::runs::{Classical, Runner, StepSize};
use super::score::MethodScore;
use super::session::{TEST, TUNING};
use super::task::Family;
use crate::machine::Footprint;
use crate::parallel::instances;

/// The problems of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// Size and scale of the problems.
    pub(crate) family: Family,
    /// Number of problems.
    pub(crate) problems: usize,
    /// Steps of a run.
    pub(crate) steps: usize,
    /// The set that they are from.
    set: u64,
    /// inf f of each, once asked for.
    least: OnceLock<Vec<f64>>,
}

/// Step sizes from which that of Adam is chosen.
const ADAM_GRID: [f64; 8] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

impl Evaluation {
    /// An evaluation on `problems` problems, with runs of `steps` steps.
    pub const fn new(family: Family, problems: usize, steps: usize) -> Self {
        Self {
            family,
            problems,
            steps,
            set: TEST,
            least: OnceLock::new(),
        }
    }

    /// About the memory that it takes.
    pub fn footprint(&self, threads: usize) -> Footprint {
        const NUMBER: f64 = size_of::<f32>() as f64;
        let Family { dim, samples, .. } = self.family;
        let [dim, samples] = [dim, samples].map(|n| n as f64);
        // Problems with more examples than variables are also minimised, in double precision.
        let task = dim * samples * if samples > dim { 3.0 } else { 1.0 };
        let worker = task + 8.0 * optimiser::PER_VARIABLE as f64 * dim;
        Footprint::of("this test")
            .with(
                "the values of all runs",
                [NUMBER, self.problems as f64, self.steps as f64 + 1.0],
                "lower --problems or --steps",
            )
            .with(
                "the problems of the threads",
                [NUMBER, threads as f64, worker],
                "lower --dim, --samples or --threads",
            )
    }

    fn score(&self, name: impl Into<String>, values: &[f32]) -> MethodScore {
        let least = self
            .least
            .get_or_init(|| instances(self.problems, |index| self.family.infimum(self.set, index)));
        MethodScore::new(name, values, self.steps + 1, least)
    }

    fn room(&self) -> Vec<f32> {
        vec![0.0; self.problems * (self.steps + 1)]
    }

    /// A learned method.
    pub fn learned(
        &self,
        name: impl Into<String>,
        model: Architecture,
        theta: &[f32],
    ) -> MethodScore {
        let mut values = self.room();
        Runner::new(model, self.family, self.steps).learned(theta, self.set, &mut values);
        self.score(name, &values)
    }

    /// A classical method.
    pub fn classical(&self, method: Classical) -> MethodScore {
        let mut values = self.room();
        method.run(self.family, self.set, self.steps + 1, &mut values);
        self.score(method.title(), &values)
    }

    /// Adam with the step size that has the least mean f after 100 steps, on problems of their own.
    pub fn tuned_adam(&self) -> Classical {
        let tuning = Self {
            set: TUNING,
            ..Self::new(self.family, self.problems.min(32), self.steps.min(100))
        };
        let (mut best, mut least) = (ADAM_GRID[0], f64::INFINITY);
        for alpha in ADAM_GRID {
            let method = Classical::Adam(StepSize::Fixed(alpha));
            let value = tuning.classical(method).f_at_100;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// More examples than variables: f comes down to its least value, which Newton's method knows, and not to zero.
    #[test]
    fn values_are_told_above_the_infimum() {
        let evaluation = Evaluation::new(Family::new(4, 80), 6, 3000);
        let score = evaluation.classical(Classical::Nag(StepSize::OverL));
        let last = score.mean_f[3000];
        println!("{} … {last:e}, {:?}", score.mean_f[0], score.steps_to);
        assert!(last.abs() < 1e-6, "{last:e}");
        let least = evaluation.least.get().unwrap();
        assert!(least.iter().all(|&least| least > 0.05), "{least:?}");
        assert!((score.mean_f[0] + least.iter().sum::<f64>() / 6.0 - 2.0_f64.ln()).abs() < 1e-6);
        // And with fewer they are what they are.
        let evaluation = Evaluation::new(Family::new(8, 4), 3, 10);
        let score = evaluation.classical(Classical::Gd(StepSize::OverL));
        assert!((score.mean_f[0] - 2.0_f64.ln()).abs() < 1e-6);
    }
}
