//! Quadratic programs on the desktop: what a solver needs per solve, measured, and what is printed of it.
//!
//! A [`ParametricProgram`] is read from a file: P and A once, q, l and u for every instance. [`Prepared`] owns the constants of
//! [`dst_core::qp::Dense`] in either precision. [`KktResiduals`] checks a solution by its definition. [`tune_program`] finds the
//! budget of a solver on the even instances, certifies it on the odd ones, and writes the program as source text.

mod admm_family;
mod cost;
mod kkt;
mod npz;
mod parametric;
mod prepared;
mod source;
mod summary;
mod tuning;

pub use kkt::KktResiduals;
pub use parametric::ParametricProgram;
pub use prepared::{Buffers, Prepared, Solved, Start};
pub use summary::{Baseline, Counts, ErrorOfInputs, Instructions, Late, Summary};
pub use tuning::{ProgramTuning, SolverChoice, TunedProgram, tune_program};
