//! Learning to optimise: recurrent networks that choose the step of every coordinate, trained through their own runs.
//!
//! ```text
//!  Task: logistic regression, drawn by number ──┐
//!  Architecture, θ ─► Network on tiles ─────────┼─► Optimiser: a System of dst-core, x⁺ = F(θ, x)
//!                                               │        │ a run over a segment, all states kept; f(x_k) is watched
//!                                               │        ▼
//!  Penalty: where does a run stop? ─► seeds on f(x_k) ──► one backward sweep ─► Trainer::step ─► Adam
//!                                                                                     │
//!  Session: validation, checkpoints ◄─────────────────────────────────────────────────┘ ─► Trained: safetensors
//!  Evaluation: methods side by side ─► MethodScore: f along the way, N and f at the stop
//! ```
//!
//! | file | content |
//! |---|---|
//! | `kernel`, `gates`, `layer` | the products and nonlinearities of an LSTM layer on a tile, forward and transposed, in either precision |
//! | `network`, `scratch` | two layers with their input and output; memory of a network besides its weights |
//! | `architecture` | L2O-DM and L2O-RNNprop: layout of their weights, and their names in PyTorch |
//! | `features`, `passes` | inputs and outputs of a network, over all coordinates |
//! | `optimiser` | a learned method on one problem, as a system of dst-core |
//! | `task`, `rows` | the problems; a pass over their data, for one point or several |
//! | `training`, `penalty` | a training step, with or without the stopping time in its loss |
//! | `session`, `resumable` | a whole training; the same with files, so that it survives being killed |
//! | `weights`, `assets` | files of weights; the networks that come with the program |
//! | `runs`, `side_by_side` | runs of a network; runs of several methods on one problem, learned and classical |
//! | `score`, `evaluation` | scores of runs; the comparison of methods on the same problems |
//! | `bench` | seconds and operations of a training step |

mod architecture;
mod assets;
mod bench;
mod evaluation;
mod features;
mod gates;
mod kernel;
mod layer;
mod loss;
mod network;
mod optimiser;
mod passes;
mod penalty;
mod resumable;
mod rows;
mod runs;
mod score;
mod scratch;
mod session;
mod side_by_side;
mod task;
mod training;
mod weights;

pub use architecture::{Architecture, Tensor};
pub use assets::{ASSETS, Asset};
pub use bench::{Bench, bench};
pub use evaluation::Evaluation;
pub use loss::Loss;
pub use optimiser::{Feed, Optimiser};
pub use penalty::{EPSILON, Penalty};
pub use resumable::{ResumableTraining, TrainError, TrainingFiles};
pub use score::{LEVELS, MethodScore};
pub use scratch::NetworkScratch;
pub use session::{Session, SessionStep, TrainingPlan};
pub use side_by_side::{Classical, ComparedMethod, StepSize};
pub use task::{Family, Task};
pub use training::{Recipe, StepReport, Trainer};
pub use weights::{Notes, Trained};
