//! Learning to optimise: recurrent networks that choose the step of every coordinate, trained through their own runs.
//!
//! ```text
//!  Task: logistic regression, drawn by number ──┐
//!  Model, θ ─► Network on tiles (kernel) ───────┼─► Optimiser: a System of dst-core, x⁺ = F(θ, x)
//!                                               │        │ a run over a segment, all states kept; f(x_k) is watched
//!                                               │        ▼
//!  Penalty: where does a run stop? ─► seeds on f(x_k) ──► one backward sweep ─► Trainer::step ─► Adam
//!                                                                                     │
//!  Session: validation, checkpoints ◄─────────────────────────────────────────────────┘ ─► Trained: safetensors
//!  Contest: Runner, Classical ─► Score: f along the way, N and f at the stop
//! ```
//!
//! | file | what |
//! |---|---|
//! | `kernel`, `gates`, `layer` | the products and nonlinearities of an LSTM layer on a tile, forward and transposed, in either precision |
//! | `network`, `workshop` | two of them and what is around them; what they need besides the weights |
//! | `model` | L2O-DM and L2O-RNNprop: where their weights lie, and what PyTorch calls them |
//! | `features`, `passes` | what a network is fed with and what its output does, over all coordinates |
//! | `optimiser` | a learned method on one problem, as a system of dst-core |
//! | `task` | the problems |
//! | `training`, `penalty` | a training step, with or without the stopping time in its loss |
//! | `session`, `weights`, `assets` | a whole training that can be killed, its files, and the networks that come with the program |
//! | `runs`, `score`, `contest` | learned and classical methods on the same problems, and what they are worth |
//! | `bench` | seconds and operations of a training step |

mod assets;
mod bench;
mod contest;
mod features;
mod gates;
mod kernel;
mod layer;
mod loss;
mod model;
mod network;
mod optimiser;
mod passes;
mod penalty;
mod runs;
mod score;
mod session;
mod task;
mod training;
mod weights;
mod workshop;

pub use assets::{ASSETS, Asset};
pub use bench::{Bench, bench};
pub use contest::Contest;
pub use loss::Loss;
pub use model::{Model, Tensor};
pub use optimiser::{Feed, Optimiser};
pub use penalty::{EPSILON, Penalty};
pub use runs::{Classical, StepSize};
pub use score::{LEVELS, Score};
pub use session::{Course, Line, Session};
pub use task::{Family, Task};
pub use training::{Recipe, Report, Trainer};
pub use weights::{Notes, Trained};
pub use workshop::Workshop;
