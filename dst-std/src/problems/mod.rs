//! Problems to solve: each an objective or a system of `dst-core`.

mod blocks;
#[cfg(test)]
mod differences;
mod form;
mod linear_model;
mod logistic;
mod margins;
mod newton;
pub mod quadratic;
mod rosenbrock;
mod squared_hinge;

pub use form::Form;
pub use linear_model::{LinearModel, MarginLoss};
pub use logistic::{Logistic, LogisticLoss};
pub use margins::{DataError, Margins};
pub use newton::{Minimum, minimise};
pub use rosenbrock::Rosenbrock;
pub use squared_hinge::{SmoothSvm, SquaredHinge};

/// The error message for a data set whose Lipschitz constant is not finite.
pub(crate) const TOO_LARGE: &str = "the values are too large; scale the data";
