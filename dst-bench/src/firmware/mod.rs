//! The comparison on the chip: random programs with a known share of active bounds, and what is written of the counts.
//!
//! | file | what |
//! |---|---|
//! | `engine` | the engine beside hand-written C |
//! | `random` | programs with a given share of active bounds |
//! | `runs` | reads what `cargo xtask compare --only firmware` counted |
//! | `section`, `words`, `picture` | tables, their text, the picture |
//!
//! The harnesses and scripts of the other systems are in `peers/firmware`.

mod engine;
mod picture;
mod random;
mod runs;
mod section;
mod words;

pub use engine::{Cost, Engine, Pair};
pub use picture::picture;
pub use random::{RandomProgram, random_program};
pub use runs::{Run, Spread, Ticks};
pub use section::section;
