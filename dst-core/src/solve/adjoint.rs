//! The backward sweep over checkpoints (Algorithm 1 of the paper).
//!
//! λ starts from ∇J(x_N), weighted by the crossing; step k pulls it back through the exact transpose of the step and adds to θ̄.
//! The reversal recomputes states that were not kept from the nearest checkpoint, with exactly the operations of the forward run.
//! The bits of the gradient therefore depend neither on the number of slots nor on the budgets.
//!
//! A sweep begins at x_N with x_{N−1} available, directly after the run. In two cases it does not: for a further sweep over the
//! same run, and for a sweep from the entry of a stay that lasted longer. These *approach* first: the reversal goes to x_{N−1},
//! where its first pull would be, and, if x_N is not available either, one more step and one evaluation follow. From then on all
//! sweeps are the same.
//!
//! | sweep | steps recomputed |
//! |---|---|
//! | directly after the run | at most a few percent more than [`optimum`](crate::checkpoint::optimum)`(N, s)` − N; none with N slots |
//! | further sweep | [`advances`](crate::checkpoint::advances)`(N, s)`; none with N slots in memory |
//! | from the entry N of a stay that ended at K | as after a run of K steps reversed from N only, plus one |

use core::mem::{swap, take};

use super::crossing::{Resolved, Seeds, SlopeBy, Weights};
use super::memory::{Book, Kept, Known, NONE, Phase, Stage, Sweep, Work, Workspace};
use super::plan::Problem;
use super::{Crossing, Cursor, Evaluations, Progress};
use crate::checkpoint::{Action, Mark, Reversal, Shape, Slots};
use crate::error::{Argument, Error};
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::slices::{all_finite, clear, copy, short_loop, split, split_mut};
use crate::system::{Bar, Reading, Seed, System};

/// Operation that needs the working state evaluated.
#[derive(Clone, Copy)]
enum Operation {
    /// One step forward.
    Advance,
    /// One step forward, to the state at which the sweep begins.
    Arrive,
    /// Save to this slot.
    Save(usize),
    /// Transpose of this step.
    Pull(usize),
}

