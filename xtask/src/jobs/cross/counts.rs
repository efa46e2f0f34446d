//! Instructions of the recorded ticks of the two plants, in Rust and in C, with the error of every input.
//!
//! The emulator runs with `-icount`, and the firmware reads the timer of the board: a thousand ticks take seconds. Ticks and exact
//! inputs come from `dst-bench/src/bin/recorded_ticks.rs`. The programs are built for speed (-O3, opt-level 3), the one in C for size as
//! well (-Os): that build holds instructions and flash together. C uses fused operations, a C compiler's default.

use std::fmt;
use std::path::PathBuf;

use super::budgets;
use super::machine::{CORTEX_M4F, Machine};
use super::{FOLDER, Firmware};
use crate::cargo::{Cargo, succeed};
use crate::elf::Elf;
use crate::jobs::c_firmware;
use crate::toolchain::RustFor;

/// Plants in the order in which the programs run them: name, inputs of all blocks, largest error of u0 (99th percentile), cold and in
/// the loop. A loop of the safety filter has states on their bounds; the rounding of such a state, 6e-8, moves u0 by 5e-5.
const PLANTS: [(&str, usize, [f64; 2]); 2] = [
    ("safety_filter", 4, [1e-4, 1e-4]),
    ("quadrotor", 4, [1e-5, 1e-5]),
];

/// Independent blocks of the plants.
const BLOCKS: [f64; 2] = [4.0, 1.0];
/// Largest relative error of the estimated instructions, mean and maximum.
const ESTIMATE: f64 = 0.15;

/// One tick on the device.
struct Counted {
    instructions: u32,
    status: u32,
    steps: u32,
    /// Multiply-adds; only Rust counts them.
    operations: u32,
    inputs: Vec<f32>,
}

/// Mean, 99th percentile and maximum.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: f64,
    p99: f64,
    max: f64,
}

impl Spread {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let rank = (0.99 * sorted.len().saturating_sub(1) as f64).round() as usize;
        Self {
            mean: sorted.iter().sum::<f64>() / sorted.len().max(1) as f64,
            p99: sorted.get(rank).copied().unwrap_or(0.0),
            max: sorted.last().copied().unwrap_or(0.0),
        }
    }

    fn all(self) -> [(&'static str, f64); 3] {
        [("mean", self.mean), ("p99", self.p99), ("max", self.max)]
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} / {:.0} / {:.0}", self.mean, self.p99, self.max)
    }
}

/// Files with the recorded ticks and the exact inputs of a plant.
struct Recording {
    folder: PathBuf,
}

impl Recording {
    fn write(cargo: &Cargo) -> Result<Self, String> {
        let folder = cargo.target_folder("ticks");
        let mut command = cargo.command();
        command
            .args(["run", "--quiet", "--package", "dst-bench"])
            .args(["--bin", "recorded_ticks", "--"])
            .arg(&folder);
        succeed(&mut command)?;
        Ok(Self { folder })
    }

    fn file(&self, plant: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{plant}.{ending}"))
    }

    /// Coefficients of the estimate: per block, step and operation; and bytes of code.
    fn costs(&self) -> Result<[f64; 4], String> {
        let file = self.folder.join("costs");
        let text =
            std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let costs: Vec<f64> = text
            .split_whitespace()
            .filter_map(|c| c.parse().ok())
            .collect();
        <[f64; 4]>::try_from(costs).map_err(|_| format!("{}: {text}", file.display()))
    }

