//! The C programs as firmware: own start-up in C, linked by the target's gcc, run under QEMU.
//!
//! The same known answers and the same misuse as on this machine; the numbers of the known answers are compared with those of this
//! machine, bit by bit. The smallest program tells what the library costs.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::c::{C99, CONTROLLER, CXX17, PLAIN_CXX, STRICT, VERSION, known_answers, sources};
use super::c_lib::{Scope, folder, package};
use super::cross::{
    CORTEX_M0, CORTEX_M4F, CORTEX_M33, Machine as Board, RV32IMAC, Reference, budgets, ticks,
};
use crate::cargo::{Cargo, answer};
use crate::elf::{Elf, check_elf};
use crate::toolchain::{RustFor, Tool, ensure};

/// A microcontroller and its C compiler.
pub(crate) struct Machine {
    pub(crate) board: &'static Board,
    /// Name of start-up code and linker script.
    pub(crate) start: &'static str,
    /// True if they are those of its emulated board; programs for others are linked, and do not run.
    pub(crate) runs: bool,
    pub(crate) prefix: &'static str,
    pub(crate) flags: &'static [&'static str],
    tools: &'static [Tool],
    /// True if there is a C++ library for it; only its headers are used.
    cxx: bool,
}

const ARM: &[Tool] = &[
    Tool::new("arm-none-eabi-gcc", "gcc-arm-none-eabi"),
    Tool::new(
        "/usr/lib/arm-none-eabi/lib/libc.a",
        "libnewlib-arm-none-eabi",
    ),
    Tool::new(
        "/usr/lib/arm-none-eabi/newlib/libstdc++.a",
        "libstdc++-arm-none-eabi-newlib",
    ),
];

/// Newlib's assembler says nothing about the stack; a bare-metal target has no use for it.
const NO_STACK_WARNING: &str = "-Wl,--no-warn-execstack";

/// One for every target of the library.
pub(crate) const MACHINES: &[Machine] = &[
    Machine {
        board: &CORTEX_M0,
        start: "cortex_m",
        runs: false,
        prefix: "arm-none-eabi",
        flags: &["-mcpu=cortex-m0", "-mthumb", NO_STACK_WARNING],
        tools: ARM,
        cxx: true,
    },
    Machine {
        board: &CORTEX_M4F,
        start: "cortex_m",
        runs: true,
        prefix: "arm-none-eabi",
        flags: &[
            "-mcpu=cortex-m4",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=fpv4-sp-d16",
            NO_STACK_WARNING,
        ],
        tools: ARM,
        cxx: true,
    },
    Machine {
        board: &CORTEX_M33,
        start: "cortex_m",
        runs: false,
        prefix: "arm-none-eabi",
        flags: &[
            "-mcpu=cortex-m33",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=fpv5-sp-d16",
            NO_STACK_WARNING,
        ],
        tools: ARM,
        cxx: true,
    },
    Machine {
        board: &RV32IMAC,
        start: "riscv",
        runs: true,
        prefix: "riscv64-unknown-elf",
        flags: &["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs"],
        tools: &[
            Tool::new("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
            Tool::new(
                "/usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs",
                "picolibc-riscv64-unknown-elf",
            ),
        ],
        cxx: false,
    },
];

impl Machine {
    /// Makes sure that compiler and emulator are there.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        ensure(self.tools)?;
        self.board.ensure()
    }
}

/// The machine of a target.
pub(crate) fn machine(target: &str) -> Option<&'static Machine> {
    MACHINES
        .iter()
        .find(|machine| machine.board.target == target)
}

