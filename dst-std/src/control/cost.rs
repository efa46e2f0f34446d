//! Estimated cost of a tick on a Cortex-M4F, and the memory of a controller.
//!
//! Tables and memory are counted. Instructions are a linear function of what a tick does. The coefficients of the active set are fitted to
//! the recorded ticks of the two plants; `cargo xtask count-ticks` fails if an estimate is off by more than 15 %. Those of ADMM are
//! rough.

use dst_core::mpc::{AdmmTick, Tick};

use super::device::{ActiveDevice, AdmmDevice, Device};
use super::simulate::TickResult;

/// Coefficients of a Cortex-M4F.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Instructions of a block in a tick of the active set.
    pub block: f64,
    /// Instructions of a step.
    pub step: f64,
    /// Instructions of a multiply-add.
    pub operation: f64,
    /// Instructions of an iteration of ADMM, beside its multiply-adds.
    pub iteration: f64,
    /// Instructions of a multiply-add of ADMM.
    pub admm_operation: f64,
    /// Bytes of code of the active set.
    pub code: usize,
    /// Bytes of code of ADMM.
    pub admm_code: usize,
}

/// Coefficients for gcc -O3 on a Cortex-M4F.
pub const COSTS: Costs = Costs {
    block: 270.0,
    step: 900.0,
    operation: 3.7,
    iteration: 300.0,
    admm_operation: 4.0,
    code: 7600,
    admm_code: 2000,
};

/// Bytes of a number.
const NUMBER: usize = 4;
/// Bytes of a word.
const WORD: usize = 2;

impl Device {
    /// Bytes of flash: tables and code.
    pub fn flash(&self) -> usize {
        match self {
            Self::ActiveSet(ActiveDevice { program, .. }) => {
                let response = match &program.roll_out {
                    None => program.response.len(),
                    Some(data) => data.operations(1),
                };
                let stage = [
                    &program.caps,
                    &program.lifts,
                    &program.lower,
                    &program.upper,
                ];
                let stage: usize = stage.into_iter().map(Vec::len).sum();
                let tables = program.gram.len() + program.scale.len() + response + stage;
                NUMBER * tables + COSTS.code
            }
            Self::Admm(AdmmDevice { program, tuned, .. }) => {
                let tables = [
                    &program.outputs,
                    &program.linear,
                    &program.free,
                    &program.lower,
                    &program.upper,
                    &tuned.params,
                    &tuned.inverses,
                ];
                let numbers: usize = tables.into_iter().map(Vec::len).sum();
                NUMBER * (numbers + tuned.switches.len()) + COSTS.admm_code
            }
        }
    }

    /// Bytes of RAM between ticks: numbers and words.
    pub fn ram(&self) -> usize {
        match self {
            Self::ActiveSet(device) => {
                let controller = device.controller();
                NUMBER * Tick::numbers(&controller) + WORD * Tick::words(&controller)
            }
            Self::Admm(device) => NUMBER * AdmmTick::<f32>::len(device.program.shape),
        }
    }

    /// Estimated instructions of a tick with this many steps of all blocks, or iterations, and this many multiply-adds.
    pub fn instructions(&self, steps: f64, operations: f64) -> f64 {
        match self {
            Self::ActiveSet(ActiveDevice { program, .. }) => {
                let blocks = program.blocks as f64;
                COSTS.block * blocks + COSTS.step * steps + COSTS.operation * operations
            }
            Self::Admm(_) => COSTS.iteration * steps + COSTS.admm_operation * operations,
        }
    }

    /// Mean of the estimated instructions of these ticks.
    pub fn mean_instructions<'a>(&self, ticks: impl IntoIterator<Item = &'a TickResult>) -> f64 {
        let (mut sum, mut count) = (0.0, 0.0);
        for tick in ticks {
            let outcome = tick.outcome;
            sum += self.instructions(f64::from(outcome.total), outcome.operations as f64);
            count += 1.0;
        }
        if count > 0.0 { sum / count } else { 0.0 }
    }

    /// Estimated instructions of a tick in which every block takes the whole budget. Its operations per step are those of the dearest of
    /// the slow ticks that were seen.
    pub fn instructions_at_budget<'a>(
        &self,
        ticks: impl IntoIterator<Item = &'a TickResult>,
        budget: u32,
    ) -> f64 {
        let budget = f64::from(budget);
        match self {
            Self::Admm(device) => {
                let operations = device.preparation_operations() as f64
                    + budget * device.iteration_operations() as f64;
                self.instructions(budget, operations)
            }
            Self::ActiveSet(ActiveDevice { program, .. }) => {
                let blocks = program.blocks as f64;
                let response = blocks * program.response_operations() as f64;
                let ticks: Vec<&TickResult> = ticks.into_iter().collect();
                let most = ticks.iter().map(|t| t.outcome.total).max().unwrap_or(0);
                // A step of a tick with few of them may include the factor of a whole set.
                let slow = ticks.iter().filter(|t| 2 * t.outcome.total >= most.max(1));
                let dearest = slow
                    .map(|t| (t.outcome.operations as f64 - response) / f64::from(t.outcome.total))
                    .fold(0.0, f64::max);
                let steps = blocks * budget;
                self.instructions(steps, response + steps * dearest)
            }
        }
    }
}
