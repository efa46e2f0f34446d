//! Ours beside other systems: the same questions, asked by turns, answers compared before times are.
//!
//! | file | what |
//! |---|---|
//! | `cases` | the questions, and who is asked: a new comparison is an entry there and a script in `peers/` |
//! | `contest` | asks by turns and compares the answers |
//! | `checkpoints` | counts of forward steps: nothing to be timed |
//! | `section` | tables and the picture |

mod cases;
mod checkpoints;
mod contest;
mod section;

pub use cases::{Case, Comparison, Contestant, Question};
pub use checkpoints::checkpoints;
pub use contest::{Contest, Line, Setup};
pub use section::{machine, picture, section};