/// Parts of a memory by their role in a differentiation, and the problem.
pub(super) struct Sweeper<'p, 'm, S, Y: ?Sized, I> {
    pub(super) problem: Problem<'p, S, Y, I>,
    /// x_end, at which the sweep begins, unless it is in a slot.
    pub(super) last: &'m mut [S],
    /// A at x_end (for a map F), unless it is in a slot.
    pub(super) rate: &'m mut [S],
    /// The working state x_k, unless it is in a slot.
    pub(super) here: &'m mut [S],
    /// x_{k+1}, if computed.
    pub(super) next: &'m mut [S],
    pub(super) lambda: &'m mut [S],
    pub(super) temporary: &'m mut [S],
    pub(super) spare: &'m mut [S],
    pub(super) record_last: &'m mut [S],
    pub(super) record_here: &'m mut [S],
    pub(super) scratch: &'m mut [S],
    pub(super) theta_bar: &'m mut [S],
    pub(super) theta_spare: &'m mut [S],
    pub(super) slots: Slots<'m, S>,
    pub(super) shape: Shape,
    pub(super) marks: &'m mut [Mark],
    pub(super) reversal: &'m mut Reversal,
    pub(super) sweep: &'m mut Sweep<S>,
    /// Step at which the sweep begins.
    pub(super) end: usize,
    /// J there, and one step before.
    pub(super) criterion: &'m mut S,
    pub(super) previous: &'m mut S,
}

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Problem<'_, S, Y, I> {
    /// Differentiates like [`differentiate`](Self::differentiate), but always by the adjoint. An operation is one step recomputed
    /// or one step pulled back. A step may have to be evaluated before it is pulled back, so one operation is at most one step of
    /// the integrator and its transpose.
    #[inline]
    pub fn adjoint<M: Workspace<S> + ?Sized, W: Weights<S>>(
        &self,
        memory: &mut M,
        seeds: Seeds<S, W>,
        budget: usize,
    ) -> Result<Progress, Error> {
        if self.system.cost().pullback.is_none() {
            return Err(Error::NoPullback);
        }
        let mut work = self.enter(memory.view_mut())?;
        self.open(
            &mut work,
            Stage::Adjoint,
            seeds.crossing(),
            seeds.time_weight(),
        )?;
        let (mut sweeper, stage) = Sweeper::new(*self, work)?;
        let progress = sweeper.go_back(seeds, budget);
        *stage = next_stage(Stage::Adjoint, progress);
        progress
    }

    /// Begins a differentiation, unless this one is already in progress.
    #[inline]
    pub(super) fn open(
        &self,
        work: &mut Work<'_, S>,
        stage: Stage,
        crossing: Option<Crossing>,
        time_weight: S,
    ) -> Result<(), Error> {
        if work.cursor.stage == stage {
            return Ok(());
        }
        if !matches!(work.cursor.stage, Stage::Before | Stage::Done) {
            return Err(Error::Order);
        }
        if let Some(failure) = work.cursor.failure() {
            return Err(failure);
        }
        if !time_weight.is_finite() {
            return Err(Error::Invalid(Argument::TimeWeight));
        }
        if work.marks.is_empty() {
            return Err(Error::NoSlots);
        }
        let steps = work.cursor.steps;
        let end = match work.cursor.phase {
            Phase::Fresh => return Err(Error::NotStopped { steps }),
            _ if crossing.is_none() => steps,
            Phase::Reached if work.cursor.entry == 0 => return Err(Error::StoppedAtStart),
            Phase::Reached => work.cursor.entry,
            _ => return Err(Error::NotStopped { steps }),
        };
        // The result of the last sweep is discarded, even if this one cannot begin.
        work.cursor.stage = Stage::Before;
        self.begin(work, end, crossing.is_some())?;
        work.cursor.stage = stage;
        Ok(())
    }

    /// Begins a sweep at x_end, after the run or over the checkpoints of the last sweep.
    #[inline(always)]
    fn begin(&self, work: &mut Work<'_, S>, end: usize, stopped: bool) -> Result<(), Error> {
        let in_place = work.in_place();
        let marks = &mut *work.marks;
        let last_end = work.cursor.end();
        let Cursor {
            book, steps, sweep, ..
        } = &mut *work.cursor;
        let steps = *steps;
        let mut reversal = match *book {
            Book::Forward(schedule) => {
                let slot = |step: usize| if step < in_place { step } else { NONE };
                let before = steps.wrapping_sub(1);
                (sweep.step, sweep.to) = (before, before);
                (sweep.here, sweep.last) = (slot(before), slot(steps));
                sweep.roles = roles(steps, in_place, self.plan.integrator.is_map());
                sweep.known = Known::Record;
                sweep.at_hand = end == steps;
                sweep.flipped = steps & 1 == 1;
                sweep.replaced = false;
                // While no slot has been reused, x_k is in slot k. A store gets x_k when the run leaves x_{k+1}.
                sweep.kept = match work.slots {
                    Slots::Store(_) if steps < 2 => Kept::Nothing,
                    _ if steps <= marks.len() => Kept::All,
                    _ => Kept::Start,
                };
                schedule.reverse(marks, steps)
            }
            Book::Backward(_) => {
                if sweep.kept == Kept::Nothing {
                    copy(work.temporary, self.x0);
                    let saved = work.slots.save(work.shape, 0, work.temporary, &mut []);
                    saved.map_err(|_| Error::Store { slot: 0 })?;
                    sweep.kept = Kept::Start;
                }
                let kept = match (sweep.kept, in_place) {
                    (Kept::All, 0) => end.min(steps.wrapping_sub(1)),
                    (Kept::All, _) => end,
                    _ => 1,
                };
                (sweep.step, sweep.to, sweep.here) = (NONE, NONE, NONE);
                sweep.known = Known::State;
                sweep.at_hand &= end == last_end;
                Reversal::again(marks, kept, end)
            }
        };
        if !sweep.at_hand {
            reversal = reversal.shorten(marks, end);
        }
        sweep.stopped = stopped;
        sweep.seeded = false;
        sweep.stop = Resolved::NONE;
        sweep.seeds = [S::ZERO; 3];
        sweep.count = Evaluations {
            rate: steps
                .saturating_mul(self.plan.integrator.stages())
                .saturating_add(1),
            pullback: 0,
            pushforward: 0,
        };
        *book = Book::Backward(reversal);
        Ok(())
    }
}

