//! One instance of the problem: the quadratic, the start and the parameters of the preconditioner, all from a seed.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::learned::diagonal::{self, Diagonal, ROWS};
use crate::linalg::householder::Householder;
use crate::linalg::symmetric::Symmetric;
use crate::linalg::{Operator, TwoPass};
use crate::machine::Footprint;
use crate::parallel::ranks;
use crate::problems::quadratic;

/// The basis in which the spectrum stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Uniformly random; dense.
    Haar,
    /// A product of this many random reflections.
    Reflections(usize),
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Haar => f.write_str("haar"),
            Self::Reflections(count) => write!(f, "hh{count}"),
        }
    }
}

impl FromStr for Basis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = match text.strip_prefix("hh") {
            Some("") => Some(8),
            Some(count) => count
                .parse()
                .ok()
                .filter(|count| (1..=1000).contains(count)),
            None if text == "haar" => return Ok(Self::Haar),
            None => None,
        };
        count
            .map(Self::Reflections)
            .ok_or_else(|| "must be haar, or hhM with M from 1 to 1000".to_owned())
    }
}

impl Serialize for Basis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Description of an instance: it is built from a seed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InstanceSpec {
    /// d
    pub dim: usize,
    /// The basis of the spectrum.
    pub basis: Basis,
    /// Form the matrix even where the basis has a structure.
    #[serde(skip)]
    pub dense: bool,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Q, however it is stored.
#[derive(Clone, Debug)]
pub enum Matrix {
    /// By half.
    Dense(Symmetric),
    /// As reflections.
    Structured(Householder),
}

impl Operator for Matrix {
    fn dim(&self) -> usize {
        match self {
            Self::Dense(q) => q.dim(),
            Self::Structured(q) => q.dim(),
        }
    }
    fn scratch_len(&self) -> usize {
        match self {
            Self::Dense(q) => q.scratch_len(),
            Self::Structured(q) => q.scratch_len(),
        }
    }
    fn apply(&self, x: &[f64], out: &mut [f64], scratch: &mut [f64]) {
        match self {
            Self::Dense(q) => q.apply(x, out, scratch),
            Self::Structured(q) => q.apply(x, out, scratch),
        }
    }
    fn two_pass(&self) -> Option<&dyn TwoPass> {
        match self {
            Self::Dense(q) => q.two_pass(),
            Self::Structured(q) => q.two_pass(),
        }
    }
}

/// The instance itself.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The iteration to be stopped.
    pub system: Diagonal<Matrix>,
    /// θ
    pub theta: Vec<f64>,
    /// x0
    pub x0: Vec<f64>,
}

impl InstanceSpec {
    /// Makes the instance; refuses what does not fit into memory.
    pub fn build(&self) -> Result<Instance, String> {
        let &Self {
            dim,
            basis,
            dense,
            seed,
        } = self;
        self.footprint().check()?;
        let operator = match basis {
            Basis::Haar => Matrix::Dense(quadratic::haar(dim, seed)),
            Basis::Reflections(count) => {
                let q = quadratic::reflected(dim, count, seed);
                if dense {
                    Matrix::Dense(q.to_dense_over_ranks())
                } else {
                    Matrix::Structured(q)
                }
            }
        };
        Ok(Instance {
            system: Diagonal { operator },
            theta: diagonal::parameters(dim, seed),
            x0: quadratic::start(dim, seed),
        })
    }

    fn footprint(&self) -> Footprint {
        let &Self { dim, basis, .. } = self;
        let d = dim as f64;
        let number = size_of::<f64>() as f64;
        let problem = Footprint::of(format!("a problem of dimension {dim}")).with(
            "parameters, their gradients and states",
            [number, d, (4 * ROWS + 12) as f64],
            "use a smaller --dim",
        );
        let matrix = format!("a dense {dim} × {dim} matrix");
        match basis {
            // Half a matrix is kept. While it is made: the random numbers, their factors, the basis, scaled and not, and the product.
            Basis::Haar => problem.with(
                matrix,
                [number, 4.0, d, d],
                "use --basis hh8 (structured) or a smaller --dim",
            ),
            Basis::Reflections(count) => {
                // The reflections are there twice while they are made.
                let reflections = [number, d, 2.0, count as f64];
                let few = "use a smaller --dim, or fewer reflections of --basis";
                let problem = problem.with(format!("{count} reflections"), reflections, few);
                if !self.dense {
                    return problem;
                }
                problem
                    .with("corrections of reflections", reflections, few)
                    .with(
                        matrix,
                        [number, 0.5 / ranks::count() as f64, d, d],
                        "leave out --dense, use a smaller --dim, or more ranks on other machines",
                    )
            }
        }
    }

    /// True if the matrix is stored densely.
    pub fn is_dense(&self) -> bool {
        self.dense || self.basis == Basis::Haar
    }
}
