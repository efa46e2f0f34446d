//! Memory of a run, including its position.
//!
//! The engine allocates nothing. [`Memory`] is storage for sizes known at compile time; its `new` is a `const fn`, so it can be a
//! `static`. With the feature `std`, [`HeapMemory`] is the same for sizes known at run time. [`Borrowed`] accepts any slices, or
//! a [`Store`](crate::checkpoint::Store).
//!
//! | part | numbers |
//! |---|---|
//! | rows | [`Dims::rows_len`]: 7 states, 2 step records, scratch |
//! | params | [`Dims::params_len`]: 2 × parameters |
//! | slots | [`Dims::slots_len`]: slots × states, or more: records are kept where they fit |
//! | marks | one [`Mark`] per slot |
//! | cursor | position of the run: step, J, schedule, progress of the sweep |
//!
//! No part refers to another part: a memory may be moved or cloned between two calls, the run continues with the same bits, and
//! two clones are two runs. (A store is the exception: both clones would share it.)
//!
//! # Rows
//!
//! In the forward run x_k is in slot k while slots are free, then alternately in rows 0 and 1 ([`Map`](crate::Map): 0, 1 and 2,
//! because F(x_k) is x_{k+1} before it is accepted). Row 2 holds the rate, row 3 is free, and the row of λ holds the best
//! iterate. The places of x_k and x_{k−1} therefore follow from k.

use super::Evaluations;
use super::crossing::Resolved;
use crate::checkpoint::{Mark, Reversal, Schedule, Shape, Slots};
use crate::error::{Argument, Error, at_least};
use crate::scalar::Scalar;
use crate::slices::{split, split_mut};
use crate::system::Dims;

/// Storage for a problem of `D` states and `P` parameters, with `SLOTS` checkpoint slots.
///
/// `ROWS` is the number of state-sized rows of working memory, `ROWS`·`D` numbers in all. The default suffices for any
/// [`formula!`](crate::formula) with every integrator (RK4 needs 13 rows) and for the [`methods`](crate::methods) with Euler, if
/// the objective needs no tape or scratch memory. If a run needs more, the error gives the required number ([`Dims::rows_len`]).
/// `SLOT` is the length of one slot: if it is longer than `D`, the records of the steps are kept as well and need not be
/// recomputed. Without slots a run has no gradient.
///
/// ```
/// use dst_core::Memory;
/// static LOOP: Memory<f32, 12, 3, 6> = Memory::new();
/// ```
#[derive(Clone, Debug)]
pub struct Memory<
    S,
    const D: usize,
    const P: usize,
    const SLOTS: usize,
    const ROWS: usize = 13,
    const SLOT: usize = D,
> {
    rows: [[S; D]; ROWS],
    params: [[S; P]; 2],
    slots: [[S; SLOT]; SLOTS],
    marks: [Mark; SLOTS],
    cursor: Cursor<S>,
}

impl<
    S: Scalar,
    const D: usize,
    const P: usize,
    const SLOTS: usize,
    const ROWS: usize,
    const SLOT: usize,
> Memory<S, D, P, SLOTS, ROWS, SLOT>
{
    /// Zeroed storage; can initialise a `static`.
    pub const fn new() -> Self {
        Self {
            rows: [[S::ZERO; D]; ROWS],
            params: [[S::ZERO; P]; 2],
            slots: [[S::ZERO; SLOT]; SLOTS],
            marks: [Mark::EMPTY; SLOTS],
            cursor: Cursor::new(),
        }
    }
}

impl<
    S: Scalar,
    const D: usize,
    const P: usize,
    const SLOTS: usize,
    const ROWS: usize,
    const SLOT: usize,
> Default for Memory<S, D, P, SLOTS, ROWS, SLOT>
{
    fn default() -> Self {
        Self::new()
    }
}

impl<
    S: Scalar,
    const D: usize,
    const P: usize,
    const SLOTS: usize,
    const ROWS: usize,
    const SLOT: usize,
