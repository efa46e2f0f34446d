//! Several starts: a short race chooses among them, and the best are descended from.

use super::evaluate::{Evaluation, Evaluator};
use super::instance::Family;
use super::trust_region::{Descent, End, TrustRegion};
use crate::Failure;
use crate::random::{bits, normal};

/// Options of a descent from several starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Restarts {
    /// The descent from each of them.
    pub trust_region: TrustRegion,
    /// Instances of the race.
    pub few: usize,
    /// Descents from the best of the starts.
    pub descents: usize,
    /// Further descents from the best of some points around the best point so far.
    pub hops: usize,
    /// Points of such a race.
    pub hop_points: usize,
    /// The standard deviation of these points at the first hop; it falls to a quarter.
    pub hop_spread: f64,
}

impl Default for Restarts {
    fn default() -> Self {
        Self {
            trust_region: TrustRegion::default(),
            few: 4,
            descents: 2,
            hops: 10,
            hop_points: 8,
            hop_spread: 0.3,
        }
    }
}

/// A point with a score above the best by more than this (in logarithms, 20 %) is not descended from again.
const HOPELESS: f64 = 0.2;

/// Returns `count` starts around u, moved by `spread` times normal numbers.
pub fn perturbed(u: &[f64], spread: f64, count: usize, seed: u64) -> Vec<Vec<f64>> {
    let one = |i: usize| {
        let stream = bits(seed, i as u64);
        let entries = u.iter().enumerate();
        entries
            .map(|(j, u)| u + spread * normal(stream, j as u64))
            .collect()
    };
    (0..count).map(one).collect()
}

impl Restarts {
    /// Descends from the best of these starts. The descents are in the order of their last scores, the best first. An interrupt keeps
    /// what was found, and is a failure if nothing was.
    pub fn descend<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        starts: &[Vec<f64>],
        seed: u64,
        mut tick: impl FnMut(),
    ) -> Result<Vec<Descent>, Failure> {
        let order = self.race(evaluator, starts, None)?;
        let limit = evaluator.limit;
        let mut descents: Vec<Descent> = Vec::new();
        let mut order: Vec<Vec<f64>> = order.into_iter().take(self.descents.max(1)).collect();
        order.reverse();
        let begun = order.len();
        for number in 0..order.len() + self.hops {
            let found = match order.pop() {
                Some(u) => self.one(evaluator, &u, &descents, &mut tick),
                None => self.hop(evaluator, number - begun, seed, &descents, &mut tick),
            };
            evaluator.limit = limit;
            match found {
                Ok(descent) if descent.points.is_empty() => {}
                Ok(descent) => descents.push(descent),
                Err(Failure::Interrupted) if !descents.is_empty() => {
                    descents.iter_mut().for_each(|d| d.end = End::Interrupted);
                    break;
                }
                Err(other) => return Err(other),
            }
            if descents.last().is_some_and(|d| d.end == End::Interrupted) {
                break;
            }
        }
        descents.sort_by(|a, b| last(a).total_cmp(&last(b)));
        Ok(descents)
    }

    /// Descends from the best of some points around the best one so far; not at all if none is close to its score on a few
    /// instances.
    fn hop<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        number: usize,
        seed: u64,
        descents: &[Descent],
        tick: &mut impl FnMut(),
    ) -> Result<Descent, Failure> {
        let mut empty = Descent {
            points: Vec::new(),
            end: End::NoGain,
        };
        let Some(best) = best(descents) else {
            return Ok(empty);
        };
        let part = number as f64 / self.hops.max(1) as f64;
        let spread = self.hop_spread * libm::pow(0.25, part);
        let seed = bits(seed, number as u64);
        let around = perturbed(&best.u, spread, self.hop_points, seed);
        let Some(u) = self
            .race(evaluator, &around, Some(best))?
            .into_iter()
            .next()
        else {
            return Ok(empty);
        };
        let limit = evaluator.limit;
        let region = TrustRegion {
            radius: spread,
            ..self.trust_region
        };
        evaluator.limit = region.limit(best, limit, region.patience);
        let first = evaluator.all(&u, true)?;
        evaluator.limit = limit;
        tick();
        if first.score > best.score + HOPELESS {
            empty.points.push(first);
            return Ok(empty);
        }
        region.descend(evaluator, first, tick)
    }

    fn one<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        u: &[f64],
        descents: &[Descent],
        tick: &mut impl FnMut(),
    ) -> Result<Descent, Failure> {
        let region = self.trust_region;
        if let Some(best) = best(descents) {
            // The start of another descent may be far from its end.
            evaluator.limit = region.limit(best, evaluator.limit, 2.0 * region.patience);
        }
        let first = evaluator.all(u, true)?;
        tick();
        region.descend(evaluator, first, tick)
    }

    /// Returns the starts in the order of their scores on a few instances. A run that takes much longer than the best so far is
    /// not run to its end.
    pub fn race<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        starts: &[Vec<f64>],
        known: Option<&Evaluation>,
    ) -> Result<Vec<Vec<f64>>, Failure> {
        if starts.len() < 2 {
            return Ok(starts.to_vec());
        }
        let limit = evaluator.limit;
        let mut raced: Vec<Evaluation> = Vec::new();
        for u in starts {
            let best = raced.iter().min_by(|a, b| a.score.total_cmp(&b.score));
            let best = best.filter(|best| best.slowest().is_some()).or(known);
            if let Some(best) = best {
                let patience = self.trust_region.patience;
                evaluator.limit = self.trust_region.limit(best, limit, patience);
            }
            let run = evaluator.first(u, self.few);
            evaluator.limit = limit;
            raced.push(run?);
        }
        raced.sort_by(|a, b| a.score.total_cmp(&b.score));
        Ok(raced.into_iter().map(|race| race.u).collect())
    }
}

/// Returns the best of the last points.
fn best(descents: &[Descent]) -> Option<&Evaluation> {
    let points = descents.iter().filter_map(|d| d.points.last());
    points.min_by(|a, b| a.score.total_cmp(&b.score))
}

fn last(descent: &Descent) -> f64 {
    descent.points.last().map_or(f64::INFINITY, |p| p.score)
}
