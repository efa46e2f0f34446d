//! E2: the gradient of the discrete stopping time tends to that of the continuous one (Theorem 2, Proposition 1, Figure 2), and what
//! either costs (the figure of evaluations).
//!
//! f = ½xᵀQx with a random Q of condition number 100, gradient flow with a learned diagonal preconditioner of 10 parameters per
//! coordinate, J = ‖∇f‖². The truth is an adaptive Dormand–Prince solve with event location, differentiated through its
//! accepted steps. The problem is declared to the letter, random numbers included, so that other systems compute the same gradient.

mod gradient;
mod instance;
mod section;
mod sweep;

use super::{Context, Failure};
use crate::report::Section;

pub use gradient::{Answer, Method, Prepared, Run, Slots, Truth, norm, relative_error, truth};
pub use instance::{Basis, Instance, Matrix, Problem};
pub use section::section;
pub use sweep::{Case, Config, Formed, Line, Point, Results, run};

/// The headline.
pub const TITLE: &str = "Validation: discrete against continuous stopping times (Figure 2)";

/// Tolerance of the truth.
pub const TRUTH_RTOL: f64 = 1e-11;
/// The usual tolerance, at which the evaluations of the adaptive solver are counted.
pub const USUAL_RTOL: f64 = 1e-7;

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = Config::new(context.quick, context.seed);
    let results = run(&config, context)?;
    Ok(section(&config, &results))
}
