//! E5, the control loop: the work of a solver that must meet a deadline, at equal accuracy.
//!
//! Two plants, a safety filter and a quadrotor, each a model predictive controller in `f32` ([`crate::control::plants`]). The dual
//! active set is compared with settings of ADMM: tuned by its stopping time, by LAH's loss and by an unrolled loss on the same ticks
//! with the same steps of Adam, by a grid over Jacobi scaling, and OSQP's defaults. The stop test of each is calibrated to one
//! accuracy of the inputs. All are scored on the same fresh closed-loop runs, warm-started, and on the same cold ticks.

mod figures;
mod section;
mod study;

use serde::Serialize;

use super::{Context, Failure};
use crate::control::plants::plants;
use crate::control::{BenchSizes, RoundSizes, Scenario};
use crate::progress::Progress;
use crate::qp::{Counts, ErrorOfInputs};
use crate::report::Section;

pub use section::section;

/// The headline.
pub const TITLE: &str = "Control loop: less work before the deadline (ours)";

/// All that the experiment depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlConfig {
    /// Seed of all random numbers.
    pub seed: u64,
    /// Largest error of an input, as a part of half the width of its bounds.
    pub accuracy: f64,
    /// Closed-loop runs that are scored.
    pub runs: usize,
    /// Ticks of a run.
    pub ticks: usize,
    /// Cold ticks that are scored.
    pub cold: usize,
    /// Closed-loop runs that calibrate.
    pub calibration: usize,
    /// Rounds of simulation and tuning.
    pub rounds: usize,
    /// Steps of Adam in a round.
    pub steps: usize,
    /// Ticks to tune on.
    pub pool: usize,
    /// Ticks that decide between settings.
    pub choice: usize,
    /// Iterations of the unrolled loss.
    pub horizon: usize,
    /// Largest probability of a late run that the certificate of the active set asks for.
    pub late: f64,
    /// Confidence of all certificates.
    pub confidence: f64,
    /// True for the small version.
    pub quick: bool,
}

impl ControlConfig {
    /// The experiment, or a small version of it.
    pub fn new(seed: u64, quick: bool) -> Self {
        let full = Self {
            seed,
            accuracy: 1e-2,
            runs: 100,
            ticks: 100,
            cold: 2000,
            calibration: 200,
            rounds: 2,
            steps: 200,
            pool: 500,
            choice: 1000,
            horizon: 50,
            late: 1e-3,
            confidence: 0.95,
            quick,
        };
        if !quick {
            return full;
        }
        Self {
            runs: 16,
            ticks: 60,
            cold: 200,
            calibration: 24,
            rounds: 1,
            steps: 60,
            pool: 120,
            choice: 150,
            ..full
        }
    }

    fn bench_sizes(&self) -> BenchSizes {
        BenchSizes {
            runs: self.calibration,
            cold: 10 * self.calibration,
            few: (self.calibration / 8).max(3),
            work: if self.quick { 3e7 } else { 2e9 },
        }
    }

    fn round_sizes(&self) -> RoundSizes {
        RoundSizes {
            rounds: self.rounds,
            steps: self.steps,
            pool: self.pool,
            choice: self.choice,
        }
    }
}

/// Mean, tail and worst of the multiply-adds of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Operations {
    /// Mean.
    pub mean: f64,
    /// All but one tick in a hundred take no more.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Ticks of one solver.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TickSummary {
    /// Steps of the active set, or iterations of ADMM; a tick that is not solved counts as the cap.
    #[serde(flatten)]
    pub counts: Counts,
    /// Multiply-adds.
    pub operations: Operations,
    /// Count and multiply-adds of every tick.
    #[serde(skip)]
    pub each: Vec<(u32, usize)>,
}

/// Ticks and certificate of a solver that reaches the accuracy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// Closed loops, warm-started.
    #[serde(rename = "loop")]
    pub looped: TickSummary,
    /// Ticks from a cold start.
    pub cold: TickSummary,
    /// Errors of the inputs of solved ticks.
    pub input_error: ErrorOfInputs,
    /// Steps or iterations per tick, from the calibration runs.
    pub budget: u32,
    /// Scored runs with a tick beyond the budget.
    pub late_runs: usize,
    /// With the confidence, the probability of such a run is at most this.
    pub late_bound: f64,
}

/// One solver with its setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SolverRow {
    /// In words.
    pub name: &'static str,
    /// Solver iterations of its tuning.
    pub training: usize,
    /// Score; `None` if no stop test reaches the accuracy.
    #[serde(flatten)]
    pub scored: Option<Scored>,
}

/// Record of one closed-loop run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trace {
    /// Solver.
    pub name: &'static str,
    /// First state, tick by tick.
    pub state: Vec<f64>,
    /// First input.
    pub input: Vec<f64>,
    /// Steps or iterations.
    pub counts: Vec<u32>,
}

/// Certificate of the active set, on runs of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Certified {
    /// Steps per tick.
    pub budget: u32,
    /// Fresh runs.
    pub runs: usize,
    /// Runs with a late tick.
    pub late_runs: usize,
    /// Runs with an input that misses the accuracy.
    pub inaccurate_runs: usize,
    /// With the confidence, the probability of a late run is at most this.
    pub bound: f64,
}

/// Results for one plant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// One word.
    pub plant: &'static str,
    /// The active set first, then ADMM: stopping time, LAH's loss, unrolled loss, Jacobi grid, OSQP's defaults.
    pub rows: Vec<SolverRow>,
    /// Certificate of the active set.
    pub certificate: Certified,
    /// The same run with the active set and with ADMM tuned by its stopping time.
    pub traces: Vec<Trace>,
}

/// All that the experiment finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ControlResults {
    /// Four axes that must stay in their box.
    pub safety_filter: Findings,
    /// The Crazyflie.
    pub quadrotor: Findings,
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
    let built_in = plants().map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let task = progress.task("control", 2 * study::PARTS);
    // One bar for the experiment: its parts show none of their own.
    let inner = progress.unobserved();
    let [filter, quadrotor] = &built_in;
    let study = |plant: &crate::control::plants::Plant| {
        study::study(
            plant.name,
            &Scenario::of_plant(plant),
            config,
            &task,
            &inner,
        )
    };
    Ok(ControlResults {
        safety_filter: study(filter)?,
        quadrotor: study(quadrotor)?,
    })
}

#[cfg(test)]
mod tests;
