//! A tuned controller as source text, in two languages with the same numbers.
//!
//! Numbers are the shortest that read back as the same `f32`.

use std::fmt::Write;

use dst_core::mpc::AdmmTick;
use dst_core::qp::Shape;

use super::program::Program;
use super::tuned::Tuned;

/// Names and texts of both languages.
pub(super) fn texts(
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

/// Small words that mean something in Rust or C (C++ too, which may include the header), and the name of the runtime.
const TAKEN: &str = "dst_controller \
    abstract alignas alignof as asm async auto await become bool box break case catch char class const constexpr continue crate \
    default delete do double dyn else enum explicit export extern false final float fn for friend gen goto if impl in inline int \
    let long loop macro main match mod move mut mutable namespace new null nullptr operator override priv private protected pub \
    public ref register restrict return self short signed sizeof static struct super switch template this throw trait true try \
    type typedef typeid typename typeof union unsafe unsigned unsized use using virtual void volatile where while yield";

/// Names of the files that an export of this name has in any case. The solver in C comes beside them.
#[cfg(feature = "cli")]
pub(crate) fn exported_files(name: &str) -> [String; 3] {
    let name = identifier(name);
    [".rs", ".h", "_certificate.json"].map(|end| format!("{name}{end}"))
}

/// A name that both languages take.
pub(crate) fn identifier(name: &str) -> String {
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
    let taken = TAKEN.split_whitespace().any(|word| word == text);
    if taken || !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        text.insert_str(0, "controller_");
    }
    text
}

/// Numbers, eight to a line.
pub(super) fn numbers(values: &[f32], suffix: &str) -> String {
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
    // A bound beyond all numbers is none; infinity is not a number that both languages can write.
    let bounds = |v: &[f32]| v.iter().map(|v| v.clamp(f32::MIN, f32::MAX)).collect();
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
            bounds(&program.lower),
        ),
        ("UPPER", "Upper bounds.", bounds(&program.upper)),
        (
            "PARAMS",
            "R of a block, then the relaxation, phase after phase.",
            tuned.params.clone(),
        ),
        (
            "INVERSES",
            "K, then 1/R of a block, phase after phase.",
            tuned.inverses.clone(),
        ),
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
        "//! Written by `dst control export`; do not edit.\n//! {}.\n\n\
         use dst_core::mpc::AdmmController;\nuse dst_core::qp::{{Shape, Tolerance}};\n\n\
         /// The sizes.\npub const SHAPE: Shape = Shape {{\n    inputs: {inputs},\n    outputs: {outputs},\n    \
         stages: {stages},\n    blocks: {blocks},\n}};\n\n/// Numbers of memory that a `AdmmTick` takes.\n\
         pub const MEMORY: usize = {};\n\n",
        note.replace('\n', "\n//! "),
        AdmmTick::<f32>::len(program.shape)
    );
    let _ = write!(
        text,
        "/// The controller.\npub static CONTROLLER: AdmmController<'static, f32> = AdmmController {{\n    shape: SHAPE,\n    \
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
        "/* Written by `dst control export`; do not edit.\n * {}. */\n#ifndef {upper}_H\n#define {upper}_H\n\n\
         #include \"dst_controller.h\"\n\n/* Numbers of memory, zero at first. */\n\
         #define {upper}_MEMORY DST_ADMM_MEMORY({inputs}, {outputs}, {stages}, {blocks})\n\
         #define {upper}_STATES {}\n#define {upper}_INPUTS {inputs}\n#define {upper}_STAGES {stages}\n\
         #define {upper}_BLOCKS {blocks}\n",
        note.replace('\n', "\n * "),
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
         static const dst_admm_controller {name} = {{\n    .inputs = {inputs}, .outputs = {outputs}, .stages = {stages}, \
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
    use crate::random::bits;

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

    /// A bound beyond all numbers is none, and has to be written as one.
    #[test]
    fn no_bound_is_a_number_too() {
        let mut model = crate::control::plants::axis_model();
        model.inputs = vec![crate::control::Limits::between(-1e300, f64::INFINITY)];
        let program = model.program().unwrap();
        let base = program.jacobi().unwrap();
        let knobs = crate::control::Knobset::each_stage(&program, base, &[1], &[]);
        let tuned = knobs.tuned(&program, &knobs.start(1.0, 1.6)).unwrap();
        let files = texts("axis", &program, &tuned.cast(), &model.plant(), "");
        for (name, text) in files {
            assert!(!text.contains("inf"), "{name}");
            assert_eq!(text.matches("3.4028235e38").count(), 2, "{name}");
        }
    }

    #[test]
    fn names_suit_both_languages() {
        assert_eq!(identifier("safety filter"), "safety_filter");
        assert_eq!(identifier("2nd-Arm"), "controller_2nd_arm");
        for word in ["double", "fn", "Self", "int", "static", "dst controller"] {
            let name = identifier(word);
            assert!(name.starts_with("controller_"), "{name}");
        }
    }
}
