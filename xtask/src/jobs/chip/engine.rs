//! The engine beside hand-written C: the same Euler loop, stop test and adjoint, instructions per step and bytes.
//!
//! The engine keeps six checkpoints and recomputes; the C program keeps every state. Its backward sweep is therefore divided by the
//! steps pulled back and the steps recomputed.

use std::fmt::Write;

use super::chips::M4F;
use super::install::FOLDER;
use crate::cargo::{Cargo, answer};
use crate::elf::Elf;
use crate::jobs::cross::{CORTEX_M4F, build_firmware};

const MARKS: [&str; 3] = ["dst_mark_start", "dst_mark_stopped", "dst_mark_done"];
/// Largest relative difference of the gradients; C uses fused operations.
const AGREEMENT: f32 = 1e-4;

/// Counts both and returns the lines of `engine.txt`: name, forward and backward instructions per step, bytes of code.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let ours = build_firmware(cargo, "minimal", "even", &[])?;
    let output = CORTEX_M4F.run(&ours)?;
    let words: Vec<u32> = output
        .stdout
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let &[0, steps, rates, pullbacks, ref results @ ..] = words.as_slice() else {
        return Err(format!("engine: {words:?}"));
    };
    let in_c = compile(cargo)?;
    let output = CORTEX_M4F.run(&in_c)?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("euler "));
    let line = line.ok_or_else(|| format!("euler.c: {text}"))?;
    let words: Result<Vec<u32>, _> = line
        .split_whitespace()
        .map(|w| u32::from_str_radix(w, 16))
        .collect();
    let words = words.map_err(|e| format!("euler.c: {e}"))?;
    let [n, theirs @ ..] = words.as_slice() else {
        return Err("euler.c prints nothing".to_owned());
    };
    if *n != steps || theirs.len() != 7 {
        return Err(format!("euler.c: {n} steps, the engine {steps}"));
    }
    for (ours, theirs) in results.iter().zip(theirs) {
        let [a, b] = [*ours, *theirs].map(f32::from_bits);
        if (a - b).abs() > AGREEMENT * (a.abs() + 1.0) {
            return Err(format!("euler.c: {b}, the engine {a}"));
        }
    }
    let [engine, hand] = [&ours, &in_c].map(|program| CORTEX_M4F.count(program, &MARKS));
    let (engine, hand) = (engine?, hand?);
    // N + 1 evaluations belong to the run; the others are of steps that are recomputed.
    let recomputed = u64::from(rates).saturating_sub(u64::from(steps) + 1);
    let backward = u64::from(pullbacks) + recomputed;
    let per = |count: u64, steps: u64| count as f64 / steps.max(1) as f64;
    let mut lines = String::new();
    for (name, counts, back, program) in [
        ("engine", engine, backward, &ours),
        ("hand", hand, u64::from(steps), &in_c),
    ] {
        let bytes = Elf::read(program)?.size(".text");
        let _ = writeln!(
            lines,
            "{name} {:.1} {:.1} {bytes}",
            per(counts[0], u64::from(steps)),
            per(counts[1], back)
        );
    }
    let _ = writeln!(
        lines,
        "steps {steps} pulled {pullbacks} recomputed {recomputed}"
    );
    eprint!("{lines}");
    Ok(lines)
}

fn compile(cargo: &Cargo) -> Result<std::path::PathBuf, String> {
    let start = cargo.root().join("tests/c/firmware");
    let program = cargo.target_folder("firmware").join("euler.elf");
    let mut command = M4F.compiler("gcc");
    command
        .args(["-std=gnu99", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(&start)
        .arg(cargo.root().join(FOLDER).join("euler.c"))
        .arg(start.join("cortex_m.c"))
        .args(["-nostartfiles", "-T"])
        .arg(start.join("cortex_m.ld"))
        .args(["-Wl,--gc-sections", "-Wl,--no-warn-execstack", "-o"])
        .arg(&program);
    answer(&mut command)?;
    Ok(program)
}
