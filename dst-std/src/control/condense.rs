//! From a model to its condensed programs, prestabilised.
//!
//! The Riccati recursion over the horizon gives the gains of the finite-horizon solution without bounds, u_k = −K_k·x_k − L_k·r. With
//! u_k = −K_k·x_k − L_k·r + v_k the cost is ½Σv_kᵀG_k·v_k and a constant, G_k = R + BᵀΠ_{k+1}B: no linear term, a Hessian that is block
//! diagonal, and v = 0 without bounds. This holds for every terminal weight; with that of the Riccati equation K_k and G_k are constant.
//! Rows (inputs, outputs, rates) are simulated in closed loop, so no power of an unstable A occurs:
//!
//! s = M·p + Γ·v, W = Γ·G⁻¹·Γᵀ
//!
//! W and M do not depend on the choice of the variables; only the rounding does.

use super::active_program::ActiveProgram;
use super::matrix::Matrix;
use super::model::{Checked, Limits, Model, ModelError, Softness, single};
use super::riccati::Stage;

/// Rows with a smaller W_jj than this part of the largest of their kind cannot be moved by the inputs.
const UNMOVED: f64 = 1e-14;

/// Default ℓ1 weight over the largest multiplier that moves one row alone as far as the start set asks for.
const MARGIN: f64 = 10.0;

/// A condensed program in the variables v.
#[derive(Clone, Debug)]
pub(crate) struct Condensed {
    /// Stages of the recursion.
    pub(crate) stages: Vec<Stage>,
    /// L_k
    pub(crate) feeds: Vec<Matrix>,
    /// M, m × parameters.
    pub(crate) response: Matrix,
    /// Γ, m × n.
    pub(crate) rows: Matrix,
    /// Rows per stage.
    pub(crate) kinds: usize,
}

/// Start of a simulation: nothing but one unit.
#[derive(Clone, Copy)]
enum Unit {
    State(usize),
    Reference(usize),
    Previous(usize),
    Variable(usize, usize),
}

impl Condensed {
    /// Condenses a checked model; `None` if a stage has no positive definite Hessian.
    pub(crate) fn new(model: &Checked, horizon: usize) -> Option<Self> {
        let Checked { a, b, q, r, .. } = model;
        let mut weight = model.terminal.clone();
        let mut pull = model.terminal.times(&model.references);
        pull.entries.iter_mut().for_each(|e| *e = -*e);
        let (mut stages, mut feeds) = (Vec::new(), Vec::new());
        for _ in 0..horizon {
            let stage = Stage::before(a, b, r, &weight)?;
            let linear = b.transposed().times(&pull);
            feeds.push(stage.inverse.times(&linear));
            pull = stage.closed.transposed().times(&pull);
            pull = pull.minus(&q.times(&model.references));
            weight = q.plus(&stage.cost);
            stages.push(stage);
        }
        stages.reverse();
        feeds.reverse();
        let kinds = b.columns + model.outputs.len() + model.rates.len();
        let mut condensed = Self {
            stages,
            feeds,
            response: Matrix::from_fn(0, 0, |_, _| 0.0),
            rows: Matrix::from_fn(0, 0, |_, _| 0.0),
            kinds,
        };
        let (states, inputs) = (a.rows, b.columns);
        let units = (0..states).map(Unit::State);
        let units = units.chain((0..model.references.columns).map(Unit::Reference));
        let previous = if model.rates.is_empty() { 0 } else { inputs };
        let units = units.chain((0..previous).map(Unit::Previous));
        let units: Vec<Unit> = units.collect();
        condensed.response = condensed.columns(model, &units);
        let variables = (0..horizon).flat_map(|k| (0..inputs).map(move |i| Unit::Variable(k, i)));
        let variables: Vec<Unit> = variables.collect();
        condensed.rows = condensed.columns(model, &variables);
        Some(condensed)
    }

    /// The rows that every unit causes, one unit per column.
    fn columns(&self, model: &Checked, units: &[Unit]) -> Matrix {
        let columns: Vec<Vec<f64>> = units.iter().map(|&u| self.simulate(model, u)).collect();
        Matrix::from_fn(self.kinds * self.stages.len(), units.len(), |i, j| {
            columns[j][i]
        })
    }

