//! The emulated cores with their compilers.

use std::process::Command;

use crate::jobs::cross::{CORTEX_M4F, CORTEX_M33, Machine, RV32IMAC};
use crate::toolchain::{Tool, ensure};

/// Flags of every file on every core, whoever wrote it.
const FLAGS: [&str; 3] = ["-O2", "-ffunction-sections", "-fdata-sections"];

const ARM: [&str; 4] = ["-Wl,--no-warn-execstack", "-lm", "-lc", "-lnosys"];

const ARM_TOOLS: &[Tool] = &[
    Tool::new("arm-none-eabi-g++", "gcc-arm-none-eabi"),
    Tool::new("clang", "clang"),
    Tool::new(
        "/usr/lib/arm-none-eabi/newlib/libstdc++.a",
        "libstdc++-arm-none-eabi-newlib",
    ),
];

/// A core, its compiler and what starts it.
pub(crate) struct Chip {
    pub(crate) machine: Machine,
    prefix: &'static str,
    flags: &'static [&'static str],
    /// Compiler that links: C++ where there is a library for it.
    pub(crate) linker: &'static str,
    pub(crate) libraries: &'static [&'static str],
    /// Start-up code, in `tests/c/firmware`.
    pub(crate) start: &'static str,
    /// Linker script.
    pub(crate) map: &'static str,
    tools: &'static [Tool],
}

/// The core of all tables but one.
pub(crate) const M4F: Chip = Chip {
    machine: CORTEX_M4F,
    prefix: "arm-none-eabi",
    flags: &[
        "-mcpu=cortex-m4",
        "-mthumb",
        "-mfloat-abi=hard",
        "-mfpu=fpv4-sp-d16",
    ],
    linker: "g++",
    libraries: &ARM,
    start: "cortex_m.c",
    map: "board.ld",
    tools: ARM_TOOLS,
};

/// Cores on which the plants are counted once more.
pub(crate) const OTHERS: [Chip; 2] = [
    Chip {
        machine: CORTEX_M33,
        prefix: "arm-none-eabi",
        flags: &[
            "-mcpu=cortex-m33",
            "-mthumb",
            "-mfloat-abi=hard",
            "-mfpu=fpv5-sp-d16",
        ],
        linker: "g++",
        libraries: &ARM,
        start: "cortex_m.c",
        map: "board_m33.ld",
        tools: ARM_TOOLS,
    },
    Chip {
        machine: RV32IMAC,
        prefix: "riscv64-unknown-elf",
        flags: &["-march=rv32imac", "-mabi=ilp32", "--specs=picolibc.specs"],
        linker: "gcc",
        libraries: &["-lm"],
        start: "riscv.c",
        map: "board_riscv.ld",
        tools: &[
            Tool::new("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf"),
            Tool::new(
                "/usr/lib/picolibc/riscv64-unknown-elf/picolibc.specs",
                "picolibc-riscv64-unknown-elf",
            ),
        ],
    },
];

impl Chip {
    /// Makes sure that the emulator and the compiler are there.
    pub(crate) fn ensure(&self) -> Result<(), String> {
        ensure(self.tools)?;
        self.machine.ensure()
    }

    /// `gcc` or `g++` for this core, with the flags of every file.
    pub(crate) fn compiler(&self, name: &str) -> Command {
        let mut command = Command::new(format!("{}-{name}", self.prefix));
        command.args(FLAGS).args(self.flags);
        command
    }

    /// `clang` for this core, with the headers of its C library.
    pub(crate) fn clang(&self) -> Command {
        let mut command = Command::new("clang");
        command
            .arg(format!("--target={}", self.prefix))
            .arg(format!("-isystem/usr/lib/{}/include", self.prefix))
            .args(FLAGS)
            .args(self.flags);
        command
    }

    /// True if there is a C++ library for it.
    pub(crate) fn has_cxx(&self) -> bool {
        self.linker == "g++"
    }
}
