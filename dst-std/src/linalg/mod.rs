//! Linear algebra: products, factorisations, vectorised functions.
//!
//! | file | what | cost of a product |
//! |---|---|---|
//! | [`symmetric`] | dense symmetric matrix, half of it stored | one reading of that half |
//! | [`householder`] | H·diag(λ)·Hᵀ with H a product of M reflections | 2 readings of the M vectors |
//! | [`TwoPass`] | products of which parts can be computed apart, after some sums over the whole | |
//! | [`dense`] | dense products and factorisations by faer | |
//! | [`sparse`] | matrix by its nonzeros, row after row | one reading of the nonzeros |
//! | [`largest_eigenvalue`] | of a symmetric positive operator, by Lanczos iteration | |
//! | [`Arithmetic`] | the instruction set of the kernels | |
//! | `elementwise` | tanh, exp, softplus, … for vectorised loops, accuracy stated and tested; dot product | |
//! | `prefetch` | hints to load memory before its use | |
//! | `real` | the same kernels in single and double precision | |
//!
//! Kernels choose the instruction set of the machine they run on (AVX-512, AVX2 with FMA, or what the build guarantees) when they are
//! called, through `pulp`; the last bits of what they sum depend on it. With [`Arithmetic::Portable`] they do not.

mod arithmetic;
pub mod dense;
pub(crate) mod elementwise;
pub mod householder;
mod lanczos;
mod operator;
mod plain;
mod prefetch;
pub(crate) mod real;
pub mod sparse;
pub mod symmetric;
pub(crate) mod two_pass;
pub(crate) mod wide;

pub use arithmetic::Arithmetic;
pub(crate) use arithmetic::dispatch;
pub use lanczos::largest_eigenvalue;
pub use operator::Operator;
pub(crate) use prefetch::Prefetch;
pub use real::Real;
pub use two_pass::TwoPass;
