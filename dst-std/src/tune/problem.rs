//! Problems for tuning: an objective, a distribution of starting points and a Lipschitz constant.

use dst_core::Objective;

use crate::data::{Examples, Shape, synthetic};
use crate::linalg::largest_eigenvalue;
use crate::machine::Footprint;
use crate::problems::{
    Form, Logistic, Margins, Rosenbrock, SmoothSvm, TOO_LARGE, minimise, quadratic,
};
use crate::random::normals;

/// Variables and reflections of the built-in quadratic.
const QUADRATIC: (usize, usize) = (100, 8);
/// The usual start on Rosenbrock's function.
const ROSENBROCK: [f64; 2] = [-1.2, 1.0];
/// L of Rosenbrock's chain in more variables, between the curvature at the starts and at the minimum.
const CHAIN_LIPSCHITZ: f64 = 1400.0;

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// ½xᵀQx, eigenvalues from 0.1 to 10; 100 variables unless another number is given.
    Quadratic,
    /// Logistic regression on a data set.
    Logistic,
    /// The smooth support vector machine on a data set.
    Svm,
    /// Rosenbrock's valley; two variables unless another number is given.
    Rosenbrock,
}

impl ProblemKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Quadratic, Self::Logistic, Self::Svm, Self::Rosenbrock];

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quadratic => "quadratic",
            Self::Logistic => "logistic",
            Self::Svm => "svm",
            Self::Rosenbrock => "rosenbrock",
        }
    }

    /// True if the problem is made from a data set.
    pub fn wants_data(self) -> bool {
        matches!(self, Self::Logistic | Self::Svm)
    }
}

/// A problem to tune a method on. Runs start at `centre` + `spread`·normal numbers.
pub struct TuningProblem {
    /// One word for file names and headings.
    pub name: String,
    /// The size as text: `1605 × 120`.
    pub size: String,
    /// f
    pub objective: Box<dyn Objective<f64> + Send + Sync>,
    /// The mean of the starting points.
    pub centre: Vec<f64>,
    /// The standard deviation of the starting points.
    pub spread: f64,
    /// L: a bound on the curvature, or the curvature at the centre. The textbook's step is 1/L.
    pub lipschitz: f64,
    /// The extreme eigenvalues (μ, L) of a quadratic.
    pub extremes: Option<(f64, f64)>,
}

impl TuningProblem {
    /// Makes a built-in problem of its usual size. Kinds that need data get a synthetic set of the size of a1a. The error is one
    /// sentence.
    pub fn built_in(kind: ProblemKind, regularisation: f64, seed: u64) -> Result<Self, String> {
        match kind {
            ProblemKind::Quadratic => Self::of_size(kind, QUADRATIC.0, seed),
            ProblemKind::Rosenbrock => Self::of_size(kind, ROSENBROCK.len(), seed),
            ProblemKind::Logistic | ProblemKind::Svm => {
                let examples = synthetic(Shape::A1A, seed);
                Self::on_data(kind, "synthetic", examples, regularisation)
            }
        }
    }

    /// Makes a quadratic or Rosenbrock's function in `dim` variables. The error is one sentence.
    pub fn of_size(kind: ProblemKind, dim: usize, seed: u64) -> Result<Self, String> {
        if dim < 2 {
            return Err(format!(
                "the problem '{}' has at least 2 variables",
                kind.name()
            ));
        }
        // Random numbers, reflections and their factors, the centre and the vectors that L takes.
        Footprint::of(format!("the problem '{}'", kind.name()))
            .with(
                format!("{dim} variables"),
                [
                    size_of::<f64>() as f64,
                    dim as f64,
                    (3 * QUADRATIC.1 + 8) as f64,
                ],
                "lower --dim",
            )
            .check()?;
        let named = |centre, spread, lipschitz, extremes, objective| Self {
            name: kind.name().to_owned(),
            size: format!("{dim} variables"),
            objective,
            centre,
            spread,
            lipschitz,
            extremes,
        };
        Ok(match kind {
            ProblemKind::Quadratic => {
                let (_, reflections) = QUADRATIC;
                let spectrum = quadratic::spectrum(dim);
                let least = spectrum.iter().copied().fold(f64::INFINITY, f64::min);
                let most = spectrum.into_iter().fold(0.0, f64::max);
                let form = Form(quadratic::reflected(dim, reflections, seed));
                let extremes = Some((least, most));
                named(vec![0.0; dim], 1.0, most, extremes, Box::new(form))
            }
            ProblemKind::Rosenbrock if dim > 2 => {
                let objective = Box::new(Rosenbrock { dim });
                named(vec![0.8; dim], 0.02, CHAIN_LIPSCHITZ, None, objective)
            }
            ProblemKind::Rosenbrock => {
                let (objective, centre) = (Rosenbrock { dim }, ROSENBROCK.to_vec());
                let lipschitz = curvature(&objective, &centre);
                named(centre, 0.1, lipschitz, None, Box::new(objective))
            }
            ProblemKind::Logistic | ProblemKind::Svm => {
                return Err(format!("the size of '{}' is that of its data", kind.name()));
            }
        })
    }

