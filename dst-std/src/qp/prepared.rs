//! A prepared program that owns its numbers, in either precision, and its solves.
//!
//! Preparation takes place in `f64`; a program in `f32` has the rounded constants. Rows and variables keep their units: the factor and
//! the search do not depend on them, apart from overflow, because violations are compared in units of 1/√W_jj.

use dst_core::Scalar;
use dst_core::qp::{ActiveSet, Bounds, Dense, DenseMemory, Instance, Status};

use super::parametric::ParametricProgram;
use crate::control::cast;
use crate::parallel::{piece, try_instances};

/// Constants of a [`Dense`] program.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared<S> {
    /// L of P = LDLᵀ, packed row by row.
    pub factor: Vec<S>,
    /// 1/D
    pub inverse: Vec<S>,
    /// M = A·L⁻ᵀ, column by column.
    pub columns: Vec<S>,
    /// W, m × m.
    pub gram: Vec<S>,
    /// 1/√W_jj
    pub scale: Vec<S>,
    /// Leading rows that bound a variable.
    pub boxed: usize,
    /// Violation that counts as zero, relative to the terms of a row.
    pub tolerance: S,
}

/// Memory for the solves of a program.
#[derive(Clone, Debug)]
pub struct Buffers<S> {
    variables: usize,
    rows: usize,
    capacity: usize,
    numbers: Vec<S>,
    words: Vec<u16>,
}

/// Result of one solve.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// Status of the program.
    pub status: Status,
    /// Changes of the set.
    pub steps: usize,
    /// Multiply-adds.
    pub operations: usize,
    /// u
    pub variables: Vec<f64>,
    /// λ of every row, positive at an upper bound.
    pub multipliers: Vec<f64>,
}

impl Solved {
    /// A program whose constants overflow.
    pub(super) fn overflow() -> Self {
        Self {
            status: Status::Late,
            steps: 0,
            operations: 0,
            variables: Vec::new(),
            multipliers: Vec::new(),
        }
    }

    /// Rows with a multiplier.
    pub fn active(&self) -> usize {
        self.multipliers.iter().filter(|&&l| l != 0.0).count()
    }
}

/// Start of each solve of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Without a set.
    Cold,
    /// From the set of the solve before.
    Warm,
}

impl Prepared<f64> {
    /// Prepares a program. A matrix P that is not positive definite is refused with a sentence.
    pub fn new(program: &ParametricProgram, tolerance: f64) -> Result<Self, String> {
        let (n, m) = (program.variables, program.rows);
        let mut memory = vec![0.0; Dense::<f64>::numbers(n, m)];
        let dense = Dense::prepare(
            &program.hessian,
            &program.constraints,
            &[],
            &[],
            tolerance,
            &mut memory,
        )
        .map_err(|_| {
            "has a 'P' that is not positive definite, or numbers that overflow; \
             add a small multiple of the identity to P, or take other units"
                .to_owned()
        })?;
        Ok(Self {
            factor: dense.factor.to_vec(),
            inverse: dense.inverse.to_vec(),
            columns: dense.columns.to_vec(),
            gram: dense.set.gram.to_vec(),
            scale: dense.set.scale.to_vec(),
            boxed: dense.boxed,
            tolerance,
        })
    }
}

impl<S: Scalar> Prepared<S> {
    /// The same constants, rounded to another precision. None if one of them overflows.
    pub fn cast<T: Scalar>(&self, tolerance: f64) -> Option<Prepared<T>> {
        let rounded = Prepared {
            factor: cast(&self.factor),
            inverse: cast(&self.inverse),
            columns: cast(&self.columns),
            gram: cast(&self.gram),
            scale: cast(&self.scale),
            boxed: self.boxed,
            tolerance: T::from_f64(tolerance),
        };
        let numbers = [
            &rounded.factor,
            &rounded.inverse,
            &rounded.columns,
            &rounded.gram,
            &rounded.scale,
        ];
        let finite = numbers
            .iter()
            .all(|part| part.iter().all(|v| v.is_finite()));
        finite.then_some(rounded)
    }

    /// The view that solves.
    pub fn dense(&self) -> Dense<'_, S> {
        Dense {
            factor: &self.factor,
            inverse: &self.inverse,
            columns: &self.columns,
            set: ActiveSet {
                gram: &self.gram,
                scale: &self.scale,
                caps: &[],
                lifts: &[],
                tolerance: self.tolerance,
            },
            boxed: self.boxed,
        }
    }

    /// Number of constants.
    pub fn numbers(&self) -> usize {
        Dense::<S>::numbers(self.inverse.len(), self.scale.len())
    }

    /// Largest set that a solve can need.
    pub fn full_capacity(&self) -> usize {
        self.inverse.len().min(self.scale.len()) + 1
    }

    /// Memory with room for this number of rows in the set.
    pub fn buffers(&self, capacity: usize) -> Buffers<S> {
        let (variables, rows) = (self.inverse.len(), self.scale.len());
        Buffers {
            variables,
            rows,
            capacity,
            numbers: vec![S::ZERO; DenseMemory::<S>::numbers(variables, rows, capacity)],
            words: vec![0; DenseMemory::<S>::words(capacity)],
        }
    }

    /// Solves these instances: from a warm start one after the other, cold side by side.
    pub fn solve_all(
        &self,
        program: &ParametricProgram,
        chosen: &[usize],
        start: Start,
        capacity: usize,
        budget: usize,
    ) -> Result<Vec<Solved>, dst_core::Error> {
        match start {
            Start::Cold => try_instances(chosen.len(), |place| {
                let mut buffers = self.buffers(capacity);
                self.solve(program, chosen[place], &mut buffers.memory()?, budget)
            }),
            Start::Warm => {
                let mut buffers = self.buffers(capacity);
                let mut memory = buffers.memory()?;
                let one = |&i: &usize| self.solve(program, i, &mut memory, budget);
                chosen.iter().map(one).collect()
            }
        }
    }

    /// Solves an instance, from the set that is in the memory.
    fn solve(
        &self,
        program: &ParametricProgram,
        i: usize,
        memory: &mut DenseMemory<'_, S>,
        budget: usize,
    ) -> Result<Solved, dst_core::Error> {
        let dense = self.dense();
        let Instance {
            linear,
            lower,
            upper,
        } = program.instance(i);
        let (linear, lower, upper) = (cast(linear), cast(lower), cast(upper));
        let bounds: Bounds<'_, S> = Bounds {
            lower: &lower,
            upper: &upper,
        };
        let outcome = dense.solve(memory, &linear, bounds, budget)?;
        let mut multipliers = vec![0.0; self.scale.len()];
        for (row, value) in dense.multipliers(memory) {
            multipliers[row] = value.to_f64();
        }
        Ok(Solved {
            status: outcome.status,
            steps: outcome.steps,
            operations: outcome.operations,
            variables: cast(memory.variables()),
            multipliers,
        })
    }
}

piece!(Solved {
    status,
    steps,
    operations,
    variables,
    multipliers
});

impl<S: Scalar> Buffers<S> {
    /// The memory, for solves one after the other; the first one is cold.
    pub fn memory(&mut self) -> Result<DenseMemory<'_, S>, dst_core::Error> {
        let Self {
            variables,
            rows,
            capacity,
            numbers,
            words,
        } = self;
        DenseMemory::new(*variables, *rows, *capacity, numbers, words)
    }

    /// Bytes of the memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.numbers[..]) + size_of_val(&self.words[..])
    }
}
