//! Family of instances with common parameters, which a user implements.

use std::ops::AddAssign;

use serde::Serialize;

use super::streams::Instance;
use crate::Failure;
use crate::parallel::piece;
use crate::progress::Interrupt;

/// Instances of a problem that share parameters to be tuned.
///
/// The coordinates u are free: any vector of finite numbers is valid, and a unit is a noticeable change in each of them. Step sizes
/// and gains are usually `exp(u)`, momenta `1/(1 + exp(−u))`.
pub trait Family: Sync {
    /// Number of coordinates.
    fn parameters(&self) -> usize;

    /// Runs one instance at u. The same arguments give the same bits.
    fn run(&self, instance: Instance, u: &[f64], request: &Request<'_>) -> Result<Sample, Failure>;
}

/// The part of a run that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// True if the gradient is wanted.
    pub gradient: bool,
    /// A limit on the steps of the run; the family's own limit holds as well. A run that meets it is scored by extrapolation.
    pub limit: usize,
    /// Factor on the tolerance ε: 1 at the end of a ramp, larger before. A family without a tolerance ignores it.
    pub ease: f64,
    /// The flag that ends the work. A run polls it and returns [`Failure::Interrupted`].
    pub interrupt: &'a Interrupt,
}

/// The result of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// The stopping time or a function of it, such as its logarithm; an extrapolation if the run did not stop; infinite if the run
    /// left the finite numbers.
    pub value: f64,
    /// The steps, if the run stopped.
    pub steps: Option<usize>,
    /// The derivative of the value by u. Empty if it was not asked for or does not exist.
    pub gradient: Vec<f64>,
    /// Everything that the run and its gradient computed.
    pub work: Work,
}

/// Counted work, in evaluations of about the same cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Work {
    /// Iterations of forward runs, those computed again for a gradient included.
    pub forward: usize,
    /// Steps of backward sweeps and of tangents.
    pub backward: usize,
}

impl Work {
    /// Returns the sum of both.
    pub fn total(self) -> usize {
        self.forward + self.backward
    }
}

piece!(Work { forward, backward });
piece!(Sample {
    value,
    steps,
    gradient,
    work
});

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.forward += other.forward;
        self.backward += other.backward;
    }
}
