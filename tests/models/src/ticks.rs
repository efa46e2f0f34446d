//! Tuned controllers in closed loop with simulated plants, in `f32`: the work of firmware at every tick.
//!
//! A PD controller that follows a triangle wave beyond the box gives the nominal inputs of the safety filter (no sine: its bits
//! would depend on the mathematics library of the language); the quadrotor returns to hover. `tests/c/ticks.c` is the same in C
//! and must produce the same bits.

use dst_core::Error;
use dst_core::mpc::{AdmmController, AdmmOutcome, AdmmTick};

use crate::controllers::{quadrotor, safety_filter};

/// Number of ticks of a run.
pub const TICKS: usize = 12;
/// Iterations allowed per tick.
pub const BUDGET: usize = 150;

/// Result of a run, as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// 0, or 1 if a tick was rejected.
    pub failure: u32,
    /// Iterations of all ticks.
    pub iterations: u32,
    /// Iterations of the longest tick.
    pub worst: u32,
    /// Number of ticks that the deadline cut short.
    pub unsolved: u32,
    /// Digest of the bits of all inputs.
    pub inputs: u32,
    /// Digest of the bits of the last state.
    pub state: u32,
}

impl Report {
    /// Empty report; for a `static`.
    pub const EMPTY: Self = Self {
        failure: u32::MAX,
        iterations: 0,
        worst: 0,
        unsolved: 0,
        inputs: 0x811c_9dc5,
        state: 0x811c_9dc5,
    };
    /// Length of a report in words.
    pub const WORDS: usize = 6;

    /// Words in the order of the fields.
    pub fn words(&self) -> [u32; Self::WORDS] {
        [
            self.failure,
            self.iterations,
            self.worst,
            self.unsolved,
            self.inputs,
            self.state,
        ]
    }
}

/// Adds values to a digest (FNV-1a, by words).
fn digest(sum: &mut u32, values: &[f32]) {
    for value in values {
        *sum = (*sum ^ value.to_bits()).wrapping_mul(0x0100_0193);
    }
}

/// Memory of both runs.
#[derive(Debug)]
pub struct Room {
    safety: [f32; safety_filter::MEMORY],
    quadrotor: [f32; quadrotor::MEMORY],
}

impl Room {
    /// Zeroed memory; can initialise a `static`.
    pub const fn new() -> Self {
        Self {
            safety: [0.0; safety_filter::MEMORY],
            quadrotor: [0.0; quadrotor::MEMORY],
        }
    }
}

impl Default for Room {
    fn default() -> Self {
        Self::new()
    }
}

/// Length of a tick in seconds.
const H: f32 = 0.05;

/// −H·u_nominal over the horizon for one axis: PD control towards a triangle wave, predicted from this state.
fn wish(tick: usize, axis: usize, x: &[f32], linear: &mut [f32]) {
    let &[mut p, mut v] = x else { return };
    for (k, g) in linear.iter_mut().enumerate() {
        let phase = (tick + k + 13 * axis) % 80;
        let (target, speed) = if phase < 40 {
            (0.1 * phase as f32 - 2.0, 2.0)
        } else {
            (6.0 - 0.1 * phase as f32, -2.0)
        };
        let u = 7.0 * (target - p) + 3.0 * (speed - v);
        p += H * v + 0.5 * H * H * u;
        v += H * u;
        *g = -200.0 * u;
    }
}

/// x ← Ax + Bu, for every block.
fn advance(a: &[f32], b: &[f32], states: usize, inputs: usize, x: &mut [f32], u: &[f32]) {
    let mut old = [0.0; 12];
    let blocks = x.chunks_exact_mut(states.max(1));
    for (x, u) in blocks.zip(u.chunks_exact(inputs.max(1))) {
        for (old, &x) in old.iter_mut().zip(x.iter()) {
            *old = x;
        }
        let rows = a
            .chunks_exact(states.max(1))
            .zip(b.chunks_exact(inputs.max(1)));
        for (x, (a, b)) in x.iter_mut().zip(rows) {
            let mut sum = 0.0;
            for (&a, &x) in a.iter().zip(&old) {
                sum += a * x;
            }
            for (&b, &u) in b.iter().zip(u) {
                sum += b * u;
            }
            *x = sum;
        }
    }
}

/// Runs a closed loop; calls `around` before every tick with nothing, and after it with its outcome.
fn run(
    controller: &AdmmController<'_, f32>,
    (a, b): (&[f32], &[f32]),
    memory: &mut [f32],
    x: &mut [f32],
    extra: &mut [f32],
    report: &mut Report,
    mut around: impl FnMut(Option<AdmmOutcome<f32>>),
) -> Result<(), Error> {
    let shape = controller.shape;
    let mut tick = AdmmTick::new(shape, memory)?;
    for k in 0..TICKS {
        let axes = x.chunks_exact(controller.states.max(1));
        let wishes = extra.chunks_exact_mut(shape.variables().max(1));
        for (axis, (x, linear)) in axes.zip(wishes).enumerate() {
            wish(k, axis, x, linear);
        }
        around(None);
        let outcome = controller.tick(&mut tick, x, extra, BUDGET)?;
        around(Some(outcome));
        let iterations = outcome.iterations as u32;
        report.iterations += iterations;
        report.worst = report.worst.max(iterations);
        report.unsolved += u32::from(!outcome.solved);
        digest(&mut report.inputs, tick.inputs());
        advance(a, b, controller.states, shape.inputs, x, tick.inputs());
    }
    digest(&mut report.state, x);
    Ok(())
}

/// Runs the safety filter on four axes.
pub fn safety(room: &mut Room, report: &mut Report, around: impl FnMut(Option<AdmmOutcome<f32>>)) {
    let mut x = [0.2, -0.3, -0.5, 0.4, 0.6, 0.1, 0.0, 0.7];
    let mut extra = [0.0; 36];
    let plant = (&safety_filter::A[..], &safety_filter::B[..]);
    let controller = &safety_filter::CONTROLLER;
    let result = run(
        controller,
        plant,
        &mut room.safety,
        &mut x,
        &mut extra,
        report,
        around,
    );
    report.failure = u32::from(result.is_err());
}

/// Runs the quadrotor, from a distance of one metre.
pub fn hover(room: &mut Room, report: &mut Report, around: impl FnMut(Option<AdmmOutcome<f32>>)) {
    let mut x = [
        1.0, -0.8, 0.6, 0.1, -0.1, 0.2, 0.3, -0.2, 0.1, 0.2, -0.3, 0.1,
    ];
    let plant = (&quadrotor::A[..], &quadrotor::B[..]);
    let controller = &quadrotor::CONTROLLER;
    let result = run(
        controller,
        plant,
        &mut room.quadrotor,
        &mut x,
        &mut [],
        report,
        around,
    );
    report.failure = u32::from(result.is_err());
}
