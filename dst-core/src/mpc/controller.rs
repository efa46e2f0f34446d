//! Controller on the device: the dual active set of [`crate::qp`], at most B steps per tick, warm-started by shifting the set.
//!
//! A [`Controller`] holds all constants, in flash; a [`Tick`] is the only memory that changes. The rows of the program are ordered
//! stage by stage: the inputs of the stage, then its bounded outputs, then its rates. A tick computes s⁰, the rows under the
//! optimal inputs without bounds, from its parameter p (the measured state, and what else the model has: references, the previous
//! input), solves for the multipliers, and returns the inputs of the first stage, which are rows of s. They are clipped, so they
//! are within their bounds whatever happens.

use super::roll_out::RollOut;
use crate::error::{Argument, Error, exact, finite};
use crate::qp::{ActiveRows, ActiveSet, Bounds, Outcome, Status, Work, clip};
use crate::scalar::Scalar;
use crate::slices::{combine, pieces, pieces_mut, split, split_mut};

/// Prepared controller: constants, such as those that `dst control export` writes.
#[derive(Clone, Copy, Debug)]
pub struct Controller<'a, S> {
    /// Inputs per stage of a block.
    pub inputs: usize,
    /// Length of the parameter p of a block.
    pub parameters: usize,
    /// Number of independent copies of the plant.
    pub blocks: usize,
    /// Most rows that the active set can hold. A tick that needs more is late.
    pub capacity: usize,
    /// W of a block and the rest of its constants.
    pub set: ActiveSet<'a, S>,
    /// Map from p to s⁰.
    pub response: Response<'a, S>,
    /// Lower bounds of the rows of one stage; −∞ for none.
    pub lower: &'a [S],
    /// Upper bounds of the rows of one stage; ∞ for none.
    pub upper: &'a [S],
}

/// Map from the parameter p of a tick to s⁰.
#[derive(Clone, Copy, Debug)]
pub enum Response<'a, S> {
    /// s⁰ = M·p; M is m × parameters, column by column.
    Map(&'a [S]),
    /// Simulation of the plant under its feedback, which takes fewer operations if the plant has few states.
    RollOut(RollOut<'a, S>),
}

/// Memory of a controller between ticks: numbers and words.
#[derive(Debug)]
pub struct Tick<'m, S> {
    work: Work<'m, S>,
    words: &'m mut [u16],
    state: &'m mut [S],
    inputs: &'m mut [S],
}

impl<'m, S: Scalar> Tick<'m, S> {
    /// Numbers that the memory of this controller needs.
    pub const fn numbers(controller: &Controller<'_, S>) -> usize {
        Work::<S>::len(controller.rows(), controller.capacity)
            + controller.blocks * controller.inputs
            + controller.states()
    }

    /// Words that the memory of this controller needs.
    pub const fn words(controller: &Controller<'_, S>) -> usize {
        controller.blocks * ActiveRows::len(controller.capacity)
    }

    /// Checks the controller and cuts the memory. The first tick is cold.
    pub fn new(
        controller: &Controller<'_, S>,
        numbers: &'m mut [S],
        words: &'m mut [u16],
    ) -> Result<Self, Error> {
        controller.check()?;
        exact(Argument::Memory, Self::numbers(controller), numbers.len())?;
        exact(Argument::Memory, Self::words(controller), words.len())?;
        let (inputs, rest) = split_mut(numbers, controller.blocks * controller.inputs);
        let (state, rest) = split_mut(rest, controller.states());
        let mut tick = Self {
            work: Work::new(controller.rows(), controller.capacity, rest),
            words,
            state,
            inputs,
        };
        tick.inputs.fill(S::ZERO);
        for inputs in pieces_mut(tick.inputs, controller.inputs) {
            controller.read(inputs, &[], controller.bounds());
        }
        tick.reset();
        Ok(tick)
    }

