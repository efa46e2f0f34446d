//! The forward half: the choice of the states to store during the run.
//!
//! # The rule
//!
//! Let the marks be `c[0] = 0 < c[1] < ...`, and `s` the number of slots. When the segment from `c[i]` to `c[i + 1]` is reversed,
//! only the `i` marks below it are still stored. A run that stops after `n` steps therefore costs
//!
//! ```text
//! n + sum over i of t(c[i + 1] - c[i], s - i) + t(n - 1 - c[last], s - last)
//! ```
//!
//! forward steps, where `t(l, a)` is [`advances`](super::advances).
//!
//! 1. **While slots are free**, every state is stored: no step is repeated.
//! 2. **Up to `beta(s, 2)` steps**, every state is stored, over the oldest one that is not fixed; a mark becomes fixed when the
//!    segment below it reaches `s - i + 1` steps, the most that can be repeated only once. With late saves this is optimal at
//!    every length.
//! 3. **Beyond**, the rule is greedy. Storing `x_k` over mark `j` merges two segments and gives each segment above one more slot:
//!
//!    ```text
//!    local[i]  = t(l[i-1] + l[i], s-i+1) - t(l[i-1], s-i+1) - t(l[i], s-i)
//!    raised[i] = t(l[i], s-i+1) - t(l[i], s-i)   (not positive)
//!    loss[j]   = local[j] + sum over i > j of raised[i]
//!    ```
//!
//!    None of this depends on `k`. Looking `h + 1` steps ahead, with `d = k - c[last]` and `t(l, 1) = l (l - 1) / 2`, the gain is
//!    `d (d - 1) / 2 + d h - t(d, 2) - min loss` steps. If the last mark itself moves to `k`, the gain is `d (d - 1) / 2 + d h -
//!    t(l + d, 2) + t(l, 2)`, where `l` is the length of the segment below it. `x_k` is stored at the first `k` at which the
//!    larger gain is positive; `h` is 1 up to `beta(s, 3)` steps, 3/2 up to `beta(s, 7)`, then 2. On a tie the deeper mark is
//!    dropped; more than 32 marks below the top, the upper one.
//!
//! # Cost
//!
//! The step of the next save is known as soon as the last one is done, so a step of the run costs one comparison. The save finds
//! it by additions only, in one round per step up to the next save. Worst case: one save loops 275 times with 2 slots at 10^4
//! steps and 2821 times at 10^6; with 3 slots 100 and 524 times. Include it when bounding the latency of a step. The best `j`
//! obeys a recurrence from the bottom up, `best[i] = min(local[i], raised[i] + best[i - 1])`; dropping mark `j` changes nothing
//! below mark `j - 1`. The mark to drop is nearly always close to the top: 1 to 7 from it on average, for up to 2000 slots. In
//! phase 2 the marks that are not fixed form a ring, so a save takes constant time.

use super::binomial::{Row, TERMS, beta, cost};
use super::{Mark, Reversal};
use crate::slices::{short_loop, split_mut};
use core::mem::swap;

/// No step: the schedule stores no further state.
const NEVER: usize = usize::MAX;
/// Loss of a mark that must stay; small enough that sums do not overflow.
const NO_VICTIM: isize = isize::MAX / 4;
/// Flag in a mark's `reps`: this is the best mark to drop, from here down.
const HERE: u32 = 1 << 31;
/// Number of levels from the top in which the deeper mark is dropped on a tie. Below them it is the upper one, which keeps the
/// work small for many slots.
const TIES: usize = 32;

impl Mark {
    /// Last known `r` of the segment.
    const fn guess(&self) -> usize {
        (self.reps & !HERE) as usize
    }
}

/// Online choice of the states to store, and of their slots, during a run of unknown length.
///
/// When the state of step [`next_save`](Self::next_save) is available and the run continues, call [`save`](Self::save) and copy
/// the state to the slot; when the run stops, call [`reverse`](Self::reverse). The caller owns the marks, one per slot, and
/// passes them to every call: the schedule itself is plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Number of marks in use: the first `len`.
    len: usize,
    /// Marks up to `base` are fixed, in the order of their steps; the others form a ring. In phase 3 all are fixed.
    base: usize,
    /// Next mark to drop: in phase 2 the oldest of the ring, in phase 3 the one with the least loss.
    head: usize,
    /// Step to store next.
    next: usize,
    /// Length `beta(s, 7)` beyond which the rule looks further ahead.
    far: usize,
}

impl Schedule {
    /// All zeros: the content of a memory before its first run.
    pub(crate) const IDLE: Self = Self {
        len: 0,
        base: 0,
        head: 0,
        next: 0,
        far: 0,
    };

    /// Creates a schedule for this many slots (at most 2^32 - 1). Without a slot it never stores a state.
    #[must_use]
    pub const fn new(slots: usize) -> Self {
        Self {
            len: 0,
            base: 0,
            head: 1,
            next: if slots == 0 { NEVER } else { 0 },
            far: beta(slots, 7),
        }
    }

