//! Runs on the chip, as `cargo xtask compare --only firmware` leaves them: a few lines of description, then a line per tick.

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Mean, 99th percentile and maximum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The maximum.
    pub max: f64,
}

impl Spread {
    /// Spread of some numbers; `None` if there are none.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let rank = (0.99 * sorted.len().saturating_sub(1) as f64).round() as usize;
        Some(Self {
            mean: sorted.iter().sum::<f64>() / sorted.len() as f64,
            p99: *sorted.get(rank)?,
            max: *sorted.last()?,
        })
    }

    /// Ratios to another.
    pub fn by(self, other: Self) -> Self {
        Self {
            mean: self.mean / other.mean,
            p99: self.p99 / other.p99,
            max: self.max / other.max,
        }
    }
}

/// Cold ticks of a run, or those of its loops.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ticks {
    /// Number of ticks.
    pub count: usize,
    /// Instructions of a tick.
    pub instructions: Spread,
    /// Iterations of a tick.
    pub iterations: Spread,
    /// Largest error of u0 in a tick.
    pub error: Spread,
    /// Ticks that the system itself does not call solved.
    pub unsolved: usize,
}

/// One system with one setting on one case.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The core.
    pub chip: String,
    /// The case.
    pub case: String,
    /// The system.
    pub system: String,
    /// Default, adaptive or best setting.
    pub role: String,
    /// Numbers of the setting.
    pub setting: String,
    /// True if only a part of the ticks was run.
    pub few: bool,
    /// Bytes of code and constants.
    pub flash: u64,
    /// Bytes of memory.
    pub ram: u64,
    /// Bytes of stack.
    pub stack: u64,
    /// Cold ticks.
    pub cold: Option<Ticks>,
    /// Ticks of the loops, each after the first from the last solution.
    pub warm: Option<Ticks>,
}

/// A tick: instructions, unsolved, iterations, error.
type Tick = [f64; 4];

impl Run {
    /// Reads a run; `cases` is the folder with the recorded ticks.
    pub fn read(file: &Path, cases: &Path) -> Result<Self, String> {
        let text = read(file)?;
        let text = String::from_utf8_lossy(&text);
        let complain = |what: &str| format!("{}: {what}", file.display());
        let field = |name: &str| {
            let found = text
                .lines()
                .find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
            found.ok_or_else(|| complain(&format!("no {name}")))
        };
        let number = |name: &str| field(name)?.parse().map_err(|_| complain(name));
        let (case, few) = (field("case")?, field("few")? == "true");
        let described = Self {
            chip: field("chip")?.to_owned(),
            case: case.to_owned(),
            system: field("system")?.to_owned(),
            role: field("role")?.to_owned(),
            setting: field("setting")?.to_owned(),
            few,
            flash: number("flash")?,
            ram: number("ram")?,
            stack: number("stack")?,
            cold: None,
            warm: None,
        };
        if !text.contains("\ntick ") {
            // A program that the emulator ended.
            return Ok(described);
        }
        let mut recorded = cases.join(case);
        if few {
            recorded.push("few");
        }
        let flags = flags(&read(&recorded.join("ticks"))?);
        let exact: Vec<f64> = read(&PathBuf::from(field("exact")?))?
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect();
        let lines: Vec<&str> = text
            .lines()
            .filter_map(|l| l.strip_prefix("tick "))
            .collect();
        if lines.len() != flags.len() || !exact.len().is_multiple_of(lines.len().max(1)) {
            return Err(complain(&format!(
                "{} ticks, not {}",
                lines.len(),
                flags.len()
            )));
        }
        let answers = exact.len() / lines.len();
        let ticks: Result<Vec<Tick>, String> = lines
            .iter()
            .zip(exact.chunks_exact(answers))
            .map(|(line, exact)| tick(line, exact).ok_or_else(|| complain(line)))
            .collect();
        let ticks = ticks?;
        let part = |looped: u32| {
            let chosen = ticks
                .iter()
                .zip(&flags)
                .filter(|(_, flag)| **flag & 2 == looped);
            Ticks::of(&chosen.map(|(tick, _)| *tick).collect::<Vec<_>>())
        };
        Ok(Self {
            cold: part(0),
            warm: part(2),
            ..described
        })
    }

