//! From a program and its ticks to a tuned controller, in one call.

use dst_core::Error;

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tail_phase::tune_tail_phase;
use super::tuned::Tuned;
use super::tuning::{Training, TuningOptions, tune};
use crate::progress::Progress;
use crate::random::bits;

/// Iterations at which the second, third … phase begins, by default. The last phase is for slow ticks.
pub const SWITCHES: [usize; 4] = [8, 20, 48, 64];

/// Fresh ticks that decide between the settings of a training: enough to tell two p99 apart.
pub const CHOICE: usize = 4000;

/// Sizes of a tuning by [`recipe`].
#[derive(Clone, Debug)]
pub struct Sizes {
    /// Ticks to learn from.
    pub pool: usize,
    /// Further ticks: the first decide between settings, the slowest train the last phase, all decide between restarts.
    pub fresh: usize,
    /// Iterations at which the second, third … phase begins.
    pub switches: Vec<usize>,
    /// TuningOptions of the tuning; the seed is that of the batches.
    pub options: TuningOptions,
}

impl Sizes {
    /// The sizes of the control experiment: minutes per plant.
    pub fn full() -> Self {
        Self {
            pool: 1500,
            fresh: 120_000,
            switches: SWITCHES.to_vec(),
            options: TuningOptions {
                steps: 600,
                batch: 24,
                hard: 10,
                restarts: 3,
                tail: 1.0,
                cap: 500,
                ..TuningOptions::default()
            },
        }
    }

    /// Small sizes: seconds per plant.
    pub fn quick() -> Self {
        let full = Self::full();
        Self {
            pool: 250,
            fresh: 1000,
            options: TuningOptions {
                steps: 120,
                batch: 16,
                hard: 6,
                restarts: 1,
                ..full.options
            },
            ..full
        }
    }
}

/// Tunes all phases on the pool, then the last phase on the slowest of the fresh ticks. The first of the fresh ticks decide between
/// settings. This is done [`restarts`](TuningOptions::restarts) times, and the best on all fresh ticks is kept. `kinds` are the numbers of
/// rows of a stage that share their knobs: inputs, then outputs. An interrupt ends it with the best setting so far.
pub fn recipe(
    program: &Program<f64>,
    kinds: &[usize],
    switches: &[usize],
    [pool, fresh]: [&Pool<f64>; 2],
    options: &TuningOptions,
    progress: &Progress,
) -> Result<(Knobset, Training), Error> {
    let base = program
        .jacobi()
        .ok_or(Error::Invalid(dst_core::Argument::Model))?;
    let knobs = Knobset::each_stage(program, base, kinds, switches);
    let start = initial_theta(program, &knobs, pool, options.cap);
    let choice = fresh.head(CHOICE);
    let mut best: Option<Training> = None;
    let mut work = 0;
    // The stopping time has many valleys: other batches lead to others. How deep one is shows once its last phase is trained.
    for restart in 0..options.restarts.max(1) as u64 {
        let options = TuningOptions {
            seed: bits(options.seed, restart),
            ..options.clone()
        };
        let pools = [pool, &choice];
        let found = tune(program, &knobs, &start, pools, &options, progress)?;
        if progress.interrupted() {
            return Ok((knobs, found));
        }
        let found_tail = tune_tail_phase(program, &knobs, &found.theta, fresh, &options, progress)?;
        work += found.work + found_tail.work;
        let value = found_tail.score.tail_choice();
        if best
            .as_ref()
            .is_none_or(|best| value < best.score.tail_choice())
        {
            best = Some(Training {
                history: found.history,
                ..found_tail
            });
        }
    }
    let best = best.ok_or(Error::Invalid(dst_core::Argument::Theta))?;
    let training = Training { work, ..best };
    Ok((knobs, training))
}

/// Returns θ to start tuning from: Jacobi scaling with the best of a few (ρ, α) on a part of the pool.
pub fn initial_theta(
    program: &Program<f64>,
    knobs: &Knobset,
    pool: &Pool<f64>,
    cap: u32,
) -> Vec<f64> {
    let (small, few) = (program.cast::<f32>(), pool.head(100).cast::<f32>());
    let mut best = (f64::INFINITY, knobs.start(1.0, 1.8));
    for rho in [0.5, 1.0, 2.0, 4.0] {
        for alpha in [1.6, 1.8] {
            let theta = knobs.start(rho, alpha);
            if let Some(tuned) = knobs.tuned(program, &theta) {
                let tuned: Tuned<f32> = tuned.cast();
                let score = Score::of(&iterations(&small, &few, tuned.phases(), cap), cap);
                if score.blend() < best.0 {
                    best = (score.blend(), theta);
                }
            }
        }
    }
    best.1
}
