//! The contestants of a tuning: descent from several starts, CMA-ES and a grid. Each returns candidates with their training scores,
//! and the starts of another stream choose among them.

use super::grid;
use super::method::TunedMethod;
use crate::Failure;
use crate::family::{Evaluation, Evaluator, Family, Restarts, TrustRegion, Work, choose};
use crate::random::bits;
use crate::search::Cmaes;

/// The best candidates of a search, which the choosing starts decide between.
pub(super) const CHOICE: usize = 4;
/// The first step size of CMA-ES in the coordinates u.
const SIGMA: f64 = 0.5;

/// The chosen point of a search.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) u: Vec<f64>,
    /// The work of the search and of the choice.
    pub(super) work: Work,
    /// Points evaluated.
    pub(super) points: usize,
}

/// Sorts by the score and keeps the best candidates.
fn best(mut points: Vec<Evaluation>) -> Vec<Evaluation> {
    points.sort_by(|a, b| a.score.total_cmp(&b.score));
    points.truncate(CHOICE);
    points
}

/// A search without a gradient that ends when its evaluator has spent `budget`.
pub(super) trait Baseline {
    /// Evaluates points until the budget is spent.
    fn search<F: Family + ?Sized>(
        &self,
        training: &mut Evaluator<'_, F>,
        u0: &[f64],
        budget: usize,
        tick: &mut dyn FnMut(usize),
    ) -> Result<Vec<Evaluation>, Failure>;
}

/// CMA-ES from the best of the same starts, after the same race.
pub(super) struct Evolution {
    pub(super) starts: Vec<Vec<f64>>,
    pub(super) seed: u64,
}

/// A grid around the initial values.
pub(super) struct Grid {
    pub(super) method: TunedMethod,
    pub(super) seed: u64,
}

/// Evaluates a point with a limit from the best so far, keeps it, and reports the work.
fn attempt<F: Family + ?Sized>(
    training: &mut Evaluator<'_, F>,
    u: &[f64],
    found: &mut Vec<Evaluation>,
    tick: &mut dyn FnMut(usize),
) -> Result<f64, Failure> {
    let (limit, before) = (training.limit, training.work.total());
    if let Some(best) = found.first() {
        training.limit = TrustRegion::default().limit_after(best, limit);
    }
    let evaluation = training.all(u, false);
    training.limit = limit;
    let evaluation = evaluation?;
    tick(training.work.total() - before);
    let score = evaluation.score;
    // The best one first; the others in any order.
    match found.first() {
        Some(best) if best.score <= score => found.push(evaluation),
        _ => found.insert(0, evaluation),
    }
    Ok(score)
}

impl Baseline for Evolution {
    fn search<F: Family + ?Sized>(
        &self,
        training: &mut Evaluator<'_, F>,
        u0: &[f64],
        budget: usize,
        tick: &mut dyn FnMut(usize),
    ) -> Result<Vec<Evaluation>, Failure> {
        let mut found = Vec::new();
        let ranked = Restarts::default().race(training, &self.starts, None)?;
        tick(training.work.total());
        let u0 = ranked.first().map_or(u0, Vec::as_slice);
        attempt(training, u0, &mut found, tick)?;
        let mut search = Cmaes::new(u0, SIGMA);
        while training.work.total() < budget {
            let generation = search.generations() as u64;
            let candidates = search.ask(bits(self.seed ^ 0xE5, generation));
            let mut values = Vec::with_capacity(candidates.len());
            for candidate in &candidates {
                values.push(attempt(training, &candidate.x, &mut found, tick)?);
            }
            search.tell(&candidates, &values);
        }
        Ok(found)
    }
}

impl Baseline for Grid {
    fn search<F: Family + ?Sized>(
        &self,
        training: &mut Evaluator<'_, F>,
        u0: &[f64],
        budget: usize,
        tick: &mut dyn FnMut(usize),
    ) -> Result<Vec<Evaluation>, Failure> {
        let mut found = Vec::new();
        attempt(training, u0, &mut found, tick)?;
        for u in grid::points(self.method, u0, self.seed) {
            if training.work.total() >= budget {
                break;
            }
            attempt(training, &u, &mut found, tick)?;
        }
        Ok(found)
    }
}

/// Searches with a budget and chooses.
pub(super) fn compete<F: Family + ?Sized>(
    baseline: &impl Baseline,
    mut training: Evaluator<'_, F>,
    mut choosing: Evaluator<'_, F>,
    u0: &[f64],
    budget: usize,
    tick: &mut dyn FnMut(usize),
) -> Result<Chosen, Failure> {
    let found = baseline.search(&mut training, u0, budget, tick)?;
    let points = found.len();
    let candidates: Vec<Vec<f64>> = best(found).into_iter().map(|e| e.u).collect();
    let place = choose(&mut choosing, &candidates, CHOICE)?;
    let mut work = training.work;
    work += choosing.work;
    let u = candidates.into_iter().nth(place).unwrap_or_default();
    Ok(Chosen { u, work, points })
}
