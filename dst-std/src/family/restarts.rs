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
    /// Descents.
    pub descents: usize,
}

impl Default for Restarts {
    fn default() -> Self {
        Self {
            trust_region: TrustRegion::default(),
            few: 4,
            descents: 2,
        }
    }
}

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
        mut tick: impl FnMut(),
    ) -> Result<Vec<Descent>, Failure> {
        let order = self.race(evaluator, starts)?;
        let limit = evaluator.limit;
        let mut descents: Vec<Descent> = Vec::new();
        for u in order.into_iter().take(self.descents.max(1)) {
            let found = self.one(evaluator, &u, &descents, &mut tick);
            evaluator.limit = limit;
            match found {
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

    fn one<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        u: &[f64],
        descents: &[Descent],
        tick: &mut impl FnMut(),
    ) -> Result<Descent, Failure> {
        let best = descents.iter().filter_map(|d| d.points.last()).min_by(|a, b| a.score.total_cmp(&b.score));
        let region = self.trust_region;
        if let Some(best) = best {
            // The start of another descent may be far from its end.
            evaluator.limit = region.limit(best, evaluator.limit, 2.0 * region.patience);
        }
        let first = evaluator.all(u, true)?;
        tick();
        region.descend(evaluator, first, tick)
    }

    /// Returns the starts in the order of their scores on a few instances. A run that takes much longer than the best so far is
    /// not run to its end.
    fn race<F: Family + ?Sized>(
        &self,
        evaluator: &mut Evaluator<'_, F>,
        starts: &[Vec<f64>],
    ) -> Result<Vec<Vec<f64>>, Failure> {
        if starts.len() < 2 {
            return Ok(starts.to_vec());
        }
        let limit = evaluator.limit;
        let mut raced: Vec<Evaluation> = Vec::new();
        for u in starts {
            let best = raced.iter().min_by(|a, b| a.score.total_cmp(&b.score));
            if let Some(best) = best {
                let patience = self.trust_region.patience;
                evaluator.limit = self.trust_region.limit(best, limit, patience);
            }
            let run = evaluator.first(u, self.few);
            evaluator.limit = limit;
            raced.push(run?);
        }
        raced.sort_by(|a, b| a.score.total_cmp(&b.score));
        if std::env::var("DST_TRACE").is_ok() {
            for r in &raced { eprintln!("race {:.3} {:?}", r.score, &r.u[..r.u.len().min(3)]); }
        }
        Ok(raced.into_iter().map(|race| race.u).collect())
    }
}

fn last(descent: &Descent) -> f64 {
    descent.points.last().map_or(f64::INFINITY, |p| p.score)
}