    /// Makes logistic regression or the smooth SVM on these examples. The error is one sentence.
    pub fn on_data(
        kind: ProblemKind,
        name: &str,
        examples: Examples,
        regularisation: f64,
    ) -> Result<Self, String> {
        let margins = Margins::new(examples).map_err(|error| format!("{name}: {error}"))?;
        let (rows, dim) = (margins.rows(), margins.dim());
        let (objective, lipschitz): (Box<dyn Objective<f64> + Send + Sync>, f64) = match kind {
            ProblemKind::Logistic => {
                let problem = Logistic::new(margins, regularisation);
                let lipschitz = problem.lipschitz();
                (Box::new(problem), lipschitz)
            }
            ProblemKind::Svm => {
                let problem = SmoothSvm::new(margins, regularisation);
                let lipschitz = problem.lipschitz();
                (Box::new(problem), lipschitz)
            }
            ProblemKind::Quadratic | ProblemKind::Rosenbrock => {
                return Err(format!("the problem '{}' uses no data set", kind.name()));
            }
        };
        if !lipschitz.is_finite() {
            return Err(format!("{name}: {TOO_LARGE}"));
        }
        Ok(Self {
            name: format!("{name}-{}", kind.name()),
            size: format!("{rows} × {dim}"),
            objective,
            centre: vec![0.0; dim],
            spread: 0.1,
            lipschitz,
            extremes: None,
        })
    }

    /// Returns the starting point with this key.
    pub fn start(&self, key: u64) -> Vec<f64> {
        let mut x = normals(key, self.centre.len());
        for (x, centre) in x.iter_mut().zip(&self.centre) {
            *x = centre + self.spread * *x;
        }
        x
    }

    /// Computes min f, starting from the centre.
    pub fn least(&self) -> f64 {
        minimise(&&*self.objective, &self.centre, 1e-10).f
    }
}

/// Computes the eigenvalue of the Hessian at x with the largest modulus.
fn curvature(objective: &dyn Objective<f64>, x: &[f64]) -> f64 {
    let (mut gradient, mut tape) = (vec![0.0; x.len()], vec![0.0; objective.tape_len()]);
    let mut scratch = vec![0.0; objective.scratch_len()];
    objective.value_gradient(x, &mut gradient, &mut tape, &mut scratch);
    largest_eigenvalue(x.len(), |v, out| {
        out.fill(0.0);
        objective.add_hessian_vector(x, v, &tape, out, &mut scratch);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lipschitz_constants_are_those_computed_by_hand() {
        let l = |kind| TuningProblem::built_in(kind, 0.0, 1).unwrap().lipschitz;
        assert!((l(ProblemKind::Quadratic) - 10.0).abs() < 1e-12);
        // 1330 and 200 on the diagonal, 480 beside it.
        let exact = 765.0 + (565.0_f64 * 565.0 + 480.0 * 480.0).sqrt();
        assert!((l(ProblemKind::Rosenbrock) / exact - 1.0).abs() < 1e-12);
        assert!((l(ProblemKind::Svm) / l(ProblemKind::Logistic) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn starts_are_spread_around_the_centre() {
        let problem = TuningProblem::built_in(ProblemKind::Rosenbrock, 0.0, 1).unwrap();
        let (a, b) = (problem.start(1), problem.start(2));
        assert!(a != b && a == problem.start(1));
        for (a, centre) in a.iter().zip(&problem.centre) {
            assert!((a - centre).abs() < 0.6, "{a}");
        }
    }
}
