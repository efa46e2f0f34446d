//! Parameters with their inverses: what a controller needs beside the program.

use dst_core::Scalar;
use dst_core::mpc::AdmmController;
use dst_core::qp::Phases;

use super::program::{Program, cast};

/// R, α, K and 1/R of every phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned<S> {
    /// R of a block, then α, phase after phase.
    pub params: Vec<S>,
    /// K, then 1/R, phase after phase.
    pub inverses: Vec<S>,
    /// Iterations at which the second, third … phase begins.
    pub switches: Vec<usize>,
}

impl<S: Scalar> Tuned<S> {
    /// `None` where parameters are not finite or K does not exist.
    pub fn new(program: &Program<S>, params: Vec<S>, switches: Vec<usize>) -> Option<Self> {
        let inverses = program.inverses(&params)?;
        let finite = S::all_finite(&params) && S::all_finite(&inverses);
        finite.then_some(Self {
            params,
            inverses,
            switches,
        })
    }

    /// One phase with these weights and relaxation.
    pub fn constant(program: &Program<S>, weights: &[S], relaxation: S) -> Option<Self> {
        let mut params = weights.to_vec();
        params.push(relaxation);
        Self::new(program, params, Vec::new())
    }

    /// The view that solvers take.
    pub fn phases(&self) -> Phases<'_, S> {
        Phases {
            params: &self.params,
            inverses: &self.inverses,
            switches: &self.switches,
        }
    }

    /// In another precision. K and 1/R are rounded, not computed again: the device gets what the desktop had.
    pub fn cast<T: Scalar>(&self) -> Tuned<T> {
        Tuned {
            params: cast(&self.params),
            inverses: cast(&self.inverses),
            switches: self.switches.clone(),
        }
    }

    /// The controller of a program with these parameters.
    pub fn controller<'a>(&'a self, program: &'a Program<S>) -> AdmmController<'a, S> {
        AdmmController {
            shape: program.shape,
            states: program.states,
            outputs: &program.outputs,
            linear: &program.linear,
            free: &program.free,
            lower: &program.lower,
            upper: &program.upper,
            params: &self.params,
            inverses: &self.inverses,
            switches: &self.switches,
            tolerance: program.tolerance,
        }
    }
}
