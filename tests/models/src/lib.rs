//! Models with known answers, generic in the scalar, without std: the same code is tested on the host and on targets.

#![no_std]

pub mod active_set;
pub mod airframe;
pub mod checks;
mod close;
pub mod controllers;
mod counted;
pub mod descents;
mod flows;
mod objectives;
mod opaque;
mod poison;
pub mod smallest;
mod suspension;
pub mod ticks;

pub use close::{Close, relative_distance};
pub use counted::{Counted, CountedObjective, Counts};
pub use flows::{BouncingBall, Countdown, Decay, Figure1, Pendulum, QuadraticInTime, Shrink};
pub use objectives::{Logistic, Quadratic, Rosenbrock};
pub use opaque::Opaque;
pub use poison::{Poison, Poisoned};
pub use suspension::Suspension;
