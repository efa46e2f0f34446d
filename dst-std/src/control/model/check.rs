//! Checks of a model: every refusal is one sentence that names the field and the remedy.

use super::{Limits, Model, ModelError, Softness, Start, Terminal};
use crate::control::matrix::Matrix;
use crate::control::riccati::{NoGain, riccati};

/// The most variables, inputs times stages; beyond it the tables would have millions of entries.
const MOST_VARIABLES: usize = 512;

/// The most rows, kinds times stages.
const MOST_ROWS: usize = 2048;

/// A bounded linear function of the state after a stage.
#[derive(Clone, Debug)]
pub(crate) struct OutputRow {
    pub(crate) c: Vec<f64>,
    pub(crate) limits: Limits,
    pub(crate) soft: Softness,
    pub(crate) name: String,
}

/// Matrices and rows of a model that passed all checks.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    pub(crate) a: Matrix,
    pub(crate) b: Matrix,
    pub(crate) q: Matrix,
    pub(crate) r: Matrix,
    pub(crate) terminal: Matrix,
    /// Column j has a one at the state of reference j.
    pub(crate) references: Matrix,
    /// Bounded states, then outputs.
    pub(crate) outputs: Vec<OutputRow>,
    /// Inputs with a rate bound.
    pub(crate) rates: Vec<usize>,
}

fn refuse<T>(text: impl Into<String>) -> Result<T, ModelError> {
    Err(ModelError::new(text))
}

pub(super) fn matrix(
    name: &str,
    rows: &[Vec<f64>],
    shape: (usize, usize),
) -> Result<Matrix, ModelError> {
    let fits = rows.len() == shape.0 && rows.iter().all(|row| row.len() == shape.1);
    if !fits {
        return refuse(format!(
            "{name} must have {} rows of {} numbers",
            shape.0, shape.1
        ));
    }
    finite(name, rows.iter().flatten().copied())?;
    Ok(Matrix::from_fn(shape.0, shape.1, |i, j| rows[i][j]))
}

/// True if all of them are finite on the device.
pub(crate) fn single(values: impl IntoIterator<Item = f64>) -> bool {
    values.into_iter().all(|v| (v as f32).is_finite())
}

fn finite(name: &str, values: impl IntoIterator<Item = f64>) -> Result<(), ModelError> {
    match single(values) {
        true => Ok(()),
        false => refuse(format!(
            "{name} must be finite in single precision; take other units"
        )),
    }
}

/// Bounds in order. One beyond the numbers of single precision is none.
fn ordered(name: &str, bounds: impl IntoIterator<Item = Limits>) -> Result<(), ModelError> {
    for Limits { lower, upper } in bounds {
        let missing = lower == f64::INFINITY || upper == f64::NEG_INFINITY;
        if lower.is_nan() || upper.is_nan() || lower > upper || missing {
            return refuse(format!(
                "{name} need a lower bound that is not above the upper"
            ));
        }
    }
    Ok(())
}

/// Numbers for every state, none negative; or no number at all.
fn deviations(name: &str, values: &[f64], states: usize) -> Result<(), ModelError> {
    let fits = values.len() == states && values.iter().all(|v| *v >= 0.0 && v.is_finite());
    match fits || values.is_empty() {
        true => Ok(()),
        false => refuse(format!(
            "{name} must have a standard deviation that is not negative for every state, {states}"
        )),
    }
}

