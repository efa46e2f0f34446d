//! The forward half: which states to store while the run goes on.
//!
//! # The rule
//!
//! Let the marks be `c[0] = 0 < c[1] < ...`, and `s` the number of slots. The segment from
//! `c[i]` to `c[i + 1]` is reversed when the `i` marks below it are all that is still stored, so
//! that stopping after `n` steps costs
//!
//! ```text
//! n + sum over i of t(c[i + 1] - c[i], s - i) + t(n - 1 - c[last], s - last)
//! ```
//!
//! forward steps, with `t(l, a)` the [`advances`](super::advances).
//!
//! 1. **While there are free slots**, every state is stored: nothing is ever repeated.
//! 2. **Up to `beta(s, 2)` steps**, every state is stored, over the oldest one of those that are
//!    not settled; a mark settles when the segment below it has reached the `s - i + 1` steps
//!    that can be repeated only once. With late saves this is optimal at every length.
//! 3. **Beyond**, the rule is greedy. Storing `x_k` over mark `j` makes one segment of two and
//!    gives each segment above one more slot:
//!
//!    ```text
//!    local[i]  = t(l[i-1] + l[i], s-i+1) - t(l[i-1], s-i+1) - t(l[i], s-i)
//!    raised[i] = t(l[i], s-i+1) - t(l[i], s-i)   (not positive)
//!    loss[j]   = local[j] + sum over i > j of raised[i]
//!    ```
//!
//!    None of this depends on `k`. Looking `h + 1` steps ahead, where `d = k - c[last]` and
//!    `t(l, 1) = l (l - 1) / 2`, the steps won are `d (d - 1) / 2 + d h - t(d, 2) - min loss`, and
//!    if the last mark itself moves to `k`, `d (d - 1) / 2 + d h - t(l + d, 2) + t(l, 2)`, where `l`
//!    is the length of the segment below it. `x_k` is stored at the first `k` at which the better
//!    of the two is positive; `h` is 1 up to `beta(s, 3)` steps, 3/2 up to `beta(s, 7)`, then 2.
//!    Among equals the deeper mark goes; more than 32 marks below the top, the upper one.
//!
//! # Why it is cheap
//!
//! The step of the next save is known as soon as the last is done, and found by additions only,
//! one round for each of the steps until then: a step of the run costs one comparison. (All
//! rounds are made at the save: with 2 slots, 275 of them at 10^4 steps and 2821 at 10^6; with 3,
//! 100 and 524. Who counts worst cases counts these.) The best
//! `j` obeys a recurrence from the bottom up, `best[i] = min(local[i], raised[i] + best[i - 1])`,
//! in which nothing below mark `j - 1` changes when mark `j` goes. Marks that go are nearly
//! always near the top: 1 to 7 from it on average, for up to 2000 slots. In phase 2 the marks
//! that are not settled form a ring, so that a save takes constant time.

use super::binomial::{Row, beta};
use super::{Mark, Reversal};
use core::cell::Cell;

/// No step: the schedule wants no further state.
const NEVER: usize = usize::MAX;
/// The loss of a mark that must stay; small enough to add to.
const NO_VICTIM: isize = isize::MAX / 4;
/// Flag in a mark's `reps`: the best mark to give up, from here down, is this one.
const HERE: u32 = 1 << 31;
/// Among equals the deeper mark goes, in so many levels from the top, and the upper one below
/// them: that keeps the work for many slots small.
const TIES: usize = 32;

impl Mark {
    /// `r` of the segment, when last looked at.
    const fn guess(&self) -> usize {
        (self.reps & !HERE) as usize
    }
}

/// Decides, while a run of unknown length goes on, which states to store in which slots.
///
/// When the state of step [`next_save`](Self::next_save) is there and the run goes on, call
/// [`save`](Self::save) and copy it to the slot; when the run stops, call
/// [`reverse`](Self::reverse).
#[derive(Debug)]
pub struct Schedule<'m> {
    /// The marks, of which the first `len` are in use.
    marks: &'m mut [Mark],
    state: ScheduleState,
}

/// The counters of a [`Schedule`], without its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleState {
    len: usize,
    /// Marks up to `base` are settled, in the order of their steps; the others form a ring whose
    /// oldest is at `head`. In phase 3 all are settled.
    base: usize,
    head: usize,
    /// The step to store next and, in phase 3, the mark to give up for it.
    next: usize,
    victim: usize,
    /// Where the look-ahead grows.
    near: usize,
    far: usize,
}

impl ScheduleState {
    /// Nothing stored yet.
    pub(crate) const NEW: Self = Self {
        len: 0,
        base: 0,
        head: 1,
        next: 0,
        victim: 0,
        near: 0,
        far: 0,
    };
}

impl<'m> Schedule<'m> {
    /// A schedule for as many slots as there are marks (at most 2^32 - 1); `None` if none.
    #[must_use]
    pub fn new(marks: &'m mut [Mark]) -> Option<Self> {
        let slots = marks.len().min(u32::MAX as usize);
        let marks = marks.get_mut(..slots)?;
        let longest = |r| beta(slots, r);
        let state = ScheduleState {
            near: longest(3),
            far: longest(7),
            ..ScheduleState::NEW
        };
        (slots > 0).then_some(Self { marks, state })
    }

