//! Our controllers in Rust on the recorded ticks: the firmware `count` at opt-level 2.

use std::path::PathBuf;

use super::program::Counted;
use crate::cargo::Cargo;
use crate::jobs::cross::{CORTEX_M4F, build_firmware};

/// Inputs of a tick, for both plants.
const ANSWERS: usize = 4;

/// Runs the ticks of the safety filter and of the quadrotor; bytes are left at zero, because one program has both.
pub(crate) fn count(cargo: &Cargo, files: &[PathBuf; 2]) -> Result<Vec<Counted>, String> {
    let [safety, quadrotor] = files.each_ref().map(|f| f.to_string_lossy().into_owned());
    let variables = [
        ("DST_SAFETY_TICKS", safety.as_str()),
        ("DST_QUADROTOR_TICKS", quadrotor.as_str()),
    ];
    let program = build_firmware(cargo, "count", "even", &variables)?;
    let output = CORTEX_M4F.run_by_instructions(&program)?;
    if !output.status.success() {
        return Err(format!("count: {}", output.status));
    }
    let mut rest = words(&output.stdout);
    let mut all = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        let ticks = words(&bytes).first().copied().unwrap_or(0) as usize;
        let length = 4 + ANSWERS;
        if rest.len() < ticks * length {
            return Err(format!("count: {} words", rest.len()));
        }
        let others = rest.split_off(ticks * length);
        let lines = rest.chunks_exact(length).map(|tick| {
            // Instructions, status, steps, operations, inputs; statuses above 1 are not solved.
            let unsolved = u32::from(tick[1] > 1);
            let words = [tick[0], unsolved, tick[2]];
            let words = words.iter().chain(&tick[4..]);
            words.map(|word| format!("{word:08x} ")).collect()
        });
        all.push(Counted {
            lines: lines.collect(),
            flash: 0,
            ram: 0,
            stack: 0,
        });
        rest = others;
    }
    Ok(all)
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes.chunks_exact(4).map(word).collect()
}
