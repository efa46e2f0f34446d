//! The tuned controller as source text: a Rust module of constants for [`dst_core::mpc::Controller`], and a C header for
//! `dst_controller.h`, which is written beside it.
//!
//! Numbers are the shortest that read back as the same `f32`; the same seed gives the same text. The knobs go into a file of their
//! own, from which [`again`] writes the same text without tuning.

use std::fmt::Write;

use dst_core::mpc::{Shape, Tick};
use serde::{Deserialize, Serialize};

use super::knobset::Knobset;
use super::model::Model;
use super::plants::Plant;
use super::pool::Pool;
use super::program::Program;
use super::recipe::{SWITCHES, recipe};
use super::score::{Score, iterations};
use super::tuned::Tuned;
use super::tuning::Options;
use crate::data::random::{bits, uniform};
use crate::experiments::Failure;
use crate::report::short;

/// The controller in C: what the headers of constants are for.
pub const RUNTIME: &str = include_str!("dst_controller.h");

/// Files and a word about each controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Name and content.
    pub files: Vec<(String, String)>,
    /// How good they are.
    pub notes: Vec<String>,
}

/// Tunes the two plants, or a model of one's own with its name, and writes them.
pub fn controllers(model: Option<(&str, &Model)>, seed: u64, quick: bool) -> Result<Made, Failure> {
    let mut made = Made {
        files: vec![("dst_controller.h".to_owned(), RUNTIME.to_owned())],
        notes: Vec::new(),
    };
    let sizes = if quick { [250, 1000] } else { [1500, 120_000] };
    let options = Options {
        steps: if quick { 80 } else { 600 },
        batch: 24,
        hard: 10,
        tail: 1.0,
        restarts: if quick { 1 } else { 2 },
        seed,
        ..Options::default()
    };
    match model {
        Some((name, model)) => {
            let program = model
                .program()
                .map_err(|e| Failure::NoAnswer(e.to_string()))?;
            let kinds: Vec<usize> = std::iter::once(program.shape.inputs)
                .chain(std::iter::repeat_n(1, program.shape.outputs))
                .collect();
            let pools = [1, 2].map(|s| model.ticks(&program, bits(seed, s), sizes[s as usize - 1]));
            one(
                &mut made,
                &identifier(name),
                &program,
                &kinds,
                &pools,
                &options,
                &model.plant(),
            )?;
        }
        None => {
            for plant in crate::experiments::control::plants()? {
                let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
                let pools = [1, 2].map(|s| plant.pool(bits(seed, s), sizes[s as usize - 1]));
                let Plant { a, b, .. } = &plant;
                let plant_matrices = (a.clone(), b.clone());
                one(
                    &mut made,
                    &identifier(plant.name),
                    &plant.program,
                    &kinds,
                    &pools,
                    &options,
                    &plant_matrices,
                )?;
            }
        }
    }
    Ok(made)
}

fn one(
    made: &mut Made,
    name: &str,
    program: &Program<f64>,
    kinds: &[usize],
    [pool, fresh]: &[Pool<f64>; 2],
    options: &Options,
    plant: &(Vec<f64>, Vec<f64>),
) -> Result<(), Failure> {
    let (knobs, training) = recipe(program, kinds, &SWITCHES, [pool, fresh], options, |_| false)
        .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let tuned = inverted(program, &knobs, &training.theta)?;
    let counts = iterations(&program.cast(), &pool.cast(), tuned.phases(), options.cap);
    let score = Score::of(&counts, options.cap);
    let note = format!(
        "{name}: mean {}, p99 {}, maximum {} iterations on the pool from a cold start",
        short(score.mean),
        short(score.p99),
        short(score.max)
    );
    let stored = Stored {
        note: note.clone(),
        switches: knobs.switches,
        theta: training.theta,
    };
    let text = serde_json::to_string_pretty(&stored)
        .map_err(|e| Failure::NoAnswer(format!("{name}: {e}")))?;
    made.files
        .extend(texts(name, program, &tuned, plant, &note));
    // Not `name.json`: that may be the model, in the same directory.
    made.files.push((format!("{name}.knobs.json"), text + "\n"));
    made.notes.push(note);
    Ok(())
}

/// What a controller is written from, beside its plant.
#[derive(Serialize, Deserialize)]
struct Stored {
    note: String,
    switches: Vec<usize>,
    theta: Vec<f64>,
}

