//! Writes the questions of `cargo xtask compare --only firmware`, a folder each: recorded ticks, exact inputs, the program as the others
//! read it, and our controller in C.
//!
//! `ticks` and `exact` are those of `recorded_ticks`. `case.json` has the plant or the program; the two plants take the controllers of
//! `tests/c/active_set`, all other cases get a header here.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dst_bench::firmware::random_program;
use dst_std::control::plants::{Plant, quadrotor, quadrotor_model, safety_filter};
use dst_std::control::{ActiveProgram, RecordedTick, Recording, controller_source};
use serde_json::{Value, json};

/// Horizons of the quadrotor beside the published one.
const HORIZONS: [usize; 6] = [5, 10, 20, 30, 40, 50];
/// Shares of the bounds that are active in the random programs, in per cent.
const SHARES: [usize; 3] = [10, 50, 90];
/// Ticks of the further cases: cold, and some runs for those that have a loop.
const FURTHER: Recording = Recording {
    cold: 200,
    runs: 4,
    ticks: 25,
};

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
    let folder = folder.ok_or("usage: firmware_cases FOLDER")?;
    let plant = quadrotor().map_err(|e| e.to_string())?;
    Case::of_plant("quadrotor", &plant, quadrotor_json(9), Recording::PUBLISHED).write(&folder)?;
    let plant = safety_filter();
    let words = json!({
        "kind": "filter", "a": plant.a, "b": plant.b, "horizon": 9,
        "r": plant.program.hessian[0], "lower": plant.program.lower, "upper": plant.program.upper,
    });
    Case::of_plant("safety_filter", &plant, words, Recording::PUBLISHED).write(&folder)?;
    for horizon in HORIZONS {
        let mut model = quadrotor_model();
        model.horizon = horizon;
        let plant = Plant {
            program: model.program().map_err(|e| e.to_string())?,
            active: model.active_program().map_err(|e| e.to_string())?,
            ..quadrotor().map_err(|e| e.to_string())?
        };
        let name = format!("horizon_{horizon}");
        let case = Case::of_plant(&name, &plant, quadrotor_json(horizon), FURTHER);
        case.write_header(&folder, &plant.active)?;
        case.write(&folder)?;
    }
    for share in SHARES {
        let random = random_program(40, share, FURTHER.cold)?;
        let case = Case {
            name: format!("random_{share}"),
            words: json!({
                "kind": "dense", "hessian": random.hessian, "lower": random.active.lower, "upper": random.active.upper,
            }),
            ticks: random.ticks,
            blocks: 1,
        };
        case.write_header(&folder, &random.active)?;
        case.write(&folder)?;
    }
    Ok(())
}

/// The quadrotor as a plant with weights; the last state has the weight of the infinite horizon.
fn quadrotor_json(horizon: usize) -> Value {
    let model = quadrotor_model();
    json!({
        "kind": "regulator", "a": model.a.concat(), "b": model.b.concat(), "q": model.q, "r": model.r, "horizon": horizon,
        "lower": vec![-0.5; 4], "upper": vec![0.5; 4],
    })
}

/// A question with its recorded ticks.
struct Case {
    name: String,
    words: Value,
    ticks: Vec<RecordedTick>,
    blocks: usize,
}

impl Case {
    fn of_plant(name: &str, plant: &Plant, words: Value, recording: Recording) -> Self {
        Self {
            name: name.to_owned(),
            words,
            ticks: recording.of(plant, 1),
            blocks: plant.active.blocks,
        }
    }

    /// Our controller. Its factor has room for as many rows as there are variables and one.
    fn write_header(&self, folder: &Path, active: &ActiveProgram<f64>) -> Result<(), String> {
        let single = active.cast::<f32>();
        let capacity = active.rows().min(active.inputs * active.stages) + 1;
        let controller = single.controller(capacity, 1e-6);
        let note = "A case of the comparison on the chip.";
        let [_, (_, header)] = controller_source("controller", &controller, (&[], &[]), note);
        put(folder, &self.name, "controller.h", header.as_bytes())
    }

    /// Writes the case, and a part of its ticks as a case of its own in `few`: for settings that are searched, or slow.
    fn write(&self, folder: &Path) -> Result<(), String> {
        self.write_ticks(folder, &self.name, &self.ticks)?;
        let cold = self.ticks.iter().filter(|t| !t.looped);
        let looped = self.ticks.iter().filter(|t| t.looped);
        let few = cold.step_by(10).chain(looped.take(self.ticks.len() / 16));
        let few: Vec<RecordedTick> = few.cloned().collect();
        self.write_ticks(folder, &format!("{}/few", self.name), &few)
    }

    fn write_ticks(&self, folder: &Path, name: &str, ticks: &[RecordedTick]) -> Result<(), String> {
        let first = ticks.first().ok_or("no ticks")?;
        let (p, extra) = (first.p.len(), first.extra.len());
        let mut words = vec![ticks.len() as u32, p as u32, extra as u32];
        let mut exact = Vec::new();
        for tick in ticks {
            if tick.exact.is_empty() {
                return Err(format!("{}: a tick has no solution", self.name));
            }
            words.push(u32::from(tick.cold) + 2 * u32::from(tick.looped));
            words.extend(tick.p.iter().chain(&tick.extra).map(|v| v.to_bits()));
            exact.extend(tick.exact.iter().flat_map(|u| u.to_le_bytes()));
        }
        let words: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let mut json = self.words.clone();
        json["name"] = json!(self.name);
        json["blocks"] = json!(self.blocks);
        json["parameters"] = json!(p / self.blocks);
        json["extra"] = json!(extra / self.blocks);
        json["answers"] = json!(first.exact.len());
        put(folder, name, "ticks", &words)?;
        put(folder, name, "exact", &exact)?;
        put(folder, name, "case.json", json.to_string().as_bytes())
    }
}

fn put(folder: &Path, case: &str, name: &str, bytes: &[u8]) -> Result<(), String> {
    let folder = folder.join(case);
    let complain = |e: std::io::Error| format!("{}: {e}", folder.display());
    std::fs::create_dir_all(&folder).map_err(complain)?;
    std::fs::write(folder.join(name), bytes).map_err(complain)
}
