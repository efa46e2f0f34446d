//! What the engine costs over a loop written by hand, counted in instructions.
//!
//! Times on a shared machine vary by more than the overhead that is looked for; the number of instructions that a
//! run retires does not vary at all. So two programs: `steps` makes one run, with the engine or by hand, and
//! `overhead` counts the instructions of `steps` under callgrind at N and at 2N steps. The difference divided by N is
//! the cost of one step, free of start-up, argument parsing and printing.
//!
//! Both runs do the same arithmetic in the same order, so that they end at the same step with the same bits;
//! `overhead` insists on that, because a faster loop that computes something else proves nothing.

pub mod compare;
mod hand;
pub mod hot;
pub mod results;
mod systems;
pub mod turns;
pub mod valgrind;

pub use hand::by_hand;
pub use systems::{Case, Outcome, Problem, SystemName, engine};
