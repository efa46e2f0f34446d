//! The experiments, a folder each: a configuration in, plain results out, and a [`Section`] that shows them.
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
pub mod validation;

pub use crate::Failure;
use crate::progress::Progress;
use crate::report::Section;

/// Input of an experiment.
#[derive(Clone, Debug)]
pub struct Context {
    /// Small sizes, the same claims.
    pub quick: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Threads at its disposal; results must not depend on it.
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
    /// One word, as the command line knows it.
    pub name: &'static str,
    /// Headline.
    pub title: &'static str,
    /// Runs it.
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
        name: "control",
        title: control::TITLE,
        run: control::experiment,
    },
];
