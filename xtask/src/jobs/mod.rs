//! The jobs. They begin from both ends of the list: the quick ones that fail most often stand in front, and far from each other what
//! waits for the same lock of cargo.

pub(crate) mod api;
pub(crate) mod archives;
pub(crate) mod bench;
pub(crate) mod c;
mod c_firmware;
pub(crate) mod c_header;
pub(crate) mod c_lib;
mod c_reference;
pub(crate) mod chip;
pub(crate) mod clean_clone;
mod clippy;
pub(crate) mod compare;
pub(crate) mod cross;
mod data_sets;
pub(crate) mod dist;
mod docs;
pub(crate) mod examples;
mod fmt;
pub(crate) mod fuzz;
pub(crate) mod growth;
mod host;
pub(crate) mod licences;
pub(crate) mod msrv;
pub(crate) mod overhead;
pub(crate) mod packages;
pub(crate) mod portable;
pub(crate) mod ranks;
pub(crate) mod soak;
pub(crate) mod templates;
pub(crate) mod words;

use crate::cargo::Cargo;

/// Does a job; an error says what failed and how to run that alone.
pub(crate) type Run = fn(&Cargo) -> Result<(), String>;

/// The same for a job that has something to tell in the summary.
pub(crate) type NotedRun = fn(&Cargo) -> Result<String, String>;

/// A job with the name it has in the summary.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) run: Work,
}

/// Function of a job.
pub(crate) enum Work {
    Plain(Run),
    Noted(NotedRun),
}

impl Work {
    /// Does it.
    pub(crate) fn on(&self, cargo: &Cargo) -> Result<String, String> {
        match self {
            Self::Plain(run) => run(cargo).map(|()| String::new()),
            Self::Noted(run) => run(cargo),
        }
    }
}

const fn job(name: &'static str, run: Run) -> Job {
    let run = Work::Plain(run);
    Job { name, run }
}

const fn noted(name: &'static str, run: NotedRun) -> Job {
    let run = Work::Noted(run);
    Job { name, run }
}

/// The firmware of one target.
const fn firmware<const I: usize>() -> Job {
    let run = |cargo: &Cargo| cross::run(cargo, &cross::TARGETS[I], cross::Options::default());
    noted(cross::TARGETS[I].core, run)
}

/// Jobs that need no other target than this machine.
pub(crate) const HOST: &[Job] = &[
    job("fmt", fmt::run),
    noted("words", words::run),
    job("clippy", clippy::workspace),
    job("clippy features", clippy::features),
    job("docs", docs::run),
    noted("dependencies", licences::run),
    noted("public API", api::run),
    noted("oldest Rust", msrv::run),
    job("tests", host::tests),
    noted("data sets", data_sets::run),
    job("doctests", host::doctests),
    noted("examples", examples::run),
    job("overhead", overhead::run),
    noted("packages", packages::run),
    job("C library", c::run),
    noted("fuzz", fuzz::in_tests),
    noted("portable", portable::run),
    noted("soak", soak::in_tests),
    noted("ranks", |cargo| ranks::run(cargo, ranks::KILLS)),
];

/// Jobs for other targets.
pub(crate) const CROSS: &[Job] = &[
    job("firmware fmt", cross::fmt),
    job("firmware clippy", cross::clippy),
    firmware::<0>(),
    firmware::<1>(),
    firmware::<2>(),
    firmware::<3>(),
    job("C firmware", c_firmware::run),
    noted("archives", archives::run),
    noted("instructions per tick", cross::counts::run),
    noted("templates", templates::run),
];

/// All jobs of `cargo xtask test`.
pub(crate) fn all() -> Vec<&'static Job> {
    HOST.iter().chain(CROSS).collect()
}

/// The C library: on this machine, then as firmware.
pub(crate) const C: &[Job] = &[job("C library", c::run), job("C firmware", c_firmware::run)];
