//! Firmware style: all memory in a `static` that the linker places, no heap, `f32`, and a status instead of a panic.
//!
//! `Tuner` uses only `dst-core`. On a microcontroller, use a critical section or a `StaticCell` instead of the `Mutex` of this
//! host program; `tests/on-target` runs such programs on four boards.
//!
//! Prints:
//! ```text
//! 560 bytes in all
//! settles after 1697 steps
//! settles after 594 steps
//! settles after 449 steps
//! settles after 414 steps
//! refused: no gradient: the criterion already holds at x0; lower epsilon
//! ```
use std::sync::Mutex;

use dst_core::{Error, Euler, Memory, formula};

/// Position loop with gains θ = (k, d), tuned to settle sooner.
struct Tuner {
    theta: [f32; 2],
    memory: Memory<f32, 2, 2, 6>, // 2 states, 2 parameters, 6 checkpoint slots
}

impl Tuner {
    const fn new() -> Self {
        Self {
            theta: [4.0, 0.5],
            memory: Memory::new(),
        }
    }

    /// Improves the gains once; returns the number of steps that the loop took to settle before.
    fn improve(&mut self, x0: &[f32; 2]) -> Result<usize, Error> {
        let plant = formula!(
            |theta: 2, x: 2, _t| [-x[1], theta[0] * x[0] + theta[1] * x[1]],
            |x| x[0] * x[0] + x[1] * x[1],
        );
        // Bounded work: 2000 steps in every run. A loop that has not settled by then is an error.
        let plan = Euler::new(0.01)
            .until(1e-3)
            .at_most(2000)
            .staying_to_the_end();
        let s = plan.sensitivity(&plant, &self.theta, x0, &mut self.memory)?;
        for (theta, slope) in self.theta.iter_mut().zip(s.time_gradient()) {
            *theta -= (0.05 * slope).clamp(-0.1, 0.1);
        }
        Ok(s.steps)
    }
}

static TUNER: Mutex<Tuner> = Mutex::new(Tuner::new());

fn main() -> Result<(), Error> {
    println!("{} bytes in all", size_of::<Tuner>());
    let Ok(mut tuner) = TUNER.lock() else {
        return Ok(());
    };
    for round in 0..=30 {
        let steps = tuner.improve(&[1.0, 0.0])?;
        if round % 10 == 0 {
            println!("settles after {steps} steps");
        }
    }
    // A start at rest has no gradient. The error gives the reason, and the memory can be used again.
    match tuner.improve(&[0.0, 0.0]) {
        Err(reason) => println!("refused: {reason}"),
        Ok(steps) => println!("{steps} steps from rest"),
    }
    Ok(())
}
