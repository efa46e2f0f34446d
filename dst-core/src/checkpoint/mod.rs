//! Online checkpointing: reverses a run of unknown length in little memory.
//!
//! A run `x_0 -> x_1 -> ... -> x_n` stops at an `n` that is not known in advance. Its steps are then reversed, last first, and
//! reversing step `k` needs `x_k`. With slots for `s` states, some states have to be recomputed. A [`Schedule`] decides during
//! the run which states to store; a [`Reversal`] then lists the states to load, advance, store and reverse. Both do integer
//! accounting only, on marks that the caller owns (one [`Mark`] per slot), and never touch a state.
//!
//! ```
//! # use dst_core::checkpoint::{Action, Mark, Schedule};
//! let step = |x: u64| 3 * x + 1;
//! let mut marks = [Mark::EMPTY; 3];
//! let mut slots = [0; 3];
//! let mut schedule = Schedule::new(marks.len());
//! let (mut n, mut previous, mut x) = (0, 0, 7);
//! while x < 1_000_000 {
//!     // x_{n-1} is about to be overwritten: store it now.
//!     if schedule.next_save() < n {
//!         slots[schedule.save(&mut marks)] = previous;
//!     }
//!     (previous, x, n) = (x, step(x), n + 1);
//! }
//! let mut reversal = schedule.reverse(&mut marks, n);
//! let mut x = previous; // the state of step n - 1
//! loop {
//!     match reversal.next_action(&mut marks) {
//!         Action::Pull { step: k } => assert_eq!(x, (15 * 3u64.pow(k as u32) - 1) / 2),
//!         Action::Load { slot, .. } => x = slots[slot],
//!         Action::Save { slot, .. } => slots[slot] = x,
//!         Action::Advance { from, to } => (from..to).for_each(|_| x = step(x)),
//!         Action::Done => break,
//!     }
//! }
//! ```
//!
//! # Efficiency
//!
//! No online rule is optimal at every length. The table gives the total number of forward steps divided by the least possible
//! number for a known length ([`optimum`]), over *all* lengths from 30 to 10 000. *Late* is as above, and as in
//! [`Problem::advance`](crate::Problem::advance): `x_k` is stored just before step `k + 1` is run. *Early* stores it before step
//! `k`, for callers that keep no previous state; it costs more if the run stops there.
//!
//! | slots | late: mean | max | early: mean | max |
//! |---|---|---|---|---|
//! | 1 | 1 | 1 | 1 | 1 |
//! | 2 | 1.0062 | 1.122 | 1.0062 | 1.170 |
//! | 3 | 1.0112 | 1.061 | 1.0113 | 1.090 |
//! | 4 | 1.0103 | 1.067 | 1.0104 | 1.106 |
//! | 5 | 1.0077 | 1.049 | 1.0079 | 1.067 |
//! | 7 | 1.0074 | 1.045 | 1.0076 | 1.052 |
//! | 10 | 1.0055 | 1.039 | 1.0057 | 1.043 |
//! | 15 | 1.0043 | 1.036 | 1.0045 | 1.037 |
//! | 20 | 1.0015 | 1.027 | 1.0018 | 1.027 |
//! | 40 | 1.0000 | 1.001 | 1.0003 | 1.024 |
//!
//! Late saves are optimal up to `beta(s, 2) = (s + 1)(s + 2) / 2` steps.

mod binomial;
mod reversal;
mod schedule;
mod store;

pub use binomial::{advances, beta, optimum, repetitions, split};
pub use reversal::{Action, Reversal};
pub use schedule::Schedule;
pub(crate) use store::Shape;
pub use store::{Slots, Store, StoreFault};

#[cfg(test)]
mod tests;

/// One checkpoint: the step of the stored state, its slot, and data of the segment that starts there.
///
/// The schedule needs one per slot. A mark is accounting only; the caller stores the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Step of the state in the slot.
    step: usize,
    /// Forward: the number `t` of advances that reverse the segment. Reversal: `beta(a, reps - 1)`.
    cost: usize,
    /// Forward: the loss of dropping the best mark from here down, without the contribution of the marks above this one.
    /// Reversal: the number of times that the steps of the segment have been run.
    best: isize,
    /// The slot.
    slot: u32,
    /// Forward: `r` of the segment, and a flag that this is the best mark to drop. Reversal: `r`, or 0 if unknown.
    reps: u32,
}

impl Mark {
    /// An empty mark, to initialise an array.
    pub const EMPTY: Self = Self {
        step: 0,
        cost: 0,
        best: 0,
        slot: 0,
        reps: 0,
    };
}
