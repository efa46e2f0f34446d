//! Many starting points tried together, side by side, and added up in their order: the number of threads changes no bit.

use rayon::prelude::*;

use super::Outlook;
use super::method::Method;
use super::trial::{NoTrial, Trial, Work, trial};
use crate::report::Interrupt;

/// A method, a problem and some starting points.
pub(super) struct Team<'a> {
    pub(super) outlook: Outlook<'a>,
    pub(super) method: Method,
    /// Where the runs start: states of the method.
    pub(super) starts: Vec<Vec<f64>>,
    /// Ends the work under way.
    pub(super) interrupt: &'a Interrupt,
    /// What all trials so far took.
    pub(super) work: Work,
}

/// The mean over the starting points.
#[derive(Clone, Debug)]
pub(super) struct Mean {
    /// Of the scores.
    pub(super) score: f64,
    /// Its gradient by the coordinates u; zeros if it was not asked for.
    pub(super) gradient: Vec<f64>,
}

impl Team<'_> {
    /// All trials at u, in the order of the starting points.
    pub(super) fn trials(&mut self, u: &[f64], differentiate: bool) -> Result<Vec<Trial>, NoTrial> {
        let theta = self.method.theta(u);
        let trials: Vec<Result<Trial, NoTrial>> = self
            .starts
            .par_iter()
            .map(|x| trial(&self.outlook, &theta, x, differentiate, self.interrupt))
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
        let count = trials.len().max(1) as f64;
        let mut gradient = vec![0.0; u.len()];
        for trial in &trials {
            for (to, from) in gradient.iter_mut().zip(&trial.gradient) {
                *to += from / count;
            }
        }
        self.method.chain(&self.method.theta(u), &mut gradient);
        Ok(Mean {
            score: trials.iter().map(|trial| trial.score).sum::<f64>() / count,
            gradient,
        })
    }
}
