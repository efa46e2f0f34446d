//! Offline tuning: Adam on the gradient of the stopping time, mean and tail.
//!
//! The loss of a batch is mean(N) + w·tail(N) with the soft maximum tail = τ·(ln Σ exp(N/τ) − ln n), τ = 0.15·mean + 1: the
//! deadline is missed by the slow ticks, not by the average one. Part of every batch are the slowest of the pool. The
//! setting that is kept is the best of the later ones on other ticks than those it learned from, in the precision of the device.

use dst_core::Error;

use super::gradient::{differentiate, unrolled};
use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use crate::adam::Adam;
use crate::parallel::try_instances;
use crate::progress::Progress;
use crate::random::bits;

/// TuningOptions of the tuning.
#[derive(Clone, Debug)]
pub struct TuningOptions {
    /// Steps of Adam.
    pub steps: usize,
    /// Instances per step.
    pub batch: usize,
    /// The number of these taken from the slowest of the pool.
    pub hard: usize,
    /// Step length.
    pub rate: f64,
    /// Weight of the tail.
    pub tail: f64,
    /// The gradient of an instance is shortened to this many times its N.
    pub clip: f64,
    /// Iterations allowed.
    pub cap: u32,
    /// Trainings of which the best is kept, where [`recipe`](super::recipe) does them.
    pub restarts: usize,
    /// Knobs before this one stay as they are.
    pub first: usize,
    /// Number of iterations of an unrolled loss, the sum of the logarithms of the residuals, to descend instead of the stopping time.
    pub unrolled: Option<usize>,
    /// Criterion between two settings; the lower is better.
    pub key: fn(&Score) -> f64,
    /// True if settings are compared in double precision, not in that of the device.
    pub double: bool,
    /// Seed of the batches.
    pub seed: u64,
}

impl Default for TuningOptions {
    fn default() -> Self {
        Self {
            steps: 150,
            batch: 16,
            hard: 6,
            rate: 0.08,
            tail: 0.3,
            clip: 1.0,
            cap: 500,
            restarts: 1,
            first: 0,
            unrolled: None,
            key: Score::choice,
            double: false,
            seed: 1,
        }
    }
}

/// Score at one step of a training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HistoryPoint {
    /// Steps done.
    pub step: usize,
    /// Score of the present setting on the pool that it learns from.
    pub score: Score,
}

/// Result of a training.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// θ of the best setting.
    pub theta: Vec<f64>,
    /// Its score on the ticks by which it was chosen.
    pub score: Score,
    /// Scores on the pool that it learned from.
    pub history: Vec<HistoryPoint>,
    /// Iterations that were computed, the choice of the setting included.
    pub work: usize,
}

/// β of Adam. Batches with a slow tick are rare, and the knobs change which ticks are slow: the squares have a short memory.
const BETAS: [f64; 2] = [0.9, 0.98];
/// Steps between two evaluations of the pool, which find its slowest ticks …
const LOOK: usize = 10;
/// … and between two of the ticks that decide, once half of the steps are done.
const CHOOSE: usize = 20;
/// Hard ticks are drawn from the slowest of the pool: one in this many …
const SLOWEST_SHARE: usize = 50;
/// … or this number, if that is more.
const SLOWEST: usize = 12;

/// mean + w·tail, and the weight of every count in its gradient.
pub fn objective(counts: &[f64], tail: f64) -> (f64, Vec<f64>) {
    let n = counts.len().max(1) as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let tau = 0.15 * mean + 1.0;
    let largest = counts.iter().fold(0.0, |m: f64, &c| m.max(c));
    let powers: Vec<f64> = counts
        .iter()
        .map(|c| libm::exp((c - largest) / tau))
        .collect();
    let sum: f64 = powers.iter().sum();
    let soft = largest + tau * libm::log(sum / n);
    let weights = powers.iter().map(|p| 1.0 / n + tail * p / sum);
    (mean + tail * soft, weights.collect())
}

