//! Quadratic programs min ½uᵀPu + qᵀu with l ≤ Au ≤ h, solved again and again with other q, l and h.
//!
//! The *dual active set* works on W = A·P⁻¹·Aᵀ and finds the active rows one by one: exact, a step costs little, and few rows are
//! active in most programs of a controller. It is the solver to take first.
//!
//! *ADMM* is the solver whose stopping time can be differentiated, and the one for sets that are no bounds: a ball, a cone. It takes
//! one matrix K = (P + AᵀRA)⁻¹, which depends only on its knobs:
//!
//! u = K(Aᵀ(R∘z − y) − q), v = αAu + (1 − α)z, z⁺ = clip(v + y/R), y⁺ = y + R∘(v − z⁺)
//!
//! until max(‖Au − z⁺‖_∞/ε_p, ‖Pu + q + Aᵀy⁺‖_∞/ε_d) ≤ 1. The knobs are R, one number per row, and α; they may change at fixed
//! iterations. K and 1/R are prepared, so a solve has no factorisation and an iteration no division.
//!
//! | | |
//! |---|---|
//! | [`Dense`], [`DenseMemory`] | a program with dense P and A, solved by the active set with any q, l and h |
//! | [`ActiveSet`], [`Outcome`], [`Status`] | constants and result of the active set; [`mpc::Controller`](crate::mpc::Controller) has the same |
//! | [`Shape`], [`Qp`], [`Instance`] | a program with rows A = [I; C]: its constant part, and the part that changes per solve |
//! | [`Admm`] | ADMM as a [`System`](crate::System), with the exact pullback, through K(R) as well |
//! | [`Projection`] | set of a group of rows: [`Clip`], [`SoftBounds`], a ball, a second-order cone; several as [`Sets`] |
//! | [`Knobs`] | θ ↦ R = base·exp(Φθ), α = 2·sigmoid(a), per phase, and back |
//! | [`Inversion`] | K and 1/R from R, one pivot at a time |
//! | [`ProjectedMomentum`] | another solver, for bounds on inputs only |

mod active_rows;
mod active_set;
#[cfg(feature = "libm")]
mod admm;
#[cfg(feature = "libm")]
mod cone;
mod dense;
mod factor;
mod inversion;
mod kernels;
#[cfg(feature = "libm")]
mod knobs;
#[cfg(feature = "libm")]
mod momentum;
mod polish;
mod program;
mod projection;
mod refinement;
mod search;
mod soft;
mod step;

pub(crate) use active_rows::ActiveRows;
pub(crate) use active_set::Work;
pub use active_set::{ActiveSet, Bounds, Outcome, Status};
#[cfg(feature = "libm")]
pub use admm::Admm;
#[cfg(feature = "libm")]
pub(crate) use admm::dims;
#[cfg(feature = "libm")]
pub use cone::{Ball, Cone};
pub use dense::{Dense, DenseMemory};
pub use inversion::Inversion;
#[cfg(feature = "libm")]
pub(crate) use inversion::prepare;
#[cfg(feature = "libm")]
pub use knobs::Knobs;
#[cfg(feature = "libm")]
pub use momentum::ProjectedMomentum;
pub(crate) use program::in_order;
pub use program::{Instance, Qp, Shape, Tolerance};
pub use projection::{Clip, Projection, Rows, Set, Sets};
pub use soft::SoftBounds;
pub(crate) use step::clip;
pub use step::{Phase, Phases, Residual, Solver};

#[cfg(test)]
mod tests;
