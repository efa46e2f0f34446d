//! Linear algebra in double precision: products, factorisations, vectorised functions, threads.

pub mod sparse;
pub mod threads;
