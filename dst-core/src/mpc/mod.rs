//! Linear model predictive control with a deadline: the quadratic program of a tick, and solvers whose stopping time can be
//! differentiated with respect to their knobs.
//!
//! The program is condensed: min ½uᵀHu + gᵀu over all inputs of the horizon, subject to lo ≤ Gu ≤ hi with G = [I; C], that is,
//! bounds on inputs and on linear outputs. ADMM solves it with one matrix K = (H + GᵀRG)⁻¹, which depends only on the knobs:
//!
//! u = K(Gᵀ(R∘z − y) − g), v = αGu + (1 − α)z, z⁺ = clip(v + y/R), y⁺ = y + R∘(v − z⁺)
//!
//! until max(‖Gu − z⁺‖_∞/ε_p, ‖Hu + g + Gᵀy⁺‖_∞/ε_d) ≤ 1. The knobs are R, one number per constraint, and α; they may change at
//! fixed iterations, so no factorisation takes place during a tick.
//!
//! | | |
//! |---|---|
//! | [`Shape`], [`Qp`], [`Instance`] | the program: its constant part, and the part that changes per tick |
//! | [`Controller`] | the controller on the device: at most B iterations per tick, the best iterate, warm start by shifting |
//! | [`Admm`] | the same iteration as a [`System`](crate::System), with the exact pullback, through K(R) as well |
//! | [`Knobs`] | θ ↦ R = base·exp(Φθ), α = 2·sigmoid(a), per phase, and back |
//! | [`Inversion`] | K from R, one pivot at a time |
//! | [`Tuner`] | adapts θ on the device, a bounded amount of work per tick |
//! | [`ProjectedMomentum`] | the other solver, for bounds on inputs only |

#[cfg(feature = "libm")]
mod admm;
mod controller;
mod inversion;
#[cfg(feature = "libm")]
mod knobs;
#[cfg(feature = "libm")]
mod momentum;
mod qp;
mod step;
#[cfg(feature = "libm")]
mod tuner;

#[cfg(feature = "libm")]
pub use admm::Admm;
pub use controller::{Controller, Outcome, Tick};
pub use inversion::Inversion;
#[cfg(feature = "libm")]
pub use knobs::Knobs;
#[cfg(feature = "libm")]
pub use momentum::ProjectedMomentum;
pub use qp::{Instance, Qp, Shape, Tolerance};
pub use step::{Phase, Phases, Residual, Solver};
#[cfg(feature = "libm")]
pub use tuner::{Tuner, TunerStage};

#[cfg(test)]
mod tests;
