//! The settings of every system on every case: searched, counted, written.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use super::chips::{Chip, M4F};
use super::in_rust;
use super::install::Peers;
use super::program::{Case, Counted, count};
use super::score::Score;
use super::systems::Setting;
use crate::cargo::Cargo;

/// A setting above this many instructions per tick runs on a part of the ticks.
const SLOW: f64 = 3e6;
/// A setting is accurate enough for the choice if the error of u0 (99th percentile) is at most this share of half the width.
const ACCURACY: f64 = 0.01;
/// Answers agree if the median error of the solved ticks is at most this share of half the width.
const AGREEMENT: f64 = 0.25;

/// Words of the error of a program that is ended by the emulator's patience, and that patience.
const NO_END: &str = "no end after";
const PATIENCE: &str = "120 s of emulation";

/// Folders and installed systems.
pub(super) struct Work<'a> {
    pub(super) cargo: &'a Cargo,
    pub(super) peers: &'a Peers,
    pub(super) cases: PathBuf,
    pub(super) runs: PathBuf,
}

impl Work<'_> {
    /// Default, adaptive and best settings of all systems; returns ours and the best of each system.
    pub(super) fn plant(
        &self,
        name: &str,
        answers: usize,
        half: f64,
        regulator: bool,
    ) -> Result<Vec<Setting>, String> {
        let case = Part {
            chip: &M4F,
            name,
            answers,
            half,
        };
        let mut chosen = vec![Setting::Ours];
        self.report(&case, &Setting::Ours, "as exported")?;
        let daqp = |tolerance, single| Setting::Daqp { tolerance, single };
        self.report(&case, &daqp(1e-6, false), "default")?;
        let tolerances = [1e-6, 1e-5, 1e-4];
        let best = self.best(&case, tolerances.map(|t| daqp(t, true)).to_vec())?;
        self.report(&case, &best, "best of the grid")?;
        chosen.push(best);
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
        chosen.push(best);
        if !regulator {
            return Ok(chosen);
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
        chosen.push(best);
        Ok(chosen)
    }

    /// The settings that are best on the Cortex-M4F, on another core.
    pub(super) fn on_another_core(
        &self,
        chip: &Chip,
        name: &str,
        answers: usize,
        half: f64,
        settings: &[Setting],
    ) -> Result<(), String> {
        let case = Part {
            chip,
            name,
            answers,
            half,
        };
        // TinyMPC is C++ with the library Eigen.
        let builds = |setting: &&Setting| chip.has_cxx() || setting.system() != "TinyMPC";
        for setting in settings.iter().filter(builds) {
            self.report(&case, setting, "best on Cortex-M4F")?;
        }
        Ok(())
    }

    /// Ours beside the best setting of the others.
    pub(super) fn further(
        &self,
        name: &str,
        answers: usize,
        regulator: bool,
        tiny: Option<&Setting>,
    ) -> Result<(), String> {
        let half = if regulator { 0.5 } else { 1.0 };
        let case = Part {
            chip: &M4F,
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
                    "chip {}\ncase {}\nsystem {}\nrole {role}\nsetting {}; {NO_END} {PATIENCE}\nfew true\nflash 0\nram 0\nstack 0\n",
                    case.chip.machine.core,
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
            "{:<10} {:<14} {:<8} {role:<18} {:>12.0} instructions, error {:.1e}, {} of {} unsolved ({})",
            case.chip.machine.core,
            case.name,
            setting.system(),
            score.mean,
            score.error,
            score.unsolved,
            counted.lines.len(),
            setting.words()
        );
        self.write_run(
            [case.chip.machine.core, case.name],
            [setting.system(), role, &setting.words()],
            slow,
            &exact,
            &counted,
        )
    }

    /// Our controllers of the two plants in Rust; one program has both, so there are no bytes of each.
    pub(super) fn in_rust(&self) -> Result<(), String> {
        let files = ["safety_filter", "quadrotor"].map(|name| self.cases.join(name).join("ticks"));
        let all = in_rust::count(self.cargo, &files)?;
        for (file, counted) in files.iter().zip(&all) {
            let exact = file.with_file_name("exact");
            let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
            let name = folder.to_string_lossy();
            let score = Score::of(counted, &exact)?;
            eprintln!(
                "{name:<14} dst in Rust: {:.0} instructions, error {:.1e}",
                score.mean, score.error
            );
            let words = ["dst", "as exported", "active set, Rust"];
            self.write_run([M4F.machine.core, &name], words, false, &exact, counted)?;
        }
        Ok(())
    }

    fn write_run(
        &self,
        [chip, case]: [&str; 2],
        [system, role, setting]: [&str; 3],
        few: bool,
        exact: &Path,
        counted: &Counted,
    ) -> Result<(), String> {
        let mut text = format!(
            "chip {chip}\ncase {case}\nsystem {system}\nrole {role}\nsetting {setting}\nfew {few}\nexact {}\nflash {}\nram {}\nstack {}\n",
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
        let counted = count(self.cargo, case.chip, &part, name, &sources).map_err(complain)?;
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
    chip: &'a Chip,
    name: &'a str,
    answers: usize,
    /// Half the width of the bounds of u0.
    half: f64,
}
