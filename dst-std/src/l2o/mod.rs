//! Learning to optimise: recurrent networks that update every coordinate, trained through their own runs.

mod kernel;
mod meta_adam;
mod model;
mod network;
mod optimiser;
mod penalty;
mod runs;
mod session;
mod task;
mod training;
mod weights;

pub use kernel::HIDDEN;
pub use model::{Model, Tensor};
pub use network::Workshop;
pub use optimiser::{Feed, Optimiser};
pub use runs::{Classical, Runner, StepSize};
pub use session::{Course, Line, Session, TEST};
pub use task::{Size, Task};
pub use meta_adam::MetaAdam;
pub use penalty::{EPSILON, Found, HONEST, Penalty, Term};
pub use training::{Recipe, Report, Trainer};
pub use weights::{Notes, Trained};
