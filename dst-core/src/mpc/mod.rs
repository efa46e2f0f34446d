//! Linear model predictive control with a deadline: controllers that solve the quadratic program of a tick ([`crate::qp`]).
//!
//! The program is condensed: its variables are the inputs of all stages, its rows the bounded inputs and outputs.
//!
//! | | |
//! |---|---|
//! | [`Controller`], [`Tick`] | the dual active set on the device: at most B steps per tick, exact, warm start by shifting |
//! | [`AdmmController`], [`AdmmTick`] | ADMM on the device: at most B iterations per tick, the best iterate, warm start by shifting |
//! | `Monitor` | counts of the loop, tested against a certificate (feature `heapless`) |
//! | [`Tuner`] | adapts the knobs of ADMM on the device, a bounded amount of work per tick |

mod admm;
mod controller;
#[cfg(feature = "heapless")]
mod monitor;
mod roll_out;
#[cfg(feature = "libm")]
mod tuner;

pub use admm::{AdmmController, AdmmOutcome, AdmmTick};
pub use controller::{Controller, Response, Tick};
#[cfg(feature = "heapless")]
pub use monitor::{Certificate, Monitor, Verdict};
pub use roll_out::RollOut;
#[cfg(feature = "libm")]
pub use tuner::{Tuner, TunerStage};

#[cfg(test)]
mod tests;
