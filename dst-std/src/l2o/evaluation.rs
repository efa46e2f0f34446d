//! Learned and classical methods on the same problems.

use std::sync::OnceLock;

use super::optimiser;
use super::score::MethodScore;
use super::session::{TEST, TUNING};
use super::side_by_side::{Classical, ComparedMethod, StepSize, runs};
use super::task::Family;
use crate::Failure;
use crate::machine::Footprint;
use crate::parallel::instances;
use crate::progress::Progress;

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

    /// About the memory that it takes with this number of networks.
    pub fn footprint(&self, threads: usize, networks: usize) -> Footprint {
        const NUMBER: f64 = size_of::<f32>() as f64;
        let Family { dim, samples, .. } = self.family;
        let [dim, samples] = [dim, samples].map(|n| n as f64);
        // Problems with more examples than variables are also minimised, in double precision.
        let task = dim * samples * if samples > dim { 3.0 } else { 1.0 };
        // Two states of each network; classical methods and points are small beside them.
        let states = 2.0 * optimiser::PER_VARIABLE as f64 * networks.max(1) as f64;
        let worker = task + states * dim;
        let runs = (networks + 4) as f64;
        Footprint::of("this test")
            .with(
                "the values of all runs",
                [NUMBER * runs, self.problems as f64, self.steps as f64 + 1.0],
                "lower --problems or --steps",
            )
            .with(
                "the problems of the threads",
                [NUMBER, threads as f64, worker],
                "lower --dim, --samples or --threads",
            )
    }

    /// The scores of these methods, run side by side on every problem.
    pub fn scores(
        &self,
        methods: &[(String, ComparedMethod<'_>)],
        progress: &Progress,
    ) -> Result<Vec<MethodScore>, Failure> {
        let name = format!("testing on {} variables", self.family.dim);
        let task = progress.task(name, self.problems);
        let problems = (self.family, self.set, self.problems, self.steps);
        let all: Vec<ComparedMethod<'_>> = methods.iter().map(|(_, method)| *method).collect();
        let values = runs(problems, &all, &task, progress.interrupt());
        let values = values.ok_or(Failure::Interrupted)?;
        let least = self
            .least
            .get_or_init(|| instances(self.problems, |index| self.family.infimum(self.set, index)));
        let scores = methods.iter().zip(values);
        Ok(scores
            .map(|((name, _), values)| MethodScore::new(name, &values, self.steps + 1, least))
            .collect())
    }

    /// Adam with the step size that has the least mean f after 100 steps, on problems of their own.
    pub fn tuned_adam(&self, progress: &Progress) -> Result<Classical, Failure> {
        let tuning = Self {
            set: TUNING,
            ..Self::new(self.family, self.problems.min(32), self.steps.min(100))
        };
        let adam = |alpha| Classical::Adam(StepSize::Fixed(alpha));
        let methods =
            ADAM_GRID.map(|alpha| (String::new(), ComparedMethod::Classical(adam(alpha))));
        let scores = tuning.scores(&methods, progress)?;
        let (mut best, mut least) = (ADAM_GRID[0], f64::INFINITY);
        for (alpha, score) in ADAM_GRID.into_iter().zip(&scores) {
            if score.f_at_100 < least {
                (best, least) = (alpha, score.f_at_100);
            }
        }
        Ok(adam(best))
    }

    /// The methods that everything is compared with: GD, NAG and Adam with 1/L, and Adam tuned.
    pub fn classics(&self, progress: &Progress) -> Result<[Classical; 4], Failure> {
        Ok([
            Classical::Gd(StepSize::OverL),
            Classical::Nag(StepSize::OverL),
            Classical::Adam(StepSize::OverL),
            self.tuned_adam(progress)?,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(evaluation: &Evaluation, method: Classical) -> MethodScore {
        let methods = [(method.title(), ComparedMethod::Classical(method))];
        let mut scores = evaluation.scores(&methods, &Progress::hidden()).unwrap();
        scores.pop().unwrap()
    }

    /// More examples than variables: f comes down to its least value, which Newton's method knows, and not to zero.
    #[test]
    fn values_are_told_above_the_infimum() {
        let evaluation = Evaluation::new(Family::new(4, 80), 6, 3000);
        let score = one(&evaluation, Classical::Nag(StepSize::OverL));
        let last = score.mean_f[3000];
        println!("{} … {last:e}, {:?}", score.mean_f[0], score.steps_to);
        assert!(last.abs() < 1e-6, "{last:e}");
        let least = evaluation.least.get().unwrap();
        assert!(least.iter().all(|&least| least > 0.05), "{least:?}");
        assert!((score.mean_f[0] + least.iter().sum::<f64>() / 6.0 - 2.0_f64.ln()).abs() < 1e-6);
        // And with fewer they are what they are.
        let evaluation = Evaluation::new(Family::new(8, 4), 3, 10);
        let score = one(&evaluation, Classical::Gd(StepSize::OverL));
        assert!((score.mean_f[0] - 2.0_f64.ln()).abs() < 1e-6);
    }
}
