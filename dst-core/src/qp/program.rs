//! Condensed program: its shape, its matrices, and the data of one tick.
//!
//! Constraint rows are the inputs of all stages, then the outputs of all stages. An output of stage k depends only on the inputs
//! of stages 0 … k, so C is block lower triangular; its columns are stored consecutively without the zeros above. A plant with
//! equal, independent axes has several *blocks* that share H, C, R and K.

use super::kernels::{add_fours, dot_fours};
use super::step::larger;
use crate::error::{Argument, Error, exact, finite};
use crate::scalar::Scalar;
use crate::slices::{copy, pieces_mut, split, split_mut};

/// Sizes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Shape {
    /// Inputs per stage.
    pub inputs: usize,
    /// Bounded outputs per stage.
    pub outputs: usize,
    /// Stages of the horizon.
    pub stages: usize,
    /// Number of independent copies.
    pub blocks: usize,
}

impl Shape {
    /// Variables of a block: n.
    pub const fn variables(&self) -> usize {
        self.inputs * self.stages
    }
    /// Constraints of a block: m, bounded inputs first.
    pub const fn rows(&self) -> usize {
        (self.inputs + self.outputs) * self.stages
    }
    /// Entries of C.
    pub const fn output_entries(&self) -> usize {
        self.inputs * self.outputs * self.stages * (self.stages + 1) / 2
    }
    /// Entries of K, of one phase.
    pub const fn inverse_entries(&self) -> usize {
        self.variables() * self.variables()
    }
    /// Entries of the data that is prepared from R of one phase: K, then 1/R.
    pub const fn prepared_entries(&self) -> usize {
        self.inverse_entries() + self.rows()
    }
    /// States of the iteration: z and y of all blocks.
    pub const fn states(&self) -> usize {
        2 * self.blocks * self.rows()
    }
    /// Knobs of one phase: R of a block, then α.
    pub const fn phase_params(&self) -> usize {
        self.rows() + 1
    }
    /// Working memory of an iteration, in numbers.
    pub const fn scratch(&self) -> usize {
        self.rows() + self.variables()
    }
}

/// Part of the program that is the same at every tick.
#[derive(Clone, Copy, Debug)]
pub struct Qp<'a, S> {
    /// Sizes of the program.
    pub shape: Shape,
    /// C, column by column, each from the first row that is not zero.
    pub outputs: &'a [S],
}

impl<'a, S: Scalar> Qp<'a, S> {
    /// Checks the length of C.
    pub fn new(shape: Shape, outputs: &'a [S]) -> Result<Self, Error> {
        exact(Argument::Model, shape.output_entries(), outputs.len())?;
        Ok(Self { shape, outputs })
    }

    /// Columns of C, each with the number of leading rows left out.
    fn columns(&self) -> impl Iterator<Item = (usize, &'a [S])> {
        let Shape {
            inputs,
            outputs,
            stages,
            ..
        } = self.shape;
        let mut rest = self.outputs;
        (0..inputs * stages).map(move |j| {
            let zeros = j / inputs.max(1) * outputs;
            let (column, after) = split(rest, (outputs * stages).saturating_sub(zeros));
            rest = after;
            (zeros, column)
        })
    }

    /// Computes rows ← G·u; on entry, u is the head of `rows`.
    #[inline]
    pub(crate) fn extend(&self, rows: &mut [S]) {
        let (u, outputs) = split_mut(rows, self.shape.variables());
        if self.shape.outputs == 0 {
            return;
        }
        outputs.fill(S::ZERO);
        for ((zeros, column), &u) in self.columns().zip(u.iter()) {
            let (_, reached) = split_mut(outputs, zeros);
            add_fours(reached, u, column);
        }
    }

    /// u ← Gᵀ·rows
    #[inline]
    pub(crate) fn transposed(&self, rows: &[S], u: &mut [S]) {
        let (head, outputs) = split(rows, self.shape.variables());
        copy(u, head);
        if self.shape.outputs == 0 {
            return;
        }
        for ((zeros, column), u) in self.columns().zip(u.iter_mut()) {
            *u += dot_fours(column, split(outputs, zeros).1);
        }
    }

