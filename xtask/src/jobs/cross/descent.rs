//! Descents as firmware: the bits of the host, their memory, and the instructions of a tell.

use std::path::Path;

use super::machine::Machine;
use crate::elf::{Elf, check_elf};

/// Bytes, and instructions per tell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    text: u64,
    stack: u64,
    /// Memory with 4 and with 14 parameters.
    bytes: [u64; 2],
    /// Mean and worst with 4 parameters, then with 14.
    instructions: [[u64; 2]; 2],
}

impl Measured {
    /// The names are the keys of the budgets.
    pub(crate) fn all(&self) -> [(&'static str, u64); 8] {
        let [few, many] = self.instructions;
        [
            ("descent_text", self.text),
            ("descent_stack", self.stack),
            ("descent_bytes", self.bytes[0]),
            ("descent_bytes_14", self.bytes[1]),
            ("descent_tell", few[0]),
            ("descent_tell_worst", few[1]),
            ("descent_tell_14", many[0]),
            ("descent_tell_14_worst", many[1]),
        ]
    }
}

/// Words of one descent, in the order of `dst_models::descents::Report`.
const WORDS: usize = 4;
/// The marks around a tell.
const MARKS: [[&str; 2]; 2] = [
    ["dst_tell4_begins", "dst_tell4_ends"],
    ["dst_tell14_begins", "dst_tell14_ends"],
];

/// Runs the program and compares; `host` are the words of both descents here.
pub(crate) fn run(machine: &Machine, program: &Path, host: &[u32]) -> Result<Measured, String> {
    check_elf(program)?;
    let output = machine.run(program)?.stdout;
    let words: Vec<u32> = output
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    let (found, rest) = words.split_at_checked(2 * WORDS).unwrap_or_default();
    if found != host || host.first() != Some(&0) || host.get(WORDS) != Some(&0) {
        return Err(format!("descent: host {host:x?}, target {found:x?}"));
    }
    let &[stack, few, many] = rest else {
        return Err(format!("descent: reports {words:x?}"));
    };
    let counts = machine.count_each(program, &MARKS)?;
    let mean_and_worst = |counts: &Vec<u64>| {
        let sum: u64 = counts.iter().sum();
        let worst = counts.iter().max().copied().unwrap_or(0);
        [sum / counts.len().max(1) as u64, worst]
    };
    Ok(Measured {
        text: Elf::read(program)?.size(".text"),
        stack: stack.into(),
        bytes: [few.into(), many.into()],
        instructions: [mean_and_worst(&counts[0]), mean_and_worst(&counts[1])],
    })
}
