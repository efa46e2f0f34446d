//! Writes the recorded ticks of the two plants for firmware: `<plant>.ticks` (words that the firmware reads) and `<plant>.exact` (the
//! exact inputs, for the comparison on this machine).
//!
//! Words of `.ticks`, little endian: number of ticks, length of p, length of the extra term; then for every tick a flag (1 for a cold start, plus 2 in
//! the loop), p and the extra term as `f32`. `.exact` holds `f64`. `costs` has the coefficients of the estimated instructions and the bytes of code.

use std::path::PathBuf;
use std::process::ExitCode;

use dst_std::control::plants::plants;
use dst_std::control::{COSTS, Recording};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), String> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or("usage: recorded_ticks FOLDER")?;
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for plant in plants().map_err(|e| e.to_string())? {
        let ticks = Recording::PUBLISHED.of(&plant, 1);
        let first = ticks.first().ok_or("no ticks")?;
        let mut words = vec![
            ticks.len() as u32,
            first.p.len() as u32,
            first.extra.len() as u32,
        ];
        let mut exact = Vec::new();
        for tick in &ticks {
            if tick.exact.is_empty() {
                return Err(format!("{}: a tick has no solution", plant.name));
            }
            words.push(u32::from(tick.cold) + 2 * u32::from(tick.looped));
            words.extend(tick.p.iter().chain(&tick.extra).map(|v| v.to_bits()));
            exact.extend(tick.exact.iter().flat_map(|u| u.to_le_bytes()));
        }
        let words: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let name = plant.name.replace(' ', "_");
        for (ending, bytes) in [("ticks", &words), ("exact", &exact)] {
            let file = folder.join(format!("{name}.{ending}"));
            std::fs::write(&file, bytes).map_err(|e| format!("{}: {e}", file.display()))?;
        }
    }
    // For the check of the estimate that an export prints.
    let costs = [COSTS.block, COSTS.step, COSTS.operation, COSTS.code as f64];
    let costs = costs.map(|cost| cost.to_string());
    let file = folder.join("costs");
    std::fs::write(&file, costs.join(" ")).map_err(|e| format!("{}: {e}", file.display()))
}
