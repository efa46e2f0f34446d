//! `--portable`: the same bits on other processors, emulated by QEMU.
//!
//! Small commands are run here, on an x86-64 with AVX2, without it, and with all that QEMU has, and on an aarch64. What they print and
//! write must be the same, times and memory apart. To see that the test can fail, the commands without the option must differ.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cargo::{Cargo, answer, succeed};
use crate::toolchain::{RustFor, Tool, ensure};

/// Processors of this machine's kind: without AVX, with AVX2 and FMA, and with all that the emulator knows.
const X86_64: [Processor; 3] = [x86_64("Nehalem"), x86_64("Haswell"), x86_64("max")];

/// The other kind, for which the program is compiled a second time.
const AARCH64: Processor = Processor {
    name: "cortex-a53",
    emulator: "qemu-aarch64",
    libraries: "/usr/aarch64-linux-gnu",
};
const AARCH64_TARGET: &str = "aarch64-unknown-linux-gnu";
/// Links programs for it, with its C library.
const AARCH64_TOOLS: [Tool; 2] = [
    Tool::new("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    Tool::new("/usr/aarch64-linux-gnu/lib/crt1.o", "libc6-dev-arm64-cross"),
];

const EMULATORS: [Tool; 2] = [
    Tool::new("qemu-x86_64", "qemu-user"),
    Tool::new("qemu-aarch64", "qemu-user"),
];

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

/// An emulated processor.
#[derive(Clone, Copy)]
struct Processor {
    /// As the emulator calls it.
    name: &'static str,
    emulator: &'static str,
    /// Root of the libraries of its programs.
    libraries: &'static str,
}

const fn x86_64(name: &'static str) -> Processor {
    Processor {
        name,
        emulator: "qemu-x86_64",
        libraries: "/",
    }
}

/// Runs everything.
pub(crate) fn run(cargo: &Cargo) -> Result<String, String> {
    ensure(&EMULATORS)?;
    cargo.run(&["build", "--release", "--package", "dst-std", "--bin", "dst"])?;
    let folder = cargo.target_folder("portable");
    let _ = fs::remove_dir_all(&folder);
    let trials = Trials {
        program: cargo.target_folder("release/dst"),
        folder: folder.clone(),
    };
    let here = trials.results(None)?;
    for processor in X86_64 {
        trials.same_as(&here, processor)?;
    }
    let [old, .., new] = X86_64;
    let native = |processor| trials.one(Some(processor), false, COMMANDS[0]);
    if native(old)? == native(new)? {
        return Err(
            "without --portable the bits do not differ either: the test sees nothing".to_owned(),
        );
    }
    let aarch64 = match for_aarch64(cargo)? {
        Some(program) => {
            Trials { program, folder }.same_as(&here, AARCH64)?;
            AARCH64.name
        }
        None => "aarch64 not run: rustup has no standard library for it here",
    };
    Ok(format!(
        "{} commands, {}, {aarch64}",
        COMMANDS.len(),
        X86_64.map(|processor| processor.name).join(", ")
    ))
}

/// The program for aarch64, if the toolchain has its standard library or can get it.
fn for_aarch64(cargo: &Cargo) -> Result<Option<PathBuf>, String> {
    let Some(rust) = RustFor::with_std(cargo, AARCH64_TARGET) else {
        return Ok(None);
    };
    ensure(&AARCH64_TOOLS)?;
    let mut build = rust.command(cargo, cargo.root(), "build");
    // As for the tests, which is quicker than a release and has the same bits.
    build.args(["--package", "dst-std", "--bin", "dst"]).env(
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
        AARCH64_TOOLS[0].probe(),
    );
    succeed(&mut build)?;
    let folder = cargo.target_folder(AARCH64_TARGET);
    Ok(Some(folder.join("debug/dst")))
}

type Results = BTreeMap<&'static str, String>;

struct Trials {
    program: PathBuf,
    /// Files with the results.
    folder: PathBuf,
}

impl Trials {
    /// Fails if a command gives other bits on this processor than `here`.
    fn same_as(&self, here: &Results, processor: Processor) -> Result<(), String> {
        eprintln!("portable: {}", processor.name);
        let there = self.results(Some(processor))?;
        match here
            .iter()
            .find(|(name, result)| there.get(*name) != Some(result))
        {
            None => Ok(()),
            Some((name, _)) => Err(format!(
                "dst --portable {name}: other bits on {}; compare the files in {}",
                processor.name,
                self.folder.display()
            )),
        }
    }

    fn results(&self, processor: Option<Processor>) -> Result<Results, String> {
        let one = |command: (&'static str, _)| {
            let result = self.one(processor, true, command)?;
            Ok((command.0, result))
        };
        COMMANDS.into_iter().map(one).collect()
    }

    /// Output and file of one command, without what is measured.
    fn one(
        &self,
        processor: Option<Processor>,
        portable: bool,
        (name, arguments): (&str, &str),
    ) -> Result<String, String> {
        let kind = if portable { "portable" } else { "native" };
        let folder = self
            .folder
            .join(format!("{}-{kind}", processor.map_or("here", |p| p.name)));
        fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let mut command = match processor {
            None => Command::new(&self.program),
            Some(processor) => {
                let mut emulated = Command::new(processor.emulator);
                emulated
                    .args(["-cpu", processor.name, "-L", processor.libraries])
                    .arg(&self.program);
                emulated
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
