//! The engine beside hand-written C: the same Euler loop, stop test and adjoint, instructions per step and bytes.
//!
//! C is compiled by gcc and by clang, which unrolls loops as Rust's compiler does.
//!
//! The engine keeps a few checkpoints and recomputes; the C program keeps every state. Its backward sweep is therefore divided by the
//! steps pulled back and the steps recomputed.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::chips::M4F;
use super::install::FOLDER;
use crate::cargo::{Cargo, answer};
use crate::elf::Elf;
use crate::jobs::cross::{CORTEX_M4F, build_firmware};

/// Firmware, and the same by hand.
const PAIRS: [(&str, &str); 2] = [("minimal", "euler"), ("feedback", "feedback")];
const MARKS: [&str; 3] = ["dst_mark_start", "dst_mark_stopped", "dst_mark_done"];
/// Largest relative difference of the gradients; C uses fused operations.
const AGREEMENT: f32 = 1e-4;

/// Counts both of every pair and returns the lines of `engine.txt`: firmware, program, forward and backward instructions per step,
/// bytes of code; steps, steps pulled back, steps recomputed.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let mut lines = String::new();
    for (firmware, by_hand) in PAIRS {
        let of = |e| format!("{firmware}: {e}");
        lines += &compare(cargo, firmware, by_hand).map_err(of)?;
    }
    eprint!("{lines}");
    Ok(lines)
}

fn compare(cargo: &Cargo, firmware: &str, by_hand: &str) -> Result<String, String> {
    let ours = build_firmware(cargo, firmware, "even", &[])?;
    let output = CORTEX_M4F.run(&ours)?;
    let words: Vec<u32> = output
        .stdout
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
        .collect();
    let &[0, steps, rates, pullbacks, ref results @ ..] = words.as_slice() else {
        return Err(format!("the engine: {words:?}"));
    };
    let in_c = [M4F.compiler("gcc"), M4F.clang()].map(|with| compile(cargo, with, by_hand));
    let [gcc, clang] = in_c;
    let (gcc, clang) = (gcc?, clang?);
    for program in [&gcc, &clang] {
        agree(program, by_hand, steps, results)?;
    }
    let [engine, gcc_counts, clang_counts] =
        [&ours, &gcc, &clang].map(|program| CORTEX_M4F.count(program, &MARKS));
    // N + 1 evaluations belong to the run; the others are of steps that are recomputed.
    let recomputed = u64::from(rates).saturating_sub(u64::from(steps) + 1);
    let backward = u64::from(pullbacks) + recomputed;
    let per = |count: u64, steps: u64| count as f64 / steps.max(1) as f64;
    let mut lines = String::new();
    for (name, counts, back, program) in [
        ("engine", engine?, backward, &ours),
        ("gcc", gcc_counts?, u64::from(steps), &gcc),
        ("clang", clang_counts?, u64::from(steps), &clang),
    ] {
        let bytes = Elf::read(program)?.size(".text");
        let _ = writeln!(
            lines,
            "{firmware} {name} {:.1} {:.1} {bytes}",
            per(counts[0], u64::from(steps)),
            per(counts[1], back)
        );
    }
    let _ = writeln!(lines, "{firmware} steps {steps} {pullbacks} {recomputed}");
    Ok(lines)
}

/// Checks that a program in C makes the same steps and has the same results.
fn agree(program: &Path, by_hand: &str, steps: u32, results: &[u32]) -> Result<(), String> {
    let output = CORTEX_M4F.run(program)?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find_map(|l| l.strip_prefix("by hand "));
    let line = line.ok_or_else(|| format!("{by_hand}.c: {text}"))?;
    let words: Result<Vec<u32>, _> = line
        .split_whitespace()
        .map(|w| u32::from_str_radix(w, 16))
        .collect();
    let words = words.map_err(|e| format!("{by_hand}.c: {e}"))?;
    let [n, theirs @ ..] = words.as_slice() else {
        return Err(format!("{by_hand}.c prints nothing"));
    };
    if *n != steps || theirs.is_empty() || results.len() < theirs.len() {
        return Err(format!("{by_hand}.c: {n} steps, the engine {steps}"));
    }
    for (ours, theirs) in results.iter().zip(theirs) {
        let [a, b] = [*ours, *theirs].map(f32::from_bits);
        let near = (a - b).abs() <= AGREEMENT * (a.abs() + 1.0);
        if !near {
            return Err(format!("{by_hand}.c: {b}, the engine {a}"));
        }
    }
    Ok(())
}

fn compile(cargo: &Cargo, mut command: Command, by_hand: &str) -> Result<PathBuf, String> {
    let start = cargo.root().join("tests/c/firmware");
    let folder = cargo.target_folder("firmware");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let compiler = command.get_program().to_string_lossy().into_owned();
    let program = folder.join(format!("{by_hand}-{compiler}.elf"));
    let object = program.with_extension("o");
    command
        .args(["-std=gnu99", "-Wall", "-Wextra", "-Werror"])
        .arg("-I")
        .arg(&start)
        .arg("-c")
        .arg(cargo.root().join(FOLDER).join(format!("{by_hand}.c")))
        .arg("-o")
        .arg(&object);
    answer(&mut command)?;
    // Linked by gcc, which knows where its library is.
    let mut command = M4F.compiler("gcc");
    command
        .arg("-I")
        .arg(&start)
        .arg(&object)
        .arg(start.join("cortex_m.c"))
        .args(["-nostartfiles", "-T"])
        .arg(start.join("cortex_m.ld"))
        .args(["-Wl,--gc-sections", "-Wl,--no-warn-execstack", "-o"])
        .arg(&program);
    answer(&mut command)?;
    Ok(program)
}
