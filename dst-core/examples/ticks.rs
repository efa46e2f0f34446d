//! A gradient spread over control ticks: at most 20 iterations of a solver per tick, and at most 8 backward operations. Between two ticks
//! nothing is borrowed: what remains is plain data and the memory.
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
#![allow(clippy::indexing_slicing)] // θ has one entry, and so has its gradient

use dst_core::{
    AdjointState, Error, Euler, Integrator, Memory, Progress, RunState, Status, formula,
};

/// Where the work stands between two ticks.
enum Phase {
    Solving(RunState<f32>),
    Differentiating(AdjointState<f32>),
    Done,
}

fn main() -> Result<(), Error> {
    // The solver: a preconditioned descent with one gain θ.
    let flow = formula!(
        |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
        |x| x[0] * x[0] + x[1] * x[1] * 16.0,
    );
    let (theta, x0) = ([0.2], [1.0, 1.0]);
    let plan = Euler::new(0.05).until(1e-4);
    let mut memory = Memory::<f32, 2, 1, 6>::new();

    let mut phase = Phase::Solving(plan.record(&flow, &theta, &x0, &mut memory)?.suspend());
    for tick in 1.. {
        phase = match phase {
            Phase::Solving(state) => {
                let mut run = plan.resume(state, &flow, &theta, &x0, &mut memory)?;
                match run.advance(20)? {
                    // The deadline comes first: the best iterate so far is what the tick acts on.
                    Status::Running(now) => {
                        println!(
                            "tick {tick}: acts on x = {:.3?}, J = {:.1e}",
                            now.best, now.best_criterion
                        );
                        Phase::Solving(run.suspend())
                    }
                    Status::Reached(stop) | Status::StepLimit(stop) => {
                        println!("tick {tick}: solved after {} iterations", stop.steps);
                        Phase::Differentiating(run.adjoint()?.suspend())
                    }
                }
            }
            Phase::Differentiating(state) => {
                let mut sweep = plan.resume_adjoint(state, &flow, &theta, &x0, &mut memory)?;
                match sweep.advance(8)? {
                    Progress::Running { .. } => Phase::Differentiating(sweep.suspend()),
                    Progress::Done => {
                        let slope = sweep.finish()?.theta[0];
                        println!(
                            "tick {tick}: raising the gain by 0.01 changes the time by {:+.3}",
                            0.01 * slope
                        );
                        Phase::Done
                    }
                }
            }
            Phase::Done => break,
        };
    }
    Ok(())
}
