//! Firmware on emulated boards: built, run, compared with the host bit by bit, measured against its budgets.

pub(crate) mod budgets;
pub(crate) mod counts;
mod descent;
mod formula;
mod logging;
mod machine;
mod reference;
pub(crate) mod ticks;

use std::path::{Path, PathBuf};

use crate::cargo::{Cargo, succeed};
use crate::elf::{Elf, check_elf};
use crate::toolchain::RustFor;
use budgets::Measured;
pub(crate) use machine::{CORTEX_M0, CORTEX_M4F, CORTEX_M33, Machine, RV32IMAC, TARGETS};
pub(crate) use reference::Reference;
use reference::Report;

/// Folder of the firmware.
const FOLDER: &str = "tests/on-target";

/// Options of the command line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    /// Build `core` from Debian's source even if the toolchain has it.
    pub(crate) from_source: bool,
}

/// Everything about one target; the note tells what was reached.
pub(crate) fn run(cargo: &Cargo, machine: &Machine, options: Options) -> Result<String, String> {
    machine.ensure()?;
    let rust = if options.from_source {
        RustFor::from_source(cargo, machine.target)?
    } else {
        RustFor::new(cargo, machine.target)?
    };
    eprintln!("{}: {}", machine.target, rust.description);
    let firmware = Firmware {
        cargo,
        rust: &rust,
        out: cargo.target_folder(if options.from_source {
            "on-target-source"
        } else {
            "on-target"
        }),
    };
    // One by one: built together, the features that one asks for would be in all of them.
    let suites = ["f32", "f64"].map(|scalar| (scalar, format!("suite-{scalar}")));
    firmware.build("suite", &[])?;
    let minimal = firmware.build("minimal", &[])?;
    let control = firmware.build("control", &[])?;
    let logging = firmware.build("logging", &[("DEFMT_LOG", "debug")])?;
    let reference = Reference::of_this_machine(cargo)?;

    let mut failures = Vec::new();
    let mut keep = |result: Result<(), String>| failures.extend(result.err());
    let (mut checks, mut suite_text, mut suite_stack) = (0, 0, 0);
    for (scalar, name) in &suites {
        let program = minimal.with_file_name(name);
        match reference.compare_suite(scalar, &machine.run(&program)?) {
            Ok((count, stack)) => {
                checks += count;
                suite_stack = suite_stack.max(stack);
            }
            Err(e) => keep(Err(e)),
        }
        suite_text += Elf::read(&program)?.size(".text");
    }
    let report = Report::from_bytes(&machine.run(&minimal)?.stdout)?;
    keep(reference.compare_smallest(&report));
    keep(check_elf(&minimal));
    keep(match check_elf(&control) {
        Ok(()) => Err("the symbol check finds nothing in a program that panics".to_owned()),
        Err(_) => Ok(()),
    });
    keep(logging::check(
        cargo,
        &logging,
        &machine.run(&logging)?.stdout,
        &cargo.root().join(FOLDER).join("logging/expected.log"),
    ));
    let ticks = if machine.has_fpu() {
        let program = firmware.build("ticks", &[("DEFMT_LOG", "info")])?;
        let log = cargo.root().join(FOLDER).join("ticks/expected.log");
        match ticks::run(cargo, machine, &program, &reference.ticks, &log) {
            Ok(measured) => Some(measured),
            Err(e) => {
                keep(Err(e));
                None
            }
        }
    } else {
        None
    };
    let program = firmware.build("descent", &[])?;
    let descent = match descent::run(machine, &program, &reference.descents) {
        Ok(measured) => Some(measured),
        Err(e) => {
            keep(Err(e));
            None
        }
    };
    let program = firmware.build("formula", &[])?;
    let formula = match formula::run(machine, &program, &reference.formula) {
        Ok(measured) => Some(measured),
        Err(e) => {
            keep(Err(e));
            None
        }
    };
    let counts = machine.count(
        &minimal,
        &["dst_mark_start", "dst_mark_stopped", "dst_mark_done"],
    )?;
    let elf = Elf::read(&minimal)?;
    let measured = Measured {
        minimal_text: elf.size(".text"),
        minimal_rodata: elf.size(".rodata"),
        minimal_stack: report.stack,
        workspace: report.workspace,
        suite_text,
        suite_stack,
        euler_step: counts[0] / report.steps.max(1),
        backward_step: counts[1] / report.steps.max(1),
        ticks,
        descent,
        formula,
    };
    eprintln!("{measured}");
    let budgets = cargo.root().join(FOLDER).join("budgets.toml");
    keep(measured.check(&budgets, machine.target));
    if failures.is_empty() {
        Ok(format!("{checks} checks, {}", measured.brief()))
    } else {
        Err(failures.join("\n"))
    }
}

/// Lints of the firmware, for one target: the code is the same for all. Needs the target in the toolchain at hand,
/// because Debian has no clippy for its rustc.
pub(crate) fn clippy(cargo: &Cargo) -> Result<(), String> {
    cargo.component("clippy", "clippy")?;
    let rust = RustFor::new(cargo, "thumbv7em-none-eabihf")?;
    if !rust.is_plain() {
        eprintln!("no clippy for a core that is built from Debian's source");
        return Ok(());
    }
    let mut command = rust.command(cargo, &cargo.root().join(FOLDER), "clippy");
    command
        .args(["--release", "--workspace"])
        .env("CARGO_TARGET_DIR", cargo.target_folder("on-target"))
        .args(["--", "-D", "warnings"]);
    succeed(&mut command)
}

/// Fails if `cargo fmt` would change the firmware.
pub(crate) fn fmt(cargo: &Cargo) -> Result<(), String> {
    cargo.component("fmt", "rustfmt")?;
    let mut command = cargo.command();
    command
        .current_dir(cargo.root().join(FOLDER))
        .args(["fmt", "--all", "--check"]);
    succeed(&mut command)
}

/// Builds a program of the firmware for the Cortex-M4F with a profile; returns its file.
pub(crate) fn build_firmware(
    cargo: &Cargo,
    name: &str,
    profile: &str,
    variables: &[(&str, &str)],
) -> Result<PathBuf, String> {
    let rust = RustFor::new(cargo, CORTEX_M4F.target)?;
    let firmware = Firmware {
        cargo,
        rust: &rust,
        out: cargo.target_folder("on-target"),
    };
    firmware.build_with(name, profile, variables)
}

/// Builds firmware for one target.
struct Firmware<'a> {
    cargo: &'a Cargo,
    rust: &'a RustFor,
    out: PathBuf,
}

impl Firmware<'_> {
    fn build(&self, name: &str, variables: &[(&str, &str)]) -> Result<PathBuf, String> {
        self.build_with(name, "release", variables)
    }

    fn build_with(
        &self,
        name: &str,
        profile: &str,
        variables: &[(&str, &str)],
    ) -> Result<PathBuf, String> {
        let folder = self.cargo.root().join(FOLDER);
        let mut command = self.rust.command(self.cargo, &folder, "build");
        command
            .args(["--quiet", "--locked", "--profile", profile])
            .args(["--package", name])
            .env("CARGO_TARGET_DIR", &self.out)
            .envs(variables.iter().copied());
        succeed(&mut command)?;
        Ok(Path::new(&self.out)
            .join(self.rust.target)
            .join(profile)
            .join(name))
    }
}
