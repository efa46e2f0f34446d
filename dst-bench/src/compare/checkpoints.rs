//! Forward steps of checkpointing: the online schedule beside Revolve, which is given N.

use std::process::Command;

use dst_core::checkpoint::{Mark, Schedule, optimum};
use dst_std::report::Table;
use serde::Deserialize;

use super::contest::Setup;

/// Lengths of runs and numbers of slots.
const STEPS: [usize; 4] = [50, 100, 500, 1000];
const SLOTS: [usize; 3] = [3, 10, 30];

#[derive(Deserialize)]
struct Counted {
    version: String,
    counts: Vec<usize>,
}

/// The table, and whether Revolve's counts are the optimum as we know it.
pub fn checkpoints(setup: &Setup) -> Result<(Table, String, bool), String> {
    let pairs: Vec<(usize, usize)> = STEPS
        .iter()
        .flat_map(|&steps| SLOTS.map(|slots| (steps, slots)))
        .collect();
    let output = Command::new(&setup.python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .arg(setup.peers.join("checkpoint_counts.py"))
        .args(
            pairs
                .iter()
                .map(|(steps, slots)| format!("{steps}:{slots}")),
        )
        .output()
        .map_err(|e| format!("{} does not start: {e}", setup.python.display()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or("no word").to_owned();
        return Err(format!("checkpoint_counts.py: {last}"));
    }
    let known: Counted =
        serde_json::from_slice(&output.stdout).map_err(|e| format!("checkpoint_counts.py: {e}"))?;
    let mut table = Table::new()
        .right("steps")
        .right("slots")
        .right("Revolve, N known")
        .right("dst, N unknown")
        .right("ratio");
    let mut agree = known.counts.len() == pairs.len();
    for (&(steps, slots), &revolve) in pairs.iter().zip(&known.counts) {
        agree &= revolve == optimum(steps, slots);
        let ours = online(steps, slots);
        let ratio = format!("{:.3}", ours as f64 / revolve as f64);
        let cells = [steps, slots, revolve, ours].map(|n| n.to_string().into());
        table.row(cells.into_iter().chain([ratio.into()]));
    }
    Ok((table, known.version, agree))
}

/// Forward steps of the online schedule.
fn online(steps: usize, slots: usize) -> usize {
    let mut marks = vec![Mark::EMPTY; slots];
    let mut schedule = Schedule::new(slots);
    while schedule.next_save().saturating_add(1) < steps {
        schedule.save(&mut marks);
    }
    schedule.forward_steps(&marks, steps)
}