    /// Flags of all ticks, and their exact inputs.
    fn read(&self, plant: &str, inputs: usize) -> Result<(Vec<u32>, Vec<Vec<f64>>), String> {
        let read = |ending: &str| {
            let file = self.file(plant, ending);
            std::fs::read(&file).map_err(|e| format!("{}: {e}", file.display()))
        };
        let ticks = words(&read("ticks")?);
        let &[count, p, extra, ..] = ticks.as_slice() else {
            return Err(format!("{plant}: no ticks"));
        };
        let length = 1 + p as usize + extra as usize;
        let flags = ticks[3..].chunks_exact(length).map(|tick| tick[0]);
        let exact: Vec<f64> = read("exact")?
            .chunks_exact(8)
            .map(|b| f64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
            .collect();
        let exact: Vec<Vec<f64>> = exact.chunks_exact(inputs).map(<[f64]>::to_vec).collect();
        if exact.len() != count as usize {
            return Err(format!("{plant}: {} exact inputs", exact.len()));
        }
        Ok((flags.collect(), exact))
    }
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes.chunks_exact(4).map(word).collect()
}

/// Builds, runs, compares and holds everything against the budgets.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    let machine = &CORTEX_M4F;
    machine.ensure()?;
    let recording = Recording::write(cargo)?;
    let rust = in_rust(cargo, machine, &recording)?;
    let c = in_c(cargo, machine, &recording, "-O3")?;
    let small = in_c(cargo, machine, &recording, "-Os")?;
    let budgets = cargo.root().join(FOLDER).join("budgets.toml");
    let mut failures = Vec::new();
    let mut note = Vec::new();
    for (number, (plant, inputs, errors)) in PLANTS.into_iter().enumerate() {
        let (flags, exact) = recording.read(plant, inputs)?;
        for ((kind, looped), error) in [("cold", 0), ("loop", 2)].into_iter().zip(errors) {
            let chosen = |ticks: &[Counted], value: &dyn Fn(&Counted, &[f64]) -> f64| {
                let known = ticks.iter().zip(&exact).zip(&flags);
                let chosen = known.filter(|(_, flag)| **flag & 2 == looped);
                Spread::of(chosen.map(|((tick, exact), _)| value(tick, exact)))
            };
            let programs = [
                ("rust", &rust[number]),
                ("c", &c[number]),
                ("c_small", &small[number]),
            ];
            let counts = programs.map(|(language, ticks)| {
                if ticks.len() != flags.len() {
                    failures.push(format!("{language} {plant}: {} ticks", ticks.len()));
                }
                let unsolved = chosen(ticks, &|t, _| f64::from(u8::from(t.status > 1)));
                let off = chosen(ticks, &|t, exact| {
                    let pairs = t.inputs.iter().zip(exact);
                    pairs.fold(0.0, |m: f64, (&u, e)| m.max((f64::from(u) - e).abs()))
                });
                let count = chosen(ticks, &|t, _| f64::from(t.instructions));
                let steps = chosen(ticks, &|t, _| f64::from(t.steps));
                eprintln!(
                    "{language:<8}{plant:<14} {kind}: {count} instructions, steps {steps}, error of u0 {:.1e} / {:.1e} / {:.1e}",
                    off.mean, off.p99, off.max
                );
                if unsolved.max > 0.0 {
                    failures.push(format!("{language} {plant} {kind}: ticks that are not solved"));
                }
                if off.p99 > error {
                    failures.push(format!("{language} {plant} {kind}: error of u0 {:.1e}", off.p99));
                }
                for (name, value) in count.all() {
                    let key = format!("{language}_{plant}_{kind}_{name}");
                    let measured = value.round() as u64;
                    failures.extend(budgets::check_one(&budgets, machine.target, &key, measured).err());
                }
                count
            });
            let [rust_counts, c_counts, _] = counts;
            // Operations are counted in Rust alone; C does the same.
            let [block, step, operation, _] = recording.costs()?;
            let estimate = chosen(&rust[number], &|t, _| {
                block * BLOCKS[number]
                    + step * f64::from(t.steps)
                    + operation * f64::from(t.operations)
            });
            let off = |estimate: f64, counted: f64| (estimate / counted - 1.0).abs();
            eprintln!("        {plant:<14} {kind}: estimated {estimate} instructions in C");
            if off(estimate.mean, c_counts.mean) > ESTIMATE
                || off(estimate.max, c_counts.max) > ESTIMATE
            {
                failures.push(format!(
                    "{plant} {kind}: estimated {estimate}, counted {c_counts}"
                ));
            }
            let (rust, c) = (rust_counts, c_counts);
            eprintln!(
                "        {plant:<14} {kind}: Rust takes {:.2} / {:.2} / {:.2} times the instructions of C",
                rust.mean / c.mean,
                rust.p99 / c.p99,
                rust.max / c.max
            );
            note.push(format!("{plant} {kind} {c}"));
        }
    }
    fit(&rust, &c);
    let [.., code_estimate] = recording.costs()?;
    for (plant, ..) in PLANTS {
        let sizes = flash(cargo, machine, &recording, plant)?;
        for (level, (code, tables)) in ["-O3", "-Os"].into_iter().zip(sizes) {
            eprintln!("c       {plant:<14} {level}: {code} bytes of code, {tables} of tables");
        }
        let [(fast, _), (small, tables)] = sizes;
        if (code_estimate / fast as f64 - 1.0).abs() > ESTIMATE {
            failures.push(format!(
                "{plant}: {code_estimate} bytes of code estimated, {fast} counted"
            ));
        }
        let key = format!("c_{plant}_flash_small");
        failures.extend(budgets::check_one(&budgets, machine.target, &key, small + tables).err());
    }
    if failures.is_empty() {
        Ok(note.join(", "))
    } else {
        Err(failures.join("\n"))
    }
}

