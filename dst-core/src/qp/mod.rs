//! Quadratic programs min ½uᵀPu + qᵀu with l ≤ Au ≤ h, solved again and again with other q, l and h.
//!
//! ADMM solves them with one matrix K = (P + AᵀRA)⁻¹, which depends only on its knobs:
//!
//! u = K(Aᵀ(R∘z − y) − q), v = αAu + (1 − α)z, z⁺ = clip(v + y/R), y⁺ = y + R∘(v − z⁺)
//!
//! K and 1/R are prepared, so an iteration has no division. Groups of rows may have other sets than bounds.
//!
//! until max(‖Au − z⁺‖_∞/ε_p, ‖Pu + q + Aᵀy⁺‖_∞/ε_d) ≤ 1. The knobs are R, one number per row, and α; they may change at fixed
//! iterations, so no factorisation takes place during a solve.
//!
//! | | |
//! |---|---|
//! | [`Shape`], [`Qp`], [`Instance`] | a program with rows A = [I; C]: its constant part, and the part that changes per solve |
//! | [`Admm`] | ADMM as a [`System`](crate::System), with the exact pullback, through K(R) as well |
//! | [`Projection`] | set of a group of rows: [`Bounds`], [`SoftBounds`], a ball, a second-order cone; several as [`Sets`] |
//! | [`Knobs`] | θ ↦ R = base·exp(Φθ), α = 2·sigmoid(a), per phase, and back |
//! | [`Inversion`] | K and 1/R from R, one pivot at a time |
//! | [`ProjectedMomentum`] | another solver, for bounds on inputs only |

#[cfg(feature = "libm")]
mod admm;
#[cfg(feature = "libm")]
mod cone;
mod inversion;
mod kernels;
#[cfg(feature = "libm")]
mod knobs;
#[cfg(feature = "libm")]
mod momentum;
mod program;
mod projection;
mod soft;
mod step;

#[cfg(feature = "libm")]
pub use admm::Admm;
#[cfg(feature = "libm")]
pub(crate) use admm::dims;
#[cfg(feature = "libm")]
pub use cone::{Ball, Cone};
pub use inversion::Inversion;
#[cfg(feature = "libm")]
pub(crate) use inversion::prepare;
#[cfg(feature = "libm")]
pub use knobs::Knobs;
#[cfg(feature = "libm")]
pub use momentum::ProjectedMomentum;
pub(crate) use program::in_order;
pub use program::{Instance, Qp, Shape, Tolerance};
pub use projection::{Bounds, Projection, Rows, Set, Sets};
pub use soft::SoftBounds;
pub(crate) use step::clip;
pub use step::{Phase, Phases, Residual, Solver};

#[cfg(test)]
mod tests;
