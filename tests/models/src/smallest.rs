//! The smallest useful run, whose size, stack and instructions are measured on every target: Euler, a stop check, the
//! adjoint and the paper's crossing, in `f32`, for a system of four states and two parameters.
//!
//! Written as a user would write it for a part with little flash, and without anything that can panic.

use dst_core::{Crossing, Error, Euler, Memory, Seeds};

use crate::Suspension;

/// Seven rows of working memory are enough for Euler and a system without a tape; six checkpoint slots.
pub type Room = Memory<f32, 4, 2, 6, 7>;

/// Results of the run, as machine words: formatting would be most of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// 0, or which part failed.
    pub failure: u32,
    /// N
    pub steps: u32,
    /// Evaluations of the rate.
    pub rates: u32,
    /// Pullbacks.
    pub pullbacks: u32,
    /// T
    pub time: f32,
    /// ∂T/∂θ
    pub theta: [f32; 2],
    /// ∂T/∂x0
    pub x0: [f32; 4],
    /// Bytes of stack that the run took; filled in by the caller that measured it.
    pub stack: u32,
    /// Bytes of the memory of the run.
    pub workspace: u32,
}

impl Report {
    /// Nothing yet; for a `static`.
    pub const EMPTY: Self = Self {
        failure: u32::MAX,
        steps: 0,
        rates: 0,
        pullbacks: 0,
        time: 0.0,
        theta: [0.0; 2],
        x0: [0.0; 4],
        stack: 0,
        workspace: 0,
    };
    /// Words of a report.
    pub const WORDS: usize = 13;

    /// In the order of the fields, numbers as their bits.
    pub fn words(&self) -> [u32; Self::WORDS] {
        let [t0, t1] = self.theta.map(f32::to_bits);
        let [x0, x1, x2, x3] = self.x0.map(f32::to_bits);
        let (time, stack) = (self.time.to_bits(), self.stack);
        let counts = [self.failure, self.steps, self.rates, self.pullbacks];
        let [failure, steps, rates, pullbacks] = counts;
        [
            failure,
            steps,
            rates,
            pullbacks,
            time,
            t0,
            t1,
            x0,
            x1,
            x2,
            x3,
            stack,
            self.workspace,
        ]
    }
}

/// Runs and differentiates; calls `stopped` in between.
#[inline(always)]
pub fn run(memory: &mut Room, report: &mut Report, stopped: impl FnOnce()) {
    report.workspace = size_of::<Room>() as u32;
    report.failure = match attempt(memory, report, stopped) {
        Ok(()) => 0,
        Err(_) => 1,
    };
}

#[inline(always)]
fn attempt(memory: &mut Room, report: &mut Report, stopped: impl FnOnce()) -> Result<(), Error> {
    let (theta, x0) = ([3.0, 1.5], [1.0, 0.1, 0.0, 0.0]);
    let problem = Euler::new(0.02).until(0.5).on(&Suspension, &theta, &x0)?;
    problem.start(memory)?;
    problem.complete(memory)?;
    stopped();
    // The adjoint by name: no code of the tangent mode is linked.
    problem.adjoint(memory, Seeds::stop(Crossing::Paper), usize::MAX)?;
    let gradient = problem.gradient(memory)?;
    report.steps = gradient.steps as u32;
    report.rates = gradient.evaluations.rate as u32;
    report.pullbacks = gradient.evaluations.pullback as u32;
    if let Some(stop) = gradient.stop {
        report.time = stop.time;
    }
    for (to, &from) in report.theta.iter_mut().zip(gradient.theta) {
        *to = from;
    }
    for (to, &from) in report.x0.iter_mut().zip(gradient.x0) {
        *to = from;
    }
    Ok(())
}
