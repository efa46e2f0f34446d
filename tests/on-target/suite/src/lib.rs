//! Runs checks and prints a line for each. One program per precision: both do not fit into a small flash memory.

#![no_std]

use core::fmt::Write;

use board::{Out, stack};
use dst_models::checks::Check;

/// Runs all checks; the number of failures is the exit code.
pub fn run(checks: &[Check]) -> u32 {
    let (failed, used) = stack::measure(|| all(checks));
    let _ = writeln!(Out, "{} checks, {failed} failed", checks.len());
    let _ = writeln!(Out, "stack {used}");
    failed
}

fn all(checks: &[Check]) -> u32 {
    let mut failed = 0;
    for check in checks {
        let outcome = check.run();
        failed += u32::from(outcome.failure().is_some());
        let _ = writeln!(Out, "{} {} {outcome}", check.name, check.scalar);
    }
    failed
}
