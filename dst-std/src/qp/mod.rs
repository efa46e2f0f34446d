//! Quadratic programs on the desktop: what a solver needs per solve, measured, and what is printed of it.

mod summary;

pub use summary::{Baseline, Counts, ErrorOfInputs, Instructions, Late, Summary};