/// Rows of x_k, its rate, x_{k−1} and the next state after a run of this many steps; see the top of `memory.rs`.
fn roles(steps: usize, in_place: usize, map: bool) -> [u8; 4] {
    match (steps.checked_sub(in_place), map) {
        (None, false) => [0, 2, 1, 3],
        (None, true) => [1, 0, 2, 3],
        (Some(beyond), false) if beyond & 1 == 0 => [0, 2, 1, 3],
        (Some(_), false) => [1, 2, 0, 3],
        (Some(beyond), true) => match beyond % 3 {
            0 => [0, 1, 2, 3],
            1 => [1, 2, 0, 3],
            _ => [2, 0, 1, 3],
        },
    }
}

/// Stage after a call.
pub(super) fn next_stage(now: Stage, progress: Result<Progress, Error>) -> Stage {
    match progress {
        Ok(Progress::Running { .. }) => now,
        Ok(Progress::Done) => Stage::Done,
        Err(_) => Stage::Before,
    }
}

/// Makes `count` steps from x_first in place. A function of its own, so that the compiler knows the rows to be disjoint and keeps a
/// short state in registers.
#[inline]
fn replay<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>>(
    problem: &Problem<'_, S, Y, I>,
    first: usize,
    count: usize,
    x: &mut [S],
    rate: &mut [S],
    tape: &mut [S],
    scratch: &mut [S],
) {
    for k in first..first.wrapping_add(count) {
        problem.system.rate(problem.at(x, k), rate, tape, scratch);
        problem.plan.integrator.step_in_place(x, rate);
        short_loop();
    }
}

impl<'p, 'm, S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Sweeper<'p, 'm, S, Y, I> {
    #[inline]
    pub(super) fn new(
        problem: Problem<'p, S, Y, I>,
        work: Work<'m, S>,
    ) -> Result<(Self, &'m mut Stage), Error> {
        let Work {
            mut rows,
            mut lambda,
            temporary,
            mut spare,
            records: [even, odd],
            scratch,
            theta_bar,
            theta_spare,
            slots,
            shape,
            marks,
            cursor,
        } = work;
        let Cursor {
            book: Book::Backward(reversal),
            sweep,
            stage,
            steps,
            entry,
            criterion,
            previous,
            ..
        } = cursor
        else {
            return Err(Error::Order);
        };
        // Cut to the length that the system declares: if that is a constant, the compiler unrolls all loops over a state.
        let states = problem.system.dims().states;
        let [last, rate, here, next] = sweep.roles.map(|role| {
            let row = rows.get_mut(usize::from(role)).map(take);
            row.and_then(|row| row.get_mut(..states))
        });
        let (Some(last), Some(rate), Some(here), Some(next)) = (last, rate, here, next) else {
            return Err(Error::Changed);
        };
        // A constant for all methods but `Map`.
        if problem.plan.integrator.is_map() && sweep.replaced {
            swap(&mut lambda, &mut spare);
        }
        let (record_last, record_here) = if sweep.flipped {
            (odd, even)
        } else {
            (even, odd)
        };
        let sweeper = Self {
            problem,
            last,
            rate,
            here,
            next,
            lambda,
            temporary,
            spare,
            record_last,
            record_here,
            scratch,
            theta_bar,
            theta_spare,
            slots,
            shape,
            marks,
            end: if sweep.stopped { *entry } else { *steps },
            reversal,
            sweep,
            criterion,
            previous,
        };
        Ok((sweeper, stage))
    }

