//! Independent solver of the programs of [`Program`], in f64, with a certificate of its error.
//!
//! 1. A primal–dual interior-point method (Mehrotra's predictor and corrector). Every finite bound is a *side*, σa·u ≤ σb.
//!    A side with a penalty has its violation as an explicit variable.
//! 2. A polish: the KKT equations of the sides found active, with residuals of 32 digits.
//! 3. A certificate: residuals of the KKT conditions, and by strong convexity a bound of ‖u − u*‖.
//! 4. Without a certificate, phase one: the smallest sum of violations, whose multipliers are a Farkas certificate.
//!
//! All of it works on a copy of the program that is scaled by powers of two, which is exact.

mod certificate;
mod double;
mod factor;
mod newton;
mod phase_one;
mod polish;
mod scaled;

pub use factor::Cholesky;

use crate::programs::Program;
use scaled::Scaled;

/// Answer of the reference solver.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// Solution with a certified error.
    Solution(Reference),
    /// No point of norm up to `radius` satisfies the hard rows.
    Infeasible {
        /// Radius of the ball without a feasible point.
        radius: f64,
    },
    /// Neither certificate was found.
    Undecided,
}

/// Solution with its certificate.
#[derive(Clone, Debug)]
pub struct Reference {
    /// u
    pub u: Vec<f64>,
    /// λ: positive at an upper bound, negative at a lower one.
    pub multipliers: Vec<f64>,
    /// Bound of ‖u − u*‖.
    pub error: f64,
}

/// Largest certified error of a solution, relative to 1 + ‖u‖_∞.
pub const CERTIFIED: f64 = 1e-10;

/// Smallest radius that counts as infeasible.
const RADIUS: f64 = 1e4;

/// Solves a program, or shows that it has no solution.
pub fn decide(program: &Program) -> Verdict {
    let scaled = Scaled::new(program);
    let hard = |j: usize| !program.is_soft(j);
    if (0..program.count()).any(|j| hard(j) && program.lower[j] > program.upper[j]) {
        return Verdict::Infeasible {
            radius: f64::INFINITY,
        };
    }
    // The kind only chooses the order; either certificate is checked in full.
    if program.kind.feasible() {
        solution(&scaled).or_else(|| without(&scaled))
    } else {
        without(&scaled).or_else(|| solution(&scaled))
    }
    .unwrap_or(Verdict::Undecided)
}

fn solution(scaled: &Scaled) -> Option<Verdict> {
    let interior = newton::solve(scaled);
    let reference = polish::polish(scaled, &interior)?;
    let size = reference.u.iter().fold(1.0_f64, |m, u| m.max(u.abs()));
    (reference.error <= CERTIFIED * size).then_some(Verdict::Solution(reference))
}

fn without(scaled: &Scaled) -> Option<Verdict> {
    let radius = phase_one::radius(scaled);
    (radius >= RADIUS).then_some(Verdict::Infeasible { radius })
}