    /// Discards the active set, so that the next tick starts cold.
    pub fn reset(&mut self) {
        self.words.fill(0);
    }

    /// Inputs to apply now, block after block.
    pub fn inputs(&self) -> &[S] {
        self.inputs
    }

    /// Inputs to apply now, as a vector.
    #[cfg(feature = "nalgebra")]
    pub fn input_vector<const N: usize>(&self) -> Option<nalgebra::SVector<S, N>>
    where
        S: nalgebra::Scalar,
    {
        <[S; N]>::try_from(&*self.inputs)
            .ok()
            .map(nalgebra::SVector::from)
    }
}

impl<'a, S: Scalar> Controller<'a, S> {
    /// Rows of a block: m.
    pub const fn rows(&self) -> usize {
        self.set.scale.len()
    }

    /// States to simulate: none with a map.
    const fn states(&self) -> usize {
        match self.response {
            Response::Map(_) => 0,
            // The state, and the next one.
            Response::RollOut(_) => 2 * self.parameters,
        }
    }

    /// Number of stages of the horizon.
    pub const fn stages(&self) -> usize {
        match self.rows().checked_div(self.lower.len()) {
            Some(stages) => stages,
            None => 0,
        }
    }

    /// Checks that all lengths fit together and the bounds are in order.
    pub fn check(&self) -> Result<(), Error> {
        self.set.check(self.bounds())?;
        let kinds = self.lower.len();
        if self.inputs == 0 || self.inputs > kinds || self.parameters == 0 || self.blocks == 0 {
            return Err(Error::Invalid(Argument::Model));
        }
        // Written so that a NaN fails.
        if !self.lower.iter().zip(self.upper).all(|(l, u)| l <= u) {
            return Err(Error::Invalid(Argument::Bounds));
        }
        match self.response {
            Response::Map(map) => exact(Argument::Model, self.rows() * self.parameters, map.len()),
            Response::RollOut(r) => {
                let (nx, nu) = (self.parameters, self.inputs);
                let optional = |given: &[S], needed: usize| match given.len() {
                    0 => Ok(()),
                    given => exact(Argument::Model, needed, given),
                };
                exact(Argument::Model, nx * nx, r.a.len())?;
                exact(Argument::Model, nx * nu, r.b.len())?;
                if !r.outputs.is_empty() || kinds != nu + nx {
                    exact(Argument::Model, (kinds - nu) * nx, r.outputs.len())?;
                }
                optional(r.feedback, nu * nx)?;
                optional(r.feed, nu * nu)
            }
        }
    }

