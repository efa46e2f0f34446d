//! A set of instances at one point, run side by side. Sums are made in the order of the instances, so the number of ranks
//! and threads changes no bit.

use super::instance::{Family, Request, Sample, Work};
use super::score::Score;
use super::streams::Instance;
use crate::Failure;
use crate::parallel::try_instances;
use crate::progress::Interrupt;

/// A family, some of its instances, and the work spent on them.
pub struct Evaluator<'a, F: ?Sized> {
    family: &'a F,
    instances: Vec<Instance>,
    score: Score,
    interrupt: &'a Interrupt,
    /// Limit on the steps of a run.
    pub limit: usize,
    /// Factor on the tolerance.
    pub ease: f64,
    /// The work of all runs so far.
    pub work: Work,
}

/// The instances at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation {
    /// The point.
    pub u: Vec<f64>,
    /// The score of the values.
    pub score: f64,
    /// One run per instance.
    pub samples: Vec<Sample>,
    /// The work spent up to and including this evaluation.
    pub work: Work,
}

impl Evaluation {
    /// Returns the value of every instance.
    pub fn values(&self) -> Vec<f64> {
        self.samples.iter().map(|sample| sample.value).collect()
    }

    /// Returns the largest number of steps, if all runs stopped.
    pub fn slowest(&self) -> Option<usize> {
        let mut steps = self.samples.iter().map(|sample| sample.steps);
        steps.try_fold(0, |max, steps| Some(max.max(steps?)))
    }
}

impl<'a, F: Family + ?Sized> Evaluator<'a, F> {
    /// An evaluator of these instances without a limit on the steps.
    pub fn new(
        family: &'a F,
        instances: Vec<Instance>,
        score: Score,
        interrupt: &'a Interrupt,
    ) -> Self {
        Self {
            family,
            instances,
            score,
            interrupt,
            limit: usize::MAX,
            ease: 1.0,
            work: Work::default(),
        }
    }

    /// Returns the number of coordinates.
    pub fn parameters(&self) -> usize {
        self.family.parameters()
    }

    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// True without instances.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Returns the score.
    pub fn score(&self) -> Score {
        self.score
    }

    /// Runs all instances at u.
    pub fn all(&mut self, u: &[f64], gradient: bool) -> Result<Evaluation, Failure> {
        let all: Vec<usize> = (0..self.instances.len()).collect();
        self.some(u, &all, gradient)
    }

    /// Runs the first `few` instances at u without gradients.
    pub fn first(&mut self, u: &[f64], few: usize) -> Result<Evaluation, Failure> {
        let first: Vec<usize> = (0..few.min(self.instances.len())).collect();
        self.some(u, &first, false)
    }

    /// Runs the instances with these numbers at u.
    pub fn some(
        &mut self,
        u: &[f64],
        which: &[usize],
        gradient: bool,
    ) -> Result<Evaluation, Failure> {
        let request = Request {
            gradient,
            limit: self.limit,
            ease: self.ease,
            interrupt: self.interrupt,
        };
        let run = |place: usize| self.family.run(self.instances[which[place]], u, &request);
        let samples: Vec<Sample> = try_instances(which.len(), run)?;
        for sample in &samples {
            self.work += sample.work;
        }
        let values: Vec<f64> = samples.iter().map(|sample| sample.value).collect();
        Ok(Evaluation {
            u: u.to_vec(),
            score: self.score.of(&values),
            samples,
            work: self.work,
        })
    }
}
