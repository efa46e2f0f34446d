//! Model predictive control: from a plant to a tuned controller.
//!
//! [`Model`] is what an engineer has: A, B, Q, R, bounds, a horizon. [`Program`] is what the solver of
//! [`dst_core::mpc`] wants: the condensed quadratic program. A [`Pool`] of instances is what it will meet; [`tune`] turns the
//! knobs until those stop sooner, in the mean and in the tail; [`Tuned`] goes to the device, by [`export`].
//!
//! ```text
//! Model ─► Program ─► Pool ─► tune: Adam on dN/dθ ─► Tuned ─► export: Rust constants, C header
//! ```

pub mod export;
mod gradient;
mod matrix;
mod model;
pub mod plants;
mod pool;
mod program;
mod recipe;
mod score;
mod tuned;
mod tuning;

pub use gradient::{Differentiated, differentiate};
pub use model::{Model, ModelError};
pub use pool::Pool;
pub use program::Program;
pub use recipe::{SWITCHES, begin, recipe};
pub use score::{Score, iterations, solve, solve_exactly};
pub use tuned::Tuned;
pub use tuning::{Knobset, Options, Progressed, Training, objective, secure, tune};
