//! The command line: one file per subcommand.
//!
//! Exit codes: 0: success, 1: no result, 2: usage error, 130: interrupted. Errors are one sentence on standard error. A command that is
//! asked to end, by Ctrl-C or a request to terminate, has ended within two seconds.

mod arguments;
mod checkpoints;
mod common;
mod control;
mod illustrate;
mod l2o;
mod ola;
mod output;
mod printable;
mod qp;
mod reproduce;
mod terminal;
mod tune;
mod validate;

use std::ffi::OsString;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};

use crate::experiments;
use crate::linalg::Arithmetic;
use crate::parallel::ranks;

/// Differentiate how long an iterative algorithm runs until it stops.
#[derive(Parser)]
#[command(name = "dst", version, after_help = EXAMPLES)]
struct Cli {
    /// The same bits on every x86-64 and aarch64, at some cost in time; by default results depend on the instruction set.
    #[arg(long, global = true, display_order = 900)]
    portable: bool,
    #[command(subcommand)]
    command: Command,
}

/// Time that the other ranks of an MPI job leave to the first for a message.
const SILENCE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  dst checkpoints --slots 8 --steps 1000
  dst illustrate --theta 0.25
  dst illustrate --json
  dst control --quick
  dst ola --data a1a --method adam-ola --alpha0 0.01
  dst qp tune --problem walking.npz
  dst reproduce --quick
  dst tune --method nesterov
  dst validate --dim 1000

Help on a subcommand: dst validate --help";

#[derive(Subcommand)]
enum Command {
    Checkpoints(checkpoints::Args),
    Control(control::Args),
    Illustrate(illustrate::Args),
    #[command(name = "l2o")]
    L2o(l2o::Args),
    Ola(Box<ola::Args>),
    Qp(qp::Args),
    Reproduce(reproduce::Args),
    Tune(tune::Args),
    Validate(validate::Args),
}

/// The reason why there is no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// The arguments do not fit together: exit code 2.
    Usage(String),
    /// There is no result: exit code 1.
    NoAnswer(String),
    /// The user interrupted: exit code 130.
    Interrupted(String),
    /// The reader of the output closed it, which is no error: exit code 0.
    ReaderGone,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::NoAnswer(message) | Self::Interrupted(message) => {
                f.write_str(message)
            }
            Self::ReaderGone => f.write_str("the output was closed"),
        }
    }
}

impl std::error::Error for CommandError {}

impl From<experiments::Failure> for CommandError {
    fn from(failure: experiments::Failure) -> Self {
        match failure {
            experiments::Failure::NoAnswer(message) => Self::NoAnswer(message),
            experiments::Failure::Interrupted => Self::Interrupted("interrupted".to_owned()),
        }
    }
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    run(std::env::args_os())
}

/// Runs the program with these arguments, the first being its name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    // Before anything is printed: the ranks of an MPI job speak with one voice.
    if let Err(sentence) = ranks::join() {
        if ranks::is_to_speak() {
            complain(&sentence);
        }
        return ExitCode::from(2);
    }
    let code = run_on_rank(arguments);
    if code == ExitCode::SUCCESS {
        ranks::finish();
    }
    code
}

fn run_on_rank(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    // Before anything is read: every command answers a signal wherever it is.
    if let Err(sentence) = terminal::interrupt() {
        complain(&sentence);
        return ExitCode::FAILURE;
    }
    if cli.portable && Arithmetic::Portable.choose().is_err() {
        complain(&"--portable must be chosen before the first computation of the process");
        return ExitCode::from(2);
    }
    if let Err(sentence) = ranks::agree() {
        complain(&sentence);
        return ExitCode::FAILURE;
    }
    let result = match cli.command {
        Command::Checkpoints(args) => checkpoints::run(&args),
        Command::Control(args) => control::run(&args),
        Command::Illustrate(args) => illustrate::run(&args),
        Command::L2o(args) => l2o::run(&args),
        Command::Ola(args) => ola::run(&args),
        Command::Qp(args) => qp::run(&args),
        Command::Reproduce(args) => reproduce::run(&args),
        Command::Tune(args) => tune::run(&args),
        Command::Validate(args) => validate::run(&args),
    };
    match result {
        Ok(()) | Err(CommandError::ReaderGone) => ExitCode::SUCCESS,
        Err(failure) => {
            complain(&failure);
            match failure {
                CommandError::Usage(_) => ExitCode::from(2),
                CommandError::Interrupted(_) => ExitCode::from(130),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

/// Prints an error of clap. A wrong value becomes one sentence that begins with the argument.
fn refuse(error: &clap::Error) -> ExitCode {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    if error.kind() == ErrorKind::ValueValidation
        && let Some(argument) = text(ContextKind::InvalidArg)
        && let Some(value) = text(ContextKind::InvalidValue)
        && let Some(reason) = std::error::Error::source(error)
    {
        let name = argument.split(' ').next().unwrap_or(argument);
        complain(&format_args!("{name} {reason}, got '{value}'"));
        return ExitCode::from(2);
    }
    // Help and version come this way too, with code 0; a closed output is no reason to panic.
    let code = error.exit_code();
    if ranks::is_first() {
        let _ = error.print();
    } else if code != 0 {
        // The end of any rank is that of the job.
        std::thread::sleep(SILENCE);
    }
    ExitCode::from(u8::try_from(code).unwrap_or(2))
}

fn complain(message: &dyn fmt::Display) {
    let mut message = message.to_string();
    if !ranks::is_first() {
        // What all ranks have to say the first one says, and the job ends with it. Only what concerns this rank alone is said here.
        std::thread::sleep(SILENCE);
        message = format!("rank {}: {message}", ranks::number());
    }
    // If standard error is closed as well, only the exit code is left.
    let _ = writeln!(
        std::io::stderr(),
        "error: {}",
        printable::printable(&message)
    );
}
