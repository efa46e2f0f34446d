//! The tuned controllers as firmware: the bits of the host, the log of their monitors, what a tick costs, and what the program takes.

use std::path::Path;

use super::logging;
use super::machine::Machine;
use crate::cargo::Cargo;
use crate::elf::{Elf, check_elf};

/// Bytes, and instructions per tick.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    text: u64,
    rodata: u64,
    stack: u64,
    memory: u64,
    /// Mean and worst of the safety filter, then of the quadrotor.
    instructions: [[u64; 2]; 2],
}

impl Measured {
    /// The names are the keys of the budgets.
    pub(crate) fn all(&self) -> [(&'static str, u64); 8] {
        let [safety, hover] = self.instructions;
        [
            ("ticks_text", self.text),
            ("ticks_rodata", self.rodata),
            ("ticks_stack", self.stack),
            ("ticks_memory", self.memory),
            ("safety_tick", safety[0]),
            ("safety_tick_worst", safety[1]),
            ("quadrotor_tick", hover[0]),
            ("quadrotor_tick_worst", hover[1]),
        ]
    }
}

/// Words of one controller, in the order of `dst_models::ticks::Report`.
pub(crate) const WORDS: usize = 6;
/// The marks around a tick.
pub(crate) const MARKS: [[&str; 2]; 2] = [
    ["dst_safety_begins", "dst_safety_ends"],
    ["dst_hover_begins", "dst_hover_ends"],
];

/// Runs the program and compares; `host` are the words of both controllers here, `log` is what the monitors must say.
pub(crate) fn run(
    cargo: &Cargo,
    machine: &Machine,
    program: &Path,
    host: &[u32],
    log: &Path,
) -> Result<Measured, String> {
    check_elf(program)?;
    let output = machine.run(program)?.stdout;
    // Two words more: stack and memory. Frames of the log follow.
    let bytes = 4 * (2 * WORDS + 2);
    let (numbers, frames) = output.split_at_checked(bytes).unwrap_or_default();
    let words: Vec<u32> = numbers
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    let (found, rest) = words.split_at_checked(2 * WORDS).unwrap_or_default();
    if found != host || host.first() != Some(&0) {
        return Err(format!("ticks: host {host:x?}, target {found:x?}"));
    }
    let &[stack, memory] = rest else {
        return Err(format!("ticks: reports {words:x?}"));
    };
    logging::check(cargo, program, frames, log)?;
    let counts = machine.count_each(program, &MARKS)?;
    let mean_and_worst = |counts: &Vec<u64>| {
        let sum: u64 = counts.iter().sum();
        let worst = counts.iter().max().copied().unwrap_or(0);
        [sum / counts.len().max(1) as u64, worst]
    };
    let elf = Elf::read(program)?;
    Ok(Measured {
        text: elf.size(".text"),
        rodata: elf.size(".rodata"),
        stack: stack.into(),
        memory: memory.into(),
        instructions: [mean_and_worst(&counts[0]), mean_and_worst(&counts[1])],
    })
}