> Workspace<S> for Memory<S, D, P, SLOTS, ROWS, SLOT>
{
    #[inline(always)]
    fn view(&self) -> View<'_, S> {
        View {
            rows: self.rows.as_flattened(),
            params: self.params.as_flattened(),
            slots: self.slots.as_flattened(),
            marks: &self.marks,
            cursor: &self.cursor,
        }
    }
    #[inline(always)]
    fn view_mut(&mut self) -> Borrowed<'_, S> {
        Borrowed {
            rows: self.rows.as_flattened_mut(),
            params: self.params.as_flattened_mut(),
            slots: Slots::Memory(self.slots.as_flattened_mut()),
            marks: &mut self.marks,
            cursor: &mut self.cursor,
        }
    }
}

/// Memory that a problem can run in: [`Memory`], `HeapMemory` or [`Borrowed`].
pub trait Workspace<S> {
    /// Parts of the memory, read-only.
    fn view(&self) -> View<'_, S>;
    /// Parts of the memory, mutable.
    fn view_mut(&mut self) -> Borrowed<'_, S>;
}

/// Parts of a memory, borrowed read-only.
#[derive(Clone, Copy, Debug)]
pub struct View<'m, S> {
    pub(crate) rows: &'m [S],
    pub(crate) params: &'m [S],
    pub(crate) slots: &'m [S],
    pub(crate) marks: &'m [Mark],
    pub(crate) cursor: &'m Cursor<S>,
}

/// Parts of a memory, borrowed from the caller.
#[derive(Debug)]
pub struct Borrowed<'m, S> {
    /// Working memory, at least [`Dims::rows_len`] numbers.
    pub rows: &'m mut [S],
    /// Parameter-sized vectors, at least [`Dims::params_len`] numbers.
    pub params: &'m mut [S],
    /// Checkpoint slots.
    pub slots: Slots<'m, S>,
    /// One mark per checkpoint slot.
    pub marks: &'m mut [Mark],
    /// Position of the run.
    pub cursor: &'m mut Cursor<S>,
}

impl<S: Scalar> Workspace<S> for Borrowed<'_, S> {
    fn view(&self) -> View<'_, S> {
        View {
            rows: self.rows,
            params: self.params,
            slots: match &self.slots {
                Slots::Memory(memory) => memory,
                Slots::Store(_) => &[],
            },
            marks: self.marks,
            cursor: self.cursor,
        }
    }
    #[inline(always)]
    fn view_mut(&mut self) -> Borrowed<'_, S> {
        Borrowed {
            rows: self.rows,
            params: self.params,
            slots: self.slots.reborrow(),
            marks: self.marks,
            cursor: self.cursor,
        }
    }
}

#[cfg(feature = "std")]
mod heap {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use super::{Borrowed, Cursor, Dims, Mark, Scalar, Slots, View, Workspace};
    use crate::integrator::Integrator;
    use crate::solve::Plan;
    use crate::system::System;

    /// Storage on the heap, for sizes known at run time.
    #[derive(Clone, Debug)]
    pub struct HeapMemory<S> {
        rows: Vec<S>,
        params: Vec<S>,
        slots: Vec<S>,
        marks: Vec<Mark>,
        cursor: Cursor<S>,
    }

    impl<S: Scalar> HeapMemory<S> {
        /// Storage for this plan and system, with this many slots; none for a run without a gradient.
        pub fn new<I, Y>(plan: &Plan<S, I>, system: &Y, slots: usize) -> Self
        where
            I: Integrator<S>,
            Y: System<S> + ?Sized,
        {
            Self::sized(plan.integrator.stages(), system.dims(), slots, false)
        }

        /// Storage with room for the records of the steps: no kept step is evaluated twice.
        pub fn with_records<I, Y>(plan: &Plan<S, I>, system: &Y, slots: usize) -> Self
        where
            I: Integrator<S>,
            Y: System<S> + ?Sized,
        {
            Self::sized(plan.integrator.stages(), system.dims(), slots, true)
        }

