//! A program for the chip: one system on the ticks of one case, compiled, run and read.

use std::path::{Path, PathBuf};

use super::chips::Chip;
use super::install::FOLDER;
use crate::cargo::{Cargo, answer};
use crate::elf::Elf;

/// As firmware compiles C++.
const CXX: [&str; 5] = [
    "-std=gnu++17",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-DNDEBUG",
];

/// Sources and flags of a system.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) include: Vec<PathBuf>,
    pub(crate) flags: Vec<String>,
}

/// A folder with a case: ticks, exact inputs.
pub(crate) struct Case<'a> {
    pub(crate) folder: &'a Path,
    /// Inputs of a tick.
    pub(crate) answers: usize,
}

/// Ticks of one run, and the size of the program.
pub(crate) struct Counted {
    /// Lines of the ticks.
    pub(crate) lines: Vec<String>,
    /// Bytes beyond those of a program that does nothing.
    pub(crate) flash: u64,
    pub(crate) ram: u64,
    pub(crate) stack: u64,
}

/// Compiles and runs. `name` is that of a folder for the objects.
pub(crate) fn count(
    cargo: &Cargo,
    chip: &Chip,
    case: &Case<'_>,
    name: &str,
    sources: &Sources,
) -> Result<Counted, String> {
    let nothing = Sources {
        files: vec![cargo.root().join(FOLDER).join("empty.c")],
        ..Sources::default()
    };
    let [empty, whole] = [("empty", &nothing), (name, sources)].map(|(name, sources)| {
        let program = build(cargo, chip, case, name, sources)?;
        let output = run(chip, &program)?;
        let elf = Elf::read(&program)?;
        let sum = |sections: &[&str]| sections.iter().map(|s| elf.size(s)).sum::<u64>();
        let flash = sum(&[".text", ".ARM.extab", ".ARM.exidx", ".data"]);
        let found = Counted {
            flash,
            ram: sum(&[".data", ".bss"]),
            stack: stack(&output),
            lines: ticks(&output),
        };
        Ok::<_, String>(found)
    });
    let (empty, whole) = (empty?, whole?);
    Ok(Counted {
        flash: whole.flash.saturating_sub(empty.flash),
        ram: whole.ram.saturating_sub(empty.ram),
        stack: whole.stack.saturating_sub(empty.stack),
        lines: whole.lines,
    })
}

fn ticks(output: &str) -> Vec<String> {
    let ticks = output.lines().filter_map(|l| l.strip_prefix("tick "));
    ticks.map(str::to_owned).collect()
}

/// Depth of the stack that a program reports at its end.
fn stack(output: &str) -> u64 {
    let line = output.lines().find_map(|l| l.strip_prefix("stack: "));
    let bytes = line.and_then(|l| l.split(' ').next()?.parse().ok());
    bytes.unwrap_or(0)
}

fn run(chip: &Chip, program: &Path) -> Result<String, String> {
    let output = chip.machine.run_by_instructions(program)?;
    // Semihosting prints to the emulator's standard error.
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let tail: Vec<&str> = text.lines().rev().take(5).collect();
    Err(format!(
        "{}: {}: {}",
        program.display(),
        output.status,
        tail.join(" | ")
    ))
}

fn build(
    cargo: &Cargo,
    chip: &Chip,
    case: &Case<'_>,
    name: &str,
    sources: &Sources,
) -> Result<PathBuf, String> {
    let out = case.folder.join(name);
    std::fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let harness = cargo.root().join(FOLDER);
    let start = cargo.root().join("tests/c/firmware");
    let own = Sources {
        files: vec![harness.join("peer.c"), start.join(chip.start)],
        include: Vec::new(),
        flags: vec![
            format!("-DTICKS=\"\\\"{}/ticks\\\"\"", case.folder.display()),
            format!("-DANSWERS={}", case.answers),
            "-DLIMIT=0".to_owned(),
        ],
    };
    let mut objects = Vec::new();
    for (part, of) in [&own, sources].into_iter().enumerate() {
        for (number, file) in of.files.iter().enumerate() {
            let object = out.join(format!("{part}-{number}.o"));
            let cxx = file.extension().is_some_and(|e| e == "cpp");
            let (compiler, language): (&str, &[&str]) = match cxx {
                true => ("g++", &CXX),
                false => ("gcc", &["-std=gnu99"]),
            };
            let mut command = chip.compiler(compiler);
            command
                .args(language)
                // Files of others are compiled as they are.
                .arg("-w")
                .args(&of.flags)
                .arg("-I")
                .arg(&harness)
                .arg("-I")
                .arg(&start);
            for folder in &of.include {
                command.arg("-I").arg(folder);
            }
            command.arg("-c").arg(file).arg("-o").arg(&object);
            answer(&mut command).map_err(|e| format!("{name}: {e}"))?;
            objects.push(object);
        }
    }
    let program = out.join("program.elf");
    let mut link = chip.compiler(chip.linker);
    link.args(&objects)
        .args(["-nostartfiles", "-T"])
        .arg(harness.join(chip.map))
        .arg("-L")
        .arg(&harness)
        .arg("-Wl,--gc-sections")
        .args(chip.libraries)
        .arg("-o")
        .arg(&program);
    answer(&mut link).map_err(|e| format!("{name}: {e}"))?;
    Ok(program)
}
