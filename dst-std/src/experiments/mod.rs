//! The experiments, one folder each: a configuration becomes results, and a [`Section`] with claims shows them.
//!
//! `dst reproduce` runs what [`ALL`] lists. To add one: a folder with a function `fn(&Context) -> Result<Section, Failure>`,
//! a `pub mod` line here, and an entry in [`ALL`].
//!
//! An experiment names its figures and tables after itself (`ola-gap`, `ola-iterations`), because all files of a report
//! lie in one directory. It polls [`Context::interrupted`] between parts, and returns what it has or
//! [`Failure::Interrupted`].

mod common;
pub mod control;
pub mod illustration;
pub mod l2o;
pub mod ola;
pub mod tune;
pub mod validation;

pub use crate::Failure;
use crate::progress::Progress;
use crate::report::Section;

/// The input of an experiment.
#[derive(Clone, Debug)]
pub struct Context {
    /// True for small sizes; the claims are the same.
    pub quick: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Number of threads; results must not depend on it.
    pub threads: usize,
    /// Receiver of progress, and the flag that ends the experiment early.
    pub progress: Progress,
}

impl Context {
    /// True if the experiment should end early.
    pub fn interrupted(&self) -> bool {
        self.progress.interrupted()
    }
}

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// The name on the command line, one word.
    pub name: &'static str,
    /// The headline.
    pub title: &'static str,
    /// Runs the experiment.
    pub run: fn(&Context) -> Result<Section, Failure>,
}

/// All experiments, in the order of the report.
pub const ALL: &[Experiment] = &[
    Experiment {
        name: "illustration",
        title: illustration::TITLE,
        run: illustration::experiment,
    },
    Experiment {
        name: "validation",
        title: validation::TITLE,
        run: validation::experiment,
    },
    Experiment {
        name: "l2o",
        title: l2o::TITLE,
        run: l2o::experiment,
    },
    Experiment {
        name: "ola",
        title: ola::TITLE,
        run: ola::experiment,
    },
    Experiment {
        name: "tune",
        title: tune::TITLE,
        run: tune::experiment,
    },
    Experiment {
        name: "control",
        title: control::TITLE,
        run: control::experiment,
    },
];
