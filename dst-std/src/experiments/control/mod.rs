//! E5, the control loop: cut the iterations of a solver that must meet a deadline.
//!
//! Two plants, a safety filter and a quadrotor, each a model predictive controller solved by ADMM in `f32` at every tick
//! ([`crate::control::plants`]). Their knobs are tuned by the gradient of the stopping time, mean and tail; every other way to
//! choose them is tuned on the same ticks; all are then scored on held-out ticks, from a cold start,
//! in closed loop with a warm start, and with other bounds.

mod baseline_rows;
mod many_knobs;
mod momentum;
mod robustness;
mod rows;
mod section;
mod study;

use serde::Serialize;

use super::{Context, Failure};
use crate::control::plants::plants;
use crate::control::{LoopTrace, Score, Sizes, Stream, TuningOptions};
use crate::progress::Progress;
use crate::report::Section;

pub use section::section;

/// The headline.
pub const TITLE: &str = "Control loop: fewer iterations before the deadline (ours)";

/// All that the experiment depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlConfig {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Trainings, each with a pool of its own.
    pub trainings: usize,
    /// Ticks of a pool.
    pub pool: usize,
    /// Further ticks: the first decide between settings, the slowest train the last phase, all decide between trainings.
    pub fresh: usize,
    /// Ticks of the test.
    pub test: usize,
    /// Iterations after which a tick counts as not solved.
    pub cap: u32,
    /// Steps of Adam.
    pub steps: usize,
    /// Ticks per step.
    pub batch: usize,
    /// The number of these taken from the slowest of the pool.
    pub hard: usize,
    /// Times that a training is done, of which the best is kept.
    pub restarts: usize,
    /// Weight of the tail in the loss.
    pub tail: f64,
    /// Iterations at which the second, third … phase begins; the last is for slow ticks.
    pub switches: Vec<usize>,
    /// Times the solver iterations of the gradient that the search without one may spend.
    pub search_factor: usize,
    /// Closed-loop runs.
    pub runs: usize,
    /// Their ticks.
    pub ticks: usize,
    /// Ticks whose solution is compared with the exact one.
    pub exact: usize,
    /// The coarser grids.
    pub coarse: bool,
}

impl ControlConfig {
    /// The experiment, or a small version of it.
    pub fn new(seed: u64, quick: bool) -> Self {
        let Sizes {
            pool,
            fresh,
            switches,
            options,
        } = if quick { Sizes::quick() } else { Sizes::full() };
        let full = Self {
            seed,
            trainings: 3,
            pool,
            fresh,
            test: 5000,
            cap: options.cap,
            steps: options.steps,
            batch: options.batch,
            hard: options.hard,
            restarts: options.restarts,
            tail: options.tail,
            switches,
            search_factor: 8,
            runs: 100,
            ticks: 100,
            exact: 200,
            coarse: false,
        };
        if !quick {
            return full;
        }
        Self {
            trainings: 1,
            test: 500,
            runs: 12,
            ticks: 60,
            exact: 20,
            coarse: true,
            ..full
        }
    }

    /// The entry of training number `s`.
    fn training(&self, s: usize) -> TuningOptions {
        self.options(Stream::Batches(s))
    }

    fn options(&self, batches: Stream) -> TuningOptions {
        TuningOptions {
            steps: self.steps,
            batch: self.batch,
            hard: self.hard,
            tail: self.tail,
            restarts: self.restarts,
            cap: self.cap,
            seed: batches.of(self.seed),
            ..TuningOptions::default()
        }
    }
}

/// One way to choose the knobs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodRow {
    /// In words.
    pub name: String,
    /// True if it is tuned by the gradient of the stopping time.
    pub ours: bool,
    /// The settings it chose, in words.
    pub setting: String,
    /// On the test, one per training.
    pub scores: Vec<Score>,
}

impl MethodRow {
    /// A number of its scores, averaged over the trainings.
    pub fn average(&self, part: fn(&Score) -> f64) -> f64 {
        self.scores.iter().map(part).sum::<f64>() / self.scores.len().max(1) as f64
    }

    /// The worst of its trainings.
    pub fn worst(&self, part: fn(&Score) -> f64) -> f64 {
        self.scores.iter().map(part).fold(f64::NAN, f64::max)
    }
}

/// Results for one plant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// One word.
    pub plant: &'static str,
    /// The test score of the chosen controller: of the training with the least score on the ticks that decided.
    pub tuned: Score,
    /// Every way to choose the knobs, on the test.
    pub rows: Vec<MethodRow>,
    /// The same instances in `f64`: share of equal counts in percent.
    pub same_count_in_f64: f64,
    /// Mean and largest ‖u − u*‖_∞ at the stop: tuned, then Jacobi.
    pub input_error: [(f64, f64); 2],
    /// Closed loop with warm start.
    pub closed_loop: Vec<MethodRow>,
    /// Bounds that were not trained on.
    pub other_bounds: Vec<MethodRow>,
    /// With one knob per kind and stage: the gradient, and a search without it.
    pub many_knobs: ManyKnobs,
    /// Iteration counts of the test: tuned, then Jacobi scaling by grid.
    pub counts: Vec<(String, Vec<u32>)>,
    /// A run in closed loop: tuned, then Jacobi.
    pub traces: Vec<(String, LoopTrace)>,
    /// Scores on the pool during the training of the chosen controller.
    pub history: Vec<(usize, Score)>,
    /// θ of the chosen controller.
    pub theta: Vec<f64>,
}

/// Gradient and search with one knob per kind and stage, in every phase.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ManyKnobs {
    /// Number of knobs.
    pub knobs: usize,
    /// By the gradient.
    pub gradient: MethodRow,
    /// Without.
    pub search: MethodRow,
    /// Solver iterations of each, in millions, averaged over the trainings.
    pub work: [f64; 2],
}

/// All that the experiment finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlResults {
    /// Four axes that must stay in their box.
    pub safety_filter: Findings,
    /// The Crazyflie.
    pub quadrotor: Findings,
    /// The other solver, projected gradient with momentum, on one axis.
    pub momentum: Vec<MethodRow>,
}

impl ControlResults {
    /// Both.
    pub fn all(&self) -> [&Findings; 2] {
        [&self.safety_filter, &self.quadrotor]
    }
}

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = ControlConfig::new(context.seed, context.quick);
    let results = run(&config, &context.progress)?;
    Ok(section(&config, &results))
}

/// Runs the experiment.
pub fn run(config: &ControlConfig, progress: &Progress) -> Result<ControlResults, Failure> {
    let [filter, quadrotor] = plants().map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let task = progress.task("control", 2 * study::PARTS);
    // One bar for the experiment: its trainings show none of their own.
    let inner = progress.unobserved();
    Ok(ControlResults {
        safety_filter: study::study(&filter, config, &task, &inner)?,
        quadrotor: study::study(&quadrotor, config, &task, &inner)?,
        momentum: momentum::rows(config)?,
    })
}

#[cfg(test)]
mod tests;
