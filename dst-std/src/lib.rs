//! Differentiable stopping times on a desktop: everything that wants threads, files or big matrices.
//!
//! The mathematics is in [`dst_core`]; this crate feeds it and shows what came out. The program `dst` is a thin layer
//! over [`cli`]: every subcommand reads its arguments, computes a plain value, and prints it for people or as JSON.

pub mod cli;
pub mod control;
pub mod data;
pub mod experiments;
pub mod learned;
pub mod linalg;
pub mod machine;
pub mod ode;
pub mod problems;
pub mod report;
pub mod tune;
