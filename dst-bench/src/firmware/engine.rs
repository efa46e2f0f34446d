//! The engine beside hand-written C, from `engine.txt`: per system a line for the engine and one for each compiler of C, with forward
//! and backward instructions per step and bytes, and one with the numbers of steps.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;

/// Instructions per step and bytes of code.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cost {
    /// Forward: step, stop test, checkpoints.
    pub forward: f64,
    /// Backward, per step pulled back or recomputed.
    pub backward: f64,
    /// Bytes of the whole program.
    pub bytes: f64,
}

/// One system: the engine, and C by hand.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Name of the firmware.
    pub system: String,
    /// `dst-core`.
    pub engine: Cost,
    /// C, compiled by gcc.
    pub gcc: Cost,
    /// C, compiled by clang.
    pub clang: Cost,
    /// Steps of the run, steps pulled back, steps recomputed.
    pub steps: [f64; 3],
}

/// All systems.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Engine(pub Vec<Pair>);

/// Forward: this many times the loop in C, and this many instructions more for the checkpoints.
const FORWARD: (f64, f64) = (1.10, 40.0);
/// Backward: this many times the adjoint in C.
const BACKWARD: f64 = 1.25;

/// Firmware and what it runs.
const SYSTEMS: [(&str, &str); 2] = [
    (
        "minimal",
        "4 states, 2 parameters, 27 operations per evaluation; 6 checkpoints",
    ),
    (
        "feedback",
        "12 states, 4 inputs, 48 gains as parameters; 10 checkpoints",
    ),
];

impl Pair {
    fn parse(text: &str, system: &str) -> Option<Self> {
        let line = |name: &str| -> Option<[f64; 3]> {
            let mut lines = text.lines().map(|l| l.split(' '));
            let words = lines.find_map(|mut words| {
                (words.next() == Some(system) && words.next() == Some(name)).then_some(words)
            });
            let numbers: Result<Vec<f64>, _> = words?.map(str::parse).collect();
            numbers.ok()?.try_into().ok()
        };
        let cost = |name: &str| {
            line(name).map(|[forward, backward, bytes]| Cost {
                forward,
                backward,
                bytes,
            })
        };
        Some(Self {
            system: system.to_owned(),
            engine: cost("engine")?,
            gcc: cost("gcc")?,
            clang: cost("clang")?,
            steps: line("steps")?,
        })
    }

    /// Most instructions forward and backward: the limits beside the better compiler.
    fn allowed(&self) -> [f64; 2] {
        let (times, more) = FORWARD;
        [
            times * self.gcc.forward.min(self.clang.forward) + more,
            BACKWARD * self.gcc.backward.min(self.clang.backward),
        ]
    }
}

impl Engine {
    /// Reads the file; `None` if there is none.
    pub fn read(file: &Path) -> Result<Option<Self>, String> {
        match std::fs::read_to_string(file) {
            Ok(text) => match Self::parse(&text) {
                Some(engine) => Ok(Some(engine)),
                None => Err(format!("{}: {text}", file.display())),
            },
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(format!("{}: {e}", file.display())),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let pairs = SYSTEMS.map(|(system, _)| Pair::parse(text, system));
        pairs.into_iter().collect::<Option<Vec<_>>>().map(Self)
    }

    /// The text of the section.
    pub fn words(&self) -> String {
        let mut text = "### The engine beside hand-written C\n\nEuler's method in single precision until the stop test holds, then the gradient of the \
            stopping time (`tests/on-target/minimal` and `feedback`, `peers/firmware/euler.c` and `feedback.c`). -O2 and opt-level 2. The engine \
            keeps a few checkpoints and recomputes, the C programs keep every state. Forward: instructions per step, with stop test and checkpoints. \
            Backward: instructions per step pulled back or recomputed. The limits are 1.10 times C and 40 instructions more, and 1.25 times C, beside the \
            compiler with fewer instructions.\n\n| system | steps, pulled back, recomputed | forward: dst, gcc, clang | limit | backward: dst, gcc, clang | \
            limit | bytes: dst, gcc, clang |\n|---|---|---|---|---|---|---|\n"
            .to_owned();
        let verdict = |count: f64, limit: f64| {
            let holds = if count <= limit {
                "holds"
            } else {
                "does not hold"
            };
            format!("{limit:.0}: {holds}")
        };
        for pair in &self.0 {
            let Pair {
                engine, gcc, clang, ..
            } = pair;
            let [steps, pulled, recomputed] = pair.steps;
            let [forward, backward] = pair.allowed();
            let what = SYSTEMS.iter().find(|(name, _)| *name == pair.system);
            let _ = writeln!(
                text,
                "| {} | {steps}, {pulled}, {recomputed} | {:.0}, {:.0}, {:.0} | {} | {:.0}, {:.0}, {:.0} | {} | {}, {}, {} |",
                what.map_or("", |(_, what)| *what),
                engine.forward,
                gcc.forward,
                clang.forward,
                verdict(engine.forward, forward),
                engine.backward,
                gcc.backward,
                clang.backward,
                verdict(engine.backward, backward),
                engine.bytes,
                gcc.bytes,
                clang.bytes
            );
        }
        text += "\nWhat the engine adds does not grow with the system: on these runs 95 to 115 instructions per step for the choice of checkpoints (a save that \
            has to drop one takes about 480), some 50 for copies, best iterate and a check that every number is finite, and about 95 per operation of the \
            backward sweep. Beside an evaluation of 27 operations that is most of the work; from some hundred operations on it is lost among them.\n";
        text
    }
}

#[cfg(test)]
mod tests {
    use super::Engine;

    #[test]
    fn the_words_say_what_holds() {
        let text = "minimal engine 74.0 30.0 9000\nminimal gcc 30.0 24.0 1500\nminimal clang 40.0 26.0 2000\nminimal steps 93 94 163\n\
            feedback engine 900 1300 9000\nfeedback gcc 1500 1800 2000\nfeedback clang 1000 1100 6000\nfeedback steps 285 286 522\n";
        let engine = Engine::parse(text).unwrap();
        assert_eq!(engine.0[0].steps, [93.0, 94.0, 163.0]);
        let words = engine.words();
        assert!(words.contains("| 73: does not hold |"), "{words}");
        assert!(words.contains("| 30: holds |"), "{words}");
        assert!(words.contains("| 1140: holds |"), "{words}");
        assert!(words.contains("| 1375: holds |"), "{words}");
        assert_eq!(Engine::parse("minimal engine 1 2\n"), None);
    }
}
