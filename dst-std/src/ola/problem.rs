//! The smooth SVM of a data set with a starting point, on which every algorithm runs.

use std::path::Path;

use dst_core::{Error, Objective};

use super::algorithm::Setting;
use super::run::{Limits, OlaRun, run};
use crate::Failure;
use crate::data::{DataSet, Examples, data_folder, load, read_vector};
use crate::machine::Footprint;
use crate::problems::{Margins, SmoothSvm, TOO_LARGE, minimise};
use crate::random::normals;

/// The runs that are to be made on a data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Runs.
    pub runs: usize,
    /// States that a run keeps.
    pub slots: usize,
    /// Runs at a time.
    pub threads: usize,
}

impl Workload {
    /// About the memory of the runs on these examples, beside that of the data.
    fn footprint(self, name: &str, examples: &Examples) -> Footprint {
        const NUMBER: f64 = size_of::<f64>() as f64;
        /// Vectors of a run without slots, and of a state with its record.
        const RUN: f64 = 28.0;
        const STATE: f64 = 14.0;
        let (dim, rows) = (examples.rows.columns() + 1, examples.rows.rows());
        let threads = self.threads.min(self.runs);
        let counted = |count: usize, what: &str| match count {
            1 => format!("one {what}"),
            count => format!("{count} {what}s"),
        };
        let on_threads = counted(threads, "thread");
        let [d, rows, runs, slots, at_once] =
            [dim, rows, self.runs, self.slots, threads].map(|n| n as f64);
        Footprint::of(format!("{} on {name}", counted(self.runs, "run")))
            .with(
                format!("vectors of {dim} variables, on {on_threads}"),
                [NUMBER, at_once, RUN * d + 2.0 * rows],
                match threads {
                    0 | 1 => "renumber the features 1, 2, ..., or take data with fewer",
                    _ => {
                        "lower --threads, renumber the features 1, 2, ..., or take data with fewer"
                    }
                },
            )
            .with(
                format!("{slots} states of a window, on {on_threads}"),
                [NUMBER, at_once, slots, STATE * d + 2.0 * rows],
                "take data with fewer features, or a smaller --window",
            )
            .with(
                "the weights at the end of the runs",
                [NUMBER, 2.0, runs, d],
                "take data with fewer features, or one --method",
            )
    }
}

/// A smooth SVM, its Lipschitz constant and a starting point.
#[derive(Clone, Debug)]
pub struct SvmProblem {
    name: String,
    synthetic: bool,
    svm: SmoothSvm,
    regularisation: f64,
    lipschitz: f64,
    x0: Vec<f64>,
}

impl SvmProblem {
    /// Loads a data set by file or name, and refuses it if there is no memory for the work that is to be done on it. The starting point is
    /// `x0_NAME.txt` beside the file, or else a random point of unit length as in the paper's code.
    pub fn load(
        name: &str,
        regularisation: f64,
        seed: u64,
        work: Workload,
    ) -> Result<Self, Failure> {
        let data = load(name, data_folder().as_deref()).map_err(Failure::NoAnswer)?;
        let footprint = work.footprint(&data.name, &data.examples);
        footprint.check().map_err(Failure::NoAnswer)?;
        Self::new(data, regularisation, seed)
    }

    /// Makes the problem of a data set that is already loaded.
    pub fn new(data: DataSet, regularisation: f64, seed: u64) -> Result<Self, Failure> {
        let DataSet {
            name,
            examples,
            x0,
            synthetic,
        } = data;
        let margins = Margins::new(examples)
            .map_err(|error| Failure::NoAnswer(format!("{name}: {error}")))?;
        let dim = margins.dim();
        let svm = SmoothSvm::new(margins, regularisation);
        let lipschitz = svm.lipschitz();
        if !lipschitz.is_finite() {
            return Err(Failure::NoAnswer(format!("{name}: {TOO_LARGE}")));
        }
        let problem = Self {
            lipschitz,
            x0: random_unit(dim, seed),
            name,
            synthetic,
            svm,
            regularisation,
        };
        match x0 {
            Some(x0) => {
                let source = format!("x0_{}.txt", problem.name);
                problem.starting_at(x0, &source)
            }
            None => Ok(problem),
        }
    }

    /// Returns the problem with the starting point in this file.
    pub fn starting_from(self, path: &Path) -> Result<Self, Failure> {
        let x0 = read_vector(path).map_err(Failure::NoAnswer)?;
        self.starting_at(x0, &path.display().to_string())
    }

    fn starting_at(self, x0: Vec<f64>, source: &str) -> Result<Self, Failure> {
        if x0.len() != self.svm.dim() {
            return Err(Failure::NoAnswer(format!(
                "{source} has {} numbers, but {} has {} variables ({} features and the intercept)",
                x0.len(),
                self.name,
                self.svm.dim(),
                self.svm.dim() - 1
            )));
        }
        Ok(Self { x0, ..self })
    }

    /// Returns the name of the data set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// True if the data set is synthetic because there was no file.
    pub fn is_synthetic(&self) -> bool {
        self.synthetic
    }

    /// Returns the objective.
    pub fn svm(&self) -> &SmoothSvm {
        &self.svm
    }

    /// Returns L, a Lipschitz constant of ∇f.
    pub fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    /// Returns reg, the weight of ½‖w‖².
    pub fn regularisation(&self) -> f64 {
        self.regularisation
    }

    /// Returns the starting point.
    pub fn x0(&self) -> &[f64] {
        &self.x0
    }

    /// Runs an algorithm from the starting point.
    pub fn run(&self, setting: Setting, limits: Limits) -> Result<OlaRun, Error> {
        run(&self.svm, setting, &self.x0, limits)
    }

    /// Computes f* to about ten digits.
    pub fn minimum(&self) -> f64 {
        minimise(&self.svm, &self.x0, 1e-10).f
    }

    /// Computes f(x0).
    pub fn start(&self) -> f64 {
        let mut gradient = vec![0.0; self.svm.dim()];
        let mut tape = vec![0.0; self.svm.tape_len()];
        let mut scratch = vec![0.0; self.svm.scratch_len()];
        self.svm
            .value_gradient(&self.x0, &mut gradient, &mut tape, &mut scratch)
    }
}

fn random_unit(dim: usize, seed: u64) -> Vec<f64> {
    let mut x = normals(seed, dim);
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x /= length);
    x
}