impl Model {
    /// Checks everything that can be wrong, and solves the Riccati equation if it is needed.
    pub(crate) fn check(&self) -> Result<Checked, ModelError> {
        let (states, inputs) = (self.state_count(), self.input_count());
        if states == 0 || inputs == 0 {
            return refuse("a and b need at least one state and one input");
        }
        if inputs > MOST_VARIABLES {
            return refuse(format!("b may have at most {MOST_VARIABLES} inputs"));
        }
        let a = matrix("a", &self.a, (states, states))?;
        let b = matrix("b", &self.b, (states, inputs))?;
        let q = self.q.matrix("q", states, "state", false)?;
        let r = self.r.matrix("r", inputs, "input", true)?;
        self.check_start(states)?;
        self.check_inputs(inputs)?;
        let outputs = self.output_rows(states)?;
        deviations("noise", &self.noise, states)?;
        deviations("disturbance", &self.disturbance, states)?;
        self.check_names(states, inputs)?;
        let rates: Vec<usize> = (0..self.rates.len())
            .filter(|&i| !self.rates[i].is_free())
            .collect();
        self.check_sizes(inputs, inputs + outputs.len() + rates.len())?;
        for (name, value) in [
            ("primal_tolerance", self.primal_tolerance),
            ("dual_tolerance", self.dual_tolerance),
        ] {
            let fits = |v: f64| v as f32 > 0.0 && (v as f32).is_finite();
            if !value.is_none_or(fits) {
                return refuse(format!(
                    "{name} must be a positive number in single precision; leave it out for the default"
                ));
            }
        }
        let terminal = match &self.terminal {
            Terminal::Given(weight) => weight.matrix("terminal", states, "state", false)?,
            Terminal::Riccati => riccati(&a, &b, &q, &r).map_err(no_gain)?,
        };
        let references = self.reference_columns(&q, &terminal)?;
        Ok(Checked {
            a,
            b,
            q,
            r,
            terminal,
            references,
            outputs,
            rates,
        })
    }

    fn check_start(&self, states: usize) -> Result<(), ModelError> {
        match &self.start {
            Start::Within(half) => {
                if half.len() != states || !half.iter().all(|s| *s >= 0.0 && s.is_finite()) {
                    return refuse(format!(
                        "start must have a number that is not negative for every state, {states}"
                    ));
                }
            }
            Start::Box { lower, upper } => {
                let finite = lower.iter().chain(upper).all(|v| v.is_finite());
                let sizes = lower.len() == states && upper.len() == states;
                if !sizes || !finite || lower.iter().zip(upper).any(|(l, u)| l > u) {
                    return refuse(format!(
                        "start: the box must have {states} finite lower ends that are not above its {states} upper ends"
                    ));
                }
            }
            Start::File { file, states: rows } => {
                let fits =
                    |row: &Vec<f64>| row.len() == states && row.iter().all(|v| v.is_finite());
                if rows.is_empty() {
                    return refuse(format!(
                        "start: {file} has no states; write one in every line"
                    ));
                }
                if let Some(line) = rows.iter().position(|row| !fits(row)) {
                    return refuse(format!(
                        "start: row {} of {file} must have {states} finite numbers, one for every state",
                        line + 1
                    ));
                }
            }
        }
        let ranges = self.start.ranges();
        finite("start", ranges.iter().flat_map(|r| [r.lower, r.upper]))
    }

    fn check_inputs(&self, inputs: usize) -> Result<(), ModelError> {
        if self.inputs.len() != inputs {
            return refuse(format!(
                "inputs must have a pair of bounds for every input, {inputs}; write null for an input without bounds"
            ));
        }
        ordered("inputs", self.inputs.iter().copied())?;
        if !self.rates.is_empty() && self.rates.len() != inputs {
            return refuse(format!(
                "rates must have a pair of bounds for every input, {inputs}; write null for an input without one"
            ));
        }
        ordered("rates", self.rates.iter().copied())?;
        match self.rates.iter().all(|r| r.lower <= 0.0 && r.upper >= 0.0) {
            true => Ok(()),
            false => refuse(
                "rates need a lower bound of at most 0 and an upper of at least 0, so that an input may stay",
            ),
        }
    }