    /// All runs of a folder, in the order of their names.
    pub fn all(folder: &Path, cases: &Path) -> Result<Vec<Self>, String> {
        let complain = |e: std::io::Error| format!("{}: {e}", folder.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(complain)? {
            files.push(entry.map_err(complain)?.path());
        }
        files.sort();
        let runs = files
            .iter()
            .filter(|f| f.extension().is_some_and(|e| e == "run"));
        runs.map(|file| Self::read(file, cases)).collect()
    }

    /// Ticks that are not solved, and all ticks.
    pub fn unsolved(&self) -> (usize, usize) {
        let parts = [self.cold, self.warm];
        let parts = parts.iter().flatten();
        parts.fold((0, 0), |(u, n), t| (u + t.unsolved, n + t.count))
    }
}

impl Ticks {
    fn of(ticks: &[Tick]) -> Option<Self> {
        let spread = |field: usize| Spread::of(ticks.iter().map(|tick| tick[field]));
        Some(Self {
            count: ticks.len(),
            instructions: spread(0)?,
            iterations: spread(2)?,
            error: spread(3)?,
            unsolved: ticks.iter().filter(|tick| tick[1] != 0.0).count(),
        })
    }
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))
}

/// The flag of every recorded tick: 1 for a cold start, plus 2 in a loop.
fn flags(bytes: &[u8]) -> Vec<u32> {
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    let words: Vec<u32> = bytes.chunks_exact(4).map(word).collect();
    match words.as_slice() {
        [_, p, extra, ticks @ ..] => {
            let length = 1 + *p as usize + *extra as usize;
            ticks.chunks_exact(length).map(|tick| tick[0]).collect()
        }
        _ => Vec::new(),
    }
}

/// Words of a line in base 16: instructions, unsolved, iterations, inputs.
fn tick(line: &str, exact: &[f64]) -> Option<Tick> {
    let words: Result<Vec<u32>, _> = line
        .split_whitespace()
        .map(|word| u32::from_str_radix(word, 16))
        .collect();
    let words = words.ok()?;
    let [count, unsolved, iterations, inputs @ ..] = words.as_slice() else {
        return None;
    };
    if inputs.len() != exact.len() {
        return None;
    }
    let error = inputs.iter().zip(exact).fold(0.0, |most: f64, (&u, e)| {
        let off = (f64::from(f32::from_bits(u)) - e).abs();
        most.max(if off.is_finite() { off } else { f64::INFINITY })
    });
    let [count, unsolved, iterations] = [count, unsolved, iterations].map(|&v| f64::from(v));
    Some([count, unsolved, iterations, error])
}

#[cfg(test)]
mod tests {
    use super::Run;

    #[test]
    fn a_run_is_read_with_its_errors() {
        let folder = std::env::temp_dir().join(format!("dst-runs-{}", std::process::id()));
        let case = folder.join("plant");
        std::fs::create_dir_all(&case).unwrap();
        // Two ticks with one parameter: a cold one and one of a loop.
        let words = [2, 1, 0, 1, 0, 2, 0].map(u32::to_le_bytes);
        std::fs::write(case.join("ticks"), words.as_flattened()).unwrap();
        let exact = [0.5f64, 1.0].map(f64::to_le_bytes);
        std::fs::write(case.join("exact"), exact.as_flattened()).unwrap();
        let text = format!(
            "chip Cortex-M4F\ncase plant\nsystem S\nrole default\nsetting ρ 1\nfew false\nexact {}\nflash 1\nram 2\nstack 3\n\
             tick 0000000a 00000000 00000002 {:08x} \ntick 00000010 00000001 00000003 {:08x} \n",
            case.join("exact").display(),
            0.5f32.to_bits(),
            1.25f32.to_bits()
        );
        std::fs::write(folder.join("000.run"), text).unwrap();
        let runs = Run::all(&folder, &folder);
        std::fs::remove_dir_all(&folder).unwrap();
        let run = runs.unwrap().remove(0);
        let (cold, warm) = (run.cold.unwrap(), run.warm.unwrap());
        assert_eq!((cold.instructions.max, cold.error.max), (10.0, 0.0));
        assert_eq!((warm.instructions.mean, warm.error.p99), (16.0, 0.25));
        assert_eq!(run.unsolved(), (1, 2));
        assert_eq!((run.flash, run.ram, run.stack), (1, 2, 3));
    }

    #[test]
    fn a_run_without_ticks_has_no_counts() {
        let file = std::env::temp_dir().join(format!("dst-no-run-{}.run", std::process::id()));
        let text = "chip Cortex-M4F\ncase plant\nsystem S\nrole default\nsetting x; no end after 120 s\nfew true\nflash 0\nram 0\nstack 0\n";
        std::fs::write(&file, text).unwrap();
        let run = Run::read(&file, &std::env::temp_dir());
        std::fs::remove_file(&file).unwrap();
        let run = run.unwrap();
        assert!(run.cold.is_none() && run.warm.is_none());
        assert_eq!(run.unsolved(), (0, 0));
    }
}