    /// Continues the sweep by at most `budget` operations.
    #[inline(always)]
    fn go_back<W: Weights<S>>(
        &mut self,
        seeds: Seeds<S, W>,
        budget: usize,
    ) -> Result<Progress, Error> {
        let first = seeds.first(self.end);
        let mut left = budget;
        loop {
            if !self.sweep.seeded {
                if self.is_ready(seeds.crossing()) {
                    self.resolve(&seeds, SlopeBy::Pullback)?;
                    self.seed(&seeds);
                    continue;
                }
            } else if self.reversal.remaining() <= first {
                break;
            }
            if left == 0 {
                let remaining = self.reversal.remaining().saturating_sub(first);
                return Ok(Progress::Running { remaining });
            }
            self.operate(&seeds, &mut left)?;
        }
        if all_finite(self.theta_bar) && all_finite(self.lambda) {
            Ok(Progress::Done)
        } else {
            Err(Error::NonFiniteGradient { step: first })
        }
    }

    /// True if the seeds can be set: x_end is available and, if slopes are needed, x_{end−1} is the working state.
    pub(super) fn is_ready(&self, crossing: Option<Crossing>) -> bool {
        let slopes = crossing.is_some_and(Crossing::needs_slopes);
        self.sweep.at_hand && (self.is_placed() || !slopes)
    }

    /// True if the working state is the next one to be pulled back.
    fn is_placed(&self) -> bool {
        self.reversal.is_at_hand() && self.sweep.step == self.sweep.to
    }

    /// Performs one operation of the reversal; one that costs a step takes one from the budget, which is not zero.
    #[inline]
    pub(super) fn operate<W: Weights<S>>(
        &mut self,
        seeds: &Seeds<S, W>,
        left: &mut usize,
    ) -> Result<(), Error> {
        let mut operation = Operation::Advance;
        let sweep = &*self.sweep;
        if !sweep.seeded && !sweep.at_hand && (self.is_placed() || self.end == 0) {
            // The working state is x_{end−1}; x_end has to be computed from it.
            self.sweep.known = Known::State;
            operation = Operation::Arrive;
        } else if self.sweep.step >= self.sweep.to {
            operation = loop {
                match self.reversal.next_action(self.marks) {
                    Action::Done => return Ok(()),
                    Action::Load { slot, step } => {
                        self.load(slot, step)?;
                        if !self.sweep.seeded {
                            // It may be the state at which the sweep begins.
                            return Ok(());
                        }
                    }
                    Action::Advance { to, .. } => {
                        self.sweep.to = to;
                        break Operation::Advance;
                    }
                    Action::Save { slot, .. } if self.shape.record == 0 => self.keep(slot)?,
                    Action::Save { slot, .. } => break Operation::Save(slot),
                    Action::Pull { step } => break Operation::Pull(step),
                }
            };
        }
        if let Operation::Advance = operation
            && self.sweep.known != Known::Next
            && self.problem.plan.integrator.in_place()
        {
            return self.replay(left);
        }
        let wanted = match operation {
            Operation::Arrive if self.end == 0 => {
                // There is no x_{−1}, and x_0 is known.
                copy(self.next, self.problem.x0);
                Known::State
            }
            Operation::Arrive | Operation::Advance => Known::Next,
            Operation::Save(_) | Operation::Pull(_) => Known::Record,
        };
        // One call site for all cases: it is most of the code.
        let criterion = self.prepare(wanted)?;
        match operation {
            Operation::Arrive => {
                *self.previous = criterion;
                self.arrive();
            }
            Operation::Advance => {
                swap(&mut self.here, &mut self.next);
                let [_, _, here, next] = &mut self.sweep.roles;
                swap(here, next);
                self.sweep.here = NONE;
                self.sweep.step += 1;
                self.sweep.known = self.known(false);
            }
            Operation::Save(slot) => return self.keep(slot),
            Operation::Pull(step) => self.pull(step, seeds)?,
        }
        *left -= 1;
        Ok(())
    }

