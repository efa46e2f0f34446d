//! Runs a plan on a problem, and differentiates it.
//!
//! | file | content |
//! |---|---|
//! | `plan` | [`Plan`], the run to make; [`Problem`], the plan with its checked arguments |
//! | `memory` | [`Memory`] and its variants: storage of a run, with a [`Cursor`] for its position |
//! | `forward`, `rows` | the run: [`Problem::start`], [`Problem::advance`]; where its states lie |
//! | `crossing` | [`Seeds`], the quantity to differentiate; [`Crossing`], from dJ to dT |
//! | `adjoint` | the backward sweep over checkpoints |
//! | `tangent` | forward propagation of directions |
//! | `check` | the checker of a system's derivatives: [`Plan::check`] |
//! | `answer` | [`Status`], [`Gradient`], [`Sensitivity`] |

mod adjoint;
mod answer;
pub mod check;
mod crossing;
mod forward;
mod memory;
mod plan;
mod rows;
mod tangent;

pub use answer::{Evaluations, Gradient, Iterate, Progress, Sensitivity, Status, StopTime};
pub use crossing::{Condition, Crossing, Seeds};
#[cfg(feature = "std")]
pub use memory::HeapMemory;
pub use memory::{Borrowed, Cursor, Memory, View, Workspace};
pub use plan::{DEFAULT_MAX_STEPS, Mode, Plan, Problem};
