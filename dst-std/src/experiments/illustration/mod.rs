//! E1, the paper's Figure 1: a problem where the answer is known.
//!
//! f = ½x₁² + 2x₂², A = diag(1, θ)·∇f, J = ‖∇f‖², x₀ = (1, 1). The flow is x₁ = e^{−t}, x₂ = e^{−4θt}, so T solves
//! e^{−2t} + 16·e^{−8θt} = ε, and dT/dθ follows by differentiating that equation.
//!
//! Four results: the path of the flow and of Euler's method; T and N·h against θ for several ε, with the tangents that the
//! computed gradients predict; how the error of the gradient falls with h; twelve ways to compute it side by side.

mod comparison;
mod exact;
mod section;
mod study;
mod tables;

use dst_core::Crossing;
use serde::Serialize;

use super::{Context, Failure};
use crate::progress::Progress;
use crate::report::Section;

pub use comparison::{Calls, Comparison, ComparisonRow, compare};
pub use exact::Exact;
pub use section::section;

/// The headline.
pub const TITLE: &str = "Illustration: a stopping time with a known gradient (Figure 1)";

/// The system of this experiment. A macro, because the type of a formula has no name.
macro_rules! system {
    () => {
        dst_core::formula!(
            |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
            |x| x[0] * x[0] + x[1] * x[1] * 16.0,
        )
    };
}
use system;

/// A stopping time to be differentiated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlowProblem {
    /// θ
    pub theta: f64,
    /// h
    pub step: f64,
    /// ε
    pub epsilon: f64,
    /// Checkpoint slots of the backward sweep.
    pub slots: usize,
}

impl Default for FlowProblem {
    /// At θ = ¼ both states fall alike and matter alike.
    fn default() -> Self {
        Self {
            theta: 0.25,
            step: 0.05,
            epsilon: 1e-4,
            slots: 8,
        }
    }
}

/// All that the experiment depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IllustrationConfig {
    /// Problem that is differentiated in twelve ways.
    pub problem: FlowProblem,
    /// The paths: θ of each.
    pub path_thetas: Vec<f64>,
    /// Their step size, long enough to see the steps.
    pub path_step: f64,
    /// Their tolerance, large enough to see the level set.
    pub path_epsilon: f64,
    /// The curves: ε of each.
    pub curve_epsilons: Vec<f64>,
    /// From this θ …
    pub curve_from: f64,
    /// … to this one …
    pub curve_to: f64,
    /// The number of intervals.
    pub curve_intervals: usize,
    /// Their step size.
    pub curve_step: f64,
    /// Values of θ at which tangents are drawn.
    pub tangents: Vec<f64>,
    /// The longest step of the study of the error.
    pub order_step: f64,
    /// The number of times that it is divided by √2.
    pub order_divisions: usize,
}

impl IllustrationConfig {
    /// The figures of the report around this problem.
    pub fn new(problem: FlowProblem, quick: bool) -> Self {
        let mut path_thetas = vec![0.1, 0.5, 1.0];
        if !path_thetas.contains(&problem.theta) {
            path_thetas.insert(1, problem.theta);
        }
        Self {
            problem,
            path_thetas,
            path_step: 0.2,
            path_epsilon: 0.1,
            curve_epsilons: vec![1.0, 1e-1, 1e-2],
            curve_from: 0.1,
            curve_to: 1.0,
            curve_intervals: if quick { 180 } else { 720 },
            curve_step: 0.1,
            tangents: vec![0.13, 0.22, 0.38, 0.7],
            order_step: 0.2,
            order_divisions: if quick { 12 } else { 18 },
        }
    }
}

/// All that the experiment finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IllustrationResults {
    /// Twelve ways side by side.
    pub comparison: Comparison,
    /// The paths.
    pub paths: Vec<Path>,
    /// The stopping times against θ.
    pub curves: Vec<Curve>,
    /// The error against h.
    pub errors: Vec<ErrorLine>,
}

/// The flow and Euler's method, from (1, 1) until they stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Path {
    /// θ
    pub theta: f64,
    /// x(t) of the flow until T.
    pub flow: Vec<(f64, f64)>,
    /// x_k of Euler's method until N.
    pub steps: Vec<(f64, f64)>,
    /// T, if the flow stops.
    pub time: Option<f64>,
    /// True if Euler's method stopped.
    pub stopped: bool,
}

/// Stopping times against θ for one ε.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// ε
    pub epsilon: f64,
    /// At every θ.
    pub points: Vec<CurvePoint>,
    /// Values of θ at which tangents are drawn.
    pub tangents: Vec<Tangent>,
}

/// Stopping times at one θ.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    /// θ
    pub theta: f64,
    /// T of the flow.
    pub time: Option<f64>,
    /// N of Euler's method.
    pub steps: Option<usize>,
    /// N with half of the step.
    pub half_steps: Option<usize>,
}

/// A gradient computed from the steps, beside the exact one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tangent {
    /// θ
    pub theta: f64,
    /// N·h
    pub time: f64,
    /// dT/dθ of the paper's formula over Euler's method.
    pub gradient: f64,
    /// dT/dθ of the closed form.
    pub exact_gradient: f64,
}

/// The error of one way to compute the gradient.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorLine {
    /// The integrator.
    pub integrator: &'static str,
    /// The crossing.
    pub crossing: &'static str,
    /// The order to be expected.
    pub expected: f64,
    /// h and the relative error.
    pub points: Vec<(f64, f64)>,
    /// The slope of the line through the logarithms.
    pub order: f64,
}

/// The entry of the registry.
pub(super) fn experiment(context: &Context) -> Result<Section, Failure> {
    let config = IllustrationConfig::new(FlowProblem::default(), context.quick);
    let results = run(&config, &context.progress)?;
    Ok(section(&config, &results))
}

/// Runs the experiment.
pub fn run(
    config: &IllustrationConfig,
    progress: &Progress,
) -> Result<IllustrationResults, Failure> {
    let comparison = compare(&config.problem)?;
    progress.check()?;
    let paths = config.path_thetas.iter();
    let paths = paths.map(|&theta| study::path(config, theta)).collect();
    let mut curves = Vec::new();
    for &epsilon in &config.curve_epsilons {
        progress.check()?;
        curves.push(study::curve(config, epsilon));
    }
    let mut errors = Vec::new();
    for (name, crossing, expected) in [
        ("Euler", Crossing::Paper, 1.0),
        ("Euler", Crossing::Interpolated, 1.0),
        ("Heun", Crossing::Slope, 2.0),
        ("RK4", Crossing::Hermite, 3.0),
    ] {
        progress.check()?;
        errors.push(study::error_line(config, name, crossing, expected));
    }
    Ok(IllustrationResults {
        comparison,
        paths,
        curves,
        errors,
    })
}

#[cfg(test)]
mod tests;
