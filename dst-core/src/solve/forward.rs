//! Forward run, with a budget of steps per call.
//!
//! Per step: one evaluation (rate, J and f together), one comparison with ε, one step. A call with a budget of b makes at most b
//! steps and b + 1 evaluations, so its work is bounded for every system. The memory holds everything needed to continue or to
//! differentiate between calls.
//!
//! While slots are free, x_{k+1} is written directly into its slot, without a copy. When they are full, states alternate between
//! two rows, and the schedule copies a state into a slot just before its row is reused. A state that is already in its slot is
//! only recorded.

use core::mem::swap;

use super::memory::{Book, Borrowed, NONE, Phase, View, Work, Workspace, row_of, slot_shape};
use super::plan::Problem;
use super::rows::Rows;
use super::{Cursor, Iterate, Status};
use crate::checkpoint::{Shape, Slots};
use crate::error::Error;
use crate::integrator::Integrator;
use crate::scalar::Scalar;
use crate::slices::{cells, copy, split_mut, transfer};
use crate::system::{Point, Reading, System};

impl<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>> Problem<'_, S, Y, I> {
    /// Begins a run in this memory and discards the previous one. Does not evaluate yet.
    pub fn start<M: Workspace<S> + ?Sized>(&self, memory: &mut M) -> Result<(), Error> {
        let print = self.print(&memory.view());
        let mut work = self.carve(memory.view_mut())?;
        work.cursor.start(print, work.marks.len());
        let in_place = work.in_place();
        let [first, ..] = work.rows;
        match &mut work.slots {
            Slots::Memory(slots) if in_place > 0 => {
                copy(work.shape.write(slots, 0).unwrap_or_default().0, self.x0);
            }
            _ => copy(first, self.x0),
        }
        Ok(())
    }

    /// Makes at most `budget` steps and returns the status. After a stop it only returns the same status again.
    ///
    /// An error is final: non-finite values, or a failed store. The best iterate remains available through
    /// [`iterate`](Self::iterate).
    pub fn advance<'m, M: Workspace<S> + ?Sized>(
        &self,
        memory: &'m mut M,
        budget: usize,
    ) -> Result<Status<'m, S>, Error> {
        self.watch(memory, budget, |_, _| {})
    }

    /// Runs until the stop or the step limit.
    pub fn complete<'m, M: Workspace<S> + ?Sized>(
        &self,
        memory: &'m mut M,
    ) -> Result<Status<'m, S>, Error> {
        self.advance(memory, usize::MAX)
    }

    /// Advances like [`advance`](Self::advance), and calls `see` with the step, J and f at every x_k that is evaluated.
    #[inline]
    pub fn watch<'m, M: Workspace<S> + ?Sized>(
        &self,
        memory: &'m mut M,
        budget: usize,
        see: impl FnMut(usize, Reading<S>),
    ) -> Result<Status<'m, S>, Error> {
        let mut work = self.enter(memory.view_mut())?;
        if let Book::Backward(_) = work.cursor.book {
            return Err(Error::Order);
        }
        if let Phase::Fresh | Phase::Running = work.cursor.phase {
            let end = work.cursor.steps.saturating_add(budget);
            self.run(&mut work, end.min(self.plan.max_steps), see)?;
        }
        let failure = work.cursor.failure();
        let phase = work.cursor.phase;
        let now = self.look(memory.view());
        if let Some(failure) = failure {
            return Err(match failure {
                Error::NonFinite { .. } => {
                    let at = self.at(now.state, now.steps);
                    self.system.fault(at).unwrap_or(failure)
                }
                _ => failure,
            });
        }
        Ok(match phase {
            Phase::Reached => Status::Reached(now),
            Phase::StepLimit => Status::StepLimit(now),
            Phase::NeverSettled => Status::NeverSettled(now),
            _ => Status::Running(now),
        })
    }

    /// The current iterate and the best one. A differentiation reuses their memory. Afterwards they are available only if the
    /// last iterate is the best, as after a first passage, and has been recomputed; otherwise [`Error::Order`].
    pub fn iterate<'m, M: Workspace<S> + ?Sized>(
        &self,
        memory: &'m M,
    ) -> Result<Iterate<'m, S>, Error> {
        let view = memory.view();
        self.same(&view)?;
        let cursor = view.cursor;
        let intact = match cursor.book {
            Book::Forward(_) => true,
            Book::Backward(_) => {
                cursor.best_is_current && cursor.sweep.at_hand && cursor.end() == cursor.steps
            }
        };
        if !intact {
            return Err(Error::Order);
        }
        Ok(self.look(view))
    }

    #[inline(always)]
    fn look<'m>(&self, view: View<'m, S>) -> Iterate<'m, S> {
        let states = self.system.dims().states;
        let cursor = view.cursor;
        let in_place = view.in_place();
        // In a slot, or in this row.
        let [last, ..] = cursor.sweep.roles;
        let (slot, row) = match cursor.book {
            Book::Backward(_) => (cursor.sweep.last, usize::from(last)),
            _ if cursor.steps < in_place => (cursor.steps, 0),
            _ => (
                NONE,
                row_of(cursor.steps, in_place, self.plan.integrator.is_map()),
            ),
        };
        let state = if slot == NONE {
            view.row(row, states)
        } else {
            view.slot(self.shape(&view), slot)
        };
        Iterate {
            steps: cursor.steps,
            time: self.time(cursor.steps),
            criterion: cursor.criterion,
            previous: cursor.previous,
            loss: cursor.loss,
            state,
            best: if cursor.best_is_current {
                state
            } else {
                view.row(4, states)
            },
            best_criterion: cursor.best,
            entry: Some(cursor.entry).filter(|&entry| entry != NONE),
            exits: cursor.exits,
        }
    }

    /// Lengths of the slots of a memory.
    pub(crate) fn shape(&self, view: &View<'_, S>) -> Shape {
        let (slots, numbers) = (view.marks.len(), view.slots.len());
        slot_shape(
            self.system.dims(),
            self.plan.integrator.stages(),
            slots,
            numbers,
        )
    }

    #[inline(always)]
    fn carve<'m>(&self, memory: Borrowed<'m, S>) -> Result<Work<'m, S>, Error> {
        Work::carve(memory, self.system.dims(), self.plan.integrator.stages())
    }

    /// Memory of a run that was started with exactly this problem.
    #[inline(always)]
    pub(crate) fn enter<'m>(&self, memory: Borrowed<'m, S>) -> Result<Work<'m, S>, Error> {
        self.same(&memory.view())?;
        self.carve(memory)
    }

    /// Checks that the memory holds a run of this problem.
    #[inline(always)]
    pub(crate) fn same(&self, view: &View<'_, S>) -> Result<(), Error> {
        match view.cursor.print {
            0 => Err(Error::Order),
            print if print == self.print(view) => Ok(()),
            _ => Err(Error::Changed),
        }
    }

    /// Fingerprint of all numbers and lengths of a run, except θ, x0 and the system itself. Never zero. Lengths come first: if
    /// they are constants, so is their part of the fingerprint.
    #[inline(always)]
    fn print(&self, view: &View<'_, S>) -> u32 {
        let plan = &self.plan;
        let dims = self.system.dims();
        let h = plan.integrator.step_size();
        let mix = |print: u32, word: u64| {
            // The halves are weighted, so that all ones differ from all zeros.
            let word = (word as u32) ^ ((word >> 32) as u32).wrapping_mul(0x85eb_ca6b);
            (print.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1)
        };
        let print = mix(0, view.rows.len() as u64);
        let print = mix(print, view.params.len() as u64);
        let print = mix(print, view.slots.len() as u64);
        let print = mix(print, view.marks.len() as u64);
        let print = mix(print, dims.states as u64);
        let print = mix(print, dims.params as u64);
        let print = mix(print, dims.tape as u64);
        let print = mix(print, dims.scratch as u64);
        let method = u64::from(plan.integrator.kind()) << 1 | u64::from(plan.x0_gradient);
        let print = mix(print, method);
        let print = mix(print, plan.max_steps as u64);
        let print = mix(print, plan.stay as u64);
        let print = mix(print, plan.epsilon.bits());
        let print = mix(print, plan.t0.bits());
        mix(print, h.bits()) | 1
    }

    /// Makes steps until `end` or a stop: first those with states in slots, then the others.
    #[inline]
    fn run(
        &self,
        work: &mut Work<'_, S>,
        end: usize,
        mut see: impl FnMut(usize, Reading<S>),
    ) -> Result<(), Error> {
        loop {
            let phase = self.stretch(work, end, &mut see)?;
            let cursor = &mut *work.cursor;
            cursor.phase = phase;
            if phase == Phase::Running {
                if cursor.steps < end {
                    continue;
                }
                if cursor.steps >= self.plan.max_steps {
                    cursor.phase = self.at_the_limit(cursor.entry != NONE);
                }
            }
            return Ok(());
        }
    }

    /// Phase at the step limit, for a run inside the band or outside.
    fn at_the_limit(&self, inside: bool) -> Phase {
        match self.plan.stay {
            0 => Phase::StepLimit,
            usize::MAX if inside => Phase::Reached,
            _ if inside => Phase::StepLimit,
            _ => Phase::NeverSettled,
        }
    }

    /// Makes steps until `end`, a stop, or full slots: the loop in which nearly all time is spent.
    ///
    /// Every slice is cut again to the length that the system declares: if that is a constant, the compiler unrolls the vector
    /// loops and drops their bounds checks.
    #[inline(always)]
    fn stretch(
        &self,
        work: &mut Work<'_, S>,
        end: usize,
        see: &mut impl FnMut(usize, Reading<S>),
    ) -> Result<Phase, Error> {
        let Self { plan, system, .. } = *self;
        let (integrator, epsilon) = (plan.integrator, plan.epsilon);
        let dims = system.dims();
        let record_len = dims.record_len(self.plan.integrator.stages());
        let in_place = work.in_place();
        let keeping = work.cursor.steps < in_place;
        // x_s, after the last slot, is the first state in a row.
        let end = if keeping { end.min(in_place) } else { end };
        let rows = Rows::new(work, keeping, self.plan.integrator.is_map());
        let (
            Some(theta),
            Some(mut cur),
            Some(mut prev),
            Some(mut rate),
            Some(mut record),
            Some(scratch),
        ) = (
            self.theta.get(..dims.params),
            rows.cur.get_mut(..dims.states),
            rows.prev.get_mut(..dims.states),
            rows.rate.get_mut(..dims.states),
            rows.record.get_mut(..record_len),
            rows.scratch.get_mut(..dims.scratch),
        )
        else {
            // The lengths were checked before, so the system has changed them since.
            return Err(Error::Changed);
        };
        let (mut record_prev, mut record_next) = (rows.record_prev, rows.record_next);
        let (mut fresh, mut slots, marks, lambda) =
            (rows.fresh, rows.slots, rows.marks, rows.lambda);
        let Cursor {
            steps: steps_done,
            phase,
            book: Book::Forward(schedule),
            entry,
            exits,
            criterion,
            previous,
            loss,
            best,
            best_is_current,
            ..
        } = rows.cursor
        else {
            return Err(Error::Order);
        };
        // Step before which something else has to be done: the call ends, or a state is saved.
        let mut pause = end.min(schedule.next_save().saturating_add(1));
        let mut evaluated = *phase == Phase::Running;
        let mut steps = *steps_done;
        let mut t = self.time(steps);
        let (mut j, mut f, mut before) = (*criterion, *loss, *previous);
        let (mut low, mut high) = quiet(epsilon, *best, *best_is_current, *entry);
        let phase = loop {
            let look = |reading: Reading<S>, prev: &mut [S]| {
                (j, f) = (reading.criterion, reading.loss);
                see(steps, reading);
                if j > low && j < high {
                    if *best_is_current {
                        *best = j;
                        high = j;
                    }
                } else {
                    let better = j < *best && j.is_finite();
                    if !better && *best_is_current && steps > 0 {
                        // The previous iterate was the best: keep it.
                        *best_is_current = false;
                        transfer(cells(lambda), cells(prev));
                    }
                    if !j.is_finite() {
                        return Some(Phase::BadCriterion);
                    }
                    if better {
                        *best = j;
                        *best_is_current = true;
                    }
                    if j > epsilon {
                        if *entry != NONE {
                            *entry = NONE;
                            *exits = exits.wrapping_add(1);
                        }
                    } else {
                        if *entry == NONE {
                            *entry = steps;
                        }
                        if steps.wrapping_sub(*entry) >= plan.stay {
                            return Some(Phase::Reached);
                        }
                    }
                    (low, high) = quiet(epsilon, *best, *best_is_current, *entry);
                }
                (steps >= pause).then_some(Phase::Running)
            };
            let at = Point { theta, x: cur, t };
            let reason = if evaluated && steps >= pause {
                Some(Phase::Running)
            } else {
                let look = if evaluated { None } else { Some(look) };
                step(system, integrator, at, rate, record, prev, scratch, look)
            };
            match reason {
                None => {
                    evaluated = false;
                    swap(&mut cur, &mut prev);
                    if integrator.is_map() {
                        swap(&mut cur, &mut rate);
                    }
                    if record_len > 0 {
                        if integrator.is_map() && keeping && fresh.shape.record > 0 {
                            swap(&mut record_next, &mut record_prev);
                        }
                        swap(&mut record, &mut record_prev);
                    }
                    steps = steps.wrapping_add(1);
                    t = self.time(steps);
                    before = j;
                }
                Some(Phase::Running) if steps < end => {
                    // x_{k−1} is about to be overwritten.
                    evaluated = true;
                    let slot = schedule.save(marks);
                    pause = end.min(schedule.next_save().saturating_add(1));
                    if keeping {
                        let (row, record) = fresh.next();
                        let Some(row) = row.get_mut(..dims.states) else {
                            return Err(Error::Changed);
                        };
                        prev = row;
                        if fresh.shape.record > 0 {
                            record_prev = record;
                        }
                    } else if steps > in_place {
                        let copy = |to: &mut [S], from: &[S]| integrator.keep(to, from);
                        let saved = slots.save_by(copy, fresh.shape, slot, prev, record_prev);
                        if saved.is_err() {
                            *entry = slot;
                            break Phase::BadStore;
                        }
                    }
                }
                Some(phase) => break phase,
            }
        };
        *steps_done = steps;
        (*criterion, *loss, *previous) = (j, f, before);
        Ok(phase)
    }
}

