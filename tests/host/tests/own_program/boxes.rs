//! Written by `dst qp tune`; do not edit.
//!
//! 2 variables, 3 rows; dual active set, at most 5 steps per solve.
//! Share of late solves at most 0.5272 with 95 % confidence (0 of 4 held-out instances were late).
//! Error on them at most 8.106e-8. Another distribution of q, l and u is not covered.
//! Memory: 120 bytes; constants: 84 bytes.

use dst_core::qp::{ActiveSet, Dense};

/// Variables.
pub const VARIABLES: usize = 2;
/// Rows.
pub const ROWS: usize = 3;
/// Rows that the set has room for.
pub const CAPACITY: usize = 3;
/// Steps that a solve may take.
pub const BUDGET: usize = 5;
/// Numbers of memory that `DenseMemory` takes.
pub const NUMBERS: usize = 26;
/// Words of memory that it takes.
pub const WORDS: usize = 8;

/// The program: `PROGRAM.solve(&mut memory, &q, Bounds { lower, upper }, BUDGET)`.
pub static PROGRAM: Dense<'static, f32> = Dense {
    factor: &FACTOR,
    inverse: &INVERSE,
    columns: &COLUMNS,
    set: ActiveSet {
        gram: &GRAM,
        scale: &SCALE,
        caps: &[],
        lifts: &[],
        tolerance: 0.0001,
    },
    boxed: 2,
};

/// L of P = L D L', row by row without its diagonal.
#[rustfmt::skip]
static FACTOR: [f32; 1] = [
    0.25,
];

/// 1/D
#[rustfmt::skip]
static INVERSE: [f32; 2] = [
    0.5, 1.1428572,
];

/// M = A L'^-1, column by column.
#[rustfmt::skip]
static COLUMNS: [f32; 6] = [
    1.0, 0.0, 1.0, -0.25, 1.0, 0.75,
];

/// W = A P^-1 A', row by row.
#[rustfmt::skip]
static GRAM: [f32; 9] = [
    0.5714286, -0.2857143, 0.2857143, -0.2857143, 1.1428572, 0.85714287, 0.2857143, 0.85714287,
    1.1428572,
];

/// 1/sqrt(W_jj)
#[rustfmt::skip]
static SCALE: [f32; 3] = [
    1.3228756, 0.9354144, 0.9354144,
];
