//! The condensed program as the dual active set takes it, with its data on the heap.
//!
//! Rows are ordered stage by stage. A stage has `kinds` rows: its inputs, the bounded outputs after it, the bounded rates of its inputs.
//! With the multipliers λ a solution has the rows s = M·p − W·λ, where p is the parameter of a tick: the state, the set-points,
//! the previous input.

use dst_core::Scalar;
use dst_core::mpc::{Controller, Response, RollOut};
use dst_core::qp::ActiveSet;

use super::program::cast;

/// Data that is the same at every tick.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveProgram<S> {
    /// Inputs per stage.
    pub inputs: usize,
    /// Length of the parameter of a block.
    pub parameters: usize,
    /// Stages of the horizon.
    pub stages: usize,
    /// Number of independent copies.
    pub blocks: usize,
    /// Rows per stage.
    pub kinds: usize,
    /// W = A·P⁻¹·Aᵀ, m × m, with 1/ρ added at a row of quadratic penalty ρ.
    pub gram: Vec<S>,
    /// 1/√W_jj for every row; 1 for a row of zeros, which no input can move.
    pub scale: Vec<S>,
    /// Caps of the multipliers of one stage, the ℓ1 weights; infinite for a row without one. Empty if there is none.
    pub caps: Vec<S>,
    /// 1/ρ of the rows of one stage, 0 for a row without a quadratic penalty. Empty if there is none.
    pub lifts: Vec<S>,
    /// Lower bounds of one stage.
    pub lower: Vec<S>,
    /// Upper bounds of one stage.
    pub upper: Vec<S>,
    /// M, m × parameters, column by column: the rows of the unconstrained solution. Empty if they depend on more than the parameter.
    pub response: Vec<S>,
    /// The same by simulation, where that takes fewer operations.
    pub roll_out: Option<RollOutData<S>>,
    /// Names of the kinds, for messages.
    pub names: Vec<String>,
    /// Kinds that are soft.
    pub soft: Vec<usize>,
}

/// Matrices of one block: u_k = −feed·extra_k − K·x_k, x_{k+1} = A·x_k + B·u_k, outputs C·x_{k+1}.
#[derive(Clone, Debug, PartialEq)]
pub struct RollOutData<S> {
    /// A, row by row.
    pub a: Vec<S>,
    /// B, row by row.
    pub b: Vec<S>,
    /// K, row by row; empty if there is no feedback.
    pub feedback: Vec<S>,
    /// C, row by row; empty if all states are outputs, or none.
    pub outputs: Vec<S>,
    /// Map of the extra term to the inputs, row by row; empty if there is no extra term.
    pub feed: Vec<S>,
}

impl<S> RollOutData<S> {
    /// Multiply-adds of all stages of a block.
    pub fn operations(&self, stages: usize) -> usize {
        let Self {
            a,
            b,
            feedback,
            outputs,
            feed,
        } = self;
        stages * (a.len() + b.len() + feedback.len() + outputs.len() + feed.len())
    }
}

impl<S: Scalar> ActiveProgram<S> {
    /// Rows of a block.
    pub fn rows(&self) -> usize {
        self.kinds * self.stages
    }

    /// Multiply-adds of the rows of the unconstrained solution of a block.
    pub fn response_operations(&self) -> usize {
        match &self.roll_out {
            Some(data) => data.operations(self.stages),
            None => self.response.len(),
        }
    }

    /// The controller of this program, with room for `capacity` active rows.
    pub fn controller(&self, capacity: usize, tolerance: S) -> Controller<'_, S> {
        let response = match &self.roll_out {
            None => Response::Map(&self.response),
            Some(data) => Response::RollOut(RollOut {
                a: &data.a,
                b: &data.b,
                feedback: &data.feedback,
                outputs: &data.outputs,
                feed: &data.feed,
            }),
        };
        Controller {
            inputs: self.inputs,
            parameters: self.parameters,
            blocks: self.blocks,
            capacity,
            set: ActiveSet {
                gram: &self.gram,
                scale: &self.scale,
                caps: &self.caps,
                lifts: &self.lifts,
                tolerance,
            },
            response,
            lower: &self.lower,
            upper: &self.upper,
        }
    }

    /// In another precision. A bound or a cap that is beyond its numbers becomes infinite.
    pub fn cast<T: Scalar>(&self) -> ActiveProgram<T> {
        let roll_out = self.roll_out.as_ref().map(|data| RollOutData {
            a: cast(&data.a),
            b: cast(&data.b),
            feedback: cast(&data.feedback),
            outputs: cast(&data.outputs),
            feed: cast(&data.feed),
        });
        ActiveProgram {
            inputs: self.inputs,
            parameters: self.parameters,
            stages: self.stages,
            blocks: self.blocks,
            kinds: self.kinds,
            gram: cast(&self.gram),
            scale: cast(&self.scale),
            caps: cast(&self.caps),
            lifts: cast(&self.lifts),
            lower: cast(&self.lower),
            upper: cast(&self.upper),
            response: cast(&self.response),
            roll_out,
            names: self.names.clone(),
            soft: self.soft.clone(),
        }
    }
}