/// Prints what a block, a step and an operation cost in C, by least squares of the relative error: the constants of the estimate that
/// an export prints. Operations are those that Rust counts; C does the same.
fn fit(rust: &[Vec<Counted>], c: &[Vec<Counted>]) {
    let mut normal = [[0.0; 4]; 3];
    for ((rust, c), blocks) in rust.iter().zip(c).zip(BLOCKS) {
        for (rust, c) in rust.iter().zip(c) {
            let counted = f64::from(c.instructions).max(1.0);
            let x = [blocks, f64::from(c.steps), f64::from(rust.operations)].map(|v| v / counted);
            for i in 0..3 {
                for j in 0..3 {
                    normal[i][j] += x[i] * x[j];
                }
                normal[i][3] += x[i];
            }
        }
    }
    for k in 0..3 {
        let pivot = normal[k];
        for (i, row) in normal.iter_mut().enumerate() {
            if i != k {
                let factor = row[k] / pivot[k];
                for (value, p) in row.iter_mut().zip(pivot) {
                    *value -= factor * p;
                }
            }
        }
    }
    let [block, step, operation] = [0, 1, 2].map(|k| normal[k][3] / normal[k][k]);
    eprintln!(
        "instructions in C = {block:.0}·blocks + {step:.0}·steps + {operation:.2}·operations, by least squares"
    );
}

fn in_rust(
    cargo: &Cargo,
    machine: &Machine,
    recording: &Recording,
) -> Result<Vec<Vec<Counted>>, String> {
    let rust = RustFor::new(cargo, machine.target)?;
    let firmware = Firmware {
        cargo,
        rust: &rust,
        out: cargo.target_folder("on-target"),
    };
    let files = PLANTS.map(|(plant, ..)| recording.file(plant, "ticks"));
    let [safety, quadrotor] = files.each_ref().map(|f| f.to_string_lossy().into_owned());
    let variables = [
        ("DST_SAFETY_TICKS", safety.as_str()),
        ("DST_QUADROTOR_TICKS", quadrotor.as_str()),
    ];
    let programs = firmware.build_with("count", "fast", &variables)?;
    let mut all = Vec::new();
    for (plant, inputs, _) in PLANTS {
        let program = programs.with_file_name(format!("count_{plant}"));
        crate::elf::check_elf(&program)?;
        let output = machine.run_by_instructions(&program)?;
        if !output.status.success() {
            return Err(format!("count: {plant}: {}", output.status));
        }
        let words = words(&output.stdout);
        let ticks = words.chunks_exact(4 + inputs).map(|tick| Counted {
            instructions: tick[0],
            status: tick[1],
            steps: tick[2],
            operations: tick[3],
            inputs: tick[4..].iter().map(|&u| f32::from_bits(u)).collect(),
        });
        all.push(ticks.collect());
    }
    Ok(all)
}

fn in_c(
    cargo: &Cargo,
    machine: &Machine,
    recording: &Recording,
    level: &str,
) -> Result<Vec<Vec<Counted>>, String> {
    PLANTS
        .iter()
        .map(|(plant, ..)| {
            let program = program_in_c(cargo, machine, recording, plant, level)?;
            let output = machine.run_by_instructions(&program)?;
            if !output.status.success() {
                return Err(format!("count in C: {}", output.status));
            }
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let lines = text.lines().filter_map(|line| line.strip_prefix(plant));
            lines.map(counted).collect()
        })
        .collect()
}

fn program_in_c(
    cargo: &Cargo,
    machine: &Machine,
    recording: &Recording,
    plant: &str,
    level: &str,
) -> Result<PathBuf, String> {
    let file = recording.file(plant, "ticks");
    let mut defines = vec![format!("-DTICKS=\"\\\"{}\\\"\"", file.display())];
    if plant == "quadrotor" {
        defines.push("-DQUADROTOR".to_owned());
    }
    c_firmware::compile_fast(cargo, machine, "count", level, &defines)
}

/// Bytes of flash of a controller in C, built for speed and for size: its code, and its tables.
fn flash(
    cargo: &Cargo,
    machine: &Machine,
    recording: &Recording,
    plant: &str,
) -> Result<[(u64, u64); 2], String> {
    let measure = |level: &str| {
        let program = program_in_c(cargo, machine, recording, plant, level)?;
        let elf = Elf::read(&program)?;
        let code = elf.bytes(&["dst_search", "dst_controller", "tick"]);
        Ok::<_, String>((code, elf.bytes(&[plant])))
    };
    Ok([measure("-O3")?, measure("-Os")?])
}

/// A line of the program in C: instructions, status, steps, inputs.
fn counted(line: &str) -> Result<Counted, String> {
    let words: Result<Vec<u32>, _> = line
        .split_whitespace()
        .map(|word| u32::from_str_radix(word, 16))
        .collect();
    match words.map_err(|e| format!("{line}: {e}"))?.as_slice() {
        &[instructions, status, steps, ref inputs @ ..] => Ok(Counted {
            instructions,
            status,
            steps,
            operations: 0,
            inputs: inputs.iter().map(|&u| f32::from_bits(u)).collect(),
        }),
        _ => Err(format!("count in C: {line}")),
    }
}
