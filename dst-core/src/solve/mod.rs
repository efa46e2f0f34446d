//! Running a plan on a problem, and differentiating it.
//!
//! | file | content |
//! |---|---|
//! | `plan` | [`Plan`], what to run; [`Problem`], on what: all arguments are checked there |
//! | `memory` | [`Memory`] and its relatives: the numbers of a run, and the [`Cursor`] that tells where it stands |
//! | `forward` | the run: [`Problem::start`], [`Problem::advance`] |
//! | `crossing` | [`Seeds`], what is differentiated; [`Crossing`], from dJ to dT |
//! | `adjoint` | the backward sweep over checkpoints |
//! | `tangent` | directions carried forward |
//! | `answer` | [`Status`], [`Gradient`], [`Sensitivity`] |

mod adjoint;
mod answer;
mod crossing;
mod forward;
mod memory;
mod plan;
mod tangent;

pub use answer::{Evaluations, Gradient, Iterate, Progress, Sensitivity, Status, StopTime};
pub use crossing::{Condition, Crossing, Seeds};
#[cfg(feature = "std")]
pub use memory::HeapMemory;
pub use memory::{Borrowed, Cursor, Memory, View, Workspace};
pub use plan::{DEFAULT_MAX_STEPS, Mode, Plan, Problem};