/// The Rust module and the C header of a plant again, from the knobs that [`controllers`] stored.
pub fn again(plant: &Plant, stored: &str) -> Result<[(String, String); 2], Failure> {
    let stored: Stored = serde_json::from_str(stored)
        .map_err(|e| Failure::NoAnswer(format!("not the knobs of a controller: {e}")))?;
    let program = &plant.program;
    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let base = program
        .jacobi()
        .ok_or_else(|| Failure::NoAnswer("the Hessian is not positive definite".to_owned()))?;
    let knobs = Knobset::each_stage(program, base, &kinds, &stored.switches);
    if stored.theta.len() != knobs.knobs().len() {
        return Err(Failure::NoAnswer(format!(
            "theta must have {} numbers, not {}",
            knobs.knobs().len(),
            stored.theta.len()
        )));
    }
    let tuned = inverted(program, &knobs, &stored.theta)?;
    let matrices = (plant.a.clone(), plant.b.clone());
    let name = identifier(plant.name);
    Ok(texts(&name, program, &tuned, &matrices, &stored.note))
}

fn inverted(program: &Program<f64>, knobs: &Knobset, theta: &[f64]) -> Result<Tuned<f32>, Failure> {
    let tuned = knobs.tuned(program, theta);
    let missing = || Failure::NoAnswer("the tuned weights have no inverse".to_owned());
    Ok(tuned.ok_or_else(missing)?.cast())
}

/// Names and texts of both languages.
fn texts(
    name: &str,
    program: &Program<f64>,
    tuned: &Tuned<f32>,
    plant: &(Vec<f64>, Vec<f64>),
    note: &str,
) -> [(String, String); 2] {
    let small = program.cast::<f32>();
    [
        (format!("{name}.rs"), rust(note, &small, tuned, plant)),
        (
            format!("{name}.h"),
            c_header(name, note, &small, tuned, plant),
        ),
    ]
}

/// A name that both languages take.
fn identifier(name: &str) -> String {
    let mut text: String = name
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '_'
            }
        })
        .collect();
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert_str(0, "controller_");
    }
    text
}

impl Model {
    /// A and B, row by row.
    fn plant(&self) -> (Vec<f64>, Vec<f64>) {
        let flat = |rows: &[Vec<f64>]| rows.iter().flatten().copied().collect();
        (flat(&self.a), flat(&self.b))
    }

    /// Random ticks: anywhere within `start`, times a scale of 0.05–1.
    pub fn ticks(&self, program: &Program<f64>, seed: u64, count: usize) -> Pool<f64> {
        let tick = |i: u64| {
            let stream = bits(seed, i);
            let scale = 0.05 + 0.95 * uniform(stream, 0);
            let side = |j: usize| 2.0 * uniform(stream, j as u64 + 1) - 1.0;
            let x = self
                .start
                .iter()
                .enumerate()
                .map(|(j, s)| scale * s * side(j));
            (x.collect(), Vec::new())
        };
        Pool::of_states(program, (0..count as u64).map(tick))
    }
}

/// Numbers, eight to a line.
fn numbers(values: &[f32], suffix: &str) -> String {
    let mut text = String::new();
    for line in values.chunks(8) {
        let line: Vec<String> = line.iter().map(|v| format!("{v:?}{suffix}")).collect();
        let _ = write!(text, "\n    {},", line.join(", "));
    }
    text
}

/// All arrays of a controller with what they are.
fn arrays<'a>(
    program: &'a Program<f32>,
    tuned: &'a Tuned<f32>,
    plant: &(Vec<f64>, Vec<f64>),
) -> [(&'static str, &'static str, Vec<f32>); 9] {
    let cast = |v: &[f64]| v.iter().map(|&v| v as f32).collect();
    [
        (
            "OUTPUTS",
            "C, column by column, without leading zeros.",
            program.outputs.clone(),
        ),
        (
            "LINEAR",
            "F: g = F x, column by column.",
            program.linear.clone(),
        ),
        (
            "FREE",
            "E: outputs without inputs, column by column.",
            program.free.clone(),
        ),
        (
            "LOWER",
            "Lower bounds of one stage: inputs, then outputs.",
            program.lower.clone(),
        ),
        ("UPPER", "Upper bounds.", program.upper.clone()),
        (
            "PARAMS",
            "R of a block, then the relaxation, phase after phase.",
            tuned.params.clone(),
        ),
        ("INVERSES", "K, phase after phase.", tuned.inverses.clone()),
        (
            "A",
            "The plant: x+ = A x + B u, row by row.",
            cast(&plant.0),
        ),
        ("B", "B of the plant, row by row.", cast(&plant.1)),
    ]
}

