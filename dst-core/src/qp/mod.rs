//! Quadratic programs min ½uᵀPu + qᵀu with l ≤ Au ≤ h, solved again and again with other q, l and h.
//!
//! ADMM solves them with one matrix K = (P + AᵀRA)⁻¹, which depends only on its knobs:
//!
//! u = K(Aᵀ(R∘z − y) − q), v = αAu + (1 − α)z, z⁺ = clip(v + y/R), y⁺ = y + R∘(v − z⁺)
//!
//! until max(‖Au − z⁺‖_∞/ε_p, ‖Pu + q + Aᵀy⁺‖_∞/ε_d) ≤ 1. The knobs are R, one number per row, and α; they may change at fixed
//! iterations, so no factorisation takes place during a solve.
//!
//! | | |
//! |---|---|
//! | [`Shape`], [`Qp`], [`Instance`] | a program with rows A = [I; C]: its constant part, and the part that changes per solve |
//! | [`Admm`] | ADMM as a [`System`](crate::System), with the exact pullback, through K(R) as well |
//! | [`Knobs`] | θ ↦ R = base·exp(Φθ), α = 2·sigmoid(a), per phase, and back |
//! | [`Inversion`] | K from R, one pivot at a time |
//! | [`ProjectedMomentum`] | another solver, for bounds on inputs only |

mod active_set;
#[cfg(feature = "libm")]
mod admm;
mod dense;
mod factor;
mod inversion;
#[cfg(feature = "libm")]
mod knobs;
#[cfg(feature = "libm")]
mod momentum;
mod program;
mod refinement;
mod search;
mod set;
mod step;

pub(crate) use active_set::Work;
pub use active_set::{ActiveSet, Bounds, Outcome, Status};
#[cfg(feature = "libm")]
pub use admm::Admm;
#[cfg(feature = "libm")]
pub(crate) use admm::dims;
pub use dense::{Dense, DenseMemory};
pub use inversion::Inversion;
#[cfg(feature = "libm")]
pub use knobs::Knobs;
#[cfg(feature = "libm")]
pub use momentum::ProjectedMomentum;
pub(crate) use program::in_order;
pub use program::{Instance, Qp, Shape, Tolerance};
pub(crate) use set::Set;
pub(crate) use step::clip;
pub use step::{Phase, Phases, Residual, Solver};

#[cfg(test)]
mod tests;
