//! Arguments that several subcommands share; each flattens the groups it uses.

use std::path::PathBuf;

use super::Failure;
use super::arguments::{seed, thread_count};
use super::terminal::{self, Terminal};
use crate::parallel;
use crate::progress::Progress;

/// How much of the machine to use.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Parallel {
    /// Threads; all cores if not given. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = thread_count, allow_hyphen_values = true)]
    threads: Option<usize>,
}

impl Parallel {
    /// The number asked for, or one per core.
    pub(super) fn threads(self) -> usize {
        self.threads.unwrap_or_else(parallel::available)
    }
}

/// Where random numbers come from.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Seeded {
    /// Seed of all random numbers: the same seed, the same results.
    #[arg(long, value_name = "S", default_value = "1", value_parser = seed, allow_hyphen_values = true)]
    pub(super) seed: u64,
}

/// Where files go.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Files {
    /// Directory for pages, plots and tables; made if it is not there.
    #[arg(long, value_name = "DIR", default_value = "report")]
    pub(super) out: PathBuf,
}

/// How much to say.
#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct Speech {
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
    /// No progress, only the result.
    #[arg(long)]
    pub(super) quiet: bool,
}

impl Speech {
    /// Bars on standard error, where they do not disturb a JSON object; none if nothing is to be said.
    pub(super) fn progress(self) -> Progress {
        match self.quiet {
            true => Progress::hidden(),
            false => Progress::watched(Terminal::new()),
        }
    }

    /// The same, ended by Ctrl-C.
    pub(super) fn interruptible(self) -> Result<Progress, Failure> {
        let interrupt = terminal::interrupt().map_err(Failure::NoAnswer)?;
        Ok(self.progress().with_interrupt(interrupt))
    }
}