    fn bounds(&self) -> Bounds<'a, S> {
        Bounds {
            lower: self.lower,
            upper: self.upper,
        }
    }

    /// Runs one tick of at most `budget` steps per block, from the parameters `p`, block after block. `extra` is a linear term of
    /// the cost of the inputs for a roll-out with a feed, or empty. [`Tick::inputs`] returns the inputs. Lengths that do not match
    /// and numbers that are not finite are errors, and leave the memory as it is.
    pub fn tick(
        &self,
        memory: &mut Tick<'_, S>,
        p: &[S],
        extra: &[S],
        budget: usize,
    ) -> Result<Outcome, Error> {
        self.tick_within(memory, p, extra, self.bounds(), budget)
    }

    /// Runs one tick with other bounds than those of the controller, one pair for each row of a stage.
    pub fn tick_within(
        &self,
        memory: &mut Tick<'_, S>,
        p: &[S],
        extra: &[S],
        bounds: Bounds<'_, S>,
        budget: usize,
    ) -> Result<Outcome, Error> {
        exact(Argument::X0, self.blocks * self.parameters, p.len())?;
        exact(Argument::Bounds, self.lower.len(), bounds.lower.len())?;
        exact(Argument::Bounds, self.lower.len(), bounds.upper.len())?;
        exact(Argument::Memory, self.rows(), memory.work.rows.len())?;
        if !extra.is_empty() {
            let feed = match self.response {
                Response::Map(_) => 0,
                Response::RollOut(r) => r.feed.len(),
            };
            let needed = if feed == 0 {
                0
            } else {
                self.blocks * self.inputs * self.stages()
            };
            exact(Argument::Model, needed, extra.len())?;
        }
        finite(Argument::X0, p)?;
        finite(Argument::Model, extra)?;
        if bounds.lower.iter().chain(bounds.upper).any(|b| b.is_nan()) {
            return Err(Error::Invalid(Argument::Bounds));
        }
        let mut all = Outcome {
            status: Status::Solved,
            steps: 0,
            operations: 0,
        };
        let Tick {
            work,
            words,
            state,
            inputs,
        } = memory;
        let parts =
            pieces(p, self.parameters).zip(pieces_mut(words, ActiveRows::len(self.capacity)));
        let parts = parts.zip(pieces_mut(inputs, self.inputs)).enumerate();
        for (block, ((p, words), inputs)) in parts {
            let (_, extra) = split(extra, block * self.inputs * self.stages());
            all.operations += self.respond(work.start, p, extra, state);
            let mut set = ActiveRows::new(words);
            let outcome = self
                .set
                .solve(work, &mut set, self.lower.len(), bounds, budget, None);
            self.read(inputs, work.rows, bounds);
            all.steps += outcome.steps;
            all.operations += outcome.operations;
            all.status = worse(all.status, outcome.status);
        }
        Ok(all)
    }

    /// Soft rows that the last tick left beyond their bounds: block, stage, and row of the stage.
    pub fn softened<'r>(
        &'r self,
        memory: &'r Tick<'_, S>,
    ) -> impl Iterator<Item = (usize, usize, usize)> + 'r {
        let kinds = self.lower.len().max(1);
        let sets = pieces(memory.words, ActiveRows::len(self.capacity)).enumerate();
        sets.flat_map(move |(block, words)| {
            let rows = self.set.softened(words);
            rows.map(move |row| (block, row / kinds, row % kinds))
        })
    }

    /// Rows of the last block with a multiplier in the last tick, and the multipliers: positive at an upper bound, negative at a
    /// lower one. With them the conditions of optimality can be checked.
    pub fn multipliers<'r>(
        &'r self,
        memory: &'r Tick<'_, S>,
    ) -> impl Iterator<Item = (usize, S)> + 'r {
        let words = pieces(memory.words, ActiveRows::len(self.capacity)).last();
        self.set
            .read_multipliers(&memory.work, words.unwrap_or_default())
    }

    /// Computes s⁰; returns the number of operations.
    fn respond(&self, start: &mut [S], p: &[S], extra: &[S], state: &mut [S]) -> usize {
        match self.response {
            Response::Map(map) => {
                let m = start.len();
                start.fill(S::ZERO);
                combine(start, p, pieces(map, m));
                m * p.len()
            }
            Response::RollOut(roll_out) => {
                roll_out.run(start, self.lower.len(), self.inputs, p, extra, state);
                self.stages() * roll_out.operations()
            }
        }
    }

    /// Reads the inputs of the first stage. A number that is not finite, or missing, leaves the last input.
    fn read(&self, inputs: &mut [S], rows: &[S], bounds: Bounds<'_, S>) {
        let limits = bounds.lower.iter().zip(bounds.upper);
        for (i, (input, (&lower, &upper))) in inputs.iter_mut().zip(limits).enumerate() {
            let value = rows.get(i).copied().filter(|row| row.is_finite());
            *input = clip(value.unwrap_or(*input), lower, upper);
        }
    }
}

/// The status of two blocks together: the one that a caller must know of first.
fn worse(a: Status, b: Status) -> Status {
    let rank = |status: Status| match status {
        Status::Solved => 0,
        Status::Softened => 1,
        Status::Late => 2,
        Status::Infeasible => 3,
    };
    if rank(b) > rank(a) { b } else { a }
}
