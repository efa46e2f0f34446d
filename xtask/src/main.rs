//! The jobs of this workspace, one file each under `jobs/`: `cargo xtask test` does them all.
//!
//! A new job is a file with a `fn(&Cargo) -> Result` and one line in [`jobs::HOST`] or [`jobs::CROSS`].

mod cargo;
mod jobs;
mod suite;
#[allow(dead_code)] // the jobs that use it follow
mod toolchain;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cargo::Cargo;
use crate::jobs::c_lib::Scope;

/// The jobs of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything: formatting, lints, documentation, tests, instruction counts, other targets.
    Test,
    /// What needs no other target than this machine.
    TestHost,
    /// Instructions per step, dst-core against a loop by hand; fails above the limit.
    Overhead,
    /// The C library: header, programs under sanitisers and valgrind, then as firmware under QEMU.
    TestC {
        /// Leaves out the firmware.
        #[arg(long)]
        host_only: bool,
    },
    /// Makes a folder with libdst.a, dst.h and what pkg-config and CMake need.
    CLib {
        /// For another target, such as thumbv7em-none-eabihf.
        #[arg(long)]
        target: Option<String>,
        /// Euler and the adjoint only: a third of the code.
        #[arg(long)]
        small: bool,
        /// The folder; inside the target folder by default.
        #[arg(long)]
        out: Option<std::path::PathBuf>,
    },
    /// Writes the C header, dst.h, from the source of dst-ffi.
    CHeader {
        /// Only fails if it would change.
        #[arg(long)]
        check: bool,
    },
}

fn main() -> ExitCode {
    let cargo = Cargo::new();
    match Cli::parse().command {
        Command::Test => suite::run(&cargo, jobs::HOST.iter().chain(jobs::CROSS)),
        Command::TestHost => suite::run(&cargo, jobs::HOST),
        Command::Overhead => suite::alone(&cargo, jobs::overhead::run),
        Command::TestC { host_only: true } => suite::alone(&cargo, jobs::c::run),
        Command::TestC { host_only: false } => suite::run(&cargo, jobs::C),
        Command::CLib { target, small, out } => {
            let scope = if small { Scope::Small } else { Scope::Full };
            suite::made(jobs::c_lib::run(&cargo, target, scope, out))
        }
        Command::CHeader { check: true } => suite::alone(&cargo, jobs::c_header::check),
        Command::CHeader { check: false } => suite::alone(&cargo, jobs::c_header::write),
    }
}