    /// The step whose state is stored next; `usize::MAX` if there is none.
    ///
    /// It is larger than that of the last save. The state may be stored as long as it is available. The best moment is the last
    /// one, just before step `next_save() + 1` is run: if the run stops there, no save is needed, because its last state but one
    /// is still in the working buffer.
    #[inline]
    #[must_use]
    pub const fn next_save(&self) -> usize {
        self.next
    }

    /// Records that the state of step [`next_save`](Self::next_save) is being stored, and returns its slot.
    // Not inlined: the loop that calls it needs the registers.
    #[inline(never)]
    pub fn save(&mut self, marks: &mut [Mark]) -> usize {
        let step = self.next;
        if self.len < marks.len() {
            return self.grow(marks, step);
        }
        let (slot, first) = if self.base + 1 < self.len {
            (self.fill(marks, step), 0)
        } else if step != NEVER {
            (self.replace(marks, step), self.head.saturating_sub(1))
        } else {
            return 0;
        };
        if self.base + 1 == self.len {
            survey(marks, first);
            self.plan(marks);
        }
        slot
    }

    /// Phase 1: uses a free slot.
    fn grow(&mut self, marks: &mut [Mark], step: usize) -> usize {
        let slot = self.len;
        if let Some(mark) = marks.get_mut(slot) {
            *mark = Mark {
                step,
                slot: slot as u32,
                ..Mark::EMPTY
            };
        }
        self.len += 1;
        // With one slot, x_0 is kept throughout.
        self.next = if marks.len() == 1 {
            NEVER
        } else {
            step.saturating_add(1)
        };
        slot
    }

    /// Phase 2: overwrites the oldest mark that is not fixed.
    fn fill(&mut self, marks: &mut [Mark], step: usize) -> usize {
        let mut slot = 0;
        if let Some(mark) = marks.get_mut(self.head) {
            mark.step = step;
            slot = mark.slot as usize;
        }
        self.turn();
        self.next = step.saturating_add(1);
        // If the next mark were dropped, the segment below it would reach to its successor, one step further. That segment may be
        // at most s - base + 1 steps long.
        let step_of = |i| marks.get(i).map_or(0, |m: &Mark| m.step);
        if step_of(self.head) - step_of(self.base) > self.len - self.base {
            // Too long: the mark becomes fixed. Those in between move up, which is rare enough not to matter.
            let between = marks.get_mut(self.base + 1..=self.head).unwrap_or_default();
            if let Some(&Mark { step, slot, .. }) = between.last() {
                insert(between.iter_mut(), step, slot);
            }
            self.base += 1;
            self.turn();
        }
        slot
    }

    /// Makes the next mark of the ring the oldest one.
    const fn turn(&mut self) {
        let next = self.head + 1;
        self.head = if next < self.len { next } else { self.base + 1 };
    }

    /// Phase 3: overwrites the mark with the least loss.
    fn replace(&self, marks: &mut [Mark], step: usize) -> usize {
        let upper = marks.get_mut(self.head..).unwrap_or_default();
        let slot = upper.first().map_or(0, |mark| mark.slot);
        insert(upper.iter_mut().rev(), step, slot);
        slot as usize
    }

    /// Finds the next step to store and the mark to drop for it.
    fn plan(&mut self, marks: &[Mark]) {
        let [.., under, top] = marks else {
            return;
        };
        let length = top.step - under.step;
        // The look-ahead grows at beta(s, 3), given by its formula, and at beta(s, 7).
        let s = marks.len();
        let product = (s + 1).saturating_mul(s + 2).saturating_mul(s + 3);
        let (near, far) = (product / 6, self.far);
        // Twice the losses that remain if x_k is stored over the best mark below, and if the last mark moves to k: they fall by
        // twice the share of a step in d (d - 1) / 2 + d h, less twice the slopes of t(d, 2) and t(length + d, 2) - t(length, 2).
        // Such a slope r grows by one whenever the length passes beta(2, r), the next one of which is r + 2 further.
        let (mut deep, mut moved) = (under.best.wrapping_mul(2), 0isize);
        let (mut deep_gap, mut deep_end) = (1usize, 1usize);
        let q = if length > beta(2, TERMS) {
            under.guess()
        } else {
            0
        };
        let (mut gap, mut end) = (q + 1, (q + 1) * (q + 2) / 2);
        while end < length {
            gap += 1;
            end += gap;
            short_loop();
        }
        end -= length;
        // Twice the look-ahead h: a run that continues after step k has at least k + 1 steps.
        let ahead = 2 + usize::from(top.step >= near) + usize::from(top.step >= far);
        let farther = if top.step < near { near } else { far };
        let mut farther = farther.wrapping_sub(top.step);
        let (mut deep_fall, mut fall) = (
            ahead.wrapping_sub(2) as isize,
            ahead.wrapping_sub(2 * gap) as isize,
        );
        let mut d = 0usize;
        loop {
            d += 1;
            if d > deep_end {
                deep_gap += 1;
                deep_end += deep_gap;
            } else {
                deep_fall += 2;
            }
            if d > end {
                gap += 1;
                end += gap;
            } else {
                fall += 2;
            }
            if d == farther {
                farther = far.wrapping_sub(top.step);
                deep_fall += 1;
                fall += 1;
                deep = deep.wrapping_sub_unsigned(d - 1);
                moved = moved.wrapping_sub_unsigned(d - 1);
            }
            deep = deep.wrapping_sub(deep_fall);
            moved = moved.wrapping_sub(fall);
            if deep < 0 || moved < 0 {
                break;
            }
        }
        self.next = top.step.saturating_add(d);
        self.head = self.len - 1;
        if deep <= moved {
            // The mark with the least loss, below the last one.
            self.head -= 1;
            while self.head > 1 && marks.get(self.head).is_some_and(|m| m.reps & HERE == 0) {
                self.head -= 1;
                short_loop();
            }
        }
    }

