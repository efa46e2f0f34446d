//! Problems to solve: each an objective or a system of `dst-core`.

mod blocks;
#[cfg(test)]
mod differences;
mod logistic;
mod margins;
mod newton;
pub mod quadratic;
mod spectrum;
mod svm;

pub use logistic::Logistic;
pub use margins::{DataError, Margins};
pub use newton::{Minimum, minimise};
pub use spectrum::largest_eigenvalue;
pub use svm::SmoothSvm;
