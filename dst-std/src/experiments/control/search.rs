//! The same knobs without a gradient: an evolution strategy with a diagonal covariance (separable CMA-ES of Ros and Hansen, 2008).
//!
//! It sees what the gradient sees: the loss of a batch, a fresh batch for every generation with the same share of hard
//! instances. It may spend several times the solver iterations.

use crate::control::{Knobset, Options, Pool, Program, Score, Tuned, iterations, objective};
use crate::progress::Progress;
use crate::random::{bits, normal};

/// What a search found.
pub(super) struct Found {
    pub(super) theta: Vec<f64>,
    /// Solver iterations that it took.
    pub(super) work: usize,
    pub(super) generations: usize,
}

/// Searches from θ until so many solver iterations are spent; `interrupted` is asked every generation.
pub(super) fn search(
    program: &Program<f64>,
    knobset: &Knobset,
    start: &[f64],
    ticks: &[Pool<f64>; 2],
    options: &Options,
    budget: usize,
    progress: &Progress,
) -> Found {
    let small = program.cast::<f32>();
    let [pool, choice] = &ticks.each_ref().map(Pool::cast::<f32>);
    let n = start.len();
    let nf = n as f64;
    let lambda = 4 + (3.0 * libm::log(nf)) as usize;
    let mu = lambda / 2;
    let raw: Vec<f64> = (0..mu)
        .map(|i| libm::log(mu as f64 + 0.5) - libm::log(i as f64 + 1.0))
        .collect();
    let total: f64 = raw.iter().sum();
    let weights: Vec<f64> = raw.iter().map(|w| w / total).collect();
    let mueff = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
    let cs = (mueff + 2.0) / (nf + mueff + 5.0);
    let ds = 1.0 + cs + 2.0 * f64::max(0.0, ((mueff - 1.0) / (nf + 1.0)).sqrt() - 1.0);
    let cc = (4.0 + mueff / nf) / (nf + 4.0 + 2.0 * mueff / nf);
    // The separable variant learns (n + 2)/3 times faster than the full one.
    let faster = (nf + 2.0) / 3.0;
    let c1 = (faster * 2.0 / ((nf + 1.3).powi(2) + mueff)).min(0.5);
    let cmu =
        (faster * 2.0 * (mueff - 2.0 + 1.0 / mueff) / ((nf + 2.0).powi(2) + mueff)).min(1.0 - c1);
    let expected = nf.sqrt() * (1.0 - 1.0 / (4.0 * nf) + 1.0 / (21.0 * nf * nf));

    let cap = options.cap;
    let mut work = 0;
    let run = |theta: &[f64], pool: &Pool<f32>, work: &mut usize| {
        let counts = match knobset.tuned(program, theta) {
            Some(tuned) => {
                let tuned: Tuned<f32> = tuned.cast();
                iterations(&small, pool, tuned.phases(), cap)
            }
            None => vec![cap + 1; pool.len()],
        };
        *work += options.work(&counts);
        counts
    };
    let (mut mean, mut sigma) = (start.to_vec(), 0.3);
    let (mut variance, mut path, mut path_sigma) = (vec![1.0_f64; n], vec![0.0; n], vec![0.0; n]);
    let mut slowest: Vec<usize> = (0..pool.len()).collect();
    let mut best: Option<(f64, Vec<f64>)> = None;
    let mut generation = 0;
    // The pool and the ticks that decide are looked at for as large a part of the work as the gradient's training takes for them.
    let mut looked = 0;
    while work < budget && !progress.interrupted() {
        if looked * 2 <= work || generation == 0 {
            let before = work;
            let counts = run(&mean, pool, &mut work);
            slowest.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
            let value = Score::of(&run(&mean, choice, &mut work), cap).choice();
            looked += work - before;
            if best.as_ref().is_none_or(|b| value < b.0) {
                best = Some((value, mean.clone()));
            }
        }
        let seed = bits(options.seed ^ 0xE5, generation as u64);
        let few = pool.subset(&options.batch_of(&slowest, generation));
        let mut candidates: Vec<(f64, Vec<f64>)> = (0..lambda)
            .map(|c| {
                let stream = bits(seed, c as u64);
                let z: Vec<f64> = (0..n).map(|j| normal(stream, j as u64)).collect();
                let theta: Vec<f64> = (0..n)
                    .map(|j| mean[j] + sigma * variance[j].sqrt() * z[j])
                    .collect();
                // Past the cap there is no gradient to extrapolate with: a candidate counts as twice the cap.
                let counts = run(&theta, &few, &mut work);
                let counts: Vec<f64> = counts
                    .iter()
                    .map(|&c| {
                        if c > cap {
                            2.0 * f64::from(cap)
                        } else {
                            f64::from(c)
                        }
                    })
                    .collect();
                (objective(&counts, options.tail).0, z)
            })
            .collect();
        candidates.sort_by(|a, b| a.0.total_cmp(&b.0));
        let step = |j: usize| -> f64 {
            let chosen = candidates.iter().zip(&weights);
            chosen.map(|((_, z), w)| w * z[j]).sum()
        };
        let z_mean: Vec<f64> = (0..n).map(step).collect();
        let mut norm = 0.0;
        for j in 0..n {
            mean[j] += sigma * variance[j].sqrt() * z_mean[j];
            path_sigma[j] =
                (1.0 - cs) * path_sigma[j] + (cs * (2.0 - cs) * mueff).sqrt() * z_mean[j];
            norm += path_sigma[j] * path_sigma[j];
        }
        let norm = norm.sqrt();
        let decay = 1.0 - (1.0 - cs).powi(2 * (generation as i32 + 1));
        let stalled = norm / decay.sqrt() >= (1.4 + 2.0 / (nf + 1.0)) * expected;
        for j in 0..n {
            let moved = if stalled {
                0.0
            } else {
                (cc * (2.0 - cc) * mueff).sqrt()
            };
            path[j] = (1.0 - cc) * path[j] + moved * variance[j].sqrt() * z_mean[j];
            let spread: f64 = candidates
                .iter()
                .zip(&weights)
                .map(|((_, z), w)| w * z[j] * z[j])
                .sum();
            variance[j] = (1.0 - c1 - cmu) * variance[j]
                + c1 * path[j] * path[j]
                + cmu * variance[j] * spread;
        }
        sigma *= libm::exp((cs / ds) * (norm / expected - 1.0)).min(2.0);
        generation += 1;
    }
    let value = Score::of(&run(&mean, choice, &mut work), cap).choice();
    let theta = match best {
        Some((least, theta)) if least <= value => theta,
        _ => mean,
    };
    Found {
        theta,
        work,
        generations: generation,
    }
}
