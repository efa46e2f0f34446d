//! First example: effect of a parameter on the number of steps after which a flow stops.
//!
//! Prints:
//! ```text
//! stops after 147 steps; raising θ by 0.01 changes that by -7.3
//! ```
#![allow(clippy::indexing_slicing)] // θ and its gradient have one entry

use dst_core::{Euler, Memory, formula};

fn main() -> Result<(), dst_core::Error> {
    // x' = -diag(1, θ)·∇f with f = ½x₁² + 2x₂², until ‖∇f‖² ≤ 1e-4. No derivatives written.
    let flow = formula!(
        |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
        |x| x[0] * x[0] + x[1] * x[1] * 16.0,
    );
    let mut memory = Memory::<f64, 2, 1, 8>::new(); // 2 states, 1 parameter, 8 checkpoint slots
    let plan = Euler::new(0.05).until(1e-4).at_most(10_000);
    let s = plan.sensitivity(&flow, &[0.2], &[1.0, 1.0], &mut memory)?;
    let (steps, more) = (s.steps, 0.01 * s.steps_gradient()[0]);
    println!("stops after {steps} steps; raising θ by 0.01 changes that by {more:+.1}");
    Ok(()) // stops after 147 steps; raising θ by 0.01 changes that by -7.3
}