    fn simulate(&self, model: &Checked, unit: Unit) -> Vec<f64> {
        let (nx, nu) = (model.b.rows, model.b.columns);
        let mut rows = vec![0.0; self.kinds * self.stages.len()];
        let (mut x, mut previous) = (vec![0.0; nx], vec![0.0; nu]);
        let mut first = 0;
        match unit {
            Unit::State(i) => x[i] = 1.0,
            Unit::Previous(i) => previous[i] = 1.0,
            Unit::Variable(stage, _) => first = stage,
            Unit::Reference(_) => {}
        }
        let stages = rows.chunks_exact_mut(self.kinds).enumerate().skip(first);
        for (k, to) in stages {
            let stage = &self.stages[k];
            let mut drive = vec![0.0; nu];
            match unit {
                Unit::Variable(at, i) if at == k => drive[i] = 1.0,
                Unit::Reference(i) => (0..nu).for_each(|u| drive[u] = -self.feeds[k].at(u, i)),
                _ => {}
            }
            let feedback = product(&stage.gain, &x);
            let u: Vec<f64> = drive.iter().zip(&feedback).map(|(d, f)| d - f).collect();
            // With A − BK at once: Ax and BKx may be large and nearly cancel.
            let mut next = product(&stage.closed, &x);
            for (x, d) in next.iter_mut().zip(product(&model.b, &drive)) {
                *x += d;
            }
            x = next;
            let outputs = model.outputs.iter().map(|row| dot(&row.c, &x));
            let rates = model.rates.iter().map(|&i| u[i] - previous[i]);
            for (to, from) in to
                .iter_mut()
                .zip(u.iter().copied().chain(outputs).chain(rates))
            {
                *to = from;
            }
            previous = u;
        }
        rows
    }

