//! The whole way from a program and its ticks to a tuned controller, in one call.

use dst_core::Error;

use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::secure::secure;
use super::tuned::Tuned;
use super::tuning::{Options, Training, tune};
use crate::progress::Progress;
use crate::random::bits;

/// Where the phases begin that are used unless others are asked for; the last is for ticks that are slow.
pub const SWITCHES: [usize; 4] = [8, 20, 48, 64];

/// So many of the fresh ticks decide between the settings of a training: enough for a p99 that can be told from another.
pub const CHOICE: usize = 4000;

/// Tunes all phases on the pool, where the first of the fresh ticks decide between settings; then the last phase on the slowest of
/// all fresh ticks. That several times, and the best on all fresh ticks is kept. `kinds` are the numbers of rows of a stage that share
/// their knobs: inputs, then outputs.
pub fn recipe(
    program: &Program<f64>,
    kinds: &[usize],
    switches: &[usize],
    [pool, fresh]: [&Pool<f64>; 2],
    options: &Options,
    progress: &Progress,
) -> Result<(Knobset, Training), Error> {
    let base = program
        .jacobi()
        .ok_or(Error::Invalid(dst_core::Argument::Model))?;
    let knobs = Knobset::each_stage(program, base, kinds, switches);
    let start = begin(program, &knobs, pool, options.cap);
    let choice = fresh.head(CHOICE);
    let mut best: Option<Training> = None;
    let mut work = 0;
    // The stopping time has many valleys: other batches lead to others. How deep one is shows once its last phase is trained.
    for restart in 0..options.restarts.max(1) as u64 {
        let options = Options {
            seed: bits(options.seed, restart),
            ..options.clone()
        };
        let pools = [pool, &choice];
        let found = tune(program, &knobs, &start, pools, &options, progress)?;
        if progress.interrupted() {
            return Ok((knobs, found));
        }
        let secured = secure(program, &knobs, &found.theta, fresh, &options, progress)?;
        work += found.work + secured.work;
        let value = secured.score.secured();
        if best
            .as_ref()
            .is_none_or(|best| value < best.score.secured())
        {
            best = Some(Training {
                history: found.history,
                ..secured
            });
        }
    }
    let best = best.ok_or(Error::Invalid(dst_core::Argument::Theta))?;
    let training = Training { work, ..best };
    Ok((knobs, training))
}

/// Jacobi scaling with the best of a few (ρ, α) on a part of the pool: never hopeless, so that every tick has something to say.
pub fn begin(program: &Program<f64>, knobs: &Knobset, pool: &Pool<f64>, cap: u32) -> Vec<f64> {
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
