//! Problems to solve: each an objective or a system of `dst-core`.

pub mod quadratic;