        fn sized(stages: usize, dims: Dims, slots: usize, keep_records: bool) -> Self {
            Self {
                rows: vec![S::ZERO; dims.rows_len(stages)],
                params: vec![S::ZERO; dims.params_len()],
                slots: vec![S::ZERO; dims.slots_len(stages, slots, keep_records)],
                marks: vec![Mark::EMPTY; slots],
                cursor: Cursor::new(),
            }
        }

        /// Size of the checkpoint slots in bytes: the part of the memory that grows with their number.
        pub fn slot_bytes(&self) -> usize {
            size_of_val(self.slots.as_slice())
        }
    }

    impl<S: Scalar> Workspace<S> for HeapMemory<S> {
        fn view(&self) -> View<'_, S> {
            View {
                rows: &self.rows,
                params: &self.params,
                slots: &self.slots,
                marks: &self.marks,
                cursor: &self.cursor,
            }
        }
        fn view_mut(&mut self) -> Borrowed<'_, S> {
            Borrowed {
                rows: &mut self.rows,
                params: &mut self.params,
                slots: Slots::Memory(&mut self.slots),
                marks: &mut self.marks,
                cursor: &mut self.cursor,
            }
        }
    }
}
#[cfg(feature = "std")]
pub use heap::HeapMemory;

/// No step, or no slot: the state is in a row.
pub(crate) const NONE: usize = usize::MAX;

/// Phase of the forward run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Fresh,
    Running,
    Reached,
    StepLimit,
    NeverSettled,
    /// x_{k+1} is not finite.
    BadState,
    /// J at x_k is not finite.
    BadCriterion,
    /// A slot could not be saved.
    BadStore,
}

/// Stage of the differentiation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not begun, or terminated by an error.
    Before,
    Adjoint,
    Tangent,
    Done,
}

/// Position of a run: step, J, best iterate, schedule, and the progress of its differentiation. Plain data without references.
///
/// Part of every [`Memory`]; a separate value only for [`Borrowed`].
#[derive(Clone, Copy, Debug)]
pub struct Cursor<S> {
    /// Fingerprint of the problem and memory at the start; zero before the first start.
    pub(crate) print: u32,
    pub(crate) phase: Phase,
    pub(crate) stage: Stage,
    /// True while the best iterate is x_k; otherwise it is in the row of λ, which the forward run does not need.
    pub(crate) best_is_current: bool,
    /// k
    pub(crate) steps: usize,
    /// Step at which J fell to ε without leaving since, or [`NONE`]. After a failed save, the slot.
    pub(crate) entry: usize,
    pub(crate) exits: usize,
    /// J at x_k and x_{k−1}, f at x_k, and the least J.
    pub(crate) criterion: S,
    pub(crate) previous: S,
    pub(crate) loss: S,
    pub(crate) best: S,
    pub(crate) book: Book,
    pub(crate) sweep: Sweep<S>,
}

/// Accounting of the checkpoints: of the run, then of its reversal.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Book {
    Forward(Schedule),
    Backward(Reversal),
}

/// Parts of the working state that a sweep has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// The state only.
    State,
    /// The state and the record of its step.
    Record,
    /// The record, and x_{k+1} in the next row.
    Next,
}

/// States in the slots from which a further sweep can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// None: the slots held directions, or the run was too short to save a state.
    Nothing,
    /// x_0, in slot 0.
    Start,
    /// x_k in slot k, for all steps of the run.
    All,
}

