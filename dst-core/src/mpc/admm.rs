//! AdmmController on the device: at most B iterations per tick, the best iterate, and a warm start by shifting.
//!
//! A [`AdmmController`] holds all constants, in flash; a [`AdmmTick`] is the only memory that changes. A tick computes g = F·x + d and
//! the bounds lo − E·x, hi − E·x from the measured state, shifts the last solution by one stage, iterates, and returns the inputs
//! of the first stage. These are taken from z, so they satisfy their bounds exactly, however early the deadline is.

use crate::slices::{add_scaled, copy, pieces, pieces_mut, split, split_mut};
use core::cell::Cell;

use crate::error::{Argument, Error, exact, finite};
use crate::qp::{Instance, Phases, Qp, Residual, Shape, Solver, Tolerance, clip, in_order};
use crate::scalar::Scalar;

/// Tuned controller: constants, such as those that `dst control export` writes.
#[derive(Clone, Copy, Debug)]
pub struct AdmmController<'a, S> {
    /// Sizes of the program.
    pub shape: Shape,
    /// States per block.
    pub states: usize,
    /// C, as in [`Qp::outputs`].
    pub outputs: &'a [S],
    /// F, column by column; empty if there is none.
    pub linear: &'a [S],
    /// E, column by column; empty if there is none.
    pub free: &'a [S],
    /// Lower bounds of the inputs, then of the outputs, of one stage.
    pub lower: &'a [S],
    /// Upper bounds in the same order.
    pub upper: &'a [S],
    /// R and α of each phase.
    pub params: &'a [S],
    /// K, then 1/R, of each phase.
    pub inverses: &'a [S],
    /// Iterations at which phases begin.
    pub switches: &'a [usize],
    /// Tolerances at which a tick is solved.
    pub tolerance: Tolerance<S>,
}

/// AdmmOutcome of a tick.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct AdmmOutcome<S> {
    /// Number of iterations.
    pub iterations: usize,
    /// True if the tolerance was met. Otherwise the inputs are those of the best iterate before the deadline.
    pub solved: bool,
    /// Residual ratio of the returned iterate; solved if at most 1.
    pub ratio: S,
}

/// Memory of a controller between ticks, cut from one slice of [`AdmmTick::len`] numbers.
#[derive(Debug)]
pub struct AdmmTick<'m, S> {
    z: &'m mut [S],
    y: &'m mut [S],
    lower: &'m mut [S],
    upper: &'m mut [S],
    rows: &'m mut [S],
    linear: &'m mut [S],
    scratch: &'m mut [S],
    best: &'m mut [S],
    warm: bool,
}

impl<'m, S: Scalar> AdmmTick<'m, S> {
    /// Required length of the memory.
    pub const fn len(shape: Shape) -> usize {
        shape.blocks * (5 * shape.rows() + shape.variables() + shape.inputs) + shape.scratch()
    }

    /// Cold start: the first tick starts from zero.
    pub fn new(shape: Shape, memory: &'m mut [S]) -> Result<Self, Error> {
        exact(Argument::Memory, Self::len(shape), memory.len())?;
        let rows = shape.blocks * shape.rows();
        let (z, rest) = split_mut(memory, rows);
        let (y, rest) = split_mut(rest, rows);
        let (lower, rest) = split_mut(rest, rows);
        let (upper, rest) = split_mut(rest, rows);
        let (gu, rest) = split_mut(rest, rows);
        let (linear, rest) = split_mut(rest, shape.blocks * shape.variables());
        let (scratch, best) = split_mut(rest, shape.scratch());
        Ok(Self {
            z,
            y,
            lower,
            upper,
            rows: gu,
            linear,
            scratch,
            best,
            warm: false,
        })
    }

    /// Discards the last solution, so that the next tick starts cold.
    pub fn reset(&mut self) {
        self.warm = false;
    }

    /// Inputs to apply now, block after block.
    pub fn inputs(&self) -> &[S] {
        self.best
    }

    /// z and y of the last tick, block after block: the next tick starts from them, shifted by a stage.
    pub fn solution(&self) -> (&[S], &[S]) {
        (self.z, self.y)
    }

    /// Program of the last tick, for differentiation.
    pub fn instance(&self) -> Instance<'_, S> {
        Instance {
            linear: self.linear,
            lower: self.lower,
            upper: self.upper,
        }
    }
}

