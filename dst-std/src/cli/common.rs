//! Arguments that several subcommands share; each flattens the groups it uses.

use std::path::PathBuf;

use super::CommandError;
use super::arguments::{seed, thread_count};
use super::terminal::{self, Terminal};
use crate::parallel::{self, ranks};
use crate::progress::Progress;

/// The number of threads.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Parallel {
    /// Threads; all cores if not given, shared by the ranks of an MPI job on this machine. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = thread_count, allow_hyphen_values = true)]
    threads: Option<usize>,
}

impl Parallel {
    /// True if a number was given.
    pub(super) fn given(self) -> bool {
        self.threads.is_some()
    }

    /// Returns the number given, or one per core.
    pub(super) fn threads(self) -> usize {
        self.threads.unwrap_or_else(parallel::available)
    }
}

/// The seed of all random numbers.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Seeded {
    /// Seed of all random numbers: the same seed, the same results on machines with the same instruction set; with --portable, on all.
    #[arg(long, value_name = "S", default_value = "1", value_parser = seed, allow_hyphen_values = true)]
    pub(super) seed: u64,
}

/// The directory for files.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Files {
    /// Directory for pages, plots and tables; created if missing.
    #[arg(long, value_name = "DIR", default_value = "report")]
    pub(super) out: PathBuf,
}

/// The form of the output.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Speech {
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// Print the result without progress bars.
    #[arg(long)]
    pub(super) quiet: bool,
}

/// Threads, seed and form of the output: the arguments of every command with a long random computation.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct General {
    #[command(flatten)]
    pub(super) parallel: Parallel,
    #[command(flatten)]
    pub(super) seeded: Seeded,
    #[command(flatten)]
    pub(super) speech: Speech,
}

impl Speech {
    /// Returns progress bars on standard error, apart from a JSON object on standard output; none if `quiet`.
    pub(super) fn progress(self) -> Progress {
        match self.quiet || !ranks::is_first() {
            true => Progress::hidden(),
            false => Progress::watched(Terminal::new()),
        }
    }

    /// The same, ended by Ctrl-C or a request to terminate.
    pub(super) fn interruptible(self) -> Result<Progress, CommandError> {
        let interrupt = terminal::interrupt().map_err(CommandError::NoAnswer)?;
        Ok(self.progress().with_interrupt(interrupt))
    }
}