/// Scalars of a differentiation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sweep<S> {
    /// Step of the working state, and the step to which it advances. In the tangent mode `to` is the first direction of the
    /// group.
    pub(crate) step: usize,
    pub(crate) to: usize,
    /// Slots of the working state and of the state at which the sweep begins, or [`NONE`] if they are in rows.
    pub(crate) here: usize,
    pub(crate) last: usize,
    pub(crate) count: Evaluations,
    /// Crossing and its seeds on dJ_N, dJ_{N−1}, dJ_{N−2}; zeros if the stop is not among the seeds.
    pub(crate) stop: Resolved<S>,
    pub(crate) seeds: [S; 3],
    /// Rows of the state at which the sweep begins, its rate, the working state and the next one.
    pub(crate) roles: [u8; 4],
    pub(crate) known: Known,
    /// True if the stop is among the seeds: the sweep begins at N, otherwise at the last step.
    pub(crate) stopped: bool,
    /// True if the state at which the sweep begins is available, with its rate and record.
    pub(crate) at_hand: bool,
    /// True if λ has been set from that state.
    pub(crate) seeded: bool,
    /// True if the record of the state at which the sweep begins is the second one.
    pub(crate) flipped: bool,
    /// True if λ and the spare row are exchanged.
    pub(crate) replaced: bool,
    pub(crate) kept: Kept,
}

impl<S: Scalar> Cursor<S> {
    /// Cursor before the first start; can initialise a `static`. All zeros, so it takes no flash.
    pub const fn new() -> Self {
        Self {
            print: 0,
            phase: Phase::Fresh,
            stage: Stage::Before,
            best_is_current: false,
            steps: 0,
            entry: 0,
            exits: 0,
            criterion: S::ZERO,
            previous: S::ZERO,
            loss: S::ZERO,
            best: S::ZERO,
            book: Book::Forward(Schedule::IDLE),
            sweep: Sweep {
                step: 0,
                to: 0,
                here: 0,
                last: 0,
                count: Evaluations {
                    rate: 0,
                    pullback: 0,
                    pushforward: 0,
                },
                stop: Resolved::NONE,
                seeds: [S::ZERO; 3],
                roles: [0; 4],
                known: Known::State,
                stopped: false,
                at_hand: false,
                seeded: false,
                flipped: false,
                replaced: false,
                kept: Kept::Nothing,
            },
        }
    }

    /// Resets the cursor to the start of a run.
    pub(crate) fn start(&mut self, print: u32, slots: usize) {
        self.print = print;
        self.phase = Phase::Fresh;
        self.stage = Stage::Before;
        self.best_is_current = true;
        self.steps = 0;
        self.entry = NONE;
        self.exits = 0;
        self.criterion = S::NAN;
        self.previous = S::NAN;
        self.loss = S::NAN;
        self.best = S::INFINITY;
        self.book = Book::Forward(Schedule::new(slots));
    }

    /// Step at which a sweep begins: N, or the last step if the stop is not among its seeds.
    pub(crate) fn end(&self) -> usize {
        if self.sweep.stopped {
            self.entry
        } else {
            self.steps
        }
    }

    /// Error that ended the run, if any.
    pub(crate) fn failure(&self) -> Option<Error> {
        match self.phase {
            Phase::BadState => Some(Error::NonFinite {
                step: self.steps.wrapping_add(1),
            }),
            Phase::BadCriterion => Some(Error::NonFinite { step: self.steps }),
            Phase::BadStore => Some(Error::Store { slot: self.entry }),
            _ => None,
        }
    }
}

impl<S: Scalar> Default for Cursor<S> {
    fn default() -> Self {
        Self::new()
    }
}