    /// Everything but the marks: what to keep of a schedule whose marks are let go for a while.
    #[must_use]
    pub const fn state(&self) -> ScheduleState {
        self.state
    }

    /// Goes on with the marks as they were; `None` if there are fewer than are in use, or none.
    #[must_use]
    pub fn resume(marks: &'m mut [Mark], state: ScheduleState) -> Option<Self> {
        (state.len.max(1) <= marks.len()).then_some(Self { marks, state })
    }

    /// The number of slots.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.marks.len()
    }

    /// The step whose state is to be stored next; `usize::MAX` if none ever.
    ///
    /// It is larger than that of the last save. The state may be stored as long as it is at
    /// hand. Best is the last moment, just before step `next_save() + 1` is run, because a run
    /// that stops there needs no save: its last state but one is still in the working buffer.
    #[inline]
    #[must_use]
    pub const fn next_save(&self) -> usize {
        self.state.next
    }

    /// Are all states stored so far, each in the slot of its number?
    pub(crate) const fn stores_all(&self) -> bool {
        self.state.len == self.state.next
    }

    /// Takes note that the state of step [`next_save`](Self::next_save) is being stored, and
    /// returns the slot to write it to.
    pub fn save(&mut self) -> usize {
        let step = self.state.next;
        if self.state.len < self.marks.len() {
            self.grow(step)
        } else if self.state.base + 1 < self.state.len {
            self.fill(step)
        } else if step != NEVER {
            self.replace(step)
        } else {
            0
        }
    }

    /// Phase 1: a free slot.
    fn grow(&mut self, step: usize) -> usize {
        let slot = self.state.len;
        if let Some(mark) = self.marks.get_mut(slot) {
            *mark = Mark {
                step,
                slot: slot as u32,
                ..Mark::EMPTY
            };
        }
        self.state.len += 1;
        // With one slot, x_0 stays for ever.
        self.state.next = if self.marks.len() == 1 {
            NEVER
        } else {
            step.saturating_add(1)
        };
        slot
    }

    /// Phase 2: over the oldest mark that is not settled.
    fn fill(&mut self, step: usize) -> usize {
        let mut slot = 0;
        if let Some(mark) = self.marks.get_mut(self.state.head) {
            mark.step = step;
            slot = mark.slot as usize;
        }
        self.turn();
        self.state.next = step.saturating_add(1);
        // May the next one go? The segment below it would then reach to its successor, which is
        // one step further, and may be s - base + 1 long.
        let step_of = |i| self.marks.get(i).map_or(0, |m: &Mark| m.step);
        if step_of(self.state.head) - step_of(self.state.base) > self.state.len - self.state.base {
            // No, it settles. Those between move up; seldom enough not to matter.
            let cells = Cell::from_mut(&mut *self.marks).as_slice_of_cells();
            let between = cells
                .get(self.state.base + 1..=self.state.head)
                .unwrap_or_default();
            between.windows(2).rev().for_each(exchange);
            self.state.base += 1;
            self.turn();
            if self.state.base + 1 == self.state.len {
                self.survey(0);
                self.plan();
            }
        }
        slot
    }

    /// Makes the next mark of the ring the oldest.
    const fn turn(&mut self) {
        let next = self.state.head + 1;
        self.state.head = if next < self.state.len {
            next
        } else {
            self.state.base + 1
        };
    }

    /// Phase 3: over the mark that is best to lose.
    fn replace(&mut self, step: usize) -> usize {
        let victim = self.state.victim;
        let cells = Cell::from_mut(&mut *self.marks).as_slice_of_cells();
        let upper = cells.get(victim..).unwrap_or_default();
        upper.windows(2).for_each(exchange);
        let mut slot = 0;
        if let Some(top) = upper.last() {
            slot = top.get().slot;
            top.set(Mark {
                step,
                slot,
                ..Mark::EMPTY
            });
        }
        self.survey(victim.saturating_sub(1));
        self.plan();
        slot as usize
    }

    /// Brings `cost`, `reps` and `best` up to date, from mark `first` to the last but one.
    fn survey(&mut self, first: usize) {
        let mut wide = Row::new(self.marks.len() - first + 1);
        let cells = Cell::from_mut(&mut *self.marks).as_slice_of_cells();
        let mut below = first
            .checked_sub(1)
            .and_then(|i| cells.get(i))
            .map(Cell::get);
        for pair in cells.get(first..).unwrap_or_default().windows(2) {
            let [here, above] = pair else { continue };
            let mut mark = here.get();
            let row = wide.below();
            let l = above.get().step - mark.step;
            let (t, r) = row.cost(l, mark.guess());
            mark.cost = t;
            mark.reps = (r as u32) & !HERE;
            mark.best = NO_VICTIM;
            if let Some(low) = below {
                let joint = l + (mark.step - low.step);
                let (joint, _) = wide.cost(joint, low.guess());
                let (raised, _) = wide.cost(l, r);
                let local = joint.wrapping_sub(low.cost).wrapping_sub(t) as isize;
                let deeper = low.best.saturating_add(raised.wrapping_sub(t) as isize);
                mark.best = deeper.min(local);
                if local < deeper || local == deeper && row.slots() > TIES {
                    mark.reps |= HERE;
                }
            }
            here.set(mark);
            below = Some(mark);
            wide = row;
        }
    }

    /// Finds the next step to store and the mark to give up for it.
    fn plan(&mut self) {
        let [.., under, top] = &*self.marks else {
            return;
        };
        let length = top.step - under.step;
        // Both t(d, 2) and t(length + d, 2) - t(length, 2) grow by a slope r with d, and r grows
        // by one whenever the length passes beta(2, r).
        let (mut fresh, mut r, mut end) = (0usize, 0usize, 1usize);
        let (mut moved, mut q) = (0usize, under.guess());
        let mut moved_end = ((q + 1) * (q + 2) / 2).saturating_sub(length);
        let mut d = 0usize;
        let mut k = top.step;
        loop {
            d += 1;
            k = k.wrapping_add(1);
            if d > end {
                r += 1;
                end += r + 1;
            }
            if d > moved_end {
                q += 1;
                moved_end += q + 1;
            }
            fresh += r;
            moved += q;
            // Twice the look-ahead h: a run that goes on after step k has k + 1 steps at least.
            let ahead = 2 + usize::from(k >= self.state.near) + usize::from(k >= self.state.far);
            let won = d.saturating_mul(d - 1 + ahead);
            let deep = (under.best.saturating_add_unsigned(fresh)).max(0) as usize;
            if won > deep.min(moved).saturating_mul(2) || k == NEVER {
                self.state.next = k;
                self.state.victim = if deep <= moved {
                    self.best_victim()
                } else {
                    self.state.len - 1
                };
                return;
            }
        }
    }

    /// The mark below the last one that is best to lose.
    fn best_victim(&self) -> usize {
        let lower = self.marks.get(1..self.state.len - 1).unwrap_or_default();
        let kept = lower
            .iter()
            .rev()
            .take_while(|m| m.reps & HERE == 0)
            .count();
        (lower.len() - kept).max(1)
    }

    /// The number of forward steps in all, those of the first sweep included, if the run stops
    /// after `n` steps with the states stored so far. Saturates.
    #[must_use]
    pub fn forward_steps(&self, n: usize) -> usize {
        let mut total = n;
        self.segments(n, |t, _| total = total.saturating_add(t));
        total
    }

    /// The largest number of times that any one step is run forward, the first sweep included, if
    /// the run stops after `n` steps with the states stored so far.
    #[must_use]
    pub fn max_repetitions(&self, n: usize) -> usize {
        let mut most = 0;
        self.segments(n, |_, r| most = most.max(r));
        if n == 0 { 0 } else { most.saturating_add(1) }
    }

    /// `t` and `r` of every segment that is left to reverse after step `n - 1`.
    fn segments(&self, n: usize, mut each: impl FnMut(usize, usize)) {
        let part = |from, to| self.marks.get(from..to).unwrap_or_default().iter();
        let ring = (self.state.base + 1).min(self.state.len);
        let head = self.state.head.clamp(ring, self.state.len.max(ring));
        let marks = part(0, ring)
            .chain(part(head, self.state.len))
            .chain(part(ring, head));
        let end = n.saturating_sub(1);
        let mut a = self.slots();
        let mut from = None;
        for step in marks.map(|m| m.step.min(end)).chain([end]) {
            if let Some(start) = from {
                let (t, r) = Row::new(a).cost(step - start, 0);
                each(t, r);
                a = a.saturating_sub(1);
            }
            from = Some(step);
        }
    }

    /// The run stopped after `n` steps: begins the reversal.
    ///
    /// The state of step `n - 1` has to be in the working buffer, from which that step is
    /// reversed first.
    #[must_use]
    pub fn reverse(self, n: usize) -> Reversal<'m> {
        if let Some(ring) = self.marks.get_mut(self.state.base + 1..self.state.len) {
            let turn = self
                .state
                .head
                .saturating_sub(self.state.base + 1)
                .min(ring.len());
            // By reversals: a library rotation is twice the code of all the rest.
            if let Some((before, after)) = ring.split_at_mut_checked(turn) {
                before.reverse();
                after.reverse();
            }
            ring.reverse();
        }
        Reversal::new(self.marks, self.state.len, n)
    }
}

/// Exchanges two neighbours; over all pairs of a slice in order, its first entry moves to the end and the others one down. A
/// plain copy of the others would do with half the moves, but the compiler makes a call of `memmove` of it, and that is 1.6 KiB
/// of code on a small machine.
fn exchange(pair: &[Cell<Mark>]) {
    if let [a, b] = pair {
        // Not `Cell::swap`, which can panic.
        let (x, y) = (a.get(), b.get());
        a.set(y);
        b.set(x);
    }
}
