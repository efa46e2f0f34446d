//! The smooth SVM of a data set, with a starting point: what every method runs on.

use std::fmt;
use std::path::Path;

use dst_core::{Error, Objective};

use super::Comparison;
use super::grid::Setting;
use super::run::{Limits, Run};
use crate::data::{DataSet, data_folder, load, read_vector};
use crate::problems::{Margins, SmoothSvm, TOO_LARGE, minimise};
use crate::random::normals;

/// A problem to compare methods on.
#[derive(Clone, Debug)]
pub struct Problem {
    name: String,
    synthetic: bool,
    svm: SmoothSvm,
    regularisation: f64,
    lipschitz: f64,
    x0: Vec<f64>,
}

/// Why there is none; one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemError(String);

impl fmt::Display for ProblemError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ProblemError {}

impl Problem {
    /// From a file or a name. Starts where `x0_NAME.txt` beside the file says, else at a random point of unit length, as the
    /// paper's code does.
    pub fn load(name: &str, regularisation: f64, seed: u64) -> Result<Self, ProblemError> {
        let data = load(name, data_folder().as_deref()).map_err(ProblemError)?;
        Self::new(data, regularisation, seed)
    }

    /// From a data set at hand.
    pub fn new(data: DataSet, regularisation: f64, seed: u64) -> Result<Self, ProblemError> {
        let DataSet {
            name,
            examples,
            x0,
            synthetic,
        } = data;
        let margins =
            Margins::new(examples).map_err(|error| ProblemError(format!("{name}: {error}")))?;
        let dim = margins.dim();
        let svm = SmoothSvm::new(margins, regularisation);
        let lipschitz = svm.lipschitz();
        if !lipschitz.is_finite() {
            return Err(ProblemError(format!("{name}: {TOO_LARGE}")));
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

    /// With the starting point in this file.
    pub fn starting_from(self, path: &Path) -> Result<Self, ProblemError> {
        let x0 = read_vector(path).map_err(ProblemError)?;
        self.starting_at(x0, &path.display().to_string())
    }

    fn starting_at(self, x0: Vec<f64>, source: &str) -> Result<Self, ProblemError> {
        if x0.len() != self.svm.dim() {
            return Err(ProblemError(format!(
                "{source} has {} numbers, but {} has {} variables ({} features and the intercept)",
                x0.len(),
                self.name,
                self.svm.dim(),
                self.svm.dim() - 1
            )));
        }
        Ok(Self { x0, ..self })
    }

    /// The name of the data set.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Made up, because there was no file?
    pub fn is_synthetic(&self) -> bool {
        self.synthetic
    }

    /// The objective.
    pub fn svm(&self) -> &SmoothSvm {
        &self.svm
    }

    /// L, a Lipschitz constant of ∇f.
    pub fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    /// reg
    pub fn regularisation(&self) -> f64 {
        self.regularisation
    }

    /// The starting point.
    pub fn x0(&self) -> &[f64] {
        &self.x0
    }

    /// One run.
    pub fn run(&self, setting: Setting, limits: Limits) -> Result<Run, Error> {
        Run::new(&self.svm, setting.method, setting.alpha, &self.x0, limits)
    }

    /// f*, to about ten digits.
    pub fn minimum(&self) -> f64 {
        minimise(&self.svm, &self.x0, 1e-10).f
    }

    /// f(x0)
    pub fn start(&self) -> f64 {
        let mut gradient = vec![0.0; self.svm.dim()];
        let mut tape = vec![0.0; self.svm.tape_len()];
        let mut scratch = vec![0.0; self.svm.scratch_len()];
        self.svm
            .value_gradient(&self.x0, &mut gradient, &mut tape, &mut scratch)
    }

    pub(super) fn comparison(&self, runs: Vec<Run>) -> Comparison {
        Comparison {
            name: self.name.clone(),
            synthetic: self.synthetic,
            rows: self.svm.margins().rows(),
            dim: self.svm.dim(),
            nonzeros: self.svm.margins().nonzeros(),
            lipschitz: self.lipschitz,
            f0: self.start(),
            f_min: self.minimum(),
            runs,
        }
    }
}

fn random_unit(dim: usize, seed: u64) -> Vec<f64> {
    let mut x = normals(seed, dim);
    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    x.iter_mut().for_each(|x| *x /= length);
    x
}
