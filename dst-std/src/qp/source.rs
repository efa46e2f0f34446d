//! A prepared program as source text: a Rust module for [`dst_core::qp::Dense`], and a C header with the same numbers in the order of
//! the memory that `dst_qp_prepare` fills.
//!
//! Numbers are the shortest that read back as the same bits.

use std::fmt::Write;

use dst_core::qp::DenseMemory;

use super::admm_family::{AdmmFamily, Setting};
use super::prepared::Prepared;

/// Numbers, eight to a line, as they are written in either precision.
fn numbers(values: &[f64], double: bool, suffix: &str) -> String {
    let mut text = String::new();
    for line in values.chunks(8) {
        let each = |&v: &f64| match double {
            true => format!("{v:?}"),
            false => format!("{:?}{suffix}", v as f32),
        };
        let line: Vec<String> = line.iter().map(each).collect();
        let _ = write!(text, "\n    {},", line.join(", "));
    }
    text
}

/// A Rust module that begins with these lines.
pub(super) fn with_head(head: &str, body: &str) -> String {
    format!(
        "//! Written by `dst qp tune`; do not edit.\n//!\n//! {}\n\n{body}",
        head.replace('\n', "\n//! ")
    )
}

/// The Rust module and the C header of a prepared program.
pub(super) fn active_set(
    name: &str,
    head: &str,
    prepared: &Prepared<f64>,
    double: bool,
    capacity: usize,
    tolerance: f64,
    budget: u32,
) -> [(String, String); 2] {
    let (n, m) = (prepared.inverse.len(), prepared.scale.len());
    let arrays: [(&str, &str, &[f64]); 5] = [
        (
            "FACTOR",
            "L of P = L D L', row by row without its diagonal.",
            &prepared.factor,
        ),
        ("INVERSE", "1/D", &prepared.inverse),
        (
            "COLUMNS",
            "M = A L'^-1, column by column.",
            &prepared.columns,
        ),
        ("GRAM", "W = A P^-1 A', row by row.", &prepared.gram),
        ("SCALE", "1/sqrt(W_jj)", &prepared.scale),
    ];
    let (rust_type, c_type, suffix) = match double {
        true => ("f64", "double", "f64"),
        false => ("f32", "float", "f32"),
    };
    let memory = DenseMemory::<f64>::numbers(n, m, capacity);
    let words = DenseMemory::<f64>::words(capacity);
    let mut rust = format!(
        "use dst_core::qp::{{ActiveSet, Dense}};\n\n/// Variables.\npub const VARIABLES: usize = {n};\n/// Rows.\npub const ROWS: usize = {m};\n\
         /// Rows that the set has room for.\npub const CAPACITY: usize = {capacity};\n/// Steps that a solve may take.\npub const BUDGET: usize = {budget};\n\
         /// Numbers of memory that `DenseMemory` takes.\npub const NUMBERS: usize = {memory};\n/// Words of memory that it takes.\npub const WORDS: usize = {words};\n\n\
         /// The program: `PROGRAM.solve(&mut memory, &q, Bounds {{ lower, upper }}, BUDGET)`.\n\
         pub static PROGRAM: Dense<'static, {rust_type}> = Dense {{\n    factor: &FACTOR,\n    inverse: &INVERSE,\n    columns: &COLUMNS,\n    \
         set: ActiveSet {{\n        gram: &GRAM,\n        scale: &SCALE,\n        caps: &[],\n        lifts: &[],\n        tolerance: {tolerance:?},\n    }},\n    boxed: {},\n}};\n",
        prepared.boxed
    );
    for (array, what, values) in arrays {
        let _ = write!(
            rust,
            "\n/// {what}\n#[rustfmt::skip]\nstatic {array}: [{rust_type}; {}] = [{}\n];\n",
            values.len(),
            numbers(values, double, "")
        );
    }
    let upper = name.to_uppercase();
    let constants = prepared.numbers() + 1;
    let tolerance = match double {
        true => format!("{tolerance:?}"),
        false => format!("{:?}f", tolerance as f32),
    };
    let mut c = format!(
        "/* Written by `dst qp tune`; do not edit.\n *\n * {}\n *\n * dst_qp_solve_{suffix}(&{name}, {name}_prepared, {upper}_CONSTANTS, numbers, {upper}_NUMBERS, \
         words, {upper}_WORDS,\n *                  q, lower, upper, {upper}_BUDGET, u, &outcome)\n * with libdst; zero the words before the first solve, or for a \
         cold start. */\n#ifndef {upper}_H\n#define {upper}_H\n\n#include \"dst.h\"\n\n#define {upper}_VARIABLES {n}\n#define {upper}_ROWS {m}\n\
         #define {upper}_CAPACITY {capacity}\n#define {upper}_BUDGET {budget}\n#define {upper}_CONSTANTS {constants}\n#define {upper}_NUMBERS {memory}\n\
         #define {upper}_WORDS {words}\n\n/* Sizes and tolerance; P and A are not needed again. */\n\
         static const dst_qp_{suffix} {name} = {{ {n}, {m}, {capacity}, NULL, NULL, NULL, NULL, {tolerance} }};\n\n\
         /* Constants, as dst_qp_prepare_{suffix} writes them. */\nstatic const {c_type} {name}_prepared[{upper}_CONSTANTS] = {{",
        head.replace('\n', "\n * "),
    );
    for (_, what, values) in arrays {
        let _ = write!(c, "\n    /* {what} */{}", numbers(values, double, "f"));
    }
    let _ = write!(
        c,
        "\n    /* Leading rows of A that are bounds on variables. */{}\n}};\n\n#endif\n",
        numbers(&[prepared.boxed as f64], double, "f")
    );
    [
        (format!("{name}.rs"), with_head(head, &rust)),
        (format!("{name}.h"), c),
    ]
}

/// The Rust module of a tuned ADMM, for [`dst_core::qp::Solver`].
pub(super) fn admm(family: &AdmmFamily<'_>, setting: &Setting) -> String {
    let (shape, outputs, [primal, dual]) = family.constants(setting);
    let mut rust = format!(
        "use dst_core::qp::{{Phases, Qp, Shape, Tolerance}};\n\n/// Rows [I; A]: those of I have no bounds.\npub const SHAPE: Shape = Shape {{\n    \
         inputs: {},\n    outputs: {},\n    stages: 1,\n    blocks: 1,\n}};\n\n/// The program.\npub static PROGRAM: Qp<'static, f64> = Qp {{\n    \
         shape: SHAPE,\n    outputs: &OUTPUTS,\n}};\n\n/// The knobs.\npub static PHASES: Phases<'static, f64> = Phases {{\n    params: &PARAMS,\n    \
         inverses: &INVERSES,\n    switches: &[],\n}};\n\n/// The stop test.\npub const TOLERANCE: Tolerance<f64> = Tolerance {{\n    \
         primal: {primal:?},\n    dual: {dual:?},\n    dual_relative: 0.0,\n}};\n",
        shape.inputs, shape.outputs
    );
    let arrays: [(&str, &str, &[f64]); 3] = [
        ("OUTPUTS", "A, column by column.", &outputs),
        (
            "PARAMS",
            "R of all rows, then the relaxation.",
            &setting.tuned.params,
        ),
        ("INVERSES", "K", &setting.tuned.inverses),
    ];
    for (array, what, values) in arrays {
        let _ = write!(
            rust,
            "\n/// {what}\n#[rustfmt::skip]\nstatic {array}: [f64; {}] = [{}\n];\n",
            values.len(),
            numbers(values, true, "")
        );
    }
    rust
}
