//! Cost of dst: against a loop written by hand, against its own past, against other systems, and as problems grow.
//!
//! Times on a shared machine vary by more than the differences that are looked for. So what can be counted is counted, because the
//! number of instructions that a run retires does not vary at all; and what has to be timed runs by turns with what it is
//! compared with ([`turns`]). Answers are compared before times are: a faster loop that computes something else proves nothing.
//!
//! | programs | what |
//! |---|---|
//! | `overhead`, `steps` | instructions of one Euler step, by the engine and by hand: at N and at 2N steps under callgrind, so that start-up does not count |
//! | `formulas`, `methods` | instructions of a pullback: of a formula against its evaluation, of a method against one by hand |
//! | `slower`, `hot` | the hot paths ([`hot`]) against `baseline.txt` or an earlier commit |
//! | `compare`, `ours` | other systems side by side ([`compare`]), their scripts in `peers/` |
//! | `firmware_cases`, `firmware` | our controllers and other solvers on an emulated chip ([`firmware`]), their harnesses in `peers/firmware` |
//! | `growth`, `ours` | time and memory against dimension, steps, slots and threads |
//! | `dense_step` | a step with a large dense matrix against one reading of it |
//!
//! `RESULTS.md` ([`results`]) is written by `compare`, `firmware` and `growth`. `cargo xtask` starts them; see CONTRIBUTING.

pub mod compare;
pub mod firmware;
pub mod formulas;
mod hand;
pub mod hot;
pub mod methods;
pub mod results;
mod sibling;
mod systems;
pub mod turns;
pub mod valgrind;

pub use hand::by_hand;
pub use sibling::sibling;
pub use systems::{Case, Outcome, Problem, SystemName, engine};
