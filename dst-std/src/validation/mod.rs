//! The validation problem: a random quadratic under gradient flow with a learned diagonal preconditioner, and the gradient of its
//! stopping time by every integrator and crossing.
//!
//! An [`InstanceSpec`] builds an [`Instance`] from a seed. A [`GradientRun`] differentiates its stopping time; [`truth`] does so by
//! the adaptive solver. The command `dst validate`, the validation experiment and the benchmarks all use it.

mod euler;
mod gradient;
mod instance;

#[cfg(feature = "cli")]
pub(crate) use gradient::serialize_crossing;
pub use gradient::{
    Answer, GradientRun, IntegratorName, Prepared, Slots, Truth, norm, relative_error, truth,
};
pub use instance::{Basis, Instance, InstanceSpec, Matrix};

/// Relative tolerance of the adaptive solver for the true gradient.
pub const TRUTH_RTOL: f64 = 1e-11;
/// The usual tolerance, at which the evaluations of the adaptive solver are counted.
pub const USUAL_RTOL: f64 = 1e-7;
