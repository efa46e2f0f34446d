//! Result of `dst control export` and `dst qp tune`: the JSON that both print, and the numbers of the certificate.

use serde::Serialize;

/// Solver, budget, certificate and costs of an exported controller or program.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// `active set` or `admm`.
    pub solver: String,
    /// Steps or iterations allowed per tick.
    pub budget: u32,
    /// Accuracy asked for.
    pub accuracy: f64,
    /// Certificate of the budget.
    pub late: Late,
    /// Ticks of closed loops, warm-started. None for a family of programs.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<Counts>,
    /// Ticks from a cold start. None for a family of programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<Counts>,
    /// Held-out instances. None for a controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<Counts>,
    /// The same from warm starts, in the order of the instances. None for a controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out_warm: Option<Counts>,
    /// Error of the inputs found on fresh ticks.
    pub input_error: ErrorOfInputs,
    /// Other solvers and settings, at equal accuracy.
    pub baselines: Vec<Baseline>,
    /// Bytes of flash.
    pub flash: usize,
    /// Bytes of RAM.
    pub ram: usize,
    /// Estimated instructions of a tick on a Cortex-M4F.
    pub instructions: Instructions,
    /// Warnings, one sentence each.
    pub warnings: Vec<String>,
}

/// Certificate: with this confidence, the share of runs with a late tick is at most `bound`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Late {
    /// Largest share of late runs.
    pub bound: f64,
    /// Confidence, covering all attempts.
    pub confidence: f64,
    /// Fresh runs.
    pub runs: usize,
    /// Runs with at least one tick beyond the budget.
    pub late_runs: usize,
}

/// Steps or iterations of a set of ticks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Counts {
    /// Number of ticks.
    pub ticks: usize,
    /// Mean count.
    pub mean: f64,
    /// All but one tick in a hundred need no more.
    pub p99: u32,
    /// Largest count.
    pub max: u32,
    /// Ticks that were not solved within the cap.
    pub unsolved: usize,
}

/// |u0 − u0\*| divided by half the width of the bounds of the input, or by 1 + |u0\*| without bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorOfInputs {
    /// Mean error.
    pub mean: f64,
    /// All but one tick in a hundred are more accurate.
    pub p99: f64,
    /// Largest error.
    pub max: f64,
}

/// Another solver or setting on the same ticks, at equal accuracy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Baseline {
    /// Name of the solver and its setting.
    pub name: String,
    /// Ticks of closed loops.
    #[serde(rename = "loop", skip_serializing_if = "Option::is_none")]
    pub looped: Option<Counts>,
    /// Ticks from a cold start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold: Option<Counts>,
    /// Held-out instances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_out: Option<Counts>,
}

/// Estimated instructions of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Instructions {
    /// Mean of the ticks measured.
    pub mean: f64,
    /// A tick that takes the whole budget.
    pub budget: f64,
}

impl Counts {
    /// Statistics of counts; a count above `cap` means not solved.
    pub fn of(counts: &[u32], cap: u32) -> Self {
        let mut sorted: Vec<u32> = counts.iter().map(|&c| c.min(cap)).collect();
        sorted.sort_unstable();
        let n = sorted.len();
        let rank = (0.99 * n.saturating_sub(1) as f64).round() as usize;
        Self {
            ticks: n,
            mean: sorted.iter().map(|&c| f64::from(c)).sum::<f64>() / n.max(1) as f64,
            p99: sorted.get(rank).copied().unwrap_or(0),
            max: sorted.last().copied().unwrap_or(0),
            unsolved: counts.iter().filter(|&&c| c > cap).count(),
        }
    }
}

impl ErrorOfInputs {
    /// Statistics of errors.
    pub fn of(errors: &[f64]) -> Self {
        let mut sorted = errors.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let rank = (0.99 * n.saturating_sub(1) as f64).round() as usize;
        Self {
            mean: sorted.iter().sum::<f64>() / n.max(1) as f64,
            p99: sorted.get(rank).copied().unwrap_or(0.0),
            max: sorted.last().copied().unwrap_or(0.0),
        }
    }
}
