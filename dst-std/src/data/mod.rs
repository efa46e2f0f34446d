//! Data sets: files in LIBSVM format, and synthetic ones made from a seed.

mod libsvm;
mod load;
mod number;
mod source;
mod synthetic;

pub use libsvm::{Examples, Fault, ReadError, read_libsvm, read_libsvm_file};
pub use load::{DataSet, data_folder, load, read_vector};
pub use synthetic::{Shape, synthetic};
