//! Model of a plant: x⁺ = Ax + Bu, weights, bounds, a horizon.

use std::fmt;

use dst_core::qp::{Shape, Tolerance};
use serde::{Deserialize, Serialize};

use super::matrix::Matrix;
use super::pool::Pool;
use super::program::Program;
use crate::random::{bits, uniform};

/// A linear plant with a quadratic cost and bounds. All vectors and matrices in the plant's own units.
///
/// The cost is ½Σ(xᵀQx + uᵀRu) over the horizon, with the solution of the Riccati equation as the weight of the last state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// A, row by row.
    pub a: Vec<Vec<f64>>,
    /// B, row by row.
    pub b: Vec<Vec<f64>>,
    /// The diagonal of Q.
    pub q: Vec<f64>,
    /// The diagonal of R.
    pub r: Vec<f64>,
    /// Bounds of every input: lower, upper.
    pub inputs: Vec<(f64, f64)>,
    /// Bounded states: which, lower, upper.
    #[serde(default)]
    pub states: Vec<(usize, f64, f64)>,
    /// Ticks start anywhere within plus or minus this: where the controller is tuned.
    pub start: Vec<f64>,
    /// Stages.
    pub horizon: usize,
    /// ε_p: how far a bound may be missed.
    pub primal_tolerance: f64,
    /// ε_d: what may be left of the gradient of the cost.
    pub dual_tolerance: f64,
}

/// Fault of a model, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(String);

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

/// The longest horizon that is accepted; beyond it K would have millions of entries.
const MOST_VARIABLES: usize = 512;

fn matrix(name: &str, rows: &[Vec<f64>], shape: (usize, usize)) -> Result<Matrix, ModelError> {
    let fits = rows.len() == shape.0 && rows.iter().all(|row| row.len() == shape.1);
    if !fits {
        return Err(ModelError(format!(
            "{name} must have {} rows of {} numbers",
            shape.0, shape.1
        )));
    }
    finite(name, rows.iter().flatten().copied())?;
    Ok(Matrix::from_fn(shape.0, shape.1, |i, j| rows[i][j]))
}

/// True if all of them are finite on the device.
fn single(values: impl IntoIterator<Item = f64>) -> bool {
    values.into_iter().all(|v| (v as f32).is_finite())
}

fn finite(name: &str, values: impl IntoIterator<Item = f64>) -> Result<(), ModelError> {
    match single(values) {
        true => Ok(()),
        false => Err(ModelError(format!(
            "{name} must be finite in single precision"
        ))),
    }
}

fn ordered(name: &str, bounds: impl IntoIterator<Item = (f64, f64)>) -> Result<(), ModelError> {
    // Asked this way round, a NaN is out of order.
    match bounds.into_iter().all(|(lower, upper)| lower <= upper) {
        true => Ok(()),
        false => Err(ModelError(format!(
            "{name} need a lower bound that is not above the upper"
        ))),
    }
}

impl Model {
    /// Reads a model from JSON; the error is one sentence.
    pub fn from_json(text: &str) -> Result<Self, ModelError> {
        serde_json::from_str(text).map_err(|e| ModelError(format!("not a model: {e}")))
    }

    fn check(&self) -> Result<(Matrix, Matrix), ModelError> {
        let (states, inputs) = (self.a.len(), self.r.len());
        let complain = |text: &str| Err(ModelError(text.to_owned()));
        if states == 0 || inputs == 0 {
            return complain("a model needs at least one state and one input");
        }
        let a = matrix("a", &self.a, (states, states))?;
        let b = matrix("b", &self.b, (states, inputs))?;
        if self.q.len() != states {
            return complain("q must have a number for every state");
        }
        if !self.q.iter().all(|q| (0.0..f64::INFINITY).contains(q)) {
            return complain("q must be finite and not negative");
        }
        if !self.r.iter().all(|r| *r > 0.0 && r.is_finite()) {
            return complain("r must be positive and finite");
        }
        if self.start.len() != states || !self.start.iter().all(|s| *s >= 0.0 && s.is_finite()) {
            return complain("start must have a number that is not negative for every state");
        }
        if self.inputs.len() != inputs {
            return complain("inputs must have a pair of bounds for every input");
        }
        ordered("inputs", self.inputs.iter().copied())?;
        ordered("states", self.states.iter().map(|s| (s.1, s.2)))?;
        if self.states.iter().any(|s| s.0 >= states) {
            return complain("states must name states of the plant, counted from 0");
        }
        if inputs > MOST_VARIABLES {
            return Err(ModelError(format!(
                "a model may have at most {MOST_VARIABLES} inputs"
            )));
        }
        // Asked this way round, nothing overflows.
        if self.horizon == 0 || self.horizon > MOST_VARIABLES / inputs {
            return Err(ModelError(format!(
                "horizon must be from 1 to {}",
                MOST_VARIABLES / inputs
            )));
        }
        for (name, value) in [
            ("primal_tolerance", self.primal_tolerance),
            ("dual_tolerance", self.dual_tolerance),
        ] {
            let value = value as f32;
            if !(value > 0.0 && value.is_finite()) {
                return Err(ModelError(format!(
                    "{name} must be a positive number in single precision"
                )));
            }
        }
        Ok((a, b))
    }

