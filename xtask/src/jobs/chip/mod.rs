//! `cargo xtask compare --only firmware`: our controllers and the systems that people would pick instead, as firmware on one emulated
//! Cortex-M4F, on the same recorded ticks.
//!
//! Every system is compiled with the same flags, runs in the same loop (`dst-bench/peers/firmware/peer.c`) and is counted by the timer
//! of the board. The programs are checked first: the other systems solve them in double precision and must find the recorded inputs.
//! The counts go to files that `dst-bench/src/bin/firmware.rs` makes tables and the picture of.

mod engine;
mod install;
mod program;
mod score;
mod systems;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::cargo::{Cargo, succeed};
use install::Peers;
use program::{Case, Counted, count};
use score::Score;
use systems::Setting;

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

/// A setting above this many instructions per tick runs on a part of the ticks.
const SLOW: f64 = 3e6;
/// A setting is accurate enough for the choice if the error of u0 (99th percentile) is at most this share of half the width.
const ACCURACY: f64 = 0.01;
/// Answers agree if the median error of the solved ticks is at most this share of half the width.
const AGREEMENT: f64 = 0.25;

/// Words of the error of a program that is ended by the emulator's patience, and that patience.
const NO_END: &str = "no end after";
const PATIENCE: &str = "120 s of emulation";

/// Runs everything and hands the counts over.
pub(crate) fn run(cargo: &Cargo, quick: bool, json: bool) -> Result<(), String> {
    crate::jobs::cross::CORTEX_M4F.ensure()?;
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
    let mut tiny = Vec::new();
    for (name, answers, half, regulator) in PLANTS {
        tiny.extend(work.plant(name, answers, half, regulator)?);
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
        .args(["--versions", &peers.versions.join(", ").replace("==", " ")])
        .args(json.then_some("--json"));
    succeed(&mut report).map_err(|_| "the report failed; the reason is above".to_owned())
}

/// The engine beside hand-written C alone.
pub(crate) fn engine(cargo: &Cargo) -> Result<(), String> {
    crate::jobs::cross::CORTEX_M4F.ensure()?;
    engine::run(cargo).map(drop)
}

/// Folders and installed systems.
struct Work<'a> {
    cargo: &'a Cargo,
    peers: &'a Peers,
    cases: PathBuf,
    runs: PathBuf,
}