impl<S: Scalar> AdmmController<'_, S> {
    /// Checks that all lengths match the shape, the bounds are in order, and the tolerances are positive.
    pub fn check(&self) -> Result<(), Error> {
        let Shape {
            inputs, outputs, ..
        } = self.shape;
        Qp::new(self.shape, self.outputs)?;
        self.phases().check(self.shape)?;
        let n = self.shape.variables();
        let optional = |given: &[S], needed: usize| match given.len() {
            0 => Ok(()),
            given => exact(Argument::Model, needed, given),
        };
        optional(self.linear, n * self.states)?;
        optional(self.free, outputs * self.shape.stages * self.states)?;
        exact(Argument::Bounds, inputs + outputs, self.lower.len())?;
        exact(Argument::Bounds, inputs + outputs, self.upper.len())?;
        in_order(self.lower, self.upper)?;
        self.tolerance.check_parts()
    }

    fn phases(&self) -> Phases<'_, S> {
        Phases {
            params: self.params,
            inverses: self.inverses,
            switches: self.switches,
        }
    }

    /// Runs one tick of at most `budget` iterations, from the measured state `x` (block after block) and `extra`, a term d of g
    /// or empty. [`AdmmTick::inputs`] returns the inputs. Lengths that do not match and states that are not finite are errors. If the
    /// state is so large that the program overflows, the tick is not solved, and the inputs are the last finite ones.
    pub fn tick(
        &self,
        memory: &mut AdmmTick<'_, S>,
        x: &[S],
        extra: &[S],
        budget: usize,
    ) -> Result<AdmmOutcome<S>, Error> {
        exact(Argument::X0, self.shape.blocks * self.states, x.len())?;
        if !extra.is_empty() {
            exact(Argument::Model, memory.linear.len(), extra.len())?;
        }
        finite(Argument::X0, x)?;
        finite(Argument::Model, extra)?;
        if memory.warm {
            self.shift(memory.z);
            self.shift(memory.y);
        } else {
            memory.z.fill(S::ZERO);
            memory.y.fill(S::ZERO);
        }
        self.instance(memory, x, extra);
        let outcome = self.solve(memory, budget);
        // An overflow must not reach the next tick. y accumulates R∘(v − z⁺), so it is finite only if z is.
        memory.warm = S::all_finite(memory.y);
        Ok(outcome)
    }

    /// Moves the values of every stage one stage forward; the last stage keeps its own.
    fn shift(&self, values: &mut [S]) {
        let n = self.shape.variables();
        for block in pieces_mut(values, self.shape.rows()) {
            let (inputs, outputs) = split_mut(block, n);
            for (part, width) in [(inputs, self.shape.inputs), (outputs, self.shape.outputs)] {
                let cells = Cell::from_mut(part).as_slice_of_cells();
                for (to, from) in cells.iter().zip(cells.iter().skip(width)) {
                    to.set(from.get());
                }
            }
        }
    }

    /// Computes g and the bounds for this state.
    fn instance(&self, memory: &mut AdmmTick<'_, S>, x: &[S], extra: &[S]) {
        let shape = self.shape;
        let (m, n) = (shape.rows(), shape.variables());
        memory.linear.fill(S::ZERO);
        copy(memory.linear, extra);
        let states = pieces(x, self.states);
        for (linear, x) in pieces_mut(memory.linear, n).zip(states.clone()) {
            for (column, &x) in pieces(self.linear, n).zip(x) {
                add_scaled(linear, x, column);
            }
        }
        for (bounds, stage) in [
            (&mut *memory.lower, self.lower),
            (&mut *memory.upper, self.upper),
        ] {
            let (input, output) = split(stage, shape.inputs);
            for block in pieces_mut(bounds, m) {
                let (inputs, outputs) = split_mut(block, n);
                for (part, stage) in [(inputs, input), (outputs, output)] {
                    for (bound, &to) in part.iter_mut().zip(stage.iter().cycle()) {
                        *bound = to;
                    }
                }
            }
            for (block, x) in pieces_mut(bounds, m).zip(states.clone()) {
                let (_, outputs) = split_mut(block, n);
                for (column, &x) in pieces(self.free, outputs.len()).zip(x) {
                    add_scaled(outputs, -x, column);
                }
            }
        }
    }

    /// Iterates until the tolerance or the budget is reached; keeps the inputs of the best iterate.
    fn solve(&self, memory: &mut AdmmTick<'_, S>, budget: usize) -> AdmmOutcome<S> {
        let qp = Qp {
            shape: self.shape,
            outputs: self.outputs,
        };
        let instance = Instance {
            linear: memory.linear,
            lower: memory.lower,
            upper: memory.upper,
        };
        let solver = Solver::unchecked(qp, instance, self.tolerance);
        let phases = self.phases();
        let mut outcome = AdmmOutcome {
            iterations: 0,
            solved: false,
            ratio: S::INFINITY,
        };
        // Fallback: the inputs that the last tick planned for now, or the admissible inputs nearest to zero.
        self.keep(memory.z, memory.best);
        for iteration in 0..budget {
            let phase = phases.at(self.shape, iteration);
            let residual: Residual<S> =
                solver.iterate(phase, memory.z, memory.y, memory.rows, memory.scratch);
            outcome.iterations = iteration + 1;
            let ratio = residual.ratio();
            if ratio < outcome.ratio {
                outcome.ratio = ratio;
                self.keep(memory.z, memory.best);
            }
            if ratio <= S::ONE {
                outcome.solved = true;
                break;
            }
        }
        outcome
    }

    /// Keeps the inputs of the first stage of every block, clipped: an iterate is within its bounds, but the zeros of a cold
    /// start may not be.
    fn keep(&self, z: &[S], best: &mut [S]) {
        let blocks = pieces(z, self.shape.rows());
        for (best, block) in pieces_mut(best, self.shape.inputs).zip(blocks) {
            let bounds = self.lower.iter().zip(self.upper);
            for ((best, &z), (&lower, &upper)) in best.iter_mut().zip(block).zip(bounds) {
                *best = clip(z, lower, upper);
            }
        }
    }
}