    /// Recomputes as many steps as the budget allows, in the row of the working state. They were finite in the run, so one check at
    /// the end is enough.
    #[inline]
    fn replay(&mut self, left: &mut usize) -> Result<(), Error> {
        let first = self.sweep.step;
        let count = self.sweep.to.saturating_sub(first).min(*left);
        if let Slots::Memory(slots) = &self.slots
            && let Some((kept, _)) = self.shape.read(slots, self.sweep.here)
        {
            copy(self.here, kept);
            self.sweep.here = NONE;
        }
        let (tape, _) = split_mut(self.record_here, self.problem.system.dims().tape);
        replay(
            &self.problem,
            first,
            count,
            self.here,
            self.spare,
            tape,
            self.scratch,
        );
        self.sweep.step = first.wrapping_add(count);
        self.sweep.known = self.known(false);
        self.sweep.count.rate += count;
        *left -= count;
        if self.problem.system.all_finite(self.here) {
            Ok(())
        } else {
            Err(Error::NonFinite {
                step: self.sweep.step,
            })
        }
    }

    /// Saves the working state and, if slots have room for it, its record.
    #[inline]
    fn keep(&mut self, slot: usize) -> Result<(), Error> {
        let integrator = self.problem.plan.integrator;
        let copy = |to: &mut [S], from: &[S]| integrator.keep(to, from);
        let (here, record) = (&mut *self.here, &mut *self.record_here);
        let saved = self.slots.save_by(copy, self.shape, slot, here, record);
        saved.map_err(|_| Error::Store { slot })
    }

    /// Makes the state of a slot the working state.
    #[inline]
    fn load(&mut self, slot: usize, step: usize) -> Result<(), Error> {
        self.sweep.here = match &mut self.slots {
            Slots::Memory(_) => slot,
            Slots::Store(store) => {
                let loaded = store.load(slot, self.here);
                loaded.map_err(|_| Error::Store { slot })?;
                NONE
            }
        };
        (self.sweep.step, self.sweep.to) = (step, step);
        self.sweep.known = self.known(self.shape.record > 0);
        Ok(())
    }

    /// Known parts of a state that was recomputed or loaded with its record. An empty record is trivially known.
    fn known(&self, record: bool) -> Known {
        if record || self.record_here.is_empty() {
            Known::Record
        } else {
            Known::State
        }
    }

    /// Makes x_end, which is in the next row, the last state, and evaluates there.
    #[inline]
    fn arrive(&mut self) {
        swap(&mut self.last, &mut self.next);
        let [last, _, _, next] = &mut self.sweep.roles;
        swap(last, next);
        self.sweep.last = NONE;
        self.sweep.known = Known::Record;
        let problem = &self.problem;
        let at = problem.at(self.last, self.end);
        let (tape, _) = split_mut(self.record_last, problem.system.dims().tape);
        let reading = problem.system.rate(at, self.rate, tape, self.scratch);
        *self.criterion = reading.criterion;
        self.sweep.count.rate += 1;
        self.sweep.at_hand = true;
    }

    /// Evaluates at the working state as far as needed, and returns J there if it was evaluated.
    #[inline]
    fn prepare(&mut self, wanted: Known) -> Result<S, Error> {
        let enough = match wanted {
            Known::State => true,
            Known::Record => self.sweep.known != Known::State,
            Known::Next => self.sweep.known == Known::Next,
        };
        if enough {
            return Ok(S::NAN);
        }
        let reading = self.evaluate(true)?;
        self.sweep.count.rate += self.problem.plan.integrator.stages();
        self.sweep.known = Known::Next;
        Ok(reading.criterion)
    }

