//! Learning to optimise: recurrent networks that update every coordinate, trained through their own runs.

mod assets;
mod bench;
mod contest;
mod kernel;
mod meta_adam;
mod model;
mod network;
mod optimiser;
mod penalty;
mod runs;
mod score;
mod session;
mod task;
mod training;
mod weights;

pub use assets::{ASSETS, Asset};
pub use bench::{Bench, bench};
pub use contest::{ADAM_GRID, Contest};
pub use kernel::HIDDEN;
pub use meta_adam::MetaAdam;
pub use model::{Model, Tensor};
pub use network::Workshop;
pub use optimiser::{Feed, Optimiser};
pub use penalty::{EPSILON, Found, HONEST, Penalty, Term};
pub use runs::{Classical, Runner, StepSize};
pub use score::{LEVELS, Score, stop};
pub use session::{Course, Line, Session};
pub use task::{Size, Task};
pub use training::{Recipe, Report, Trainer};
pub use weights::{Notes, Trained};
