//! Descent by Adam on batches of a pool, with the slowest mined, a perturbed start and a ramp of the tolerance.

use super::batches::{Batches, slowest_first};
use super::evaluate::{Evaluation, Evaluator};
use super::instance::Family;
use super::model::clipped;
use super::restarts::perturbed;
use super::trust_region::{Descent, End};
use crate::Failure;
use crate::adam::Adam;

/// Options of the descent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stochastic {
    /// Steps of Adam.
    pub steps: usize,
    /// Step length; it falls to a fifth.
    pub rate: f64,
    /// The batches.
    pub batches: Batches,
    /// Steps between two evaluations of the whole pool, which find its slowest instances and the points to keep.
    pub look: usize,
    /// The standard deviation of the perturbation of the start. A symmetric start may be a stationary point.
    pub perturbation: f64,
    /// The factor on the tolerance at the beginning; it falls to 1 over the first 60 % of the steps. 1 is no ramp.
    pub ease: f64,
}

impl Default for Stochastic {
    fn default() -> Self {
        Self {
            steps: 150,
            rate: 0.08,
            batches: Batches {
                size: 16,
                hard: 6,
                slowest: 12,
                seed: 1,
            },
            look: 10,
            perturbation: 0.0,
            ease: 1.0,
        }
    }
}

/// β of Adam: batches with a slow instance are rare, and the squares have a short memory.
const BETAS: [f64; 2] = [0.9, 0.98];
/// The share of the steps over which the tolerance falls to its value.
const RAMP: f64 = 0.6;

impl Stochastic {
    /// Descends from u on the pool of the evaluator. The points are those whose score on the whole pool was the lowest so far. An
    /// interrupt keeps them, and is a failure before the first.
    pub fn descend<F: Family + ?Sized>(
        &self,
        pool: &mut Evaluator<'_, F>,
        u: &[f64],
        mut tick: impl FnMut(),
    ) -> Result<Descent, Failure> {
        let start = perturbed(u, self.perturbation, 1, self.batches.seed);
        let mut u = start.into_iter().next().unwrap_or_default();
        // The start itself is a candidate: nothing that is returned is worse.
        let mut points = vec![pool.all(&u, false)?];
        let ease = pool.ease;
        let end = self.go(pool, &mut u, &mut points, &mut tick);
        pool.ease = ease;
        let end = match end {
            Ok(()) => End::Rounds,
            Err(Failure::Interrupted) => End::Interrupted,
            Err(other) => return Err(other),
        };
        Ok(Descent { points, end })
    }

    fn go<F: Family + ?Sized>(
        &self,
        pool: &mut Evaluator<'_, F>,
        u: &mut [f64],
        points: &mut Vec<Evaluation>,
        tick: &mut impl FnMut(),
    ) -> Result<(), Failure> {
        let target = pool.ease;
        let mut adam = Adam::with_betas(u.len(), BETAS);
        let mut order = slowest_first(&points[0].values());
        for step in 0..self.steps {
            let part = step as f64 / self.steps.max(1) as f64;
            pool.ease = target * libm::pow(self.ease.max(1.0), (1.0 - part / RAMP).max(0.0));
            let batch = pool.some(u, &self.batches.draw(&order, step), true)?;
            let gradient = gradient(pool, &batch);
            adam.update_as_published(u, &gradient, self.rate * (1.0 - 0.8 * part));
            tick();
            if (step + 1) % self.look.max(1) == 0 || step + 1 == self.steps {
                pool.ease = target;
                let now = pool.all(u, false)?;
                order = slowest_first(&now.values());
                if points.last().is_none_or(|best| now.score < best.score) {
                    points.push(now);
                }
            }
        }
        Ok(())
    }
}

/// Returns the gradient of the score of a batch, with clipped rows. Instances without a finite value have no part in it.
fn gradient<F: Family + ?Sized>(pool: &Evaluator<'_, F>, batch: &Evaluation) -> Vec<f64> {
    let mut values = batch.values();
    let worst = values.iter().copied().filter(|v| v.is_finite());
    let worst = worst.fold(f64::NEG_INFINITY, f64::max);
    for value in values.iter_mut().filter(|v| !v.is_finite()) {
        *value = if worst.is_finite() { worst } else { 0.0 };
    }
    let weights = pool.score().weights(&values);
    let mut sum = vec![0.0; batch.u.len()];
    for (row, weight) in clipped(batch).into_iter().zip(weights) {
        for (sum, g) in sum.iter_mut().zip(row.iter().flatten()) {
            *sum += weight * g;
        }
    }
    sum
}