/// Tunes from θ on the pool; the ticks of `choice` decide which setting is kept. An interrupt ends it at the next
/// step, with the best setting so far.
pub fn tune(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    [pool, choice]: [&Pool<f64>; 2],
    options: &TuningOptions,
    progress: &Progress,
) -> Result<Training, Error> {
    let small = program.cast::<f32>();
    let mut work = 0;
    let mut look = |tuned: &Tuned<f64>, ticks: &Pool<f64>, small_ticks: &Pool<f32>| {
        let counts = if options.double {
            iterations(program, ticks, tuned.phases(), options.cap)
        } else {
            let tuned: Tuned<f32> = tuned.cast();
            iterations(&small, small_ticks, tuned.phases(), options.cap)
        };
        work += options.work(&counts);
        (Score::of(&counts, options.cap), counts)
    };
    let [small_pool, small_choice] = [pool, choice].map(Pool::cast::<f32>);
    let mut theta = theta.to_vec();
    let mut adam = Adam::with_betas(theta.len(), BETAS);
    let mut best: Option<(Vec<f64>, Score)> = None;
    let mut slowest: Vec<usize> = (0..pool.len()).collect();
    let mut history = Vec::new();
    let mut spent = 0;
    let task = progress.task("tuning", options.steps);
    for step in 0..=options.steps {
        let Some(tuned) = knobset.tuned(program, &theta) else {
            break;
        };
        let last = step == options.steps;
        // The start as well: nothing that is returned is worse.
        if step == 0 || last || (2 * step >= options.steps && step % CHOOSE == 0) {
            let (score, _) = look(&tuned, choice, &small_choice);
            if best
                .as_ref()
                .is_none_or(|b| (options.key)(&score) < (options.key)(&b.1))
            {
                best = Some((theta.clone(), score));
            }
        }
        if last || step % LOOK == 0 {
            let (score, counts) = look(&tuned, pool, &small_pool);
            slowest.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
            history.push(HistoryPoint { step, score });
            task.advance(step - task.done());
            if progress.interrupted() {
                break;
            }
        }
        if last || progress.interrupted() {
            break;
        }
        let chosen = options.batch_of(&slowest, step);
        let found = try_instances(chosen.len(), |place| {
            match (chosen[place], options.unrolled) {
                (i, None) => differentiate(program, pool, i, tuned.phases(), options.cap),
                (i, Some(horizon)) => unrolled(program, pool, i, tuned.phases(), horizon),
            }
        })?;
        let counts: Vec<f64> = found.iter().map(|f| f.iterations).collect();
        let (_, weights) = objective(&counts, options.tail);
        let (mut gradient, mut own) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
        for (one, weight) in found.iter().zip(weights) {
            spent += one.work;
            knobset.knobs().pull(&tuned.params, &one.gradient, &mut own);
            // A crossing that is nearly flat has a gradient beyond all bounds, which says nothing about the next instance.
            let norm = own.iter().map(|g| g * g).sum::<f64>().sqrt();
            let weight = weight * (options.clip * one.iterations / norm).min(1.0);
            for (sum, g) in gradient.iter_mut().zip(&own) {
                *sum += weight * g;
            }
        }
        gradient
            .iter_mut()
            .take(options.first)
            .for_each(|g| *g = 0.0);
        // Down to a fifth of the step length at the end: the last settings are compared, not wandered through.
        let decay = 1.0 - 0.8 * step as f64 / options.steps.max(1) as f64;
        adam.update_as_published(&mut theta, &gradient, decay * options.rate);
    }
    let (theta, score) = best.ok_or(Error::Invalid(dst_core::Argument::Theta))?;
    Ok(Training {
        theta,
        score,
        history,
        work: work + spent,
    })
}

impl TuningOptions {
    /// Iterations that were computed for these counts.
    pub(crate) fn work(&self, counts: &[u32]) -> usize {
        counts.iter().map(|&c| c.min(self.cap) as usize).sum()
    }

    /// Instances of one step: random ones of the pool, and random ones of its slowest, which `slowest` lists first.
    pub fn batch_of(&self, slowest: &[usize], step: usize) -> Vec<usize> {
        let hard = self.hard.min(self.batch);
        let stream = bits(self.seed, step as u64);
        let pick = |i: usize, of: usize| (bits(stream, i as u64) % of.max(1) as u64) as usize;
        let few = SLOWEST
            .max(slowest.len() / SLOWEST_SHARE)
            .min(slowest.len());
        let random = (hard..self.batch).map(|i| pick(i, slowest.len()));
        let worst = (0..hard).map(|i| slowest[pick(i, few)]);
        worst.chain(random).collect()
    }
}
