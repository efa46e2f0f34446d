//! Linear algebra: products, factorisations, vectorised functions, threads.
//!
//! | file | what | cost of a product |
//! |---|---|---|
//! | [`symmetric`] | dense symmetric matrix, half of it stored | one reading of that half |
//! | [`householder`] | H·diag(λ)·Hᵀ with H a product of M reflections | 3 readings of the M vectors, up to M = 8 |
//! | [`dense`] | dense products and factorisations by faer | |
//! | [`sparse`] | matrix by its nonzeros, row after row | one reading of the nonzeros |
//! | [`largest_eigenvalue`] | of a symmetric positive operator, by Lanczos iteration | |
//! | `elementwise` | tanh, exp, softplus, … for vectorised loops, accuracy stated and tested; dot product | |
//! | `ahead` | asking for memory ahead of its use | |
//! | `real` | the same kernels in single and double precision | |
//! | [`threads`] | how many threads there are; fixed pieces, fixed order of sums | |
//!
//! Kernels choose the instruction set of the machine they run on (AVX-512, AVX2 with FMA, or what the build guarantees) when they are
//! called, through `pulp`.

mod ahead;
pub mod dense;
pub(crate) mod elementwise;
pub mod householder;
mod lanczos;
mod operator;
pub(crate) mod real;
pub mod sparse;
pub mod symmetric;
pub mod threads;

pub(crate) use ahead::Ahead;
pub use lanczos::largest_eigenvalue;
pub use operator::Operator;
pub use real::Real;
