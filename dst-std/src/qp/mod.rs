//! Quadratic programs on the desktop: what a solver needs per solve, measured, and what is printed of it.
//!
//! A [`ParametricProgram`] is read from a file: P and A once, q, l and u for every instance. [`Prepared`] owns the constants of
//! [`dst_core::qp::Dense`] in either precision. [`KktResiduals`] checks a solution by its definition.

mod kkt;
mod npz;
mod parametric;
mod prepared;
mod summary;

pub use kkt::KktResiduals;
pub use parametric::ParametricProgram;
pub use prepared::{Buffers, Prepared, Solved, Start};
pub use summary::{Baseline, Counts, ErrorOfInputs, Instructions, Late, Summary};