    /// Bounded states and outputs as rows.
    fn output_rows(&self, states: usize) -> Result<Vec<OutputRow>, ModelError> {
        let mut rows = Vec::new();
        for bound in &self.states {
            if bound.state >= states {
                return refuse("states must name states of the plant, counted from 0");
            }
            rows.push(OutputRow {
                c: (0..states).map(|i| f64::from(i == bound.state)).collect(),
                limits: bound.limits,
                soft: bound.soft,
                name: self.state_name(bound.state),
            });
        }
        for (i, bound) in self.outputs.iter().enumerate() {
            if bound.c.len() != states || bound.c.iter().all(|c| *c == 0.0) {
                return refuse(format!(
                    "outputs: c of entry {i} must have a number for every state, {states}, not all of them 0"
                ));
            }
            finite("outputs", bound.c.iter().copied())?;
            rows.push(OutputRow {
                c: bound.c.clone(),
                limits: bound.limits,
                soft: bound.soft,
                name: bound.name.clone().unwrap_or_else(|| format!("output {i}")),
            });
        }
        for (i, row) in rows.iter().enumerate() {
            let field = if i < self.states.len() {
                "states"
            } else {
                "outputs"
            };
            ordered(field, [row.limits])?;
            if row.limits.is_free() {
                return refuse(format!(
                    "{field}: {} has no bound; give lower or upper, or remove the entry",
                    row.name
                ));
            }
            let Softness::Soft(penalty) = row.soft else {
                continue;
            };
            let weights: Vec<f64> = penalty.l1.into_iter().chain(penalty.quadratic).collect();
            let fits = weights
                .iter()
                .all(|w| *w as f32 > 0.0 && (*w as f32).is_finite());
            if weights.is_empty() || !fits {
                return refuse(format!(
                    "{field}: soft of {} needs \"l1\" or \"quadratic\" with a positive weight; true takes the default",
                    row.name
                ));
            }
        }
        Ok(rows)
    }

    fn check_names(&self, states: usize, inputs: usize) -> Result<(), ModelError> {
        let sizes = [(&self.names.states, states), (&self.names.inputs, inputs)];
        match sizes
            .iter()
            .all(|(n, size)| n.is_empty() || n.len() == *size)
        {
            true => Ok(()),
            false => refuse(format!(
                "names must have {states} names of states and {inputs} of inputs, or none"
            )),
        }
    }

    fn check_sizes(&self, inputs: usize, kinds: usize) -> Result<(), ModelError> {
        let most = (MOST_VARIABLES / inputs).min(MOST_ROWS / kinds);
        if most == 0 {
            return refuse(format!(
                "states and outputs may have at most {MOST_ROWS} entries"
            ));
        }
        match (1..=most).contains(&self.horizon) {
            true => Ok(()),
            false => refuse(format!("horizon must be from 1 to {most}")),
        }
    }

    fn reference_columns(&self, q: &Matrix, terminal: &Matrix) -> Result<Matrix, ModelError> {
        let states = q.rows;
        let mut seen = vec![false; states];
        for reference in &self.references {
            let i = reference.state;
            if i >= states || std::mem::replace(&mut seen[i], true) {
                return refuse(
                    "references must name different states of the plant, counted from 0",
                );
            }
            ordered("references", [reference.range])?;
            if reference.range.lower.is_infinite() || reference.range.upper.is_infinite() {
                return refuse("references need a finite range for the simulation to draw from");
            }
            if (0..states).all(|j| q.at(i, j) == 0.0 && terminal.at(i, j) == 0.0) {
                return refuse(format!(
                    "references: {} has no weight in q; give it one",
                    self.state_name(i)
                ));
            }
        }
        Ok(Matrix::from_fn(states, self.references.len(), |i, j| {
            f64::from(self.references[j].state == i)
        }))
    }
}

fn no_gain(reason: NoGain) -> ModelError {
    ModelError::new(match reason {
        NoGain::NotStabilisable => {
            "a and b: the inputs cannot stabilise the plant (the Riccati equation has no solution); let an input reach every unstable state, or bring q and r nearer to each other"
        }
        NoGain::NotWeighted => {
            "q: the cost does not see an unstable state (the Riccati equation has no stabilising solution); give it a weight"
        }
    })
}
