//! Online learning-rate adaptation: Adam-OLA, its variants and their baselines on an objective.
//!
//! [`run()`] drives one [`Algorithm`] on any [`Objective`](dst_core::Objective) until max |∇f| is small. [`SvmProblem`] is the
//! paper's problem, the smooth SVM of a data set. [`compare`] runs many settings on many problems.
//!
//! | file | content |
//! |---|---|
//! | `algorithm` | the algorithms and their parameters |
//! | `rule` | the online adaptations of dst-core behind one trait |
//! | `baselines` | gradient descent, heavy ball, Nesterov, Adagrad, Adam, hypergradient descent |
//! | `run` | the driver, and the result of a run |
//! | `problem` | the smooth SVM of a data set with a starting point |
//! | `comparison` | every setting on every problem, in parallel |
//!
//! Every run is sequential and independent of the others: the bits do not depend on the number of threads.
//!
//! ```
//! use dst_std::ola::{Algorithm, Limits, Setting, run};
//! use dst_std::problems::Rosenbrock;
//!
//! let setting = Setting { algorithm: Algorithm::NOla, alpha: 0.01 };
//! let found = run(&Rosenbrock { dim: 2 }, setting, &[-1.2, 1.0], Limits::default())?;
//! assert!(found.converged && found.f < 1e-8);
//! # Ok::<(), dst_core::Error>(())
//! ```

mod algorithm;
mod baselines;
mod comparison;
mod problem;
mod rule;
mod run;

pub use algorithm::{Algorithm, STRONG_CONVEXITY, Setting, ola_parameters};
pub use comparison::{IterationCost, OlaComparison, SvmComparison, compare};
pub use problem::{SvmProblem, Workload};
pub use run::{Limits, OlaRun, run};