    /// The total number of forward steps, including the first sweep, if the run stops after `n` steps with the states stored so
    /// far. Saturates.
    #[must_use]
    pub fn forward_steps(&self, marks: &[Mark], n: usize) -> usize {
        let mut total = n;
        self.segments(marks, n, |t, _| total = total.saturating_add(t));
        total
    }

    /// The largest number of times that any one step is run forward, including the first sweep, if the run stops after `n` steps
    /// with the states stored so far.
    #[must_use]
    pub fn max_repetitions(&self, marks: &[Mark], n: usize) -> usize {
        let mut most = 0;
        self.segments(marks, n, |_, r| most = most.max(r));
        if n == 0 { 0 } else { most.saturating_add(1) }
    }

    /// `t` and `r` of every segment that remains to be reversed after step `n - 1`.
    fn segments(&self, marks: &[Mark], n: usize, mut each: impl FnMut(usize, usize)) {
        let part = |from, to| marks.get(from..to).unwrap_or_default().iter();
        let ring = (self.base + 1).min(self.len);
        let head = self.head.clamp(ring, self.len.max(ring));
        let in_order = part(0, ring)
            .chain(part(head, self.len))
            .chain(part(ring, head));
        let end = n.saturating_sub(1);
        let mut a = marks.len();
        let mut from = None;
        for step in in_order.map(|m| m.step.min(end)).chain([end]) {
            if let Some(start) = from {
                let (t, r) = cost(step - start, a, 0);
                each(t, r);
                a = a.saturating_sub(1);
            }
            from = Some(step);
        }
    }

    /// Begins the reversal of a run that stopped after `n` steps.
    ///
    /// The state of step `n - 1` must be in the working buffer; that step is reversed first.
    #[must_use]
    pub fn reverse(self, marks: &mut [Mark], n: usize) -> Reversal {
        if let Some(ring) = marks.get_mut(self.base + 1..self.len) {
            let turn = self.head.saturating_sub(self.base + 1).min(ring.len());
            // By reversals: a library rotation is twice the size of all other code here.
            if let Some((before, after)) = ring.split_at_mut_checked(turn) {
                flip(before);
                flip(after);
            }
            flip(ring);
        }
        Reversal::new(marks, self.len, n, n.wrapping_sub(1))
    }
}

/// Updates `cost`, `reps` and `best`, from mark `first` to the last but one.
fn survey(marks: &mut [Mark], first: usize) {
    let mut wide = Row::new(marks.len() - first + 1);
    let (lower, upper) = split_mut(marks, first);
    let mut upper = upper.iter_mut();
    let Some(mut mark) = upper.next() else {
        return;
    };
    // Mark 0 stays: no loss is as large as that of merging its segment with the empty one below.
    let mut low = lower.last().copied().unwrap_or(Mark {
        step: mark.step,
        cost: (-NO_VICTIM) as usize,
        best: NO_VICTIM,
        ..Mark::EMPTY
    });
    for above in upper {
        let l = above.step - mark.step;
        let (joint, _) = wide.steps(l + (mark.step - low.step), low.guess());
        let (raised, near) = wide.steps(l, mark.guess());
        wide = wide.below();
        let (t, reps) = wide.steps(l, near);
        // Both without the contribution of this mark.
        let local = joint.wrapping_sub(low.cost).wrapping_sub(raised) as isize;
        let deeper = low.best;
        mark.cost = t;
        mark.best = deeper
            .min(local)
            .wrapping_add_unsigned(raised.wrapping_sub(t));
        mark.reps = reps as u32;
        if local < deeper || local == deeper && wide.slots() > TIES {
            mark.reps |= HERE;
        }
        low = *mark;
        mark = above;
    }
}

/// Reverses the order; not inlined, so that three calls share one copy.
#[inline(never)]
fn flip(marks: &mut [Mark]) {
    marks.reverse();
}

/// Inserts a step and its slot before the first of these marks: each moves on by one place, and the last one is dropped. The other
/// fields are not moved: `survey` computes them again. A plain copy would be a call of `memmove`, 1.6 KiB of code on a small machine.
fn insert<'a>(marks: impl Iterator<Item = &'a mut Mark>, mut step: usize, mut slot: u32) {
    for mark in marks {
        swap(&mut mark.step, &mut step);
        swap(&mut mark.slot, &mut slot);
        short_loop();
    }
}
