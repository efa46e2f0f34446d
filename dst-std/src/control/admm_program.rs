//! The condensed program of a model as ADMM takes it.
//!
//! A plant whose powers stay small over the horizon is condensed in its inputs: identity rows are the cheapest ones, and H and F come
//! from sums of products of powers of A. A plant that grows by more than [`GROWTH`] over the horizon is condensed in v of `condense`: the identity rows have no
//! bounds then, and the real inputs are outputs. Always taking v would give every program an output row per input and stage, that
//! is up to twice the work of an iteration, for nothing.

use dst_core::qp::{Shape, Tolerance};

use super::condense::{Condensed, not_finite};
use super::matrix::Matrix;
use super::model::{Checked, Limits, Model, ModelError, single};
use super::program::Program;

/// Growth |λ|^horizon of the plant above which it is prestabilised.
const GROWTH: f64 = 2.0;

/// Default primal tolerance, as a part of the narrowest half width of bounds.
const PART: f64 = 1e-3;

impl Model {
    /// The condensed program for ADMM. Its `states` are the parameters of a tick: state, set-points, previous input.
    ///
    /// All bounds are hard in it. For a plant that is unstable over the horizon its variables are v, see [`Self::input_map`].
    pub fn program(&self) -> Result<Program<f64>, ModelError> {
        let checked = self.check()?;
        let program = match self.is_prestabilised(&checked) {
            true => self.in_feedback_variables(&checked)?,
            false => self.in_inputs(&checked),
        };
        let numbers = [
            &program.hessian,
            &program.outputs,
            &program.linear,
            &program.free,
        ];
        match single(numbers.into_iter().flatten().copied()) {
            true => Ok(program),
            false => Err(not_finite()),
        }
    }

    /// Map from the parameter p to the inputs, inputs × parameters, row by row, if the variables of [`program`](Self::program) are v:
    /// the input to apply is v_0 plus this map times p. `None` if the variables are the inputs.
    pub fn input_map(&self) -> Result<Option<Vec<f64>>, ModelError> {
        let checked = self.check()?;
        if !self.is_prestabilised(&checked) {
            return Ok(None);
        }
        let condensed = self.condense(&checked)?;
        let rows = checked.b.columns * condensed.response.columns;
        Ok(Some(condensed.response.entries[..rows].to_vec()))
    }

    fn is_prestabilised(&self, checked: &Checked) -> bool {
        let logarithm = libm::log(checked.a.spectral_radius());
        logarithm * self.horizon as f64 > libm::log(GROWTH)
    }

    fn in_feedback_variables(&self, checked: &Checked) -> Result<Program<f64>, ModelError> {
        let condensed = self.condense(checked)?;
        let Condensed {
            stages,
            response,
            rows,
            kinds,
            ..
        } = &condensed;
        let inputs = checked.b.columns;
        let shape = Shape {
            inputs,
            outputs: *kinds,
            stages: self.horizon,
            blocks: 1,
        };
        let n = shape.variables();
        let mut hessian = vec![0.0; n * n];
        for (k, stage) in stages.iter().enumerate() {
            for i in 0..inputs {
                for j in 0..inputs {
                    hessian[(k * inputs + i) * n + k * inputs + j] = stage.hessian.at(i, j);
                }
            }
        }
        let outputs =
            (0..n).flat_map(|j| (j / inputs * kinds..rows.rows).map(move |i| rows.at(i, j)));
        let free =
            (0..response.columns).flat_map(|j| (0..response.rows).map(move |i| response.at(i, j)));
        let bounds = std::iter::repeat_n(Limits::FREE, inputs).chain(self.limits(checked));
        let tolerance = self.tolerance(checked, &hessian);
        Ok(Program {
            shape,
            states: self.parameters(),
            outputs: outputs.collect(),
            linear: Vec::new(),
            free: free.collect(),
            lower: bounds.clone().map(|b| b.lower).collect(),
            upper: bounds.map(|b| b.upper).collect(),
            tolerance,
            hessian,
        })
    }

