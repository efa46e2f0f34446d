//! Active set between two solves: rows and sides, without multipliers.

use crate::scalar::Scalar;
use crate::slices::{cells, split, split_mut};

/// Entry of the set: a row, its side, and whether it is an equation.
#[derive(Clone, Copy)]
pub(super) struct Entry(pub(super) u16);

const UPPER: u16 = 1;
const FIXED: u16 = 2;
/// Rows that an entry can name.
pub(crate) const MOST_ROWS: usize = (u16::MAX >> 2) as usize;

impl Entry {
    pub(super) fn new(row: usize, upper: bool, fixed: bool) -> Self {
        let side = if upper { UPPER } else { 0 };
        let fixed = if fixed { FIXED } else { 0 };
        Self(((row as u16) << 2) | fixed | side)
    }
    pub(super) fn row(self) -> usize {
        usize::from(self.0 >> 2)
    }
    pub(super) fn is_upper(self) -> bool {
        self.0 & UPPER != 0
    }
    pub(super) fn is_fixed(self) -> bool {
        self.0 & FIXED != 0
    }
    /// The value with the sign that is positive on this side.
    #[inline(always)]
    pub(super) fn outward<S: Scalar>(self, value: S) -> S {
        if self.is_upper() { value } else { -value }
    }
}

/// Active set between two solves: plain numbers, without multipliers.
#[derive(Debug)]
pub(crate) struct ActiveRows<'m> {
    /// Number of rows in the factor and of saturated rows.
    counts: &'m mut [u16],
    pub(super) free: &'m mut [u16],
    pub(super) saturated: &'m mut [u16],
}

impl<'m> ActiveRows<'m> {
    /// Words for a capacity.
    pub(crate) const fn len(capacity: usize) -> usize {
        2 * capacity + 2
    }

    pub(crate) fn new(words: &'m mut [u16]) -> Self {
        let (counts, rest) = split_mut(words, 2);
        let (free, saturated) = split_mut(rest, rest.len() / 2);
        Self {
            counts,
            free,
            saturated,
        }
    }

    /// True if the set has no rows.
    pub(crate) fn is_empty(&self) -> bool {
        self.counts() == (0, 0)
    }

    /// Discards the set.
    pub(crate) fn clear(&mut self) {
        self.counts.iter_mut().for_each(|count| *count = 0);
    }

    /// Rows in the factor, and saturated rows.
    pub(super) fn counts(&self) -> (usize, usize) {
        match &*self.counts {
            &[free, saturated] => (
                usize::from(free).min(self.free.len()),
                usize::from(saturated).min(self.saturated.len()),
            ),
            _ => (0, 0),
        }
    }

    pub(super) fn set_counts(&mut self, free: usize, saturated: usize) {
        let counts = self.counts.iter_mut().zip([free, saturated]);
        counts.for_each(|(to, count)| *to = count as u16);
    }
}

/// Entries of a set that is only read: those in the factor, and the saturated ones.
pub(super) fn entries(
    words: &[u16],
) -> (
    impl Iterator<Item = Entry> + '_,
    impl Iterator<Item = Entry> + '_,
) {
    let (counts, rest) = split(words, 2);
    let (free, saturated) = split(rest, rest.len() / 2);
    let count = |place: usize| counts.get(place).map_or(0, |&count| usize::from(count));
    (
        free.iter().take(count(0)).map(|&entry| Entry(entry)),
        saturated.iter().take(count(1)).map(|&entry| Entry(entry)),
    )
}

/// Replaces the first `count` entries by those that `keep` returns; returns their number.
pub(super) fn retain(
    entries: &mut [u16],
    count: usize,
    mut keep: impl FnMut(Entry) -> Option<Entry>,
) -> usize {
    let entries = cells(entries);
    let mut kept = 0;
    for entry in entries.iter().take(count) {
        if let (Some(new), Some(to)) = (keep(Entry(entry.get())), entries.get(kept)) {
            to.set(new.0);
            kept += 1;
        }
    }
    kept
}
