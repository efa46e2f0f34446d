//! Problems to solve: each an objective or a system of `dst-core`.

mod blocks;
#[cfg(test)]
mod differences;
mod form;
mod logistic;
mod margins;
mod newton;
pub mod quadratic;
mod rosenbrock;
mod svm;

pub use form::Form;
pub use logistic::Logistic;
pub use margins::{DataError, Margins};
pub use newton::{Minimum, minimise};
pub use rosenbrock::Rosenbrock;
pub use svm::SmoothSvm;

/// What is said of a data set whose Lipschitz constant is not finite.
pub(crate) const TOO_LARGE: &str = "the values are too large; scale the data";
