//! The jobs of this workspace, one file each under `jobs/`: `cargo xtask test` does them all.
//!
//! A new job is a file with a `fn(&Cargo) -> Result` and one line in [`jobs::HOST`] or [`jobs::CROSS`].

mod cargo;
mod elf;
mod jobs;
mod static_library;
mod suite;
mod toolchain;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::cargo::Cargo;
use crate::jobs::c_lib::Scope;
use crate::jobs::cross::{Options, TARGETS};
use crate::jobs::fuzz;

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
    Test {
        /// Leave out what is built for other targets.
        #[arg(long)]
        host_only: bool,
        /// One job only, by its name in the summary.
        #[arg(long, value_name = "JOB", conflicts_with = "host_only", value_parser = jobs::all().iter().map(|job| job.name).collect::<Vec<_>>())]
        only: Option<String>,
    },
    /// Firmware on four emulated boards: same bits as here, within its budgets.
    TestCross {
        /// One target only.
        #[arg(long, value_parser = TARGETS.map(|machine| machine.target))]
        target: Option<String>,
        /// Build `core` from Debian's source even if the toolchain has it.
        #[arg(long)]
        from_source: bool,
    },
    /// Instructions per tick of the controllers on an emulated Cortex-M4F, in Rust and in C, with the error of every input.
    CountTicks,
    /// Templates for firmware: each is built and run, and prints what its README says.
    Templates,
    /// Instructions per step, dst-core against a loop by hand; fails above the limit.
    Overhead,
    /// The examples print what their headers say.
    Examples,
    /// Plain English in documentation, help and page: fails on banned words.
    Words,
    /// The public API, against dst-core/api.txt and dst-std/api.txt; DST_BLESS=1 accepts a change.
    Api,
    /// The crates as packages: made, unpacked, and the program `dst` installed from them and run.
    Packages,
    /// Dependencies: licences are in the list of those allowed, and none is unused.
    Dependencies,
    /// The crates to publish, compiled with the oldest Rust that they name; rustup gets it.
    Msrv,
    /// Archives of a release with their checksums: the C library for this machine and four targets, and the program `dst`.
    ///
    /// The program is compiled once more, without the paths of this machine.
    Dist {
        /// The folder; inside the target folder by default.
        #[arg(long)]
        out: Option<std::path::PathBuf>,
    },
    /// The archives of `dist`, used by programs in C and C++ with no Rust in the PATH.
    Archives,
    /// Ours beside JAX, equinox, diffrax, PyTorch, torchdiffeq and scipy, by turns: answers, times, memory.
    ///
    /// Installs them into the target folder (6 GB, most of it PyTorch's) and writes dst-bench/RESULTS.md and compare.svg. Takes a
    /// quarter of an hour; wants a machine with nothing else to do. With `--only firmware`: our controllers beside DAQP, OSQP and TinyMPC
    /// on an emulated Cortex-M4F, counted; `--only engine`: the engine there beside hand-written C.
    Compare {
        /// Fewer and smaller cases; the results go to the target folder.
        #[arg(long)]
        quick: bool,
        /// One comparison only.
        #[arg(long, value_parser = ["steps", "events", "ola", "l2o", "qp", "checkpoints", "firmware", "engine"])]
        only: Option<String>,
        /// A Python that has the packages of dst-bench/peers/requirements.txt; nothing is installed then.
        #[arg(long)]
        python: Option<std::path::PathBuf>,
        /// Counts as JSON on standard output; with `--only firmware`.
        #[arg(long)]
        json: bool,
    },
    /// Regressions: instructions of the hot paths against dst-bench/baseline.txt, or against another commit.
    Bench {
        /// Builds this commit too, counts both and times them by turns.
        #[arg(long, value_name = "COMMIT")]
        against: Option<String>,
        /// Writes the baseline anew.
        #[arg(long, conflicts_with = "against")]
        write: bool,
    },
    /// Growth of cost with dimension, steps, slots, threads and ranks; writes dst-bench/RESULTS.md and growth.svg.
    Growth {
        /// Stops a decade earlier; the results go to the target folder.
        #[arg(long)]
        quick: bool,
        /// One part only.
        #[arg(long, value_parser = ["ranks"])]
        only: Option<String>,
    },
    /// A new user's first minutes: a fresh clone, an empty cargo home, the two commands of the README, timed.
    CleanClone {
        /// The first command only; the second takes half an hour.
        #[arg(long)]
        first: bool,
    },
    /// Fuzzing with libFuzzer: readers of files, sequences of C calls, exported controllers.
    ///
    /// Installs clang if it is missing. Inputs that reach new code are kept in the target folder for the next time. A fault ends with
    /// exit code 1 and the path of its input, made smaller. The targets and their inputs: tests/fuzz.
    Fuzz {
        /// One target only.
        #[arg(value_parser = fuzz::TARGETS.map(|target| target.name))]
        target: Option<String>,
        /// Minutes of each target; as many at a time as there are processors.
        #[arg(long, default_value_t = 1.0)]
        minutes: f64,
        /// Runs this input alone, and shows what happens.
        #[arg(
            long,
            value_name = "FILE",
            requires = "target",
            conflicts_with = "minutes"
        )]
        input: Option<std::path::PathBuf>,
    },
    /// `dst --portable`: the same bits on emulated processors with and without AVX2.
    Portable,
    /// `dst` killed at random moments, on a full disk, with closed pipes, under tiny limits, sixteen times in one directory.
    Soak {
        /// Kills.
        #[arg(long, default_value_t = 200)]
        rounds: u32,
    },
    /// `dst` over the ranks of an MPI job: the same bits on 1 to 4 ranks, on two hosts, and after killed ranks.
    ///
    /// Installs Open MPI and the library of clang if they are missing.
    TestMpi {
        /// Kills.
        #[arg(long, default_value_t = jobs::ranks::KILLS)]
        kills: u32,
    },
    /// The C library: header, programs under sanitisers and valgrind, then as firmware under QEMU.
    TestC {
        /// Leaves out the firmware.
        #[arg(long)]
        host_only: bool,
    },
    /// Makes a folder with libdst.a, dst.h, dst.hpp and what pkg-config and CMake need; here libdst.so, too.
    CLib {
        /// For another target, such as thumbv7em-none-eabihf.
        #[arg(long)]
        target: Option<String>,
        /// Euler, symplectic Euler and the adjoint: two thirds of the code.
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
        Command::Test {
            only: Some(name), ..
        } => match jobs::all().into_iter().find(|job| job.name == name) {
            Some(job) => suite::only(&cargo, job),
            None => suite::exit_code(Err(format!("--only {name}: there is no such job"))),
        },
        Command::Test {
            host_only: true, ..
        } => suite::run(&cargo, &jobs::HOST.iter().collect::<Vec<_>>()),
        Command::Test { .. } => suite::run(&cargo, &jobs::all()),
        Command::TestCross {
            target,
            from_source,
        } => {
            let options = Options { from_source };
            let chosen = TARGETS
                .iter()
                .filter(|machine| target.as_deref().is_none_or(|t| t == machine.target));
            suite::each(chosen.map(|m| (m.core, || jobs::cross::run(&cargo, m, options))))
        }
        Command::CountTicks => {
            suite::each([("instructions per tick", || jobs::cross::counts::run(&cargo))])
        }
        Command::Templates => suite::each([("templates", || jobs::templates::run(&cargo))]),
        Command::Overhead => suite::alone(&cargo, jobs::overhead::run),
        Command::Examples => suite::each([("examples", || jobs::examples::run(&cargo))]),
        Command::Words => suite::each([("words", || jobs::words::run(&cargo))]),
        Command::Packages => suite::each([("packages", || jobs::packages::run(&cargo))]),
        Command::Dependencies => suite::each([("dependencies", || jobs::licences::run(&cargo))]),
        Command::Msrv => suite::each([("oldest Rust", || jobs::msrv::run(&cargo))]),
        Command::Dist { out } => suite::made(jobs::dist::run(&cargo, out)),
        Command::Archives => suite::each([("archives", || jobs::archives::run(&cargo))]),
        Command::Api => suite::each([("public API", || jobs::api::run(&cargo))]),
        Command::Compare {
            quick,
            only,
            python: None,
            json,
        } if only.as_deref() == Some("firmware") => {
            suite::exit_code(jobs::chip::run(&cargo, quick, json))
        }
        Command::Compare {
            quick: false,
            only,
            python: None,
            json: false,
        } if only.as_deref() == Some("engine") => suite::exit_code(jobs::chip::engine(&cargo)),
        Command::Compare { only, .. } if only.as_deref() == Some("engine") => {
            suite::exit_code(Err("--only engine has no other options".to_owned()))
        }
        Command::Compare { only, json, .. } if json || only.as_deref() == Some("firmware") => {
            suite::exit_code(Err(
                "--json goes with --only firmware, which takes no --python".to_owned(),
            ))
        }
        Command::Compare {
            quick,
            only,
            python,
            ..
        } => suite::exit_code(jobs::compare::run(&cargo, quick, only.as_deref(), python)),
        Command::Bench { against, write } => {
            suite::exit_code(jobs::bench::run(&cargo, against.as_deref(), write))
        }
        Command::Growth { quick, only } => {
            suite::exit_code(jobs::growth::run(&cargo, quick, only.is_some()))
        }
        Command::CleanClone { first } => jobs::clean_clone::run(&cargo, first),
        Command::Fuzz {
            target: Some(target),
            input: Some(input),
            ..
        } => suite::exit_code(fuzz::replay(&cargo, &target, &input)),
        Command::Fuzz {
            target, minutes, ..
        } => suite::exit_code(fuzz::run(&cargo, target.as_deref(), minutes)),
        Command::Portable => suite::each([("portable", || jobs::portable::run(&cargo))]),
        Command::Soak { rounds } => suite::each([("soak", || jobs::soak::run(&cargo, rounds))]),
        Command::TestMpi { kills } => suite::each([("ranks", || jobs::ranks::run(&cargo, kills))]),
        Command::TestC { host_only: true } => suite::alone(&cargo, jobs::c::run),
        Command::TestC { host_only: false } => {
            suite::each(jobs::C.iter().map(|job| (job.name, || job.run.on(&cargo))))
        }
        Command::CLib { target, small, out } => {
            let scope = if small { Scope::Small } else { Scope::Full };
            suite::made(jobs::c_lib::run(&cargo, target, scope, out))
        }
        Command::CHeader { check: true } => suite::alone(&cargo, jobs::c_header::check),
        Command::CHeader { check: false } => suite::alone(&cargo, jobs::c_header::write),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::Parser;

    const PAGES: [(&str, &str); 6] = [
        ("README.md", include_str!("../../README.md")),
        ("CONTRIBUTING.md", include_str!("../../CONTRIBUTING.md")),
        ("RESULTS.md", include_str!("../../dst-bench/RESULTS.md")),
        ("ffi", include_str!("../../dst-core/ffi/README.md")),
        ("on-target", include_str!("../../tests/on-target/README.md")),
        ("guide", include_str!("../../dst-core/src/guide/c.md")),
    ];

    /// Every `cargo xtask …` of a page: a line of a code block, or text between backticks.
    fn commands(page: &str) -> Vec<String> {
        let (mut found, mut fenced) = (Vec::new(), false);
        for line in page.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if fenced {
                found.push(line.split(" #").next().unwrap_or_default());
            } else {
                found.extend(line.split('`').skip(1).step_by(2));
            }
        }
        let ours = found.iter().map(|text| text.trim());
        ours.filter(|text| text.starts_with("cargo xtask "))
            .map(str::to_owned)
            .collect()
    }

    /// Options between brackets are taken as given; placeholders get a value.
    fn parses(command: &str) -> Result<(), String> {
        let line = command.replace(['[', ']'], "");
        let line = line.replace("--target T", "--target thumbv7em-none-eabihf");
        let line = line.replace("--only NAME", "--only clippy");
        // A choice, as in `bench [--against COMMIT | --write]`, is parsed by its first part.
        let line = line.split(" | ").next().unwrap_or_default();
        let words = line.split_whitespace().skip(2);
        match Cli::try_parse_from(std::iter::once("cargo xtask").chain(words)) {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{command}: {error}")),
        }
    }

    #[test]
    fn commands_of_the_pages_parse() {
        for (name, page) in PAGES {
            let commands = commands(page);
            assert!(!commands.is_empty(), "{name}");
            for command in commands {
                if let Err(reason) = parses(&command) {
                    panic!("{name}: {reason}");
                }
            }
        }
        assert!(parses("cargo xtask test --hostonly").is_err());
    }
}