/// Builds and runs everything on every machine.
pub(crate) fn run(cargo: &Cargo) -> Result<(), String> {
    let here = cases(&known_answers(cargo)?);
    for machine in MACHINES.iter().filter(|machine| machine.runs) {
        let board = machine.board;
        machine.ensure()?;
        let rust = RustFor::new(cargo, board.target)?;
        let packed = |scope| {
            let folder = folder(cargo, Some(&rust), scope);
            package(cargo, Some(&rust), scope, &folder).map(|()| folder)
        };
        let full = packed(Scope::Full)?;
        let firmware = Firmware { cargo, machine };
        let output = firmware.run("known_answers", &full)?;
        compare(&here, &cases(&output)).map_err(|e| format!("{}: {e}", board.target))?;
        eprintln!(
            "{}: {} cases, the bits of this machine",
            board.target,
            here.len()
        );
        if board.has_fpu() {
            // The tuned controllers: no library, the bits of Rust, instructions per tick.
            let output = firmware.run("ticks", &full)?;
            let rust = Reference::of_this_machine(cargo)?;
            compare(&rust.tick_lines(), &tick_lines(&output))
                .map_err(|e| format!("{}: ticks: {e}", board.target))?;
            firmware.count_ticks()?;
        }
        firmware.run("misuse", &full)?;
        firmware.run("firmware/smallest", &full)?;
        let small = packed(Scope::Small)?;
        firmware.run("firmware/smallest", &small)?;
        if machine.cxx {
            firmware.object("hpp.cpp", &full)?;
            firmware.object("tutorial.cpp", &full)?;
            firmware.run("firmware/formula.cpp", &full)?;
            firmware.run("firmware/formula.cpp", &small)?;
        }
    }
    Ok(())
}

/// Compiles a program without the library for speed, as a user would; returns its file.
pub(crate) fn compile_fast(
    cargo: &Cargo,
    board: &Board,
    name: &str,
    level: &str,
    defines: &[String],
) -> Result<PathBuf, String> {
    let machine =
        machine(board.target).ok_or_else(|| format!("no C compiler for {}", board.target))?;
    ensure(machine.tools)?;
    let program = cargo.target_folder("c").join(format!("{name}{level}.elf"));
    std::fs::create_dir_all(cargo.target_folder("c")).map_err(|e| e.to_string())?;
    let start = machine.start;
    let mut command = Command::new(format!("{}-gcc", machine.prefix));
    command
        .current_dir(sources(cargo))
        .args(["-std=gnu99", level])
        .args(STRICT)
        .args(machine.flags)
        .args(["-ffunction-sections", "-fdata-sections"])
        .args(defines)
        .args(["-I", "firmware", "-I", "active_set", "-I", CONTROLLER])
        .arg(format!("{name}.c"))
        .arg(format!("firmware/{start}.c"))
        .args(["-nostartfiles", "-T", &format!("firmware/{start}.ld")])
        .arg("-Wl,--gc-sections")
        .arg("-o")
        .arg(&program);
    answer(&mut command)?;
    Ok(program)
}

/// The lines of the controllers.
fn tick_lines(output: &str) -> Vec<String> {
    let lines = output.lines().filter(|line| line.starts_with("ticks "));
    lines.map(str::to_owned).collect()
}

/// The lines with numbers.
fn cases(output: &str) -> Vec<String> {
    let lines = output.lines().filter(|line| line.starts_with("case "));
    lines.map(str::to_owned).collect()
}

fn compare(here: &[String], there: &[String]) -> Result<(), String> {
    if here.len() != there.len() {
        return Err(format!("{} cases, not {}", there.len(), here.len()));
    }
    match here.iter().zip(there).find(|(here, there)| here != there) {
        None => Ok(()),
        Some((here, there)) => Err(format!("other bits\n  here  {here}\n  there {there}")),
    }
}

/// Purpose of a package: the name of its folder.
fn owner_of(package: &Path) -> String {
    let name = package.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// Programs for one machine.
struct Firmware<'a> {
    cargo: &'a Cargo,
    machine: &'a Machine,
}

