//! Model of a plant: x⁺ = Ax + Bu, weights, bounds, a horizon.
//!
//! [`Model::from_json`] and [`Model::read`] read it from a file, `check` refuses what cannot be right, and [`Model::template`] is a file
//! with a sentence for every field. The programs of a model are made in `condense`.

mod bounds;
mod check;
mod read;
mod start;
mod template;
mod weight;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use bounds::{Limits, OutputBound, Penalty, Reference, Softness, StateBound};
pub(crate) use check::{Checked, single};
pub use start::Start;
pub use weight::{Terminal, Weight};

/// A linear plant with a quadratic cost and bounds. All vectors and matrices in the plant's own units.
///
/// The cost is ½Σ((x − r)ᵀQ(x − r) + uᵀRu) over the horizon. r has the set-points of the `references`, and zeros. The last state has the
/// weight `terminal`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "serde_json::Map<String, serde_json::Value>")]
pub struct Model {
    /// A, row by row.
    pub a: Vec<Vec<f64>>,
    /// B, row by row.
    pub b: Vec<Vec<f64>>,
    /// Q
    pub q: Weight,
    /// R
    pub r: Weight,
    /// Weight of the last state.
    pub terminal: Terminal,
    /// States with a set-point that is given at run time.
    pub references: Vec<Reference>,
    /// Bounds of every input.
    pub inputs: Vec<Limits>,
    /// Bounds of u_k − u_{k−1} for every input, or none.
    pub rates: Vec<Limits>,
    /// Bounded states.
    pub states: Vec<StateBound>,
    /// Bounds of linear functions of the state.
    pub outputs: Vec<OutputBound>,
    /// Standard deviation of the measurement of every state, or none.
    pub noise: Vec<f64>,
    /// Standard deviation of the disturbance of every state in a stage, or none.
    pub disturbance: Vec<f64>,
    /// States from which a run starts.
    pub start: Start,
    /// Stages.
    pub horizon: usize,
    /// ε_p of ADMM: how far a bound may be missed. By default a thousandth of the narrowest bounds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primal_tolerance: Option<f64>,
    /// ε_d of ADMM: what may be left of the gradient of the cost. By default what ε_p in one variable leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dual_tolerance: Option<f64>,
    /// Names of states and inputs, for messages.
    pub names: Names,
}

/// Names of states and inputs; empty if they have none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Names {
    /// A name for every state.
    pub states: Vec<String>,
    /// A name for every input.
    pub inputs: Vec<String>,
}

/// Fault of a model, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(String);

impl ModelError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}

impl Model {
    /// Number of inputs.
    pub fn input_count(&self) -> usize {
        self.b.first().map_or(0, Vec::len)
    }

    /// Number of states.
    pub fn state_count(&self) -> usize {
        self.a.len()
    }

    /// True if an input has a rate bound; the previous input is then part of the parameter.
    pub fn has_rates(&self) -> bool {
        self.rates.iter().any(|limits| !limits.is_free())
    }

    /// Length of the parameter of a tick: state, references, previous input.
    pub fn parameters(&self) -> usize {
        let previous = if self.has_rates() {
            self.input_count()
        } else {
            0
        };
        self.state_count() + self.references.len() + previous
    }

    /// A and B, row by row.
    pub(crate) fn plant(&self) -> (Vec<f64>, Vec<f64>) {
        let flat = |rows: &[Vec<f64>]| rows.iter().flatten().copied().collect();
        (flat(&self.a), flat(&self.b))
    }

    /// A state by its name, or by its number.
    pub(crate) fn state_name(&self, i: usize) -> String {
        let name = self.names.states.get(i).cloned();
        name.unwrap_or_else(|| format!("state {i}"))
    }

    /// An input by its name, or by its number.
    pub(crate) fn input_name(&self, i: usize) -> String {
        let name = self.names.inputs.get(i).cloned();
        name.unwrap_or_else(|| format!("input {i}"))
    }
}
