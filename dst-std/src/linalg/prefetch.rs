//! Hints to load memory before its use.
//!
//! A product that works in the cache leaves the memory bus idle. While it runs, it can prefetch the next operands, a few cache lines at
//! a time: more would queue. Prefetching is only a hint; on targets without the instruction it does nothing.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Memory to load soon: up to two pieces, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefetch<'a, T> {
    pieces: [&'a [T]; 2],
}

impl<'a, T> Prefetch<'a, T> {
    /// Nothing to load.
    pub(crate) const NOTHING: Self = Self { pieces: [&[]; 2] };

    /// Loads these pieces.
    #[inline(always)]
    pub(crate) fn of(pieces: [&'a [T]; 2]) -> Self {
        Self { pieces }
    }

    /// Prefetches the next lines.
    #[inline(always)]
    pub(crate) fn fetch(&mut self, lines: usize) {
        let [now, later] = &mut self.pieces;
        if now.is_empty() {
            *now = std::mem::take(later);
        }
        let line = LINE / size_of::<T>();
        let (asked, rest) = now.split_at(now.len().min(lines * line));
        let whole = asked.chunks_exact(line);
        hint(whole.remainder());
        whole.for_each(hint);
        *now = rest;
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn hint<T>(line: &[T]) {
    use std::arch::x86_64::_MM_HINT_T1;
    if let Some(sse) = pulp::core_arch::x86::Sse::try_new() {
        sse._mm_prefetch::<_MM_HINT_T1>(line.as_ptr().cast());
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn hint<T>(_: &[T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_asked_for_once() {
        let (a, b) = (vec![1.0_f32; 100], vec![2.0_f32; 40]);
        let mut prefetch = Prefetch::of([&a, &b]);
        let mut left = Vec::new();
        for _ in 0..4 {
            prefetch.fetch(3);
            left.push(prefetch.pieces.map(<[f32]>::len));
        }
        assert_eq!(left, [[52, 40], [4, 40], [0, 40], [0, 0]]);
    }
}
