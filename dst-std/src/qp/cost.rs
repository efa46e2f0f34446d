//! Estimated cost of a solve on a Cortex-M4F, from counted multiply-adds and steps.
//!
//! Tables and memory are counted from the program. The constants for code and instructions are rough until the firmware job measures
//! them for dense programs; results are marked as estimated.

/// Bytes of code of the active set with its dense front.
const CODE: usize = 6000;
/// Instructions per multiply-add in single precision: two loads, the operation, a share of the loop.
const PER_OPERATION: f64 = 4.0;
/// Instructions per change of the set, beside its multiply-adds: the search for the worst row and for the limiting one.
const PER_STEP: f64 = 400.0;
/// Instructions of a solve that changes nothing, per row and variable.
const PER_ENTRY: f64 = 12.0;
/// Factor for double precision, which a Cortex-M4F computes in software.
const SOFTWARE: f64 = 15.0;

/// Estimated instructions of a solve.
pub(super) fn instructions(entries: usize, operations: f64, steps: f64, double: bool) -> f64 {
    let factor = if double { SOFTWARE } else { 1.0 };
    PER_ENTRY * entries as f64 + PER_STEP * steps + PER_OPERATION * operations * factor
}

/// Estimated bytes of flash of a program with this number of constants.
pub(super) fn flash(constants: usize, double: bool) -> usize {
    CODE + constants * if double { 8 } else { 4 }
}
