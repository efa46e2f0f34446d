//! Speed of a training step, beside the peak of the machine.

use std::time::Instant;

use dst_core::Error;
use pulp::{Arch, Simd, WithSimd};
use serde::Serialize;

use super::architecture::Architecture;
use super::kernel::HIDDEN;
use super::training::{Recipe, Trainer};
use crate::machine::peak_memory;
use crate::parallel::{each, ranks};
use crate::progress::Progress;

/// Measurements of a training step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bench {
    /// The network.
    pub model: &'static str,
    /// Variables, examples, problems, segments, steps of a segment.
    pub size: [usize; 5],
    /// Threads of a rank.
    pub threads: usize,
    /// Processes of an MPI job.
    pub ranks: usize,
    /// Bytes that they send to each other in a training step, all together.
    pub bytes_sent: f64,
    /// Seconds of a training step, warm: median, least and most.
    pub seconds: [f64; 3],
    /// Seconds to draw the problems of a step, which comes on top.
    pub draw_seconds: f64,
    /// Floating-point operations of the products with weights in a step, in units of 10⁹.
    pub gflop: f64,
    /// The same per second.
    pub gflop_per_second: f64,
    /// Peak of all ranks and threads together, in registers alone, single precision.
    pub peak_gflop_per_second: f64,
    /// The most memory that the process has had.
    pub peak_bytes: Option<u64>,
    /// Losses of the segments in the first step.
    pub first_losses: Vec<f64>,
}

/// Operations of the products with weights, for one coordinate and step: forward once, backward twice.
fn operations(model: Architecture) -> f64 {
    let layer = |inputs: usize| 2 * 4 * HIDDEN * (inputs + HIDDEN);
    let embedding = if model == Architecture::RnnProp {
        4 * HIDDEN
    } else {
        0
    };
    3.0 * (layer(model.inputs()) + layer(HIDDEN) + embedding + 2 * HIDDEN) as f64
}

/// Measures: weights and problems are those of the reference scripts, so that losses can be compared.
pub fn bench(recipe: Recipe, repeats: usize, progress: &Progress) -> Result<Bench, Error> {
    let task = progress.task("measuring", repeats.saturating_add(1));
    let spread = 1.0 / (HIDDEN as f64).sqrt();
    let theta = recipe.model.initial::<f32>(2001, |_| spread);
    let mut trainer = Trainer::new(recipe, theta);
    let start = Instant::now();
    trainer.draw(0);
    let draw_seconds = start.elapsed().as_secs_f64();
    let first_losses = trainer.step(0)?.losses.clone();
    task.advance(1);
    let before = ranks::sent();
    let mut seconds = Vec::new();
    for _ in 0..repeats.max(1) {
        let start = Instant::now();
        trainer.step(0)?;
        seconds.push(start.elapsed().as_secs_f64());
        task.advance(1);
    }
    let sent: u64 = ranks::of_every_rank(ranks::sent() - before).iter().sum();
    let bytes_sent = sent as f64 / seconds.len() as f64;
    seconds.sort_by(f64::total_cmp);
    let (least, most) = (seconds[0], seconds[seconds.len() - 1]);
    let median = 0.5 * (seconds[(seconds.len() - 1) / 2] + seconds[seconds.len() / 2]);
    let coordinates = (recipe.family.dim * recipe.batch * recipe.horizon()) as f64;
    let gflop = coordinates * operations(recipe.model) / 1e9;
    Ok(Bench {
        model: recipe.model.name(),
        size: [
            recipe.family.dim,
            recipe.family.samples,
            recipe.batch,
            recipe.segments,
            recipe.steps,
        ],
        threads: rayon::current_num_threads(),
        ranks: ranks::count(),
        bytes_sent,
        seconds: [median, least, most],
        draw_seconds,
        gflop,
        gflop_per_second: gflop / median,
        peak_gflop_per_second: ranks::of_every_rank(peak()).into_iter().sum(),
        peak_bytes: peak_memory(),
        first_losses,
    })
}

/// Multiplications and additions as fast as they go, on all threads, the best of a few tries.
fn peak() -> f64 {
    let mut best = 0.0_f64;
    for _ in 0..5 {
        let mut rates = vec![0.0; rayon::current_num_threads()];
        each(&mut rates, &|_, rate| *rate = Arch::new().dispatch(Fma));
        best = best.max(rates.iter().sum());
    }
    best
}

struct Fma;

impl WithSimd for Fma {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        const SUMS: usize = 12;
        const ROUNDS: usize = 1_000_000;
        let (a, b) = (simd.splat_f32s(0.999), simd.splat_f32s(1e-3));
        let mut sums = [b; SUMS];
        let start = Instant::now();
        for _ in 0..ROUNDS {
            for sum in &mut sums {
                *sum = simd.mul_add_e_f32s(*sum, a, b);
            }
        }
        let seconds = start.elapsed().as_secs_f64();
        let mut total = sums[0];
        for &sum in &sums[1..] {
            total = simd.add_f32s(total, sum);
        }
        std::hint::black_box(simd.reduce_sum_f32s(total));
        (2 * ROUNDS * SUMS * S::F32_LANES) as f64 / seconds / 1e9
    }
}
