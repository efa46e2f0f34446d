//! Firmware style: all memory in a `static` that the linker places, no heap, `f32`, and a status instead of a panic.
//!
//! `Tuner` uses only `dst-core`. On a microcontroller, use a critical section or a `StaticCell` instead of the `Mutex` of this
//! host program; `tests/on-target` runs such programs on four boards.
//!
//! Prints:
//! ```text
//! 752 bytes in all
//! refused: no gradient: the criterion already holds at x0; lower epsilon
//! after 1 runs: k = 4.00, d = 0.50 settles after 16.97 s
//! after 10 runs: k = 8.00, d = 4.99 settles after 1.86 s
//! after 20 runs: k = 8.00, d = 4.59 settles after 1.68 s
//! after 30 runs: k = 8.00, d = 4.42 settles after 1.63 s
//! after 40 runs: k = 8.00, d = 4.41 settles after 1.62 s
//! ```
use std::sync::Mutex;

use dst_core::descent::{Coordinate, Descent, Verdict};
use dst_core::{Error, Euler, Memory, formula};

/// Position loop with gains θ = (k, d), tuned to settle sooner.
struct Tuner {
    descent: Descent<f32, 2>,
    memory: Memory<f32, 2, 2, 6>, // 2 states, 2 parameters, 6 checkpoint slots
}

impl Tuner {
    const fn new() -> Self {
        // Bounds that the actuator allows; without `libm`.
        let gains = [Coordinate::Between(1.0, 8.0), Coordinate::Between(0.1, 6.0)];
        Self {
            descent: Descent::new([4.0, 0.5], gains).at_most(40),
            memory: Memory::new(),
        }
    }

    /// Tries one pair of gains. A loop that does not settle is no reason to stop: the descent keeps the best gains.
    fn improve(&mut self, x0: &[f32; 2]) -> Result<Verdict, Error> {
        let plant = formula!(
            |theta: 2, x: 2, _t| [-x[1], theta[0] * x[0] + theta[1] * x[1]],
            |x| x[0] * x[0] + x[1] * x[1],
        );
        // Bounded work: 2000 steps in every run.
        let plan = Euler::new(0.01)
            .until(1e-3)
            .at_most(2000)
            .staying_to_the_end();
        match plan.sensitivity(&plant, self.descent.theta(), x0, &mut self.memory) {
            Ok(s) => self.descent.tell(s.stop.time, s.time_gradient()),
            Err(Error::NotStopped { .. } | Error::FlatCrossing { .. }) => {
                self.descent.tell_failed()
            }
            Err(other) => Err(other),
        }
    }
}

static TUNER: Mutex<Tuner> = Mutex::new(Tuner::new());

fn main() -> Result<(), Error> {
    println!("{} bytes in all", size_of::<Tuner>());
    let Ok(mut tuner) = TUNER.lock() else {
        return Ok(());
    };
    // A start at rest has no gradient. The error gives the reason, and the memory can be used again.
    match tuner.improve(&[0.0, 0.0]) {
        Err(reason) => println!("refused: {reason}"),
        Ok(verdict) => println!("{verdict:?} from rest"),
    }
    while !tuner.descent.finished() {
        tuner.improve(&[1.0, 0.0])?;
        let runs = tuner.descent.runs();
        if let Some(([k, d], seconds)) = tuner.descent.best()
            && (runs == 1 || runs % 10 == 0)
        {
            println!("after {runs} runs: k = {k:.2}, d = {d:.2} settles after {seconds:.2} s");
        }
    }
    Ok(())
}