    /// Evaluates at the working state; with `step`, writes x_{k+1} to the next row. For a map the evaluation itself does this.
    #[inline]
    pub(super) fn evaluate(&mut self, step: bool) -> Result<Reading<S>, Error> {
        let problem = self.problem;
        let slot = self.sweep.here;
        let (x, record) = self
            .slots
            .at_mut(self.shape, slot, self.here, self.record_here);
        let at = problem.at(x, self.sweep.step);
        let (tape, _) = split_mut(record, problem.system.dims().tape);
        let (reading, finite);
        if problem.plan.integrator.is_map() {
            reading = problem.system.rate(at, self.next, tape, self.scratch);
            finite = problem.system.all_finite(self.next);
        } else {
            reading = problem.system.rate(at, self.spare, tape, self.scratch);
            finite = !step
                || problem.plan.integrator.step(
                    problem.system,
                    at,
                    self.spare,
                    record,
                    self.next,
                    self.scratch,
                );
        }
        if step && !finite {
            return Err(Error::NonFinite {
                step: self.sweep.step.wrapping_add(1),
            });
        }
        Ok(reading)
    }

    /// λ ← (∂x_{k+1}/∂x_k)ᵀλ + seeds, θ̄ ← θ̄ + (∂x_{k+1}/∂θ)ᵀλ
    #[inline]
    fn pull<W: Weights<S>>(&mut self, step: usize, seeds: &Seeds<S, W>) -> Result<(), Error> {
        let problem = self.problem;
        let mut reading = Reading::criterion(self.seed_at(step));
        if W::ANY {
            let weights = seeds.weights().at(step);
            reading.criterion += weights.criterion;
            reading.loss = weights.loss;
        }
        let slot = self.sweep.here;
        let (x, record) = self.slots.at(self.shape, slot, self.here, self.record_here);
        if problem.plan.integrator.is_map() {
            self.sweep.replaced = !self.sweep.replaced;
            swap(&mut self.lambda, &mut self.spare);
        }
        let at = problem.at(x, step);
        let temporaries = [&mut *self.spare, &mut *self.next, &mut *self.temporary];
        problem.plan.integrator.pull(
            problem.system,
            at,
            record,
            reading,
            self.lambda,
            self.theta_bar,
            temporaries,
            self.scratch,
        );
        self.sweep.count.pullback += problem.plan.integrator.stages();
        if problem.system.all_finite(self.lambda) {
            Ok(())
        } else {
            let error = Error::NonFiniteGradient { step };
            Err(problem.system.fault(at).unwrap_or(error))
        }
    }

    /// Sets λ and θ̄ from the seeds at x_end.
    #[inline]
    fn seed<W: Weights<S>>(&mut self, seeds: &Seeds<S, W>) {
        let problem = self.problem;
        self.sweep.seeded = true;
        let [seed, ..] = self.sweep.seeds;
        for bar in [&mut *self.lambda, &mut *self.theta_bar] {
            if self.sweep.stopped {
                for value in bar {
                    *value *= seed;
                }
            } else {
                clear(bar);
            }
        }
        if !W::ANY {
            return;
        }
        let weights = seeds.weights().at(self.end);
        if weights.criterion == S::ZERO && weights.loss == S::ZERO {
            return;
        }
        let slot = self.sweep.last;
        let (x, record) = self.slots.at(self.shape, slot, self.last, self.record_last);
        let at = problem.at(x, self.end);
        let (tape, _) = split(record, problem.system.dims().tape);
        clear(self.temporary);
        let seed = Seed::new(self.temporary, weights);
        let bar = Bar::new(self.theta_bar, self.lambda);
        problem.system.pullback(at, tape, seed, bar, self.scratch);
        self.sweep.count.pullback += 1;
    }
}
