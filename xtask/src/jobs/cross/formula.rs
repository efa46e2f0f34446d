//! The pullback of a formula as firmware: the bits of the host, and what it costs by dual numbers and by the trace.

use std::path::Path;

use super::machine::Machine;
use crate::elf::check_elf;

/// Bytes and instructions of one pullback, both ways.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Measured {
    /// Stack by dual numbers, stack by the trace, scratch memory of the trace.
    bytes: [u64; 3],
    /// A plain evaluation, a pullback by dual numbers, one by the trace.
    instructions: [u64; 3],
}

impl Measured {
    /// The names are the keys of the budgets.
    pub(crate) fn all(&self) -> [(&'static str, u64); 6] {
        [
            ("formula_plain", self.instructions[0]),
            ("formula_dual", self.instructions[1]),
            ("formula_trace", self.instructions[2]),
            ("formula_dual_stack", self.bytes[0]),
            ("formula_trace_stack", self.bytes[1]),
            ("formula_trace_scratch", self.bytes[2]),
        ]
    }
}

/// Runs the program and compares; `host` are the digests here.
pub(crate) fn run(machine: &Machine, program: &Path, host: &[u32]) -> Result<Measured, String> {
    check_elf(program)?;
    let output = machine.run(program)?.stdout;
    let words: Vec<u32> = output
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    let Some((found, &[dual, trace, scratch])) = words
        .split_at_checked(3)
        .and_then(|(found, rest)| rest.first_chunk::<3>().map(|rest| (found, rest)))
    else {
        return Err(format!("formula: reports {words:x?}"));
    };
    if found != host {
        return Err(format!("formula: host {host:x?}, target {found:x?}"));
    }
    let counts = machine.count(program, &["dst_plain", "dst_dual", "dst_trace", "dst_end"])?;
    let &[plain, by_dual, by_trace] = counts.as_slice() else {
        return Err(format!("formula: counts {counts:?}"));
    };
    Ok(Measured {
        bytes: [dual.into(), trace.into(), scratch.into()],
        instructions: [plain, by_dual, by_trace],
    })
}
