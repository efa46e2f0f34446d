//! `cargo xtask compare --only firmware`: our controllers and the systems that people would pick instead, as firmware on an emulated
//! Cortex-M4F, on the same recorded ticks; both plants also on a Cortex-M33 and an RV32IMAC.
//!
//! Every system is compiled with the same flags, runs in the same loop (`dst-bench/peers/firmware/peer.c`) and is counted by the timer
//! of the board. The programs are checked first: the other systems solve them in double precision and must find the recorded inputs.
//! The counts go to files that `dst-bench/src/bin/firmware.rs` makes tables and the picture of.

mod chips;
mod engine;
mod in_rust;
mod install;
mod program;
mod score;
mod systems;
mod work;

use crate::cargo::{Cargo, succeed};
use chips::{M4F, OTHERS};
use install::Peers;
use work::Work;

/// Cases with all settings of all systems: name, inputs of a tick, half the width of the bounds of u0, regulator.
const PLANTS: [(&str, usize, f64, bool); 2] = [
    ("quadrotor", 4, 0.5, true),
    ("safety_filter", 4, 3.0, false),
];

/// Further cases: name, inputs, regulator.
const FURTHER: [(&str, usize, bool); 9] = [
    ("horizon_5", 4, true),
    ("horizon_10", 4, true),
    ("horizon_20", 4, true),
    ("horizon_30", 4, true),
    ("horizon_40", 4, true),
    ("horizon_50", 4, true),
    ("random_10", 40, false),
    ("random_50", 40, false),
    ("random_90", 40, false),
];

/// Runs everything and hands the counts over.
pub(crate) fn run(cargo: &Cargo, quick: bool, json: bool) -> Result<(), String> {
    for chip in OTHERS.iter().chain([&M4F]) {
        chip.ensure()?;
    }
    let peers = Peers::install(cargo)?;
    let folder = cargo.target_folder("firmware");
    let (cases, runs) = (folder.join("cases"), folder.join("runs"));
    for old in [&cases, &runs] {
        if old.exists() {
            std::fs::remove_dir_all(old).map_err(|e| format!("{}: {e}", old.display()))?;
        }
    }
    std::fs::create_dir_all(&runs).map_err(|e| format!("{}: {e}", runs.display()))?;
    let mut write = cargo.command();
    write
        .args(["run", "--quiet", "--package", "dst-bench", "--bin"])
        .args(["firmware_cases", "--"])
        .arg(&cases);
    succeed(&mut write)?;
    let work = Work {
        cargo,
        peers: &peers,
        cases,
        runs: runs.clone(),
    };
    let further: &[_] = if quick { &[] } else { &FURTHER };
    let names = PLANTS.iter().map(|p| p.0);
    for name in names.chain(further.iter().map(|f| f.0)) {
        let case = work.cases.join(name);
        peers
            .script(cargo, "check.py", &case, &[])
            .map_err(|e| format!("{name}: the programs differ: {e}"))?;
    }
    work.in_rust()?;
    let mut tiny = Vec::new();
    for (name, answers, half, regulator) in PLANTS {
        let chosen = work.plant(name, answers, half, regulator)?;
        for chip in &OTHERS {
            work.on_another_core(chip, name, answers, half, &chosen)?;
        }
        tiny.extend(chosen.into_iter().find(|s| s.system() == "TinyMPC"));
    }
    for &(name, answers, regulator) in further {
        work.further(name, answers, regulator, tiny.first())?;
    }
    let engine = runs.join("engine.txt");
    std::fs::write(&engine, engine::run(cargo)?)
        .map_err(|e| format!("{}: {e}", engine.display()))?;
    let mut report = cargo.command();
    let out = match quick {
        true => folder.clone(),
        false => cargo.root().join("dst-bench"),
    };
    report
        .args(["run", "--quiet", "--package", "dst-bench", "--bin"])
        .args(["firmware", "--", "--runs"])
        .arg(&runs)
        .arg("--cases")
        .arg(&work.cases)
        .arg("--out")
        .arg(out)
        .args(["--versions", &peers.names()])
        .args(json.then_some("--json"));
    succeed(&mut report).map_err(|_| "the report failed; the reason is above".to_owned())
}

/// The engine beside hand-written C alone.
pub(crate) fn engine(cargo: &Cargo) -> Result<(), String> {
    M4F.ensure()?;
    engine::run(cargo).map(drop)
}