    fn in_inputs(&self, checked: &Checked) -> Program<f64> {
        let Checked {
            a,
            b,
            q,
            r,
            terminal,
            references,
            rates,
            ..
        } = checked;
        let (states, inputs, stages) = (a.rows, b.columns, self.horizon);
        let width = self.parameters();
        let bounded = checked.outputs.len();
        let shape = Shape {
            inputs,
            outputs: bounded + rates.len(),
            stages,
            blocks: 1,
        };
        let n = shape.variables();
        // x_{k+1} = powers[k + 1]·x0 + Σ_j powers[k − j]·B·u_j
        let mut powers = vec![Matrix::identity(states)];
        for k in 0..stages {
            powers.push(a.times(&powers[k]));
        }
        let effects: Vec<Matrix> = powers.iter().take(stages).map(|p| p.times(b)).collect();
        // The weights seen from the inputs: for stage k, ∂x_{k+1}/∂u is a row of blocks.
        let weight = |k: usize| if k + 1 == stages { terminal } else { q };
        let mut hessian = vec![0.0; n * n];
        let mut linear = vec![0.0; n * width];
        for k in 0..stages {
            for i in 0..=k {
                let left = effects[k - i].transposed().times(weight(k));
                let product = left.times(&powers[k + 1]);
                let pull = left.times(references);
                for u in 0..inputs {
                    let place = i * inputs + u;
                    for x in 0..states {
                        linear[x * n + place] += product.at(u, x);
                    }
                    for x in 0..references.columns {
                        linear[(states + x) * n + place] -= pull.at(u, x);
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
            for j in 0..inputs {
                hessian[i * n + i / inputs * inputs + j] += r.at(i % inputs, j);
            }
        }
        let c = Matrix::from_fn(bounded, states, |i, j| checked.outputs[i].c[j]);
        let moved: Vec<Matrix> = effects.iter().map(|e| c.times(e)).collect();
        let mut outputs = Vec::with_capacity(shape.output_entries());
        for j in 0..n {
            let (stage, input) = (j / inputs, j % inputs);
            for k in stage..stages {
                let effect = &moved[k - stage];
                outputs.extend((0..bounded).map(|i| effect.at(i, input)));
                let slope = if k == stage {
                    1.0
                } else if k == stage + 1 {
                    -1.0
                } else {
                    0.0
                };
                outputs.extend(rates.iter().map(|&i| if i == input { slope } else { 0.0 }));
            }
        }
        let mut free = Vec::new();
        if shape.outputs > 0 {
            let seen: Vec<Matrix> = powers.iter().skip(1).map(|p| c.times(p)).collect();
            for x in 0..width {
                for (k, seen) in seen.iter().enumerate() {
                    let column = |i: usize| if x < states { seen.at(i, x) } else { 0.0 };
                    free.extend((0..bounded).map(column));
                    let previous = x.checked_sub(states + references.columns);
                    let first = |i: &usize| f64::from(k == 0 && Some(*i) == previous);
                    free.extend(rates.iter().map(|i| 0.0 - first(i)));
                }
            }
        }
        let bounds = self.limits(checked);
        let tolerance = self.tolerance(checked, &hessian);
        Program {
            shape,
            states: width,
            hessian,
            outputs,
            linear,
            free,
            lower: bounds.iter().map(|b| b.lower).collect(),
            upper: bounds.iter().map(|b| b.upper).collect(),
            tolerance,
        }
    }

    /// The tolerances of the model, or the default ones.
    fn tolerance(&self, checked: &Checked, hessian: &[f64]) -> Tolerance<f64> {
        let widths = self
            .limits(checked)
            .into_iter()
            .map(|b| 0.5 * (b.upper - b.lower));
        let narrowest = widths
            .filter(|w| w.is_finite() && *w > 0.0)
            .fold(f64::INFINITY, f64::min);
        let narrowest = if narrowest.is_finite() {
            narrowest
        } else {
            1.0
        };
        let primal = self.primal_tolerance.unwrap_or(PART * narrowest);
        let size = hessian.len().isqrt();
        let diagonal = hessian.iter().step_by(size + 1);
        let least = diagonal.fold(f64::INFINITY, |m, &h| m.min(h));
        Tolerance {
            primal,
            dual: self.dual_tolerance.unwrap_or(primal * least),
            dual_relative: 0.0,
        }
    }
}
