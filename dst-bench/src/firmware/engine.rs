//! The engine beside hand-written C, from `engine.txt`: a line with forward and backward instructions per step and bytes for each, and
//! one with the numbers of steps.

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

/// Both programs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Engine {
    /// `dst-core`.
    pub engine: Cost,
    /// C by hand.
    pub hand: Cost,
    /// Steps of the run, steps pulled back, steps recomputed.
    pub steps: [f64; 3],
}

/// Forward: this many times the loop in C, and this many instructions more for the checkpoints.
const FORWARD: (f64, f64) = (1.10, 40.0);
/// Backward: this many times the adjoint in C.
const BACKWARD: f64 = 1.25;

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
        let line = |name: &str| -> Option<[f64; 3]> {
            let line = text.lines().find(|l| l.split(' ').next() == Some(name))?;
            let numbers = line.split(' ').filter_map(|w| w.parse().ok());
            numbers.collect::<Vec<f64>>().try_into().ok()
        };
        let cost = |name: &str| {
            line(name).map(|[forward, backward, bytes]| Cost {
                forward,
                backward,
                bytes,
            })
        };
        Some(Self {
            engine: cost("engine")?,
            hand: cost("hand")?,
            steps: line("steps")?,
        })
    }

    /// The text of the section.
    pub fn words(&self) -> String {
        let Self {
            engine,
            hand,
            steps: [steps, pulled, recomputed],
        } = self;
        let verdict = |holds: bool| if holds { "holds" } else { "does not hold" };
        let (times, more) = FORWARD;
        let allowed = [times * hand.forward + more, BACKWARD * hand.backward];
        format!(
            "### The engine beside hand-written C\n\nEuler's method in single precision on four states and two parameters, {steps} steps until the \
             stop test holds, then the gradient of the stopping time (`tests/models/src/smallest.rs`, `peers/firmware/euler.c`; -O2, opt-level 2). \
             The engine keeps six checkpoints, the C program every state. Instructions per step: forward {:.0} (C {:.0}; at most {:.0} {}), backward \
             {:.0} for each of {pulled} steps pulled back and {recomputed} recomputed (C {:.0}; at most {:.0} {}). Bytes of the program, with start-up: \
             {} (C {}).\n",
            engine.forward,
            hand.forward,
            allowed[0],
            verdict(engine.forward <= allowed[0]),
            engine.backward,
            hand.backward,
            allowed[1],
            verdict(engine.backward <= allowed[1]),
            engine.bytes,
            hand.bytes
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Engine;

    #[test]
    fn the_words_say_what_holds() {
        let text =
            "engine 70.0 40.0 9000\nhand 30.0 24.0 1500\nsteps 93 pulled 94 recomputed 163\n";
        let engine = Engine::parse(text).unwrap();
        assert_eq!(engine.steps, [93.0, 94.0, 163.0]);
        let words = engine.words();
        assert!(words.contains("(C 30; at most 73 holds)"), "{words}");
        assert!(
            words.contains("(C 24; at most 30 does not hold)"),
            "{words}"
        );
        assert_eq!(Engine::parse("engine 1 2\n"), None);
    }
}
