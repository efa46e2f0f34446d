//! Closed loops: a controller and its plant, in the precision of the device, warm-started from tick to tick.

use dst_core::mpc::{AdmmController, AdmmTick};
use serde::Serialize;

use super::plants::{Plant, Sine};
use crate::parallel::{instances, piece};
use crate::random::bits;

/// Seconds per tick; both plants have the same.
pub(super) const H: f64 = 0.05;

/// Record of one closed-loop run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoopTrace {
    /// The first state of the first block, tick by tick.
    pub position: Vec<f64>,
    /// The first input.
    pub input: Vec<f64>,
    /// Iterations of every tick; one above the cap if it was not solved.
    pub iterations: Vec<u32>,
}

piece!(LoopTrace {
    position,
    input,
    iterations
});

/// The extra linear term at time t: that of the nominal controller, or none.
pub(super) fn nominal(plant: &Plant, sines: &[Sine], t: f64, x: &[f32]) -> Vec<f32> {
    if !plant.program.linear.is_empty() {
        return Vec::new();
    }
    let axes = x.chunks_exact(plant.program.states).zip(sines);
    axes.flat_map(|(x, sine)| sine.linear(t, (f64::from(x[0]), f64::from(x[1]))))
        .map(|g| g as f32)
        .collect()
}

/// Simulates runs 0 … `runs` − 1 of a random stream, each of `ticks` ticks with at most `cap` iterations.
pub fn closed_loops(
    plant: &Plant,
    controller: &AdmmController<'_, f32>,
    seed: u64,
    runs: usize,
    ticks: usize,
    cap: u32,
) -> Vec<LoopTrace> {
    let one = |r: usize| trace(plant, controller, seed, r as u64, ticks, cap);
    instances(runs, one)
}

fn trace(
    plant: &Plant,
    controller: &AdmmController<'_, f32>,
    seed: u64,
    number: u64,
    ticks: usize,
    cap: u32,
) -> LoopTrace {
    let shape = controller.shape;
    let (x, _) = (plant.draw)(seed, number);
    let mut x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    let stream = bits(seed, number);
    let sines: Vec<Sine> = (0..shape.blocks as u64)
        .map(|axis| Sine::random(bits(stream, axis)))
        .collect();
    let mut memory = vec![0.0; AdmmTick::<f32>::len(shape)];
    let mut trace = LoopTrace {
        position: Vec::new(),
        input: Vec::new(),
        iterations: Vec::new(),
    };
    let Ok(mut tick) = AdmmTick::new(shape, &mut memory) else {
        return trace;
    };
    for k in 0..ticks {
        let extra = nominal(plant, &sines, k as f64 * H, &x);
        let Ok(outcome) = controller.tick(&mut tick, &x, &extra, cap as usize) else {
            break;
        };
        let iterations = outcome.iterations as u32 + u32::from(!outcome.solved);
        trace.iterations.push(iterations);
        trace.position.push(f64::from(x[0]));
        trace.input.push(f64::from(tick.inputs()[0]));
        plant.advance(&mut x, tick.inputs());
    }
    trace
}
