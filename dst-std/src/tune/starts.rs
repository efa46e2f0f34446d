//! Many starting points tried together, side by side, and added up in their order: the number of threads changes no bit.

use std::ops::Range;

use rayon::prelude::*;

use super::PreparedRun;
use super::method::TunedMethod;
use super::trial::{NoTrial, Trial, Work, trial};
use crate::progress::Interrupt;

/// Starting points on which a candidate has to prove itself first.
const FEW: usize = 4;

/// A method, a problem and some starting points.
pub(super) struct Starts<'a> {
    pub(super) prepared: PreparedRun<'a>,
    pub(super) method: TunedMethod,
    /// The starting points: states of the method.
    pub(super) points: Vec<Vec<f64>>,
    /// Ends the work under way.
    pub(super) interrupt: &'a Interrupt,
    /// The work of all trials so far.
    pub(super) work: Work,
}

/// The mean over the starting points.
#[derive(Clone, Debug)]
pub(super) struct Mean {
    /// The gradient of the scores.
    pub(super) score: f64,
    /// Its gradient by the coordinates u; zeros if it was not asked for.
    pub(super) gradient: Vec<f64>,
    /// The score of every starting point.
    pub(super) scores: Vec<f64>,
    /// The largest N, if all runs stopped.
    pub(super) slowest: Option<usize>,
}

impl Starts<'_> {
    /// All trials at u, in the order of the starting points.
    pub(super) fn trials(&mut self, u: &[f64], differentiate: bool) -> Result<Vec<Trial>, NoTrial> {
        self.some(u, 0..self.points.len(), differentiate)
    }

    fn some(
        &mut self,
        u: &[f64],
        which: Range<usize>,
        differentiate: bool,
    ) -> Result<Vec<Trial>, NoTrial> {
        let theta = self.method.theta(u);
        let trials: Vec<Result<Trial, NoTrial>> = self.points[which]
            .par_iter()
            .map(|x| trial(&self.prepared, &theta, x, differentiate, self.interrupt))
            .collect();
        let trials: Vec<Trial> = trials.into_iter().collect::<Result<_, _>>()?;
        for trial in &trials {
            self.work.add(trial.work);
        }
        Ok(trials)
    }

    /// The mean score at u, and its gradient.
    pub(super) fn mean(&mut self, u: &[f64], differentiate: bool) -> Result<Mean, NoTrial> {
        let trials = self.trials(u, differentiate)?;
        Ok(self.average(u, &trials))
    }

    /// The mean score at u, if it has a chance to be lower than that at another point: none if it is higher on the first
    /// few starting points. Most candidates of a search fail, and this makes failure cheap.
    pub(super) fn candidate(&mut self, u: &[f64], now: &Mean) -> Result<Option<Mean>, NoTrial> {
        let few = FEW.min(self.points.len());
        let mut trials = self.some(u, 0..few, false)?;
        let (new, old) = (trials.iter().map(|trial| trial.score), &now.scores[..few]);
        if new.sum::<f64>() > old.iter().sum() {
            return Ok(None);
        }
        trials.extend(self.some(u, few..self.points.len(), false)?);
        Ok(Some(self.average(u, &trials)))
    }

    fn average(&self, u: &[f64], trials: &[Trial]) -> Mean {
        let count = trials.len().max(1) as f64;
        let mut gradient = vec![0.0; u.len()];
        for trial in trials {
            for (to, from) in gradient.iter_mut().zip(&trial.gradient) {
                *to += from / count;
            }
        }
        self.method.chain(&self.method.theta(u), &mut gradient);
        let scores: Vec<f64> = trials.iter().map(|trial| trial.score).collect();
        let mut steps = trials.iter().map(|trial| trial.steps);
        Mean {
            score: scores.iter().sum::<f64>() / count,
            gradient,
            scores,
            slowest: steps.try_fold(0, |max, steps| Some(max.max(steps?))),
        }
    }
}
