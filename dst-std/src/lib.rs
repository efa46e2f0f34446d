//! Differentiable stopping times on a desktop: everything that needs threads, files or large matrices.
//!
//! The mathematics is in [`dst_core`]; this crate supplies it with problems and shows the results. The program `dst` is a thin layer
//! over the modules here: every subcommand reads its arguments, computes a plain value, and prints it as text or as JSON.
//!
//! ```text
//!  data ─► problems ─┐                                       ┌─► report: plots, tables, the page ─► files
//!  linalg ───────────┼─► systems and objectives of dst-core ─┤
//!  learned, l2o, ────┤        │             │                │
//!  control           ┘        │             │                └─► cli: `dst …`, as text or as JSON
//!                             ▼             ▼
//!                  ode: the truth     family ─► tune; ola, experiments
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`linalg`] | products, factorisations, vectorised functions |
//! | [`data`], [`problems`] | LIBSVM files, synthetic sets; quadratics, linear models (smooth SVM, logistic regression) |
//! | [`learned`], [`validation`] | a learned diagonal preconditioner; its stopping time and gradient by every integrator |
//! | [`l2o`] | learning to optimise: L2O-DM and L2O-RNNprop, with and without a stopping-time penalty; training that may be killed |
//! | [`ode`] | adaptive Dormand–Prince, events, the gradient of an event's time |
//! | [`ola`] | online learning-rate adaptation: Adam-OLA, G-OLA, N-OLA and their baselines |
//! | [`family`] | instances with common parameters: streams, scores with a tail, descents, restarts, certificate |
//! | [`tune`] | hyperparameters of a method, by descending its stopping time: a family of starting points |
//! | [`control`] | model predictive control: tuning, closed loops, baselines, export to Rust and C |
//! | [`qp`] | families of quadratic programs: solvers measured, certificates, what is printed of them |
//! | [`adam`], [`search`] | optimisers with and without a gradient: Adam, separable CMA-ES |
//! | `experiments`, `report` | configurations and claims; plots, tables and the page (feature `cli`) |
//! | [`random`], [`parallel`] | counter-based random numbers; the number of threads, and work divided among them and among ranks |
//! | [`progress`] | one way to watch and to cancel long work |
//! | [`files`], [`mod@format`], [`machine`] | files written whole or not at all; numbers as text; memory and facts of the machine |
//!
//! The [`guide`] has a chapter for each use. Results have the same bits on any number of threads; on other
//! instruction sets too with [`Arithmetic::Portable`](linalg::Arithmetic).
//!
//! The default feature `cli` adds the program, `experiments` and `report`. With `default-features = false` the crate is a library
//! without clap, indicatif and ctrlc. The feature `mpi` divides the instances of the program among the ranks of an MPI job.

pub mod adam;
#[cfg(feature = "cli")]
pub mod cli;
pub mod control;
pub mod data;
#[cfg(feature = "cli")]
pub mod experiments;
mod failure;
pub mod family;
pub mod files;
mod first_order;
pub mod format;
pub mod formula;
#[cfg(any(doc, doctest))]
pub mod guide;
pub mod l2o;
pub mod learned;
pub mod linalg;
pub mod machine;
pub mod ode;
pub mod ola;
pub mod parallel;
pub mod problems;
pub mod progress;
pub mod qp;
pub mod random;
#[cfg(feature = "cli")]
pub mod report;
#[cfg(all(test, feature = "cli"))]
#[path = "../tests/scratch/mod.rs"]
mod scratch;
pub mod search;
pub mod tune;
pub mod validation;

pub use failure::Failure;