    /// The condensed program.
    pub fn program(&self) -> Result<Program<f64>, ModelError> {
        let (a, b) = self.check()?;
        let q = Matrix::diagonal(&self.q);
        let r = Matrix::diagonal(&self.r);
        let terminal = riccati(&a, &b, &q, &r).ok_or_else(|| {
            ModelError(
                "the Riccati equation has no solution: can the inputs stabilise the plant?"
                    .to_owned(),
            )
        })?;
        let (states, inputs, stages) = (a.rows, b.columns, self.horizon);
        let shape = Shape {
            inputs,
            outputs: self.states.len(),
            stages,
            blocks: 1,
        };
        let n = shape.variables();
        // x_{k+1} = powers[k + 1]·x0 + Σ_j powers[k − j]·B·u_j
        let mut powers = vec![Matrix::identity(states)];
        for k in 0..stages {
            powers.push(a.times(&powers[k]));
        }
        let effects: Vec<Matrix> = powers.iter().take(stages).map(|p| p.times(&b)).collect();
        // The weights seen from the inputs: for stage k, ∂x_{k+1}/∂u is a row of blocks.
        let weight = |k: usize| if k + 1 == stages { &terminal } else { &q };
        let mut hessian = vec![0.0; n * n];
        let mut linear = vec![0.0; n * states];
        for k in 0..stages {
            for i in 0..=k {
                let left = effects[k - i].transposed().times(weight(k));
                let product = left.times(&powers[k + 1]);
                for u in 0..inputs {
                    for x in 0..states {
                        linear[x * n + i * inputs + u] += product.at(u, x);
                    }
                }
                for j in 0..=k {
                    let product = left.times(&effects[k - j]);
                    for u in 0..inputs {
                        for v in 0..inputs {
                            hessian[(i * inputs + u) * n + j * inputs + v] += product.at(u, v);
                        }
                    }
                }
            }
        }
        for i in 0..n {
            hessian[i * n + i] += self.r[i % inputs];
        }
        let mut outputs = Vec::with_capacity(shape.output_entries());
        for j in 0..n {
            for k in j / inputs..stages {
                let effect = &effects[k - j / inputs];
                outputs.extend(self.states.iter().map(|s| effect.at(s.0, j % inputs)));
            }
        }
        let free = (0..states).flat_map(|x| {
            let powers = &powers;
            (1..=stages).flat_map(move |k| {
                let rows = self.states.iter();
                rows.map(move |s| powers[k].at(s.0, x))
            })
        });
        let bounds = || {
            let inputs = self.inputs.iter().copied();
            inputs.chain(self.states.iter().map(|s| (s.1, s.2)))
        };
        let free: Vec<f64> = match self.states.is_empty() {
            true => Vec::new(),
            false => free.collect(),
        };
        let numbers = [&hessian, &outputs, &linear, &free];
        if !single(numbers.into_iter().flatten().copied()) {
            return Err(ModelError(
                "the cost over the horizon is not finite in single precision; take other units or a shorter horizon"
                    .to_owned(),
            ));
        }
        Ok(Program {
            shape,
            states,
            hessian,
            outputs,
            linear,
            free,
            lower: bounds().map(|b| b.0).collect(),
            upper: bounds().map(|b| b.1).collect(),
            tolerance: Tolerance {
                primal: self.primal_tolerance,
                dual: self.dual_tolerance,
                dual_relative: 0.0,
            },
        })
    }
}

impl Model {
    /// A and B, row by row.
    pub(crate) fn plant(&self) -> (Vec<f64>, Vec<f64>) {
        let flat = |rows: &[Vec<f64>]| rows.iter().flatten().copied().collect();
        (flat(&self.a), flat(&self.b))
    }

    /// Random ticks: anywhere within `start`, times a scale of 0.05–1.
    pub fn ticks(&self, program: &Program<f64>, seed: u64, count: usize) -> Pool<f64> {
        let tick = |i: u64| {
            let stream = bits(seed, i);
            let scale = 0.05 + 0.95 * uniform(stream, 0);
            let side = |j: usize| 2.0 * uniform(stream, j as u64 + 1) - 1.0;
            let x = self
                .start
                .iter()
                .enumerate()
                .map(|(j, s)| scale * s * side(j));
            (x.collect(), Vec::new())
        };
        Pool::of_states(program, (0..count as u64).map(tick))
    }
}

/// P = Q + AᵀPA − AᵀPB(R + BᵀPB)⁻¹BᵀPA, by iteration from Q.
fn riccati(a: &Matrix, b: &Matrix, q: &Matrix, r: &Matrix) -> Option<Matrix> {
    let (at, bt) = (a.transposed(), b.transposed());
    let mut p = q.clone();
    for _ in 0..100_000 {
        let pa = p.times(a);
        let gain = r.plus(&bt.times(&p).times(b)).inverse()?;
        let cross = bt.times(&pa);
        let next = q
            .plus(&at.times(&pa))
            .minus(&cross.transposed().times(&gain).times(&cross));
        // The difference of symmetric terms is so to rounding; without this the error would grow.
        let next = Matrix::from_fn(p.rows, p.rows, |i, j| 0.5 * (next.at(i, j) + next.at(j, i)));
        if !next.entries.iter().all(|e| e.is_finite()) {
            return None;
        }
        let scale = next.entries.iter().fold(1.0, |m: f64, e| m.max(e.abs()));
        if next.distance(&p) <= 1e-13 * scale {
            return Some(next);
        }
        p = next;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scalar_riccati_equation_has_a_closed_form() {
        // p = q + a²p − a²p²b²/(r + b²p): b²p² + (r − q·b² − a²·r)p − q·r = 0
        let (a, b, q, r) = (1.2, 0.5, 2.0, 0.7);
        let one = |v: f64| Matrix::from_fn(1, 1, |_, _| v);
        let found = riccati(&one(a), &one(b), &one(q), &one(r))
            .unwrap()
            .at(0, 0);
        let half: f64 = (r - q * b * b - a * a * r) / (2.0 * b * b);
        let exact = -half + (half * half + q * r / (b * b)).sqrt();
        assert!((found - exact).abs() < 1e-11, "{found} {exact}");
        assert!(riccati(&one(2.0), &one(0.0), &one(1.0), &one(1.0)).is_none());
    }
}
