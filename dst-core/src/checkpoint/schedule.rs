//! The forward half.
use super::Reversal;
use super::binomial::{advances, beta, cost};
use core::cell::Cell;

/// No step: the schedule wants no further state.
const NEVER: usize = usize::MAX;
/// The cost of giving up a mark that must stay; small enough to add to.
const NO_VICTIM: i64 = i64::MAX / 4;
/// Flag in [`Mark::reps`]: the cheapest mark to give up, from here down, is this one.
const HERE: u32 = 1 << 31;

/// One checkpoint: the step whose state is stored, its slot, and what the schedule remembers of
/// the segment that starts there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The step whose state the slot holds.
    pub(super) step: usize,
    /// Forward: the advances `t` that reverse the segment from this mark to the next.
    /// Reversal: `beta(a, reps - 1)`.
    pub(super) cost: u64,
    /// Forward: what giving up the cheapest mark from here down costs.
    /// Reversal: how often the segment's steps have been executed.
    pub(super) best: i64,
    /// The slot.
    pub(super) slot: u32,
    /// Forward: about `r` of the segment, and [`HERE`]. Reversal: `r`, or 0 if unknown yet.
    pub(super) reps: u32,
}

impl Mark {
    /// A mark of nothing, to fill an array with.
    pub const EMPTY: Self = Self {
        step: 0,
        cost: 0,
        best: 0,
        slot: 0,
        reps: 0,
    };
}

/// Decides, while a run of unknown length goes on, which states to store in which slots.
#[derive(Debug)]
pub struct Schedule<'m> {
    /// All marks; the first `len` are in use.
    marks: &'m mut [Mark],
    len: usize,
    /// While filling: marks up to `base` are settled (in order of steps), the others form a ring
    /// whose oldest is at `head`. Afterwards `base + 1 == len`.
    base: usize,
    head: usize,
    /// The step to store next, and the mark to give up for it.
    next: usize,
    victim: usize,
    /// The last steps of the two shorter look-aheads.
    near: usize,
    far: usize,
}

impl<'m> Schedule<'m> {
    /// A schedule for as many slots as there are marks (at most 2^32 - 1); `None` for no slots.
    #[must_use]
    pub fn new(marks: &'m mut [Mark]) -> Option<Self> {
        let slots = marks.len().min(u32::MAX as usize);
        let marks = marks.get_mut(..slots)?;
        let size = |r| usize::try_from(beta(slots as u64, r)).unwrap_or(usize::MAX);
        (slots > 0).then_some(Self {
            marks,
            len: 0,
            base: 0,
            head: 0,
            next: 0,
            victim: 0,
            near: size(3),
            far: size(7),
        })
    }

    /// The number of slots.
    #[must_use]
    pub const fn slots(&self) -> usize {
        self.marks.len()
    }

    /// The step whose state is to be stored next.
    #[inline]
    #[must_use]
    pub const fn next_save(&self) -> usize {
        self.next
    }

    /// Takes note that the state of step [`next_save`](Self::next_save) is being stored, and
    /// returns the slot to write it to.
    pub fn save(&mut self) -> usize {
        let step = self.next;
        if self.len < self.marks.len() {
            self.grow(step)
        } else if self.base + 1 < self.len {
            self.fill(step)
        } else if step == NEVER {
            0
        } else {
            self.replace(step)
        }
    }

    /// There is a free slot: store every state.
    fn grow(&mut self, step: usize) -> usize {
        let slot = self.len;
        if let Some(mark) = self.marks.get_mut(slot) {
            *mark = Mark {
                step,
                slot: slot as u32,
                ..Mark::EMPTY
            };
        }
        self.len += 1;
        self.next = step.saturating_add(1);
        self.head = 1;
        if self.marks.len() == 1 {
            self.next = NEVER;
        }
        slot
    }

    /// Up to `beta(s, 2)` steps: store every state over the oldest one that is not settled.
    fn fill(&mut self, step: usize) -> usize {
        let (len, head) = (self.len, self.head);
        let slot = match self.marks.get_mut(head) {
            Some(mark) => {
                mark.step = step;
                mark.slot as usize
            }
            None => 0,
        };
        self.head = if head + 1 < len {
            head + 1
        } else {
            self.base + 1
        };
        self.next = step.saturating_add(1);
        // May the oldest go? Its successor is the next step, which bounds the base's segment.
        let bottom = self.marks.get(self.base).map_or(0, |m| m.step);
        let oldest = self.marks.get(self.head).map_or(0, |m| m.step);
        if oldest - bottom > len - self.base {
            // No: the base's segment is full, and the oldest becomes the new base. The younger
            // part of the ring moves up by one (seldom: once in len - base steps).
            if let Some(part) = self.marks.get_mut(self.base + 1..=self.head) {
                part.rotate_right(1);
            }
            self.base += 1;
            self.head = if self.head + 1 < len {
                self.head + 1
            } else {
                self.base + 1
            };
            if self.base + 1 == len {
                self.survey(0);
                self.plan();
            }
        }
        slot
    }

