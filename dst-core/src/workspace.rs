//! How much memory a problem needs, and const-generic storage for it.
//!
//! The engine allocates nothing: it borrows a [`Workspace`] of slices. [`Memory`] is the storage for sizes known when
//! the program is compiled; it has a `const fn new`, so it can live in a `static`. With the feature `std`,
//! [`HeapMemory`] holds the same for sizes known at run time.
//!
//! | part | entries |
//! |---|---|
//! | rows | [`rows_len`]: 7 states + 2 step records + scratch |
//! | params | [`params_len`]: 2 × parameters |
//! | slots | [`slots_len`]: slots × states, or more: records are kept where they fit |
//! | marks | one [`Mark`] per slot |

use crate::checkpoint::{Mark, Slots};
use crate::error::{Argument, Error, at_least};
use crate::integrator::{Integrator, split_mut};
use crate::scalar::Scalar;
use crate::system::Dims;

/// State-sized working vectors: x_k, its neighbour, the rate, λ, two temporaries and the last iterate.
const STATE_ROWS: usize = 7;

/// Length of a step's record for a method with this many stages.
pub const fn record_len(dims: Dims, stages: usize) -> usize {
    let later = dims
        .states
        .saturating_add(dims.tape)
        .saturating_mul(stages.saturating_sub(1));
    dims.tape.saturating_add(later)
}

/// Entries of [`Workspace::rows`] for a system and a method with `stages` evaluations per step
/// (Euler and symplectic Euler 1, Heun 2, RK4 4).
pub const fn rows_len(dims: Dims, stages: usize) -> usize {
    dims.states
        .saturating_mul(STATE_ROWS)
        .saturating_add(record_len(dims, stages).saturating_mul(2))
        .saturating_add(dims.scratch)
}

/// Entries of [`Workspace::params`].
pub const fn params_len(dims: Dims) -> usize {
    dims.params.saturating_mul(2)
}

/// Entries of the checkpoint slots, with or without room for the records.
pub const fn slots_len(dims: Dims, stages: usize, slots: usize, keep_records: bool) -> usize {
    let record = if keep_records {
        record_len(dims, stages)
    } else {
        0
    };
    slots.saturating_mul(dims.states.saturating_add(record))
}

/// The memory of one run, borrowed from the caller.
#[derive(Debug)]
pub struct Workspace<'m, S, St> {
    /// Working vectors, at least [`rows_len`] entries.
    pub rows: &'m mut [S],
    /// Parameter-sized vectors, at least [`params_len`] entries.
    pub params: &'m mut [S],
    /// One mark per checkpoint slot.
    pub marks: &'m mut [Mark],
    /// Where the checkpoints go: memory, or anything else behind [`Store`](crate::Store).
    pub store: St,
}

