//! E2: the gradient of the discrete stopping time tends to that of the continuous one (Theorem 2, Proposition 1, Figure 2), and what
//! either costs (the figure of evaluations).
//!
//! f = ½xᵀQx with a random Q of condition number 100, gradient flow with a learned diagonal preconditioner of 10 parameters per
//! coordinate, J = ‖∇f‖². The truth is an adaptive Dormand–Prince solve with event location, differentiated through its
//! accepted steps. The problem is declared to the letter, random numbers included, so that other systems compute the same gradient.

mod section;
mod sweep;

use super::{Context, Failure};
use crate::report::Section;

pub use section::section;
pub use sweep::{Case, ErrorCurve, Formed, Point, ValidationConfig, ValidationResults, run};

/// The headline.
pub const TITLE: &str = "Validation: discrete against continuous stopping times (Figure 2)";

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = ValidationConfig::new(context.quick, context.seed);
    let results = run(&config, context)?;
    Ok(section(&config, &results))
}