/// Evaluates at x_k and makes a step, unless `look` has a reason against it; without `look`, x_k has been evaluated. A function of
/// its own, so that the compiler knows the rows to be disjoint and keeps a short state and its rate in registers.
#[inline]
fn step<S: Scalar, Y: System<S> + ?Sized, I: Integrator<S>>(
    system: &Y,
    integrator: I,
    at: Point<'_, S>,
    rate: &mut [S],
    record: &mut [S],
    next: &mut [S],
    scratch: &mut [S],
    look: Option<impl FnOnce(Reading<S>, &mut [S]) -> Option<Phase>>,
) -> Option<Phase> {
    if let Some(look) = look {
        let (tape, _) = split_mut(record, system.dims().tape);
        let reading = system.rate(at, rate, tape, scratch);
        let reason = look(reading, next);
        if reason.is_some() {
            return reason;
        }
    }
    let finite = if integrator.is_map() {
        system.all_finite(rate)
    } else {
        integrator.step(system, at, rate, record, next, scratch)
    };
    (!finite).then_some(Phase::BadState)
}

/// Open interval of the readings after which there is nothing to do but to lower the best one, if it is that of x_k.
#[inline(always)]
fn quiet<S: Scalar>(epsilon: S, best: S, best_is_current: bool, entry: usize) -> (S, S) {
    if entry != NONE {
        (S::INFINITY, S::INFINITY)
    } else if best_is_current {
        (epsilon, best)
    } else {
        (if best > epsilon { best } else { epsilon }, S::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Euler, Memory, Plan, Rk4, formula};

    /// All fields of an iterate.
    fn seen(i: Iterate<'_, f64>) -> ([u64; 5], [u64; 2], [u64; 2]) {
        let bits = |x: &[f64]| {
            let mut to = [0; 2];
            to.iter_mut().zip(x).for_each(|(to, x)| *to = x.to_bits());
            to
        };
        let numbers = [i.time, i.criterion, i.previous, i.best_criterion, i.loss].map(f64::to_bits);
        (numbers, bits(i.state), bits(i.best))
    }

    /// Runs the same problem in small budgets.
    fn cut<const SLOTS: usize>(
        plan: Plan<f64, Euler<f64>>,
        system: &impl System<f64>,
        portion: usize,
        expected: ([u64; 5], [u64; 2], [u64; 2]),
    ) -> Result<(), Error> {
        let mut memory = Memory::<f64, 2, 1, SLOTS>::new();
        let run = plan.on(system, &[0.1], &[1.0, 0.5])?;
        run.start(&mut memory)?;
        while let Status::Running(_) = run.advance(&mut memory, portion)? {}
        let found = seen(run.iterate(&memory)?);
        assert_eq!(found, expected, "{SLOTS} slots, portion {portion}");
        Ok(())
    }

    #[test]
    fn budgets_do_not_change_a_run() -> Result<(), Error> {
        // Spirals inwards: J = x₁² rises and falls, so the best iterate is saved repeatedly.
        let spiral = formula!(
            |theta: 1, x: 2, _t| [theta[0] * x[0] - x[1], theta[0] * x[1] + x[0]],
            |x| x[0] * x[0],
        );
        let (theta, x0) = ([0.1], [1.0, 0.5]);
        let plan = Euler::new(0.3).until(-1.0).at_most(200);
        let mut memory = Memory::<f64, 2, 1, 1>::new();
        let slow = plan.on(&spiral, &theta, &x0)?;
        slow.start(&mut memory)?;
        let (mut least, mut best, mut rises) = (f64::INFINITY, [0.0; 2], 0);
        for k in 0..=200 {
            let now = if k == 0 {
                slow.advance(&mut memory, 0)?
            } else {
                slow.advance(&mut memory, 1)?
            };
            let i = now.iterate();
            assert_eq!(i.steps, k);
            assert_eq!(matches!(now, Status::StepLimit(_)), k == 200);
            if i.criterion < least {
                least = i.criterion;
                best.copy_from_slice(i.state);
            } else {
                rises += 1;
            }
            assert!(
                i.best_criterion == least && i.best == best,
                "step {k}: {i:?}"
            );
            for portion in [7, usize::MAX] {
                // No, few and many slots: the placement of the states has no effect.
                cut::<0>(plan.at_most(k), &spiral, portion, seen(i))?;
                cut::<5>(plan.at_most(k), &spiral, portion, seen(i))?;
                cut::<300>(plan.at_most(k), &spiral, portion, seen(i))?;
            }
        }
        assert!(rises > 20, "{rises}");
        Ok(())
    }

    #[test]
    fn non_finite_values_are_reported_at_their_step() -> Result<(), Error> {
        // x doubles and overflows beyond 2^1023. J stays finite.
        let doubling = formula!(|_theta: 0, x: 1, _t| [-x[0]], |x| x[0] * 0.0 + 1.0);
        let mut memory = Memory::<f64, 1, 0, 1>::new();
        let run = Euler::new(1.0).until(0.0).on(&doubling, &[], &[1.0])?;
        run.start(&mut memory)?;
        let error = Some(Error::NonFinite { step: 1024 });
        assert_eq!(run.complete(&mut memory).err(), error);
        assert_eq!(run.advance(&mut memory, 1).err(), error);
        let last = run.iterate(&memory)?;
        assert_eq!(
            (last.steps, last.criterion, last.best),
            (1023, 1.0, [1.0].as_slice())
        );
        const BIG: f64 = (1u64 << 60) as f64;
        // J overflows first: the previous iterate is the best one.
        let square = formula!(|_theta: 0, x: 1, _t| [-x[0]], |x| x[0] * x[0]);
        let mut memory = Memory::<f64, 1, 0, 1>::new();
        let run = Rk4::new(1.0).until(0.0).on(&square, &[], &[BIG])?;
        run.start(&mut memory)?;
        let Err(Error::NonFinite { step }) = run.complete(&mut memory) else {
            return Err(Error::NoSlots);
        };
        let last = run.iterate(&memory)?;
        assert_eq!((last.steps, last.best_criterion), (step, BIG * BIG));
        assert_eq!(last.best, [BIG]);
        Ok(())
    }

    #[test]
    fn the_first_of_equal_readings_is_the_best() -> Result<(), Error> {
        // x counts the steps; J has a floor.
        let counter = formula!(|_theta: 0, x: 1, _t| [x[0] * 0.0 - 1.0], |x| (3.0 - x[0]).max(
            x[0] * 0.0 + 1.0
        ));
        for portion in [1, 2, usize::MAX] {
            let mut memory = Memory::<f64, 1, 0, 1>::new();
            let plan = Euler::new(1.0).until(0.0).at_most(9);
            let run = plan.on(&counter, &[], &[0.0])?;
            run.start(&mut memory)?;
            while let Status::Running(_) = run.advance(&mut memory, portion)? {}
            let last = run.iterate(&memory)?;
            let best = (last.best, last.best_criterion);
            assert_eq!(
                (last.steps, best),
                (9, ([2.0].as_slice(), 1.0)),
                "{portion}"
            );
        }
        Ok(())
    }
}
