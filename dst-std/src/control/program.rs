//! The condensed program with its data on the heap, in either precision.

use dst_core::Scalar;
use dst_core::qp::{Inversion, Qp, Shape, Tolerance};

/// Data that is the same at every tick; the fields are those of [`dst_core::mpc::AdmmController`].
#[derive(Clone, Debug, PartialEq)]
pub struct Program<S> {
    /// The sizes.
    pub shape: Shape,
    /// States of a block.
    pub states: usize,
    /// H, n × n.
    pub hessian: Vec<S>,
    /// C, column by column, without leading zeros.
    pub outputs: Vec<S>,
    /// F: g = F·x, column by column; may be empty.
    pub linear: Vec<S>,
    /// E: outputs without inputs, column by column; may be empty.
    pub free: Vec<S>,
    /// Lower bounds of one stage.
    pub lower: Vec<S>,
    /// Upper bounds of one stage.
    pub upper: Vec<S>,
    /// The tolerances at which a tick counts as solved.
    pub tolerance: Tolerance<S>,
}

/// The same numbers in another precision.
pub(crate) fn cast<S: Scalar, T: Scalar>(values: &[S]) -> Vec<T> {
    values.iter().map(|v| T::from_f64(v.to_f64())).collect()
}

impl<S: Scalar> Program<S> {
    /// In another precision.
    pub fn cast<T: Scalar>(&self) -> Program<T> {
        let number = |v: S| T::from_f64(v.to_f64());
        Program {
            shape: self.shape,
            states: self.states,
            hessian: cast(&self.hessian),
            outputs: cast(&self.outputs),
            linear: cast(&self.linear),
            free: cast(&self.free),
            lower: cast(&self.lower),
            upper: cast(&self.upper),
            tolerance: Tolerance {
                primal: number(self.tolerance.primal),
                dual: number(self.tolerance.dual),
                dual_relative: number(self.tolerance.dual_relative),
            },
        }
    }

    /// The view that solvers take.
    pub fn qp(&self) -> Qp<'_, S> {
        Qp {
            shape: self.shape,
            outputs: &self.outputs,
        }
    }

    /// K and 1/R of every phase; `None` if H + GᵀRG is not positive definite.
    pub fn inverses(&self, params: &[S]) -> Option<Vec<S>> {
        let phases = params.len() / self.shape.phase_params();
        let mut inverses = vec![S::ZERO; phases * self.shape.prepared_entries()];
        let mut row = vec![S::ZERO; self.shape.variables()];
        Inversion::of_phases(&self.qp(), &self.hessian, params, &mut inverses, &mut row)
            .then_some(inverses)
    }
}

impl Program<f64> {
    /// The columns of Gᵀ, that is the rows of G, dense: for what is done once.
    pub(crate) fn constraint_rows(&self) -> Vec<Vec<f64>> {
        let Shape {
            inputs,
            outputs,
            stages,
            ..
        } = self.shape;
        let n = self.shape.variables();
        let mut rows = vec![vec![0.0; n]; self.shape.rows()];
        for (i, row) in rows.iter_mut().take(n).enumerate() {
            row[i] = 1.0;
        }
        let mut next = self.outputs.iter();
        for j in 0..n {
            for row in rows
                .iter_mut()
                .skip(n + j / inputs * outputs)
                .take(outputs * (stages - j / inputs))
            {
                row[j] = *next.next().unwrap_or(&0.0);
            }
        }
        rows
    }

    /// 1/diag(GH⁻¹Gᵀ): the weights that make every constraint look alike to ADMM. `None` if H is not positive definite.
    pub fn jacobi(&self) -> Option<Vec<f64>> {
        let n = self.shape.variables();
        let mut inverse = self.hessian.clone();
        let mut row = vec![0.0; n];
        if !Inversion::new(n).complete(&mut inverse, &mut row) {
            return None;
        }
        let weight = |g: &Vec<f64>| {
            let mut sum = 0.0;
            for (i, gi) in g.iter().enumerate() {
                for (j, gj) in g.iter().enumerate() {
                    sum += gi * inverse[i * n + j] * gj;
                }
            }
            1.0 / sum
        };
        Some(self.constraint_rows().iter().map(weight).collect())
    }
}
