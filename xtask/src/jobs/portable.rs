//! `--portable`: the same bits on other processors, emulated by QEMU.
//!
//! Small commands are run here and on an x86-64 with AVX2, without it, and with all that QEMU has. What they print and write must be
//! the same, times and memory apart. To see that the test can fail, the commands without the option must differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cargo::{Cargo, answer};
use crate::toolchain::{Tool, ensure};

const EMULATOR: Tool = Tool::new("qemu-x86_64", "qemu-user");

/// Processors without AVX, with AVX2 and FMA, and with all that the emulator knows.
const PROCESSORS: [&str; 3] = ["Nehalem", "Haswell", "max"];

/// Small commands that use every kernel: dense and structured products, factorisation, network, sparse rows.
const COMMANDS: [(&str, &str); 6] = [
    ("validate", "validate --dim 12 --integrator rk4"),
    ("reflections", "validate --basis hh4 --dim 20"),
    ("illustrate", "illustrate --theta 0.25"),
    (
        "tune",
        "tune --method nesterov --problem quadratic --dim 6 --starts 2 --held-out 2 --rounds 1 --quiet",
    ),
    (
        "ola",
        "ola --data a1a --method adam-ola --alpha0 0.01 --max-iterations 5 --quiet",
    ),
    (
        "l2o",
        "l2o train --dim 6 --samples 4 --batch 2 --segments 2 --segment-steps 3 --steps 2 --validate-every 9 --quiet",
    ),
];

/// Fields that are measured.
const MEASURED: [&str; 5] = [
    "seconds",
    "seconds_gradient",
    "repetitions",
    "peak_rss_mb",
    "weights",
];

/// Runs everything.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    ensure(&[EMULATOR])?;
    cargo.run(&["build", "--release", "--package", "dst-std", "--bin", "dst"])?;
    let trials = Trials {
        program: cargo.target_folder("release/dst"),
        folder: cargo.target_folder("portable"),
    };
    let _ = fs::remove_dir_all(&trials.folder);
    let here = trials.results(None, true)?;
    for processor in PROCESSORS {
        eprintln!("portable: {processor}");
        let there = trials.results(Some(processor), true)?;
        if let Some((name, _)) = here
            .iter()
            .find(|(name, result)| there.get(*name) != Some(result))
        {
            return Err(format!(
                "dst --portable {name}: other bits on {processor}; compare the files in {}",
                trials.folder.display()
            ));
        }
    }
    let [old, .., new] = PROCESSORS;
    let native = |processor| trials.one(Some(processor), false, COMMANDS[0]);
    if native(old)? == native(new)? {
        return Err(
            "without --portable the bits do not differ either: the test sees nothing".to_owned(),
        );
    }
    Ok(format!(
        "{} commands, {}",
        COMMANDS.len(),
        PROCESSORS.join(", ")
    ))
}

struct Trials {
    program: PathBuf,
    /// Files with the results.
    folder: PathBuf,
}

impl Trials {
    fn results(
        &self,
        processor: Option<&str>,
        portable: bool,
    ) -> Result<BTreeMap<&'static str, String>, String> {
        let one = |command: (&'static str, _)| {
            let result = self.one(processor, portable, command)?;
            Ok((command.0, result))
        };
        COMMANDS.into_iter().map(one).collect()
    }

    /// Output and file of one command, without what is measured.
    fn one(
        &self,
        processor: Option<&str>,
        portable: bool,
        (name, arguments): (&str, &str),
    ) -> Result<String, String> {
        let kind = if portable { "portable" } else { "native" };
        let folder = self
            .folder
            .join(format!("{}-{kind}", processor.unwrap_or("here")));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut command = match processor {
            None => Command::new(&self.program),
            Some(processor) => {
                let mut emulator = Command::new("qemu-x86_64");
                emulator.args(["-cpu", processor]).arg(&self.program);
                emulator
            }
        };
        command.args(arguments.split(' ')).arg("--json");
        if portable {
            command.arg("--portable");
        }
        let weights = folder.join(format!("{name}.safetensors"));
        if name == "l2o" {
            command.arg("--out").arg(&weights);
        }
        let text = answer(&mut command)?;
        let mut value: Value =
            serde_json::from_str(&text).map_err(|e| format!("dst {arguments}: {e}"))?;
        forget(&mut value);
        let mut result = value.to_string();
        if let Some(bytes) = content(&weights)? {
            // Every byte of the file, as text.
            result.extend(bytes.iter().map(|&byte| char::from(byte)));
        }
        let file = folder.join(format!("{name}.json"));
        fs::write(&file, &result).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok(result)
    }
}

fn content(path: &Path) -> Result<Option<Vec<u8>>, String> {
    match path.is_file() {
        false => Ok(None),
        true => fs::read(path)
            .map(Some)
            .map_err(|e| format!("{}: {e}", path.display())),
    }
}

/// Removes what is measured.
fn forget(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !MEASURED.contains(&key.as_str()));
            map.values_mut().for_each(forget);
        }
        Value::Array(values) => values.iter_mut().for_each(forget),
        _ => {}
    }
}
