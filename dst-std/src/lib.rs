//! Differentiable stopping times on a desktop: everything that wants threads, files or big matrices.
//!
//! The mathematics is in [`dst_core`]; this crate feeds it and shows what came out. The program `dst` is a thin layer
//! over [`cli`]: every subcommand reads its arguments, computes a plain value, and prints it for people or as JSON.
//!
//! ```text
//!  data ─► problems ─┐                                       ┌─► report: plots, tables, the page ─► files
//!  linalg ───────────┼─► systems and objectives of dst-core ─┤
//!  learned, l2o, ────┤        │             │                │
//!  control           ┘        │             │                └─► cli: `dst …`, for people or as JSON
//!                             ▼             ▼
//!                  ode: the truth     tune, ola, experiments
//! ```
//!
//! | room | what |
//! |---|---|
//! | [`linalg`] | products, factorisations, vectorised functions; [`linalg::threads`] alone decides how many threads there are |
//! | [`data`], [`problems`] | LIBSVM files, synthetic sets; quadratics, linear models (smooth SVM, logistic regression) |
//! | [`learned`] | algorithms with many parameters: the diagonal preconditioner of the validation |
//! | [`l2o`] | learning to optimise: L2O-DM and L2O-RNNprop, trained with and without a stopping-time penalty |
//! | [`ode`] | adaptive Dormand–Prince, events, the gradient of an event's time |
//! | [`ola`] | online learning-rate adaptation: Adam-OLA, G-OLA, N-OLA and their baselines |
//! | [`tune`], [`control`] | hyperparameters, and the knobs of a controller, by descending a stopping time |
//! | [`experiments`], [`report`] | a configuration in, plain results out; how they are shown |
//! | [`machine`] | memory that is there and memory that is used, and what a run should say about where it ran |
//!
//! Results have the same bits on any number of threads.

pub mod cli;
pub mod control;
pub mod data;
pub mod experiments;
mod failure;
mod first_order;
pub mod l2o;
pub mod learned;
pub mod linalg;
pub mod machine;
pub mod ode;
pub mod ola;
pub mod problems;
pub mod report;
pub mod tune;

pub use failure::Failure;