    /// Beyond: store over the mark that was found to be the cheapest to lose.
    fn replace(&mut self, step: usize) -> usize {
        let victim = self.victim;
        let slot = self.marks.get(victim).map_or(0, |m| m.slot);
        let cells = Cell::from_mut(&mut *self.marks).as_slice_of_cells();
        let moved = cells.get(victim..).unwrap_or_default();
        for pair in moved.windows(2) {
            if let [to, from] = pair {
                to.set(from.get());
            }
        }
        if let Some(top) = moved.last() {
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

    /// Brings `cost` and `best` up to date from mark `first` to the last but one.
    fn survey(&mut self, first: usize) {
        let slots = self.marks.len();
        let cells = Cell::from_mut(&mut *self.marks).as_slice_of_cells();
        // The mark below the first one, if any, is as it was.
        let (mut below, rest) = match first.checked_sub(1).and_then(|i| cells.get(i)) {
            Some(mark) => (Some(mark.get()), cells.get(first..)),
            None => (None, Some(cells)),
        };
        let mut a = (slots - first) as u64;
        for pair in rest.unwrap_or_default().windows(2) {
            let [here, above] = pair else { continue };
            let mut mark = here.get();
            let near = u64::from(mark.reps & !HERE);
            let l = (above.get().step - mark.step) as u64;
            let (t, r) = cost(l, a, near);
            mark.cost = t;
            mark.reps = (r as u32) & !HERE;
            mark.best = NO_VICTIM;
            if let Some(low) = below {
                let joint = l + (mark.step - low.step) as u64;
                let local = cost(joint, a + 1, u64::from(low.reps & !HERE)).0 as i64
                    - low.cost as i64
                    - t as i64;
                let raised = cost(l, a + 1, r).0 as i64 - t as i64;
                let deeper = low.best + raised;
                mark.best = if deeper <= local {
                    deeper
                } else {
                    mark.reps |= HERE;
                    local
                };
            }
            here.set(mark);
            below = Some(mark);
            a -= 1;
        }
    }

    /// Finds the next step to store and the mark to give up for it.
    fn plan(&mut self) {
        let Some((top, rest)) = self.marks.split_last() else {
            return;
        };
        let Some(under) = rest.last() else { return };
        let last = rest.len();
        let length = top.step - under.step;
        // Of t(d, 2) and t(length + d, 2): value, slope and the length up to which it holds.
        let (mut t, mut r, mut cap) = (0i64, 0i64, 1usize);
        let (mut u, mut q) = (0i64, i64::from(under.reps & !HERE));
        let mut room = ((q + 1) * (q + 2) / 2) as usize - length;
        let mut d = 0usize;
        let mut k = top.step;
        loop {
            d += 1;
            k = k.saturating_add(1);
            if d > cap {
                r += 1;
                cap += r as usize + 1;
            }
            if d > room {
                q += 1;
                room += q as usize + 1;
            }
            t += r;
            u += q;
            let ahead = if k < self.near {
                2
            } else if k < self.far {
                3
            } else {
                4
            };
            let keep = d as i64 * (d as i64 - 1 + ahead);
            let deep = under.best + t;
            if keep > 2 * deep.min(u) || k == NEVER {
                self.next = k;
                self.victim = last;
                if deep <= u {
                    let mut i = last - 1;
                    while let Some(mark) = self.marks.get(i)
                        && mark.reps & HERE == 0
                        && i > 1
                    {
                        i -= 1;
                    }
                    self.victim = i;
                }
                return;
            }
        }
    }

    /// The marks in the order of their steps.
    fn ordered(&self) -> impl Iterator<Item = &Mark> {
        let part = |from, to| self.marks.get(from..to).unwrap_or_default().iter();
        let settled = (self.base + 1).min(self.len);
        let head = self.head.clamp(settled, self.len.max(settled));
        part(0, settled)
            .chain(part(head, self.len))
            .chain(part(settled, head))
    }

    /// The number of forward steps, first sweep included, that the reversal brings the total to
    /// if the run stops after `n` steps, now.
    #[must_use]
    pub fn forward_steps(&self, n: usize) -> u64 {
        let mut total = n as u64;
        let mut a = self.slots() as u64;
        let mut from = None;
        let end = n.saturating_sub(1);
        for step in self.ordered().map(|m| m.step.min(end)).chain([end]) {
            if let Some(c) = from {
                total = total.saturating_add(advances((step - c) as u64, a));
                a -= 1;
            }
            from = Some(step);
        }
        total
    }

    /// The run stopped after `n` steps.
    #[must_use]
    pub fn reverse(self, n: usize) -> Reversal<'m> {
        let (settled, len) = ((self.base + 1).min(self.len), self.len);
        if let Some(ring) = self.marks.get_mut(settled..len) {
            let turn = self.head.saturating_sub(settled).min(ring.len());
            ring.rotate_left(turn);
        }
        Reversal::new(self.marks, len, n)
    }
}
