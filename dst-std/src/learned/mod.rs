//! Algorithms with parameters to be learned: each a system of `dst-core`.

pub mod diagonal;
