//! Checkpoints for a run whose length is not known in advance.

mod binomial;
mod reversal;
mod schedule;
mod store;

pub use binomial::{advances, beta, optimum, repetitions, split};
pub use reversal::{Action, Reversal};
pub use schedule::{Mark, Schedule};
pub use store::{Slots, Store, StoreFault};
