//! Twelve states under state feedback: a run until it stops, then the gradient of its stopping time with respect to 48 gains, in `f32`;
//! beside hand-written C (`dst-bench/peers/firmware/feedback.c`).
//!
//! It prints its results as raw words: an exit code, N, evaluations, pullbacks, T, and the gradient.

#![no_std]
#![no_main]

use core::hint::black_box;

use board::{Once, mark};
use dst_core::fixed::LinearFeedback;
use dst_core::{Crossing, Error, Euler, Memory, Seeds};
use nalgebra::SMatrix;

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

const STATES: usize = 12;
const INPUTS: usize = 4;
const GAINS: usize = STATES * INPUTS;

/// Seven rows are enough for Euler and a system without a tape; ten checkpoints.
type Room = Memory<f32, STATES, GAINS, 10, 7>;
type Results = [f32; 1 + GAINS + STATES];

static MEMORY: Once<Room> = Once::new(Room::new());
static RESULTS: Once<Results> = Once::new([0.0; 1 + GAINS + STATES]);

fn main() -> u32 {
    let (Some(memory), Some(results)) = (MEMORY.take(), RESULTS.take()) else {
        return 2;
    };
    // A stable plant with small whole numbers, which the compiler cannot fold into the code.
    let unit = black_box(1.0 / 64.0);
    let number = |i, j| ((7 * i + 13 * j) % 11) as f32 - 5.0;
    let a = SMatrix::from_fn(|i, j| unit * number(i, j) - if i == j { 1.0 } else { 0.0 });
    let b: SMatrix<f32, STATES, INPUTS> =
        SMatrix::from_fn(|i, j| unit * 4.0 * (((5 * i + 3 * j) % 7) as f32 - 3.0));
    let gains = b.transpose() / 4.0;
    let plant = LinearFeedback { a, b };
    let x0: [f32; STATES] = core::array::from_fn(|i| (i % 3) as f32 / 2.0 + 0.25);
    mark!("dst_mark_start");
    let outcome = run(&plant, gains.as_slice(), &x0, memory, results);
    match outcome {
        Ok(counts) => {
            board::write_words(&counts);
            board::write_words(&results.map(f32::to_bits));
            0
        }
        Err(_) => 1,
    }
}

#[inline(always)]
fn run(
    plant: &LinearFeedback<f32, STATES, INPUTS>,
    theta: &[f32],
    x0: &[f32],
    memory: &mut Room,
    results: &mut Results,
) -> Result<[u32; 4], Error> {
    let problem = Euler::new(0.015625).until(1e-3).on(plant, theta, x0)?;
    problem.start(memory)?;
    problem.complete(memory)?;
    mark!("dst_mark_stopped");
    problem.adjoint(memory, Seeds::stop(Crossing::Paper), usize::MAX)?;
    let gradient = problem.gradient(memory)?;
    mark!("dst_mark_done");
    let time = gradient.stop.map(|stop| stop.time);
    let found = time.iter().chain(gradient.theta).chain(gradient.x0);
    for (to, &from) in results.iter_mut().zip(found) {
        *to = from;
    }
    let evaluations = gradient.evaluations;
    Ok([
        0,
        gradient.steps as u32,
        evaluations.rate as u32,
        evaluations.pullback as u32,
    ])
}