/// Storage for a problem of `D` states and `P` parameters, with `SLOTS` checkpoint slots.
///
/// `ROWS` is the number of state-sized rows of working memory, `ROWS`·`D` entries in all. The default suffices for any
/// [`formula!`](crate::formula) with every integrator (RK4 needs 13 rows) and for the [`methods`](crate::methods) with Euler, as long
/// as the objective asks for no tape or scratch memory of its own; a run that needs more says how many entries
/// ([`rows_len`]). `SLOT` is the length of one slot: make it longer than `D` to keep the records of the steps too, which saves
/// their recomputation.
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
        }
    }

    /// The parts, borrowed.
    pub fn workspace(&mut self) -> Workspace<'_, S, Slots<'_, S>> {
        Workspace {
            rows: self.rows.as_flattened_mut(),
            params: self.params.as_flattened_mut(),
            marks: &mut self.marks,
            store: Slots::new(self.slots.as_flattened_mut()),
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
    'm,
    S: Scalar,
    const D: usize,
    const P: usize,
    const SLOTS: usize,
    const ROWS: usize,
    const SLOT: usize,
> From<&'m mut Memory<S, D, P, SLOTS, ROWS, SLOT>> for Workspace<'m, S, Slots<'m, S>>
{
    fn from(memory: &'m mut Memory<S, D, P, SLOTS, ROWS, SLOT>) -> Self {
        memory.workspace()
    }
}

#[cfg(feature = "std")]
mod heap {
    extern crate std;
    use std::vec;
    use std::vec::Vec;

    use crate::plan::Plan;
    use crate::system::System;

    use super::{
        Dims, Integrator, Mark, Scalar, Slots, Workspace, params_len, rows_len, slots_len,
    };

    /// Storage on the heap, for sizes known at run time.
    #[derive(Clone, Debug)]
    pub struct HeapMemory<S> {
        rows: Vec<S>,
        params: Vec<S>,
        slots: Vec<S>,
        marks: Vec<Mark>,
    }

    impl<S: Scalar> HeapMemory<S> {
        /// For this plan and system, with this many slots (at least one is made).
        pub fn new<I, W, Y>(_: &Plan<S, I, W>, system: &Y, slots: usize) -> Self
        where
            I: Integrator<S>,
            Y: System<S> + ?Sized,
        {
            Self::sized::<I>(system.dims(), slots, false)
        }

        /// The same with room for the records of the steps: no kept step is evaluated twice.
        pub fn with_records<I, W, Y>(_: &Plan<S, I, W>, system: &Y, slots: usize) -> Self
        where
            I: Integrator<S>,
            Y: System<S> + ?Sized,
        {
            Self::sized::<I>(system.dims(), slots, true)
        }

        fn sized<I: Integrator<S>>(dims: Dims, slots: usize, keep_records: bool) -> Self {
            let slots = slots.max(1);
            Self {
                rows: vec![S::ZERO; rows_len(dims, I::STAGES)],
                params: vec![S::ZERO; params_len(dims)],
                slots: vec![S::ZERO; slots_len(dims, I::STAGES, slots, keep_records)],
                marks: vec![Mark::EMPTY; slots],
            }
        }

        /// Bytes of the checkpoint slots: the part of the memory that grows with their number.
        pub fn slot_bytes(&self) -> usize {
            size_of_val(self.slots.as_slice())
        }

        /// The parts, borrowed.
        pub fn workspace(&mut self) -> Workspace<'_, S, Slots<'_, S>> {
            Workspace {
                rows: &mut self.rows,
                params: &mut self.params,
                marks: &mut self.marks,
                store: Slots::new(&mut self.slots),
            }
        }
    }

    impl<'m, S: Scalar> From<&'m mut HeapMemory<S>> for Workspace<'m, S, Slots<'m, S>> {
        fn from(memory: &'m mut HeapMemory<S>) -> Self {
            memory.workspace()
        }
    }
}
#[cfg(feature = "std")]
pub use heap::HeapMemory;

/// The working vectors, each of its exact length.
#[derive(Debug)]
pub(crate) struct Work<'m, S> {
    /// x_k
    pub(crate) cur: &'m mut [S],
    /// x_{k−1} after a step, x_{k+1} while one is taken.
    pub(crate) prev: &'m mut [S],
    /// A(θ, x_k, t_k), and a temporary of the backward step.
    pub(crate) rate: &'m mut [S],
    /// λ in the backward sweep; the best iterate in the forward run, if it is not the current one.
    pub(crate) lambda: &'m mut [S],
    pub(crate) temporary: &'m mut [S],
    pub(crate) spare: &'m mut [S],
    /// x_N, kept through the backward sweep.
    pub(crate) last: &'m mut [S],
    /// Record of the step from `cur`.
    pub(crate) record: &'m mut [S],
    /// Record of the step from `prev`.
    pub(crate) record_prev: &'m mut [S],
    pub(crate) scratch: &'m mut [S],
    /// Cotangent of θ.
    pub(crate) theta_bar: &'m mut [S],
    /// A second vector of θ's length.
    pub(crate) theta_spare: &'m mut [S],
}

impl<'m, S: Scalar> Work<'m, S> {
    /// Cuts the workspace to size.
    pub(crate) fn carve<I: Integrator<S>>(
        rows: &'m mut [S],
        params: &'m mut [S],
        dims: Dims,
    ) -> Result<Self, Error> {
        at_least(Argument::Rows, rows_len(dims, I::STAGES), rows.len())?;
        at_least(Argument::Params, params_len(dims), params.len())?;
        let record_len = record_len(dims, I::STAGES);
        let (cur, rest) = split_mut(rows, dims.states);
        let (prev, rest) = split_mut(rest, dims.states);
        let (rate, rest) = split_mut(rest, dims.states);
        let (lambda, rest) = split_mut(rest, dims.states);
        let (temporary, rest) = split_mut(rest, dims.states);
        let (spare, rest) = split_mut(rest, dims.states);
        let (last, rest) = split_mut(rest, dims.states);
        let (record, rest) = split_mut(rest, record_len);
        let (record_prev, rest) = split_mut(rest, record_len);
        let (scratch, _) = split_mut(rest, dims.scratch);
        let (theta_bar, rest) = split_mut(params, dims.params);
        let (theta_spare, _) = split_mut(rest, dims.params);
        Ok(Self {
            cur,
            prev,
            rate,
            lambda,
            temporary,
            spare,
            last,
            record,
            record_prev,
            scratch,
            theta_bar,
            theta_spare,
        })
    }
}