impl Work<'_> {
    /// Default, adaptive and best settings of all systems; returns the best of TinyMPC.
    fn plant(
        &self,
        name: &str,
        answers: usize,
        half: f64,
        regulator: bool,
    ) -> Result<Option<Setting>, String> {
        let case = Part {
            name,
            answers,
            half,
        };
        self.report(&case, &Setting::Ours, "as exported")?;
        let daqp = |tolerance, single| Setting::Daqp { tolerance, single };
        self.report(&case, &daqp(1e-6, false), "default")?;
        let tolerances = [1e-6, 1e-5, 1e-4];
        let best = self.best(&case, tolerances.map(|t| daqp(t, true)).to_vec())?;
        self.report(&case, &best, "best of the grid")?;
        // In single precision the sparse form does not solve the safety filter.
        let forms: &[_] = if regulator {
            &["condensed", "sparse"]
        } else {
            &["condensed"]
        };
        for &form in forms {
            for adaptive in [false, true] {
                let setting = Setting::Osqp {
                    form,
                    rho: 0.1,
                    tolerance: 1e-3,
                    check: 25,
                    adaptive,
                };
                let role = if adaptive { "adaptive" } else { "default" };
                self.report(&case, &setting, role)?;
            }
        }
        let best = self.best(&case, self.osqp_grid(name)?)?;
        self.report(&case, &best, "best of the grid")?;
        if !regulator {
            return Ok(None);
        }
        let tiny = |rho| Setting::TinyMpc { rho, most: 4000 };
        let default = Setting::TinyMpc {
            rho: 1.0,
            most: 1000,
        };
        self.report(&case, &default, "default")?;
        let grid = [2.0, 5.0, 10.0, 20.0, 50.0, 100.0].map(tiny);
        let best = self.best(&case, grid.to_vec())?;
        self.report(&case, &best, "best of the grid")?;
        Ok(Some(best))
    }

    /// Ours beside the best setting of the others.
    fn further(
        &self,
        name: &str,
        answers: usize,
        regulator: bool,
        tiny: Option<&Setting>,
    ) -> Result<(), String> {
        let half = if regulator { 0.5 } else { 1.0 };
        let case = Part {
            name,
            answers,
            half,
        };
        self.report(&case, &Setting::Ours, "as exported")?;
        let daqp = Setting::Daqp {
            tolerance: 1e-6,
            single: true,
        };
        self.report(&case, &daqp, "default")?;
        let best = self.best(&case, self.osqp_grid(name)?)?;
        self.report(&case, &best, "best of the grid")?;
        match (regulator, tiny) {
            (true, Some(tiny)) => self.report(&case, tiny, "best for 9 stages"),
            _ => Ok(()),
        }
    }

    /// The best setting of each form, found on this machine.
    fn osqp_grid(&self, name: &str) -> Result<Vec<Setting>, String> {
        let few = self.cases.join(name).join("few");
        let found = self.peers.script(self.cargo, "grid_osqp.py", &few, &[])?;
        let line = |line: &str| {
            let mut words = line.split_whitespace();
            let form = ["condensed", "sparse"];
            let form = words
                .next()
                .and_then(|w| form.into_iter().find(|f| *f == w));
            let mut number = || words.next().and_then(|w| w.parse().ok());
            Some(Setting::Osqp {
                form: form?,
                rho: number()?,
                tolerance: number()?,
                check: 5,
                adaptive: false,
            })
        };
        let settings: Option<Vec<Setting>> = found.lines().map(line).collect();
        settings.ok_or_else(|| format!("OSQP: {found}"))
    }

    /// The setting with the best score on a part of the ticks.
    fn best(&self, case: &Part<'_>, settings: Vec<Setting>) -> Result<Setting, String> {
        let mut best: Option<((u8, f64), Setting)> = None;
        for setting in settings {
            let rank = match self.count(case, &setting, true) {
                Err(reason) if reason.contains(NO_END) => (2, 0.0),
                found => found?.1.rank(ACCURACY * case.half),
            };
            if best.as_ref().is_none_or(|(least, _)| rank < *least) {
                best = Some((rank, setting));
            }
        }
        let best = best.ok_or_else(|| format!("{}: an empty grid", case.name))?;
        Ok(best.1)
    }

    /// Counts a setting on all ticks, or on a part if it is slow, and writes the run.
    fn report(&self, case: &Part<'_>, setting: &Setting, role: &str) -> Result<(), String> {
        let (few, score, exact) = match self.count(case, setting, true) {
            Err(reason) if reason.contains(NO_END) => {
                eprintln!("{reason} ({}, {role})", setting.words());
                let text = format!(
                    "case {}\nsystem {}\nrole {role}\nsetting {}; {NO_END} {PATIENCE}\nfew true\nflash 0\nram 0\nstack 0\n",
                    case.name,
                    setting.system(),
                    setting.words()
                );
                return self.write(&text);
            }
            other => other?,
        };
        if score.median > AGREEMENT * case.half {
            return Err(format!(
                "{} on {}: its answers do not agree: median error {:.1e} of the solved ticks",
                setting.system(),
                case.name,
                score.median
            ));
        }
        let slow = score.mean > SLOW;
        let (counted, score, exact) = match slow {
            true => (few, score, exact),
            false => self.count(case, setting, false)?,
        };
        eprintln!(
            "{:<14} {:<8} {role:<17} {:>12.0} instructions, error {:.1e}, {} of {} unsolved ({})",
            case.name,
            setting.system(),
            score.mean,
            score.error,
            score.unsolved,
            counted.lines.len(),
            setting.words()
        );
        let mut text = format!(
            "case {}\nsystem {}\nrole {role}\nsetting {}\nfew {slow}\nexact {}\nflash {}\nram {}\nstack {}\n",
            case.name,
            setting.system(),
            setting.words(),
            exact.display(),
            counted.flash,
            counted.ram,
            counted.stack
        );
        for line in &counted.lines {
            let _ = writeln!(text, "tick {line}");
        }
        self.write(&text)
    }

    fn write(&self, text: &str) -> Result<(), String> {
        let file = self.runs.join(format!("{:03}.run", self.kept()));
        std::fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// Runs a setting; returns the counts, their score and the file with the exact inputs.
    fn count(
        &self,
        case: &Part<'_>,
        setting: &Setting,
        few: bool,
    ) -> Result<(Counted, Score, PathBuf), String> {
        let mut folder = self.cases.join(case.name);
        if few {
            folder.push("few");
        }
        let name = setting.system();
        let out = folder.join(name);
        if out.exists() {
            std::fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
        }
        let sources = setting.sources(self.cargo, self.peers, &folder, &out)?;
        let part = Case {
            folder: &folder,
            answers: case.answers,
        };
        let complain = |e: String| format!("{name} on {}: {e}", case.name);
        let counted = count(self.cargo, &part, name, &sources).map_err(complain)?;
        // The program of TinyMPC depends on its setting, and so do the exact inputs.
        let exact = [out.join("exact"), folder.join("exact")];
        let exact = exact.into_iter().find(|file| Path::is_file(file));
        let exact = exact.ok_or_else(|| complain("no exact inputs".to_owned()))?;
        let score = Score::of(&counted, &exact).map_err(complain)?;
        if matches!(setting, Setting::TinyMpc { .. }) {
            // The folder is used again by the next setting.
            let kept = self.cases.join(format!("{:03}.exact", self.kept()));
            std::fs::copy(&exact, &kept).map_err(|e| format!("{}: {e}", kept.display()))?;
            return Ok((counted, score, kept));
        }
        Ok((counted, score, exact))
    }

    /// Number of runs that are written.
    fn kept(&self) -> usize {
        std::fs::read_dir(&self.runs).map_or(0, Iterator::count)
    }
}

/// A case in all its parts.
struct Part<'a> {
    name: &'a str,
    answers: usize,
    /// Half the width of the bounds of u0.
    half: f64,
}