    /// Writes H + GᵀRG to `matrix`, for [`Inversion`](super::Inversion) to invert in place. `hessian` is H; `matrix` has its
    /// size.
    pub fn normal_matrix(&self, hessian: &[S], weights: &[S], matrix: &mut [S]) {
        let n = self.shape.variables();
        let (inputs, outputs) = split(weights, n);
        copy(matrix, hessian);
        let rows = pieces_mut(matrix, n).zip(inputs);
        for (i, ((row, &weight), (zeros, column))) in rows.zip(self.columns()).enumerate() {
            if let Some(entry) = row.get_mut(i) {
                *entry += weight;
            }
            for (entry, (others, other)) in row.iter_mut().zip(self.columns()) {
                // Both columns, from the first row of the later one.
                let first = zeros.max(others);
                let (_, a) = split(column, first - zeros);
                let (_, b) = split(other, first - others);
                let (_, r) = split(outputs, first);
                for ((&a, &b), &r) in a.iter().zip(b).zip(r) {
                    *entry += a * r * b;
                }
            }
        }
    }
}

/// Part of the program that changes with the tick: g and the bounds, block after block.
#[derive(Clone, Copy, Debug)]
pub struct Instance<'a, S> {
    /// g
    pub linear: &'a [S],
    /// Lower bounds of Gu.
    pub lower: &'a [S],
    /// Upper bounds of Gu.
    pub upper: &'a [S],
}

impl<S: Scalar> Instance<'_, S> {
    /// Checks the lengths, that g is finite, and that the bounds are in order.
    pub fn check(&self, shape: Shape) -> Result<(), Error> {
        exact(
            Argument::Model,
            shape.blocks * shape.variables(),
            self.linear.len(),
        )?;
        let rows = shape.blocks * shape.rows();
        exact(Argument::Bounds, rows, self.lower.len())?;
        exact(Argument::Bounds, rows, self.upper.len())?;
        finite(Argument::Model, self.linear)?;
        in_order(self.lower, self.upper)
    }

    /// ‖g‖_∞
    pub fn linear_norm(&self) -> S {
        self.linear.iter().fold(S::ZERO, |m, g| larger(m, g.abs()))
    }
}

/// Checks that lower ≤ upper for every pair of bounds, without NaN and without a bound at the wrong infinity.
pub(crate) fn in_order<S: Scalar>(lower: &[S], upper: &[S]) -> Result<(), Error> {
    // Written so that a NaN fails.
    let allowed = |l: S, u: S| l <= u && l < S::INFINITY && u > -S::INFINITY;
    if lower.iter().zip(upper).all(|(&l, &u)| allowed(l, u)) {
        Ok(())
    } else {
        Err(Error::Invalid(Argument::Bounds))
    }
}

/// Tolerances at which a tick is solved: ε_p, and ε_d = `dual` + `dual_relative`·‖g‖_∞.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Tolerance<S> {
    /// ε_p
    pub primal: S,
    /// Constant part of ε_d, which also applies if g is zero.
    pub dual: S,
    /// Part of ε_d that grows with g. Keep it as small as `dual`: with a loose one, the knobs can cheat the stop test.
    pub dual_relative: S,
}

impl<S: Scalar> Tolerance<S> {
    /// Checks that all tolerances are positive and finite, for every g.
    pub fn check_parts(&self) -> Result<(), Error> {
        let Self {
            primal,
            dual,
            dual_relative,
        } = *self;
        let signs = primal > S::ZERO && dual > S::ZERO && dual_relative >= S::ZERO;
        if signs && S::all_finite(&[primal, dual, dual_relative]) {
            Ok(())
        } else {
            Err(Error::Invalid(Argument::Tolerance))
        }
    }

    /// Performs the same checks, and that ε_d is finite for this g.
    pub fn check(&self, instance: &Instance<'_, S>) -> Result<(), Error> {
        self.check_parts()?;
        if self.dual_of(instance).is_finite() {
            Ok(())
        } else {
            Err(Error::Invalid(Argument::Tolerance))
        }
    }

    /// ε_d of this instance.
    pub fn dual_of(&self, instance: &Instance<'_, S>) -> S {
        self.dual + self.dual_relative * instance.linear_norm()
    }
}
