//! Data sets: files in LIBSVM format, and synthetic ones made from a seed.

pub mod random;
