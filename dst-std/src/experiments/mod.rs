//! The experiments, one file each: a configuration in, plain results out.

pub mod ola;
