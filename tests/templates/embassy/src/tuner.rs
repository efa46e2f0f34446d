//! Gains of the estimator, tuned so that its error settles sooner.
//!
//! The motor measures its position only; its speed is estimated. The error e of the estimator follows e₁' = e₂ − θ₁e₁ and
//! e₂' = −2e₂ − θ₂e₁, and Euler's method with the period of a tick is the estimator itself.

use dst_core::descent::{Coordinate, Descent};
use dst_core::{Error, Euler, Memory, formula};

/// Gains θ of the estimator.
pub type Gains = [f32; 2];

/// Gains before the tuner has found better ones.
pub const FIRST: Gains = [1.0, 0.5];

/// A descent in the gains, with the memory of a run and its gradient.
pub struct Tuner {
    descent: Descent<f32, 2>,
    memory: Memory<f32, 2, 2, 6>,
}

impl Tuner {
    pub const fn new() -> Self {
        let bounds = [
            Coordinate::Between(0.5, 16.0),
            Coordinate::Between(0.1, 60.0),
        ];
        Self {
            descent: Descent::new(FIRST, bounds).at_most(40),
            memory: Memory::new(),
        }
    }

    /// Tries one pair of gains. Returns the best so far with its seconds, or nothing when the tuner has finished.
    pub fn improve(&mut self) -> Result<Option<(Gains, f32)>, Error> {
        if self.descent.finished() {
            return Ok(None);
        }
        let error = formula!(
            |theta: 2, x: 2, _t| [x[1] - theta[0] * x[0], -2.0 * x[1] - theta[1] * x[0]].map(|v| -v),
            |x| x[0] * x[0] + x[1] * x[1],
        );
        let plan = Euler::new(0.05)
            .until(1e-3)
            .at_most(400)
            .staying_to_the_end();
        match plan.sensitivity(&error, self.descent.theta(), &[0.1, 0.5], &mut self.memory) {
            Ok(found) => self.descent.tell(found.stop.time, found.time_gradient())?,
            Err(Error::NotStopped { .. } | Error::FlatCrossing { .. }) => {
                self.descent.tell_failed()?
            }
            Err(other) => return Err(other),
        };
        Ok(self
            .descent
            .best()
            .map(|(gains, seconds)| (*gains, seconds)))
    }
}