    /// W = Γ·G⁻¹·Γᵀ, both halves the same bits.
    fn gram(&self) -> Matrix {
        let (m, n) = (self.rows.rows, self.rows.columns);
        let nu = n / self.stages.len();
        let mut weighted = self.rows.clone();
        for (k, stage) in self.stages.iter().enumerate() {
            for i in k * self.kinds..m {
                let from = &self.rows.entries[i * n + k * nu..i * n + (k + 1) * nu];
                for (c, entry) in product(&stage.inverse, from).into_iter().enumerate() {
                    weighted.entries[i * n + k * nu + c] = entry;
                }
            }
        }
        let mut gram = Matrix::from_fn(m, m, |_, _| 0.0);
        for i in 0..m {
            // Later variables do not move row i.
            let reached = (i / self.kinds + 1) * nu;
            let left = &self.rows.entries[i * n..i * n + reached];
            for j in i..m {
                let value = dot(left, &weighted.entries[j * n..j * n + reached]);
                gram.entries[i * m + j] = value;
                gram.entries[j * m + i] = value;
            }
        }
        gram
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn product(matrix: &Matrix, x: &[f64]) -> Vec<f64> {
    let rows = matrix.entries.chunks_exact(matrix.columns.max(1));
    rows.map(|row| dot(row, x)).collect()
}

/// True for every row that the inputs move.
fn moved(gram: &Matrix, kinds: usize) -> Vec<bool> {
    let diagonal: Vec<f64> = (0..gram.rows).map(|j| gram.at(j, j)).collect();
    let mut largest = vec![0.0; kinds];
    for (j, &w) in diagonal.iter().enumerate() {
        largest[j % kinds] = f64::max(largest[j % kinds], w);
    }
    let moved = |(j, &w): (usize, &f64)| w > UNMOVED * largest[j % kinds];
    diagonal.iter().enumerate().map(moved).collect()
}

/// Part of √(W_jj·max W) that is added to W_jj of a row with the default softness; the maximum is that of the stages. Rows that depend on
/// each other, as those of one state in later stages do, are then independent in single precision, and a stage in which the inputs
/// hardly move the row does not ask for inputs that rounding decides. Together with the ℓ1 weight this is a Huber penalty: quadratic with
/// 1/ρ = this lift up to the weight, then linear. A multiplier λ alone holds the row back by λ·W_jj, and the bound gives way by λ/ρ:
/// this part of it, times √(max W/W_jj).
const YIELD: f64 = 1e-4;

/// Adds 1/ρ to the diagonal and clears rows that the inputs do not move; returns 1/√W_jj, or 1 for a row of zeros.
fn finish(gram: &mut Matrix, moved: &[bool], lifts: &[f64], yielding: &[f64]) -> Vec<f64> {
    let (m, kinds) = (gram.rows, lifts.len());
    let mut largest = vec![0.0; kinds];
    for j in 0..m {
        largest[j % kinds] = f64::max(largest[j % kinds], gram.at(j, j));
    }
    for j in 0..m {
        for i in 0..m {
            if !(moved[i] && moved[j]) {
                gram.entries[j * m + i] = 0.0;
            }
        }
        let own = gram.at(j, j);
        let yielded = yielding[j % kinds] * (own * largest[j % kinds]).sqrt();
        gram.entries[j * m + j] += yielded + lifts[j % kinds];
    }
    let diagonal = (0..m).map(|j| gram.at(j, j));
    diagonal
        .map(|w| if w > 0.0 { 1.0 / w.sqrt() } else { 1.0 })
        .collect()
}

/// The largest magnitude within limits.
fn magnitude(limits: &Limits) -> f64 {
    limits.lower.abs().max(limits.upper.abs())
}

impl Model {
    /// The condensed program for the dual active set.
    pub fn active_program(&self) -> Result<ActiveProgram<f64>, ModelError> {
        let checked = self.check()?;
        self.activate(&checked, &self.condense(&checked)?)
    }

    /// Condenses, and refuses what is not finite.
    pub(crate) fn condense(&self, checked: &Checked) -> Result<Condensed, ModelError> {
        let condensed = Condensed::new(checked, self.horizon);
        let finite = |c: &Condensed| c.rows.is_finite() && c.response.is_finite();
        condensed.filter(finite).ok_or_else(not_finite)
    }

    fn activate(
        &self,
        checked: &Checked,
        condensed: &Condensed,
    ) -> Result<ActiveProgram<f64>, ModelError> {
        let (inputs, kinds) = (checked.b.columns, condensed.kinds);
        let outputs = &checked.outputs;
        let mut gram = condensed.gram();
        let bounds: Vec<Limits> = self.limits(checked);
        let mut names: Vec<String> = (0..inputs).map(|i| self.input_name(i)).collect();
        names.extend(outputs.iter().map(|row| row.name.clone()));
        let rate = |&i: &usize| format!("rate of {}", self.input_name(i));
        names.extend(checked.rates.iter().map(rate));
        let moved = moved(&gram, kinds);
        let (mut caps, mut lifts) = (vec![f64::INFINITY; kinds], vec![0.0; kinds]);
        let mut yielding = vec![0.0; kinds];
        let mut soft = Vec::new();
        for (kind, row) in (inputs..).zip(outputs) {
            match row.soft {
                Softness::Hard => continue,
                Softness::Huber => {
                    yielding[kind] = YIELD;
                    caps[kind] = self.default_weight(condensed, (&gram, &moved), kind, &row.limits);
                }
                Softness::Soft(penalty) => {
                    caps[kind] = penalty.l1.unwrap_or(f64::INFINITY);
                    lifts[kind] = penalty.quadratic.map_or(0.0, |rho| 1.0 / rho);
                }
            }
            soft.push(kind);
        }
        let scale = finish(&mut gram, &moved, &lifts, &yielding);
        let tables = gram.entries.iter().chain(&condensed.response.entries);
        if !single(tables.chain(&scale).copied()) {
            return Err(not_finite());
        }
        if caps.iter().all(|c| c.is_infinite()) {
            caps.clear();
        }
        if lifts.iter().all(|lift| *lift == 0.0) {
            lifts.clear();
        }
        Ok(ActiveProgram {
            inputs,
            parameters: self.parameters(),
            stages: self.horizon,
            blocks: 1,
            kinds,
            gram: gram.entries,
            scale,
            caps,
            lifts,
            lower: bounds.iter().map(|b| b.lower).collect(),
            upper: bounds.iter().map(|b| b.upper).collect(),
            response: condensed.response.transposed().entries,
            // A simulation takes a product with A and with B more in every stage.
            roll_out: None,
            names,
            soft,
        })
    }

    /// Bounds of one stage: inputs, outputs, rates.
    pub(crate) fn limits(&self, checked: &Checked) -> Vec<Limits> {
        let outputs = checked.outputs.iter().map(|row| row.limits);
        let rates = checked.rates.iter().map(|&i| self.rates[i]);
        let inputs = self.inputs.iter().copied();
        inputs.chain(outputs).chain(rates).collect()
    }

    /// ℓ1 weight above the multipliers of normal operation, so that the bound is kept there, up to `YIELD`.
    ///
    /// Alone, a row that exceeds its bound by e has the multiplier e/W_jj. The excess e is at most that of the free response over the start
    /// set. If the bound can be kept, it is also at most the distance by which bounded inputs move the row. The weight is ten times the largest
    /// e/W_jj of the kind.
    fn default_weight(
        &self,
        condensed: &Condensed,
        (gram, moved): (&Matrix, &[bool]),
        kind: usize,
        limits: &Limits,
    ) -> f64 {
        let starts = self.start.ranges();
        let references = self.references.iter().map(|r| r.range);
        let ranges: Vec<f64> = starts
            .iter()
            .copied()
            .chain(references)
            .map(|r| magnitude(&r))
            .collect();
        let widths: Vec<f64> = self.inputs.iter().map(|b| b.upper - b.lower).collect();
        let nearest = limits.lower.abs().min(limits.upper.abs());
        let mut largest: f64 = 0.0;
        let rows = (kind..gram.rows).step_by(condensed.kinds);
        for j in rows.filter(|&j| moved[j]) {
            let row = |m: &Matrix| m.entries[j * m.columns..(j + 1) * m.columns].to_vec();
            let pairs = row(&condensed.response).into_iter().zip(&ranges);
            let free: f64 = pairs.map(|(m, range)| m.abs() * range).sum();
            let moves = row(&condensed.rows).into_iter().zip(widths.iter().cycle());
            let reach: f64 = moves
                .filter(|(g, _)| *g != 0.0)
                .map(|(g, w)| g.abs() * w)
                .sum();
            let excess = (free + nearest).min(reach);
            largest = largest.max(excess / gram.at(j, j));
        }
        // A row that nothing moves and a start set of zeros have no multiplier; any weight is above it.
        if largest > 0.0 { MARGIN * largest } else { 1.0 }
    }
}

pub(crate) fn not_finite() -> ModelError {
    ModelError::new(
        "the cost over the horizon is not finite in single precision; take other units or a shorter horizon",
    )
}

#[cfg(test)]
mod tests;
