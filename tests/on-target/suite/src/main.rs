//! Runs every check and prints a line for each; the exit code is the number of those that fail.

#![no_std]
#![no_main]

use core::fmt::Write;

use board::{Out, stack};
use dst_models::checks;

board::entry!(main);
board::report_panics!();

fn main() -> u32 {
    let (failed, used) = stack::measure(all);
    let _ = writeln!(Out, "{} checks, {failed} failed", checks::ALL.len());
    let _ = writeln!(Out, "stack {used}");
    failed
}

fn all() -> u32 {
    let mut failed = 0;
    for check in checks::ALL {
        let outcome = check.run();
        failed += u32::from(outcome.failure().is_some());
        let _ = writeln!(Out, "{} {} {outcome}", check.name, check.scalar);
    }
    failed
}
