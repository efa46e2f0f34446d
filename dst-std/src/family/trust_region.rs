//! Descent by a trust region over gradient rows, one per instance.
//!
//! A step minimises the [model](super::model) over |dᵢ| ≤ r and is taken only if the true score falls. A step that fails shortens r, and
//! its gradient rows join the model. So the model learns where an edge is, and the next step goes along it.

use super::evaluate::{Evaluation, Evaluator};
use super::instance::Family;
use super::model::Model;
use crate::Failure;

/// Options of the trust region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrustRegion {
    /// The largest number of evaluations with gradients.
    pub rounds: usize,
    /// The first r, in the family's coordinates.
    pub radius: f64,
    /// The largest r.
    pub longest: f64,
    /// The r below which the descent ends.
    pub shortest: f64,
    /// The predicted decrease of the score below which the descent ends.
    pub gain: f64,
    /// The largest number of points in the model.
    pub memory: usize,
    /// Steps of a candidate's runs in units of the slowest run at the present point: more are not computed.
    pub patience: f64,
}

impl Default for TrustRegion {
    /// Suits logarithms of counts, and coordinates that are logarithms.
    fn default() -> Self {
        Self {
            rounds: 40,
            radius: 0.5,
            longest: 2.0,
            shortest: 0.02,
            gain: 2e-3,
            memory: 12,
            patience: 1.5,
        }
    }
}

/// The reason for the end of a descent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// No step brought a further gain.
    NoGain,
    /// The limit on rounds was met.
    Rounds,
    /// The user interrupted.
    Interrupted,
}

/// The accepted points of a descent; the last one is the best.
#[derive(Clone, Debug, PartialEq)]
pub struct Descent {
    /// The points, with a score that falls from each to the next.
    pub points: Vec<Evaluation>,
    /// The reason for the end.
    pub end: End,
}

/// The share of the predicted decrease that makes a step good, and the share that makes it acceptable.
const GOOD: f64 = 0.5;
const ACCEPTABLE: f64 = 0.05;
/// Points further away than this many radii have no part in the model.
const NEAR: f64 = 4.0;
/// Steps that a run may always take.
const LEAST_LIMIT: usize = 10;

impl TrustRegion {
    /// Descends from an evaluation with gradients. `tick` is called after every round. An interrupt keeps the points so far.
    pub fn descend<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        first: Evaluation,
        mut tick: impl FnMut(),
    ) -> Result<Descent, Failure> {
        let mut points = vec![first];
        let limit = evaluator.limit;
        let end = self.go(evaluator, &mut points, &mut tick);
        evaluator.limit = limit;
        let end = match end {
            Ok(end) => end,
            Err(Failure::Interrupted) => End::Interrupted,
            Err(other) => return Err(other),
        };
        Ok(Descent { points, end })
    }

    fn go<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        points: &mut Vec<Evaluation>,
        tick: &mut impl FnMut(),
    ) -> Result<End, Failure> {
        let (limit, mut r) = (evaluator.limit, self.radius);
        // Points that were left or rejected, the oldest first.
        let mut others: Vec<Evaluation> = Vec::new();
        for _ in 0..self.rounds {
            let Some(centre) = points.last() else {
                return Ok(End::NoGain);
            };
            let near: Vec<&Evaluation> = others
                .iter()
                .filter(|other| distance(&other.u, &centre.u) <= NEAR * r)
                .collect();
            let model = Model::new(evaluator.score(), centre, &near);
            let d = model.minimise(r);
            let predicted = centre.score - model.at(&d);
            // A model that is not a number predicts nothing.
            if predicted.is_nan() || predicted <= self.gain || r < self.shortest {
                return Ok(End::NoGain);
            }
            evaluator.limit = self.limit(centre, limit, self.patience);
            let u: Vec<f64> = centre.u.iter().zip(&d).map(|(u, d)| u + d).collect();
            let next = evaluator.all(&u, true)?;
            tick();
            let ratio = (centre.score - next.score) / predicted;
            let length = d.iter().fold(0.0, |max: f64, d| max.max(d.abs()));
            if ratio >= GOOD && length > 0.9 * r {
                r = (2.0 * r).min(self.longest);
            } else if ratio < ACCEPTABLE {
                r = if next.score.is_finite() {
                    0.5 * length
                } else {
                    0.25 * length
                };
            }
            if ratio >= ACCEPTABLE {
                others.push(centre.clone());
                points.push(next);
            } else if next.score.is_finite() {
                others.push(next);
            }
            if others.len() > self.memory {
                others.remove(0);
            }
        }
        Ok(End::Rounds)
    }

    /// Returns a limit on the steps of further runs, given those at the best point so far.
    pub fn limit_after(&self, best: &Evaluation, limit: usize) -> usize {
        self.limit(best, limit, self.patience)
    }

    /// Returns the limit on the steps of a candidate.
    pub(super) fn limit(&self, centre: &Evaluation, limit: usize, patience: f64) -> usize {
        let slowest = centre
            .slowest()
            .map_or(limit as f64, |n| patience * n as f64);
        (slowest as usize).saturating_add(LEAST_LIMIT).min(limit)
    }
}

/// Returns the largest difference of two entries.
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let gaps = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    gaps.fold(0.0, f64::max)
}
