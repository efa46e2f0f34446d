//! Tuning without a gradient, as a baseline: the knobs by [`Cmaes`].
//!
//! The search sees what the gradient sees: the loss of a batch, with a fresh batch for every generation and the same share of hard
//! instances. Its budget is given in solver iterations.

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use super::tuning::{TuningOptions, objective};
use crate::progress::Progress;
use crate::random::bits;
use crate::search::Cmaes;

/// Step size of the search at its start.
const SIGMA: f64 = 0.3;

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Searched {
    /// θ of the best setting.
    pub theta: Vec<f64>,
    /// Solver iterations spent.
    pub work: usize,
    /// Generations of the search.
    pub generations: usize,
}

/// Searches from θ until `budget` solver iterations are spent, on the ticks of `pool`. The ticks of `choice` decide which setting is
/// kept. An interrupt ends the search after the generation.
pub fn tune_without_gradient(
    program: &Program<f64>,
    knobset: &Knobset,
    start: &[f64],
    [pool, choice]: [&Pool<f64>; 2],
    options: &TuningOptions,
    budget: usize,
    progress: &Progress,
) -> Searched {
    let small = program.cast::<f32>();
    let [pool, choice] = &[pool, choice].map(Pool::cast::<f32>);
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
    let mut search = Cmaes::new(start, SIGMA);
    let mut slowest: Vec<usize> = (0..pool.len()).collect();
    let mut best: Option<(f64, Vec<f64>)> = None;
    // Pool and choice get the same share of the work as in the training by the gradient.
    let mut looked = 0;
    let task = progress.task("searching", budget);
    while work < budget && !progress.interrupted() {
        let generation = search.generations();
        if looked * 2 <= work || generation == 0 {
            let before = work;
            let counts = run(search.mean(), pool, &mut work);
            slowest.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
            let value = Score::of(&run(search.mean(), choice, &mut work), cap).choice();
            looked += work - before;
            if best.as_ref().is_none_or(|b| value < b.0) {
                best = Some((value, search.mean().to_vec()));
            }
        }
        let few = pool.subset(&options.batch_of(&slowest, generation));
        let candidates = search.ask(bits(options.seed ^ 0xE5, generation as u64));
        let values: Vec<f64> = candidates
            .iter()
            .map(|candidate| {
                // Past the cap there is no gradient to extrapolate with: a candidate counts as twice the cap.
                let counts = run(&candidate.x, &few, &mut work);
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
                objective(&counts, options.tail).0
            })
            .collect();
        search.tell(&candidates, &values);
        task.advance(work.min(budget) - task.done());
    }
    let value = Score::of(&run(search.mean(), choice, &mut work), cap).choice();
    let generations = search.generations();
    let theta = match best {
        Some((least, theta)) if least <= value => theta,
        _ => search.mean().to_vec(),
    };
    Searched {
        theta,
        work,
        generations,
    }
}
