//! Descents of 4 and of 14 parameters in `f32`, for measurements of memory and instructions per tell.
//!
//! The value is Σ kᵢ·((θᵢ/oᵢ − 1)² + (oᵢ/θᵢ − 1)²), with the optima oᵢ over six orders of magnitude, and beyond a hidden bound on the
//! first parameter there is none: every part of the descent is used.

use dst_core::Error;
use dst_core::descent::{Coordinate, Descent};

/// Result of a descent, as words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// 0, or the number of the part that failed.
    pub failure: u32,
    /// Number of runs.
    pub runs: u32,
    /// Bits of the least value.
    pub value: u32,
    /// Digest of the bits of the best θ.
    pub theta: u32,
}

impl Report {
    /// Length of a report in words.
    pub const WORDS: usize = 4;

    /// Words in the order of the fields.
    pub fn words(&self) -> [u32; Self::WORDS] {
        [self.failure, self.runs, self.value, self.theta]
    }
}

/// Start, factor of the next optimum, and bound of the first parameter.
const START: f32 = 1.0;
const FACTOR: f32 = 3.0;
const BOUND: f32 = 0.003;

/// Value and gradient; `None` beyond the bound.
fn value<const P: usize>(theta: &[f32; P], gradient: &mut [f32; P]) -> Option<f32> {
    let (mut optimum, mut weight, mut sum) = (0.001, 1.0, 1.0);
    if theta.first().is_some_and(|&first| first < BOUND) {
        return None;
    }
    for (&theta, gradient) in theta.iter().zip(gradient) {
        let (a, b) = (theta / optimum, optimum / theta);
        sum += weight * ((a - 1.0) * (a - 1.0) + (b - 1.0) * (b - 1.0));
        *gradient = 2.0 * weight * ((a - 1.0) * a - (b - 1.0) * b) / theta;
        optimum *= FACTOR;
        weight = if weight > 4.0 { 0.5 } else { weight * 2.0 };
    }
    Some(sum)
}

/// Descent of P parameters before its first run; for a `static`.
pub const fn new<const P: usize>() -> Descent<f32, P> {
    Descent::new([START; P], [Coordinate::Log; P]).at_most(60)
}

/// Descends to the end; calls `around` before (true) and after (false) every tell.
#[inline(always)]
pub fn run<const P: usize>(descent: &mut Descent<f32, P>, around: impl FnMut(bool)) -> Report {
    let failure = u32::from(attempt(descent, around).is_err());
    let (mut least, mut digest) = (0, 0x811c_9dc5);
    if let Some((theta, value)) = descent.best() {
        least = value.to_bits();
        for theta in theta {
            digest = (digest ^ theta.to_bits()).wrapping_mul(0x0100_0193);
        }
    }
    Report {
        failure,
        runs: descent.runs() as u32,
        value: least,
        theta: digest,
    }
}

#[inline(always)]
fn attempt<const P: usize>(
    descent: &mut Descent<f32, P>,
    mut around: impl FnMut(bool),
) -> Result<(), Error> {
    let mut gradient = [0.0; P];
    while !descent.finished() {
        let value = value(descent.theta(), &mut gradient);
        around(true);
        match value {
            Some(value) => descent.tell(value, &gradient)?,
            None => descent.tell_failed()?,
        };
        around(false);
    }
    Ok(())
}
