//! Controller with an active set as source text: a Rust module and a C header with the same numbers.
//!
//! Numbers are the shortest that read back as the same `f32`. Infinity is not a number that both languages can write, so the largest
//! finite number stands for no bound.

use std::fmt::Write;

use dst_core::mpc::{Controller, Response, RollOut, Tick};

use super::source::numbers;

/// Name and text of the Rust module and of the C header. `name` is an [identifier](super::export), `plant` is A and B, row by
/// row, and `note` has one or more lines that both files begin with.
pub fn controller_source(
    name: &str,
    controller: &Controller<'_, f32>,
    plant: (&[f32], &[f32]),
    note: &str,
) -> [(String, String); 2] {
    [
        (format!("{name}.rs"), rust(controller, plant, note)),
        (format!("{name}.h"), c_header(name, controller, plant, note)),
    ]
}

/// Table of a controller.
struct Table {
    name: &'static str,
    meaning: &'static str,
    values: Vec<f32>,
}

/// All tables in the order of the fields in C; an empty one is not written.
fn tables(controller: &Controller<'_, f32>, plant: (&[f32], &[f32])) -> Vec<Table> {
    let finite = |values: &[f32]| values.iter().map(|v| v.clamp(f32::MIN, f32::MAX)).collect();
    let set = &controller.set;
    let none: &[f32] = &[];
    let empty = RollOut {
        a: none,
        b: none,
        feedback: none,
        outputs: none,
        feed: none,
    };
    let (map, roll) = match controller.response {
        Response::Map(map) => (map, empty),
        Response::RollOut(roll) => (none, roll),
    };
    let table = |name, meaning, values: &[f32]| Table {
        name,
        meaning,
        values: finite(values),
    };
    vec![
        table("GRAM", "W, row by row.", set.gram),
        table("SCALE", "1/√W_jj.", set.scale),
        table(
            "CAPS",
            "Weights of the ℓ1 penalties of one stage.",
            set.caps,
        ),
        table(
            "LIFTS",
            "1/ρ of the quadratic penalties of one stage.",
            set.lifts,
        ),
        table("LOWER", "Lower bounds of one stage.", controller.lower),
        table("UPPER", "Upper bounds of one stage.", controller.upper),
        table(
            "MAP",
            "Map from the parameter to s⁰, column by column.",
            map,
        ),
        table("ROLL_A", "A of the roll-out, row by row.", roll.a),
        table("ROLL_B", "B of the roll-out, row by row.", roll.b),
        table("FEEDBACK", "Feedback of the roll-out.", roll.feedback),
        table("OUTPUTS", "Outputs of the roll-out.", roll.outputs),
        table("FEED", "Inverse of the weight of the inputs.", roll.feed),
        table("A", "Plant: x⁺ = Ax + Bu, row by row.", plant.0),
        table("B", "B of the plant, row by row.", plant.1),
    ]
}

/// Number of tables that are fields of the controller; the others are the plant.
const FIELDS: usize = 12;

fn rust(controller: &Controller<'_, f32>, plant: (&[f32], &[f32]), note: &str) -> String {
    let mut text = "//! Written by `dst control export`; do not edit.\n".to_owned();
    for line in note.lines() {
        let _ = writeln!(text, "{}", format!("//! {line}").trim_end());
    }
    let tables = tables(controller, plant);
    let field = |name: &str| {
        let known = tables.iter().find(|t| t.name == name);
        match known.is_some_and(|t| !t.values.is_empty()) {
            true => format!("&{name}"),
            false => "&[]".to_owned(),
        }
    };
    let (imports, response) = match controller.response {
        Response::Map(_) => ("", "Response::Map(&MAP)".to_owned()),
        Response::RollOut(_) => (
            "RollOut, ",
            format!(
                "Response::RollOut(RollOut {{\n        a: {},\n        b: {},\n        feedback: {},\n        outputs: {},\n        \
                 feed: {},\n    }})",
                field("ROLL_A"),
                field("ROLL_B"),
                field("FEEDBACK"),
                field("OUTPUTS"),
                field("FEED")
            ),
        ),
    };
    let _ = write!(
        text,
        "\nuse dst_core::Error;\nuse dst_core::mpc::{{Controller, Response, {imports}Tick}};\nuse dst_core::qp::ActiveSet;\n\n\
         /// Numbers of memory.\npub const NUMBERS: usize = {};\n/// Words of memory.\npub const WORDS: usize = {};\n\n\
         /// Memory of the controller: the only part that changes.\n#[derive(Debug)]\npub struct Memory {{\n    \
         numbers: [f32; NUMBERS],\n    words: [u16; WORDS],\n}}\n\n\
         impl Memory {{\n    /// Empty memory.\n    pub const fn new() -> Self {{\n        Self {{\n            \
         numbers: [0.0; NUMBERS],\n            words: [0; WORDS],\n        }}\n    }}\n\n    \
         /// Starts the controller; the first tick is cold.\n    pub fn start(&mut self) -> Result<Tick<'_, f32>, Error> {{\n        \
         Tick::new(&CONTROLLER, &mut self.numbers, &mut self.words)\n    }}\n}}\n\n\
         impl Default for Memory {{\n    fn default() -> Self {{\n        Self::new()\n    }}\n}}\n\n\
         /// Constants of the controller.\npub static CONTROLLER: Controller<'static, f32> = Controller {{\n    inputs: {},\n    \
         parameters: {},\n    blocks: {},\n    capacity: {},\n    set: ActiveSet {{\n        gram: &GRAM,\n        \
         scale: &SCALE,\n        caps: {},\n        lifts: {},\n        tolerance: {:?},\n    }},\n    response: {response},\n    \
         lower: &LOWER,\n    upper: &UPPER,\n}};\n",
        Tick::<f32>::numbers(controller),
        Tick::<f32>::words(controller),
        controller.inputs,
        controller.parameters,
        controller.blocks,
        controller.capacity,
        field("CAPS"),
        field("LIFTS"),
        controller.set.tolerance,
    );
    for (place, table) in tables.iter().enumerate() {
        if table.values.is_empty() {
            continue;
        }
        let visible = if place < FIELDS { "" } else { "pub " };
        let _ = write!(
            text,
            "\n/// {}\n#[rustfmt::skip]\n{visible}static {}: [f32; {}] = [{}\n];\n",
            table.meaning,
            table.name,
            table.values.len(),
            numbers(&table.values, "")
        );
    }
    text
}

