//! Ticks of the two plants with their exact inputs: the questions that every solver and every machine is asked.
//!
//! *Cold*: held-out states, each solved without a warm start. *Loop*: runs of the exact closed loop, whose inputs are those of the
//! exact solution. All numbers are rounded to `f32` before the exact solution is computed, because a device sees the rounded ones.

use dst_core::mpc::{Controller, Tick};

use super::active_program::ActiveProgram;
use super::closed_loop::nominal;
use super::plants::{Plant, Sine};
use super::streams::Stream;
use crate::random::bits;

/// One tick of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedTick {
    /// True if the solver starts without the solution of the tick before.
    pub cold: bool,
    /// True for a tick of the closed loop, false for a held-out state.
    pub looped: bool,
    /// Parameters of all blocks.
    pub p: Vec<f32>,
    /// Extra linear term of all blocks; may be empty.
    pub extra: Vec<f32>,
    /// Exact inputs of all blocks.
    pub exact: Vec<f64>,
}

/// Held-out cold ticks, and runs of the exact closed loop.
#[derive(Clone, Copy, Debug)]
pub struct Recording {
    /// Number of cold ticks.
    pub cold: usize,
    /// Number of runs.
    pub runs: usize,
    /// Ticks of a run.
    pub ticks: usize,
}

impl Recording {
    /// Sizes of the published counts: 1000 cold ticks, 20 runs of 30 ticks.
    pub const PUBLISHED: Self = Self {
        cold: 1000,
        runs: 20,
        ticks: 30,
    };

    /// Records the ticks of a plant: `Stream::Test`, then `Stream::TestLoops`.
    pub fn of(&self, plant: &Plant, seed: u64) -> Vec<RecordedTick> {
        let rows = plant.active.rows();
        let capacity = rows.min(plant.active.inputs * plant.active.stages) + 1;
        let mut exact = Exact::new(&plant.active, capacity);
        let mut all = Vec::new();
        for i in 0..self.cold as u64 {
            let (p, extra) = (plant.draw)(Stream::Test.of(seed), i);
            let round = |values: &[f64]| values.iter().map(|&v| v as f32).collect();
            all.push(exact.tick(round(&p), round(&extra), false, true));
        }
        for run in 0..self.runs as u64 {
            self.run(plant, Stream::TestLoops.of(seed), run, &mut exact, &mut all);
        }
        all
    }

    fn run(
        &self,
        plant: &Plant,
        seed: u64,
        number: u64,
        exact: &mut Exact<'_>,
        all: &mut Vec<RecordedTick>,
    ) {
        let (x, _) = (plant.draw)(seed, number);
        let mut x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
        let stream = bits(seed, number);
        let sines: Vec<Sine> = (0..plant.active.blocks as u64)
            .map(|axis| Sine::random(bits(stream, axis)))
            .collect();
        for k in 0..self.ticks {
            let extra = nominal(plant, &sines, k as f64 * super::closed_loop::H, &x);
            let tick = exact.tick(x.clone(), extra, true, k == 0);
            let u: Vec<f32> = tick.exact.iter().map(|&u| u as f32).collect();
            plant.advance(&mut x, &u);
            all.push(tick);
        }
    }
}

/// Solvers in double precision: the first without a tolerance. A state that lies on its bound may be beyond it by its rounding, and the
/// program then has no solution; the others allow that much.
struct Exact<'a> {
    controllers: Vec<Controller<'a, f64>>,
    numbers: Vec<f64>,
    words: Vec<u16>,
}

impl<'a> Exact<'a> {
    fn new(program: &'a ActiveProgram<f64>, capacity: usize) -> Self {
        let tolerances = [0.0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6];
        let controllers: Vec<Controller<'a, f64>> = tolerances
            .iter()
            .map(|&tolerance| program.controller(capacity, tolerance))
            .collect();
        let first = &controllers[0];
        Self {
            numbers: vec![0.0; Tick::<f64>::numbers(first)],
            words: vec![0; Tick::<f64>::words(first)],
            controllers,
        }
    }

    fn tick(&mut self, p: Vec<f32>, extra: Vec<f32>, looped: bool, cold: bool) -> RecordedTick {
        let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| f64::from(v)).collect() };
        let mut exact = Vec::new();
        for controller in &self.controllers {
            let Ok(mut tick) = Tick::new(controller, &mut self.numbers, &mut self.words) else {
                continue;
            };
            let solved = controller.tick(&mut tick, &wide(&p), &wide(&extra), 10_000);
            if solved.is_ok_and(|outcome| outcome.status.is_solved()) {
                exact = tick.inputs().to_vec();
                break;
            }
        }
        RecordedTick {
            cold,
            looped,
            p,
            extra,
            exact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::plants::plants;

    #[test]
    fn every_recorded_tick_has_an_exact_answer_within_its_bounds() {
        let few = Recording {
            cold: 50,
            runs: 3,
            ticks: 10,
        };
        for plant in plants().unwrap() {
            let ticks = few.of(&plant, 1);
            assert_eq!(ticks.len(), 80);
            assert_eq!(ticks.iter().filter(|t| t.cold).count(), 53);
            for tick in &ticks {
                let inputs = plant.active.inputs * plant.active.blocks;
                assert_eq!(tick.exact.len(), inputs, "{}", plant.name);
                for (i, u) in tick.exact.iter().enumerate() {
                    let kind = i % plant.active.inputs;
                    let bounds = plant.active.lower[kind]..=plant.active.upper[kind];
                    assert!(bounds.contains(u), "{}: {u}", plant.name);
                }
            }
        }
    }
}
