//! Our controllers in Rust on the recorded ticks: the firmware `count` at opt-level 2.

use std::path::PathBuf;

use super::program::Counted;
use crate::cargo::Cargo;
use crate::jobs::cross::{CORTEX_M4F, build_firmware};

/// Inputs of a tick, for both plants.
const ANSWERS: usize = 4;

/// Runs the ticks of the safety filter and of the quadrotor; bytes are left at zero, because only those of C are compared.
pub(crate) fn count(cargo: &Cargo, files: &[PathBuf; 2]) -> Result<Vec<Counted>, String> {
    let [safety, quadrotor] = files.each_ref().map(|f| f.to_string_lossy().into_owned());
    let variables = [
        ("DST_SAFETY_TICKS", safety.as_str()),
        ("DST_QUADROTOR_TICKS", quadrotor.as_str()),
    ];
    let programs = build_firmware(cargo, "count", "even", &variables)?;
    let plants = ["count_safety_filter", "count_quadrotor"];
    let all = plants.map(|name| {
        let output = CORTEX_M4F.run_by_instructions(&programs.with_file_name(name))?;
        if !output.status.success() {
            return Err(format!("{name}: {}", output.status));
        }
        let lines = words(&output.stdout);
        let lines = lines.chunks_exact(4 + ANSWERS).map(|tick| {
            // Instructions, status, steps, operations, inputs; statuses above 1 are not solved.
            let unsolved = u32::from(tick[1] > 1);
            let words = [tick[0], unsolved, tick[2]];
            let words = words.iter().chain(&tick[4..]);
            words.map(|word| format!("{word:08x} ")).collect()
        });
        Ok(Counted {
            lines: lines.collect(),
            flash: 0,
            ram: 0,
            stack: 0,
        })
    });
    all.into_iter().collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes.chunks_exact(4).map(word).collect()
}