fn rust(
    note: &str,
    program: &Program<f32>,
    tuned: &Tuned<f32>,
    plant: &(Vec<f64>, Vec<f64>),
) -> String {
    let Shape {
        inputs,
        outputs,
        stages,
        blocks,
    } = program.shape;
    let mut text = format!(
        "//! Written by `dst control export`; do not edit.\n//! {note}.\n\n\
         use dst_core::mpc::{{Controller, Shape, Tolerance}};\n\n\
         /// The sizes.\npub const SHAPE: Shape = Shape {{\n    inputs: {inputs},\n    outputs: {outputs},\n    \
         stages: {stages},\n    blocks: {blocks},\n}};\n\n/// Numbers of memory that a `Tick` takes.\n\
         pub const MEMORY: usize = {};\n\n",
        Tick::<f32>::len(program.shape)
    );
    let _ = write!(
        text,
        "/// The controller.\npub static CONTROLLER: Controller<'static, f32> = Controller {{\n    shape: SHAPE,\n    \
         states: {},\n    outputs: &OUTPUTS,\n    linear: &LINEAR,\n    free: &FREE,\n    lower: &LOWER,\n    \
         upper: &UPPER,\n    params: &PARAMS,\n    inverses: &INVERSES,\n    switches: &{:?},\n    \
         tolerance: Tolerance {{\n        primal: {:?},\n        dual: {:?},\n        dual_relative: {:?},\n    }},\n}};\n",
        program.states,
        tuned.switches,
        program.tolerance.primal,
        program.tolerance.dual,
        program.tolerance.dual_relative
    );
    for (name, what, values) in arrays(program, tuned, plant) {
        let visible = if name.len() == 1 { "pub " } else { "" };
        let _ = write!(
            text,
            "\n/// {what}\n#[rustfmt::skip]\n{visible}static {name}: [f32; {}] = [{}\n];\n",
            values.len(),
            numbers(&values, "")
        );
    }
    text
}

fn c_header(
    name: &str,
    note: &str,
    program: &Program<f32>,
    tuned: &Tuned<f32>,
    plant: &(Vec<f64>, Vec<f64>),
) -> String {
    let Shape {
        inputs,
        outputs,
        stages,
        blocks,
    } = program.shape;
    let upper = name.to_uppercase();
    let mut text = format!(
        "/* Written by `dst control export`; do not edit.\n * {note}. */\n#ifndef {upper}_H\n#define {upper}_H\n\n\
         #include \"dst_controller.h\"\n\n/* Numbers of memory, zero at first. */\n\
         #define {upper}_MEMORY DST_CONTROLLER_MEMORY({inputs}, {outputs}, {stages}, {blocks})\n\
         #define {upper}_STATES {}\n#define {upper}_INPUTS {inputs}\n#define {upper}_STAGES {stages}\n\
         #define {upper}_BLOCKS {blocks}\n",
        program.states
    );
    let mut pointers = Vec::new();
    for (array, what, values) in arrays(program, tuned, plant) {
        let array = format!("{name}_{}", array.to_lowercase());
        if values.is_empty() {
            pointers.push("NULL".to_owned());
            continue;
        }
        let _ = write!(
            text,
            "\n/* {what} */\nstatic const float {array}[{}] = {{{}\n}};\n",
            values.len(),
            numbers(&values, "f")
        );
        pointers.push(array);
    }
    let switches: Vec<String> = tuned.switches.iter().map(ToString::to_string).collect();
    // C has no empty arrays.
    let count = switches.len().max(1);
    let _ = write!(
        text,
        "\nstatic const int {name}_switches[{count}] = {{ {} }};\n\n\
         static const dst_controller {name} = {{\n    .inputs = {inputs}, .outputs = {outputs}, .stages = {stages}, \
         .blocks = {blocks},\n    .states = {}, .phases = {},\n    .switches = {name}_switches,\n",
        if switches.is_empty() {
            "0".to_owned()
        } else {
            switches.join(", ")
        },
        program.states,
        tuned.switches.len() + 1
    );
    let fields = [
        "output", "linear", "free", "lower", "upper", "params", "inverses",
    ];
    for (field, pointer) in fields.iter().zip(&pointers) {
        let _ = writeln!(text, "    .{field} = {pointer},");
    }
    let tolerance = program.tolerance;
    let _ = write!(
        text,
        "    .primal = {:?}f, .dual = {:?}f, .dual_relative = {:?}f,\n}};\n\n#endif\n",
        tolerance.primal, tolerance.dual, tolerance.dual_relative
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_themselves() {
        let values: Vec<f32> = (0..2000_u64)
            .map(|i| f32::from_bits(bits(5, i) as u32))
            .filter(|v| v.is_finite())
            .chain([0.0, -0.0, f32::MIN_POSITIVE, f32::MAX, 1e-45])
            .collect();
        let text = numbers(&values, "");
        let back: Vec<u32> = text
            .split(',')
            .filter_map(|t| t.trim().parse::<f32>().ok())
            .map(f32::to_bits)
            .collect();
        assert_eq!(back, values.iter().map(|v| v.to_bits()).collect::<Vec<_>>());
    }

    #[test]
    fn names_suit_both_languages() {
        assert_eq!(identifier("safety filter"), "safety_filter");
        assert_eq!(identifier("2nd-Arm"), "controller_2nd_arm");
    }
}
