//! The checker of derivatives: finds every planted mistake and names it, and accepts every correct system.

mod own;
mod planted;
mod refusals;

use dst_core::solve::check::{CheckError, Checked};
use dst_core::{HeapMemory, Integrator, Plan, Scalar, System};

/// Numbers of the type of a system.
fn list<S: Scalar>(values: &[f64]) -> Vec<S> {
    values.iter().map(|&v| S::from_f64(v)).collect()
}

/// Checks a system with memory on the heap, without slots.
fn check<S: Scalar, I: Integrator<S>>(
    plan: Plan<S, I>,
    system: &dyn System<S>,
    theta: &[f64],
    x0: &[f64],
) -> Result<Checked, CheckError> {
    let mut memory = HeapMemory::new(&plan, system, 0);
    plan.check(system, &list(theta), &list(x0), &mut memory)
}
