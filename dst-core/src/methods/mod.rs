//! Ready-made systems over an [`Objective`](crate::Objective).
//!
//! | method | state | θ | classical iteration (h = 1, Euler) |
//! |---|---|---|---|
//! | [`GradientFlow`] | x | of the schedule | x⁺ = x − α(θ, t)∇f(x) |
//! | [`Preconditioned`] | x | one per variable | x⁺ᵢ = xᵢ − θᵢ∇f(x)ᵢ |
//! | [`HeavyBall`] | x, v | α, β | v⁺ = βv + α∇f(x), x⁺ = x − v⁺ |
//! | [`Nesterov`] | y, x | α, β | x⁺ = y − α∇f(y), y⁺ = x⁺ + β(x⁺ − x) |
//! | [`Adam`] | x, m, v | α, β₁, β₂ | Adam with bias correction |
//! | [`Projected`] | x | α | x⁺ = clip(x − α∇f(x), lower, upper) |
//!
//! An iteration z⁺ = T(z) is the Euler step of A = (z − T(z))/h; these methods define A for h = 1. Any other h relaxes the
//! iteration, z⁺ = z − h(z − T(z)), and a small h approaches its continuous limit. The state is stored block after block,
//! starting with the point at which the gradient is taken. f is the running loss; the criterion is an
//! [`Optimality`](crate::Optimality), a custom one through [`RateOf`](crate::system::RateOf), or the decrease of f through
//! [`Decrease`].
//!
//! All but one treat every variable alike: the update is written once, for one variable, over dual numbers, and [`Method`] builds
//! the system. It takes one gradient per evaluation and one Hessian-vector product per pullback. The methods above have the transpose of
//! their update written out, too ([`Update::transpose`]), which costs a backward step what a pullback by hand does; updates of your own
//! have it from dual numbers, or write it out as well.

#[cfg(feature = "libm")]
mod adam;
mod decrease;
mod gradient_flow;
mod method;
mod momentum;
mod preconditioned;
mod projected;

#[cfg(feature = "libm")]
pub use adam::{Adam, AdamUpdate};
pub use decrease::Decrease;
#[cfg(feature = "libm")]
pub use gradient_flow::Exponential;
pub use gradient_flow::{Constant, GradientFlow, Scaled, StepSchedule};
pub use method::{Method, Transposed, Update, transpose_by_duals};
pub use momentum::{HeavyBall, HeavyBallUpdate, Nesterov, NesterovUpdate};
pub use preconditioned::Preconditioned;
pub use projected::{BoxUpdate, Projected};