fn c_header(
    name: &str,
    controller: &Controller<'_, f32>,
    plant: (&[f32], &[f32]),
    note: &str,
) -> String {
    let mut text = "/* Written by `dst control export`; do not edit.\n".to_owned();
    for line in note.lines() {
        // The end of a comment must not be part of it.
        let line = line.replace("*/", "* /").replace("/*", "/ *");
        let _ = writeln!(text, "{}", format!(" * {line}").trim_end());
    }
    let upper = name.to_uppercase();
    let Controller {
        inputs,
        parameters,
        blocks,
        capacity,
        ..
    } = *controller;
    let (m, kinds) = (controller.rows(), controller.lower.len());
    let states = match controller.response {
        Response::Map(_) => 0,
        Response::RollOut(_) => parameters,
    };
    let _ = write!(
        text,
        " */\n#ifndef {upper}_H\n#define {upper}_H\n\n#include \"dst_active_set.h\"\n\n\
         #define {upper}_INPUTS {inputs}\n#define {upper}_PARAMETERS {parameters}\n#define {upper}_BLOCKS {blocks}\n\
         #define {upper}_STAGES {}\n#define {upper}_NUMBERS DST_CONTROLLER_NUMBERS({m}, {capacity}, {states})\n\
         #define {upper}_WORDS DST_CONTROLLER_WORDS({capacity}, {blocks})\n\n\
         /* Memory of the controller: the only part that changes. Zero it before the first tick. */\n\
         typedef struct {{\n    float numbers[{upper}_NUMBERS];\n    uint16_t words[{upper}_WORDS];\n}} {name}_memory;\n",
        controller.stages()
    );
    let mut pointers = Vec::new();
    for table in tables(controller, plant) {
        let array = format!("{name}_{}", table.name.to_lowercase());
        if table.values.is_empty() {
            pointers.push("NULL".to_owned());
            continue;
        }
        let _ = write!(
            text,
            "\n/* {} */\nstatic const float {array}[{}] = {{{}\n}};\n",
            table.meaning,
            table.values.len(),
            numbers(&table.values, "f")
        );
        pointers.push(array);
    }
    // By position: C++ has no designated initialisers before C++20.
    let (before, after) = pointers.split_at(4);
    let _ = write!(
        text,
        "\nstatic const dst_controller {name} = {{\n    {inputs}, {parameters}, {blocks}, {capacity}, {m}, {kinds}, /* inputs, \
         parameters, blocks, capacity, rows, kinds */\n    {},\n    {:?}f, /* tolerance */\n    {},\n}};\n\n#endif\n",
        before.join(", "),
        controller.set.tolerance,
        after
            .iter()
            .take(FIELDS - before.len())
            .cloned()
            .collect::<Vec<_>>()
            .join(", ")
    );
    text
}

#[cfg(test)]
mod tests {
    use dst_core::qp::ActiveSet;

    use super::*;

    /// One input with one soft output, two stages.
    fn small() -> Controller<'static, f32> {
        Controller {
            inputs: 1,
            parameters: 1,
            blocks: 2,
            capacity: 3,
            set: ActiveSet {
                gram: &[1.0; 16],
                scale: &[1.0; 4],
                caps: &[f32::INFINITY, 2.0],
                lifts: &[],
                tolerance: 1e-6,
            },
            response: Response::Map(&[0.5; 4]),
            lower: &[-1.0, f32::NEG_INFINITY],
            upper: &[f32::INFINITY, 3.0],
        }
    }

    #[test]
    fn no_infinity_is_written() {
        let files = controller_source("small", &small(), (&[1.0], &[2.0]), "One\ntwo */ three");
        for (name, text) in &files {
            assert!(!text.contains("inf"), "{name}");
            assert_eq!(text.matches("3.4028235e38").count(), 3, "{name}");
            assert!(text.contains("two"), "{name}");
        }
        assert!(files[0].1.contains("//! two */ three\n"));
        assert!(files[1].1.contains(" * two * / three\n"));
        // The end of the note is the end of the comment.
        assert_eq!(files[1].1.find("*/"), files[1].1.find("*/\n#ifndef"));
    }

    #[test]
    fn sizes_are_those_of_the_memory() {
        let controller = small();
        let [rust, c] = controller_source("small", &controller, (&[], &[]), "");
        let numbers = Tick::<f32>::numbers(&controller);
        assert!(rust.1.contains(&format!("NUMBERS: usize = {numbers};")));
        assert!(rust.1.contains("WORDS: usize = 16;"));
        // The inputs are the caller's in C.
        assert!(c.1.contains("DST_CONTROLLER_NUMBERS(4, 3, 0)"));
        assert_eq!(numbers, 2 * 4 + 3 + 5 * 3 + 2);
        assert!(c.1.contains("NULL, NULL, NULL, NULL, NULL,\n}"));
    }
}