/// Parts of a memory, each with its exact length.
pub(crate) struct Work<'m, S> {
    /// Alternating states; see the top of this file.
    pub(crate) rows: [&'m mut [S]; 4],
    /// λ in the backward sweep, the best iterate in the forward run.
    pub(crate) lambda: &'m mut [S],
    pub(crate) temporary: &'m mut [S],
    pub(crate) spare: &'m mut [S],
    /// Records of even and odd steps.
    pub(crate) records: [&'m mut [S]; 2],
    pub(crate) scratch: &'m mut [S],
    /// Cotangent of θ.
    pub(crate) theta_bar: &'m mut [S],
    /// Second vector with the length of θ.
    pub(crate) theta_spare: &'m mut [S],
    pub(crate) slots: Slots<'m, S>,
    pub(crate) shape: Shape,
    pub(crate) marks: &'m mut [Mark],
    pub(crate) cursor: &'m mut Cursor<S>,
}

/// Lengths of the slots: records are kept if there is room.
pub(crate) fn slot_shape(dims: Dims, stages: usize, slots: usize, numbers: usize) -> Shape {
    let record = dims.record_len(stages);
    let fits = slots.saturating_mul(dims.states.saturating_add(record)) <= numbers;
    Shape {
        states: dims.states,
        record: if fits { record } else { 0 },
    }
}

impl<'m, S: Scalar> Work<'m, S> {
    /// Splits a memory into its parts.
    #[inline(always)]
    pub(crate) fn carve(memory: Borrowed<'m, S>, dims: Dims, stages: usize) -> Result<Self, Error> {
        let Borrowed {
            rows,
            params,
            slots,
            marks,
            cursor,
        } = memory;
        at_least(Argument::Rows, dims.rows_len(stages), rows.len())?;
        at_least(Argument::Params, dims.params_len(), params.len())?;
        let shape = match &slots {
            Slots::Memory(memory) => {
                let needed = dims.slots_len(stages, marks.len(), false);
                at_least(Argument::Slots, needed, memory.len())?;
                slot_shape(dims, stages, marks.len(), memory.len())
            }
            Slots::Store(_) => Shape {
                states: dims.states,
                record: 0,
            },
        };
        let record = dims.record_len(stages);
        let (row0, rest) = split_mut(rows, dims.states);
        let (row1, rest) = split_mut(rest, dims.states);
        let (row2, rest) = split_mut(rest, dims.states);
        let (row3, rest) = split_mut(rest, dims.states);
        let (lambda, rest) = split_mut(rest, dims.states);
        let (temporary, rest) = split_mut(rest, dims.states);
        let (spare, rest) = split_mut(rest, dims.states);
        let (even, rest) = split_mut(rest, record);
        let (odd, rest) = split_mut(rest, record);
        let (scratch, _) = split_mut(rest, dims.scratch);
        let (theta_bar, rest) = split_mut(params, dims.params);
        let (theta_spare, _) = split_mut(rest, dims.params);
        Ok(Self {
            rows: [row0, row1, row2, row3],
            lambda,
            temporary,
            spare,
            records: [even, odd],
            scratch,
            theta_bar,
            theta_spare,
            slots,
            shape,
            marks,
            cursor,
        })
    }

    /// Number of slots whose states are written and read without a copy.
    #[inline(always)]
    pub(crate) fn in_place(&self) -> usize {
        match self.slots {
            Slots::Memory(_) => self.marks.len(),
            Slots::Store(_) => 0,
        }
    }
}

/// Row of x_k when `slots` earlier states are in slots.
#[inline(always)]
pub(crate) fn row_of(step: usize, slots: usize, map: bool) -> usize {
    let beyond = step.wrapping_sub(slots);
    if map { beyond % 3 } else { beyond & 1 }
}

impl<'m, S: Scalar> View<'m, S> {
    /// The state-sized row of this number, out of seven.
    pub(crate) fn row(&self, number: usize, states: usize) -> &'m [S] {
        let (_, rest) = split(self.rows, number.saturating_mul(states));
        split(rest, states).0
    }

    /// Number of slots whose states are written and read without a copy.
    pub(crate) fn in_place(&self) -> usize {
        if self.slots.is_empty() {
            0
        } else {
            self.marks.len()
        }
    }

    /// State in a slot.
    pub(crate) fn slot(&self, shape: Shape, slot: usize) -> &'m [S] {
        shape.read(self.slots, slot).unwrap_or_default().0
    }
}
