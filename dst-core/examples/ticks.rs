//! A gradient spread over control ticks: per tick at most 20 iterations of a solver, or 8 backward operations. Only the memory is
//! kept between two ticks.
//!
//! Prints:
//! ```text
//! tick 1: acts on x = [0.358, 0.442], J = 3.3e0
//! tick 2: acts on x = [0.129, 0.195], J = 6.3e-1
//! tick 3: acts on x = [0.046, 0.086], J = 1.2e-1
//! tick 4: acts on x = [0.017, 0.038], J = 2.4e-2
//! tick 5: acts on x = [0.006, 0.017], J = 4.6e-3
//! tick 6: acts on x = [0.002, 0.007], J = 8.9e-4
//! tick 7: acts on x = [0.001, 0.003], J = 1.7e-4
//! tick 8: solved after 147 iterations
//! tick 67: raising the gain by 0.01 changes the time by -0.364
//! ```
#![allow(clippy::indexing_slicing)] // θ and its gradient have one entry

use dst_core::{Crossing, Error, Euler, Memory, Progress, Seeds, Status, formula};

fn main() -> Result<(), Error> {
    // Solver: preconditioned descent with one gain θ. Every tick builds the problem again.
    let flow = formula!(
        |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
        |x| x[0] * x[0] + x[1] * x[1] * 16.0,
    );
    let problem = || Euler::new(0.05).until(1e-4).on(&flow, &[0.2], &[1.0; 2]);
    let (mut tick, mut memory) = (1, Memory::<f32, 2, 1, 6>::new());
    problem()?.start(&mut memory)?;
    while let Status::Running(now) = problem()?.advance(&mut memory, 20)? {
        // Deadline before the stop: the tick acts on the best iterate so far.
        let (x, j) = (now.best, now.best_criterion);
        println!("tick {tick}: acts on x = {x:.3?}, J = {j:.1e}");
        tick += 1;
    }
    let steps = problem()?.iterate(&memory)?.steps;
    println!("tick {tick}: solved after {steps} iterations");
    tick += 1;
    let seeds = Seeds::stop(Crossing::Interpolated);
    while let Progress::Running { .. } = problem()?.adjoint(&mut memory, seeds, 8)? {
        tick += 1;
    }
    let change = 0.01 * problem()?.gradient(&memory)?.theta[0];
    println!("tick {tick}: raising the gain by 0.01 changes the time by {change:+.3}");
    Ok(())
}
