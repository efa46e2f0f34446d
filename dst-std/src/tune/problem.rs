//! Problems for tuning: an objective, a distribution of starting points and a Lipschitz constant.

use dst_core::Objective;

use crate::data::{Examples, Shape, synthetic};
use crate::linalg::largest_eigenvalue;
use crate::problems::{
    Form, Logistic, Margins, Rosenbrock, SmoothSvm, TOO_LARGE, minimise, quadratic,
};
use crate::random::{bits, normals};

/// Variables and reflections of the built-in quadratic.
const QUADRATIC: (usize, usize) = (100, 8);
/// The usual start on Rosenbrock's function.
const ROSENBROCK: [f64; 2] = [-1.2, 1.0];

/// The kinds of problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// ½xᵀQx in 100 variables, eigenvalues from 0.1 to 10.
    Quadratic,
    /// Logistic regression on a data set.
    Logistic,
    /// The smooth support vector machine on a data set.
    Svm,
    /// Rosenbrock's valley in two variables.
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
}

impl TuningProblem {
    /// Makes a built-in problem. Kinds that need data get a synthetic set of the size of a1a. The error is one sentence.
    pub fn built_in(kind: ProblemKind, regularisation: f64, seed: u64) -> Result<Self, String> {
        Ok(match kind {
            ProblemKind::Quadratic => {
                let (dim, reflections) = QUADRATIC;
                Self {
                    name: kind.name().to_owned(),
                    size: format!("{dim} variables"),
                    objective: Box::new(Form(quadratic::reflected(dim, reflections, seed))),
                    centre: vec![0.0; dim],
                    spread: 1.0,
                    lipschitz: quadratic::spectrum(dim).into_iter().fold(0.0, f64::max),
                }
            }
            ProblemKind::Rosenbrock => {
                let centre = ROSENBROCK.to_vec();
                let objective = Rosenbrock { dim: centre.len() };
                Self {
                    name: kind.name().to_owned(),
                    size: "2 variables".to_owned(),
                    lipschitz: curvature(&objective, &centre),
                    objective: Box::new(objective),
                    centre,
                    spread: 0.1,
                }
            }
            ProblemKind::Logistic | ProblemKind::Svm => {
                let examples = synthetic(Shape::A1A, seed);
                Self::on_data(kind, "synthetic", examples, regularisation)?
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
        })
    }

    /// Returns starting point number `index` of a stream.
    pub fn start(&self, stream: u64, index: usize) -> Vec<f64> {
        let mut x = normals(bits(stream, index as u64), self.centre.len());
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
        let (a, b) = (problem.start(1, 0), problem.start(1, 1));
        assert!(a != b && a == problem.start(1, 0) && a != problem.start(2, 0));
        for (a, centre) in a.iter().zip(&problem.centre) {
            assert!((a - centre).abs() < 0.6, "{a}");
        }
    }
}