impl Firmware<'_> {
    /// Compiles, checks the symbols, runs; says sizes and checks, and returns what the program printed.
    fn run(&self, name: &str, package: &Path) -> Result<String, String> {
        let prefix = self.machine.prefix;
        let program = self.compile(name, package)?;
        check_elf(&program)?;
        let output = self.emulate(&program)?;
        let bytes = answer(Command::new(format!("{prefix}-size")).arg(&program))?;
        let text = bytes
            .lines()
            .nth(1)
            .and_then(|line| line.split_whitespace().next());
        let package = owner_of(package);
        eprintln!("{package}: {name}: text: {} bytes", text.unwrap_or("?"));
        let numbers = |line: &&str| line.starts_with("case ") || line.starts_with("ticks ");
        for line in output.lines().filter(|line| !numbers(line)) {
            eprintln!("{package}: {line}");
        }
        Ok(output)
    }

    /// Compiles a file in C++ as firmware does; returns the object file. It is linked by the C compiler, without a C++ library.
    fn object(&self, name: &str, package: &Path) -> Result<PathBuf, String> {
        let Machine { prefix, flags, .. } = self.machine;
        let stem = name.rsplit('/').next().unwrap_or(name);
        let object = self.program(stem, &owner_of(package)).with_extension("o");
        let mut command = Command::new(format!("{prefix}-g++"));
        command
            .current_dir(sources(self.cargo))
            .args(CXX17)
            .args(PLAIN_CXX)
            .args(STRICT)
            .args(flags.iter().filter(|flag| !flag.starts_with("-Wl")))
            .args(["-Os", "-g", "-ffunction-sections", "-fdata-sections"])
            .arg("-I")
            .arg(package.join("include"))
            .args(["-c", name, "-o"])
            .arg(&object);
        answer(&mut command)?;
        Ok(object)
    }

    fn compile(&self, name: &str, package: &Path) -> Result<PathBuf, String> {
        let source = match name.ends_with(".cpp") {
            true => self.object(name, package)?,
            false => PathBuf::from(format!("{name}.c")),
        };
        let Machine {
            start,
            prefix,
            flags,
            ..
        } = self.machine;
        let small = owner_of(package).ends_with("-small");
        let stem = name.rsplit('/').next().unwrap_or(name);
        let owner = owner_of(package);
        let program = self.program(stem, &owner);
        let mut command = Command::new(format!("{prefix}-gcc"));
        command
            .current_dir(sources(self.cargo))
            .args(C99)
            .args(STRICT)
            .args(*flags)
            .args(["-Os", "-g", "-ffunction-sections", "-fdata-sections"])
            .args(small.then_some("-DSMALL"))
            .args([
                VERSION,
                "-I",
                "firmware",
                "-I",
                "controllers",
                "-I",
                CONTROLLER,
                "-I",
            ])
            .arg(package.join("include"))
            .arg(source)
            .arg(format!("firmware/{start}.c"))
            .args(["-nostartfiles", "-T", &format!("firmware/{start}.ld")])
            .arg("-Wl,--gc-sections")
            .arg(package.join("lib/libdst.a"))
            .arg("-o")
            .arg(&program);
        answer(&mut command)?;
        Ok(program)
    }

    /// Instructions per tick, counted as those of the firmware in Rust, and held against the same budgets.
    fn count_ticks(&self) -> Result<(), String> {
        let board = self.machine.board;
        let target = board.target;
        let program = self.program("ticks", target);
        let counts = board.count_each(&program, &ticks::MARKS)?;
        let budgets = self.cargo.root().join("tests/on-target/budgets.toml");
        for (name, counts) in ["c_safety_tick", "c_quadrotor_tick"].iter().zip(&counts) {
            let worst = counts.iter().max().copied().unwrap_or(0);
            let mean = counts.iter().sum::<u64>() / counts.len().max(1) as u64;
            eprintln!("{target}: {name}: {mean} instructions on average, {worst} at most");
            budgets::check_one(&budgets, target, &format!("{name}_worst"), worst)?;
        }
        let elf = Elf::read(&program)?;
        budgets::check_one(&budgets, target, "c_ticks_text", elf.size(".text"))?;
        budgets::check_one(&budgets, target, "c_ticks_memory", elf.size(".bss"))
    }

    fn program(&self, stem: &str, owner: &str) -> PathBuf {
        self.cargo
            .target_folder("c")
            .join(format!("{stem}-{owner}.elf"))
    }

    /// Runs under QEMU; the exit code is the program's.
    fn emulate(&self, program: &Path) -> Result<String, String> {
        let output = self.machine.board.run(program)?;
        // Semihosting prints to the emulator's standard error.
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            return Ok(printed);
        }
        let failed = printed.lines().filter(|line| !line.starts_with("case "));
        Err(format!(
            "{}: {}: {}\n{}",
            self.machine.board.target,
            program.display(),
            output.status,
            failed.take(20).collect::<Vec<_>>().join("\n")
        ))
    }
}
