//! Small operations on slices that cannot panic.
//!
//! Rounding depends on the order of a sum, so every sum here runs from the first entry to the last.

use core::cell::Cell;
use core::hint::black_box;
use core::mem::take;

use crate::scalar::Scalar;

/// Splits a slice. The lengths match by construction; otherwise both parts would be empty.
#[inline(always)]
pub(crate) fn split<S>(slice: &[S], mid: usize) -> (&[S], &[S]) {
    slice.split_at_checked(mid).unwrap_or_default()
}

/// Mutable version of [`split`].
#[inline(always)]
pub(crate) fn split_mut<S>(slice: &mut [S], mid: usize) -> (&mut [S], &mut [S]) {
    slice.split_at_mut_checked(mid).unwrap_or_default()
}

/// Whole pieces of a slice: `chunks_exact` without the panic for length zero, which yields no pieces.
#[inline]
pub(crate) fn pieces<S>(mut rest: &[S], size: usize) -> impl Iterator<Item = &[S]> + Clone {
    core::iter::from_fn(move || {
        let (piece, after) = rest.split_at_checked(size)?;
        rest = after;
        (size > 0).then_some(piece)
    })
}

/// Mutable version of [`pieces`].
#[inline]
pub(crate) fn pieces_mut<S>(mut rest: &mut [S], size: usize) -> impl Iterator<Item = &mut [S]> {
    core::iter::from_fn(move || {
        let (piece, after) = take(&mut rest).split_at_mut_checked(size)?;
        rest = after;
        (size > 0).then_some(piece)
    })
}

/// True if all entries are finite.
#[inline(always)]
pub(crate) fn all_finite<S: Scalar>(values: &[S]) -> bool {
    S::all_finite(values)
}

/// Σ aᵢ bᵢ
#[inline]
pub(crate) fn dot<S: Scalar>(a: &[S], b: &[S]) -> S {
    a.iter().zip(b).fold(S::ZERO, |sum, (&a, &b)| sum + a * b)
}

/// value + Σ aᵢ bᵢ, term after term.
#[inline]
pub(crate) fn more<S: Scalar>(value: S, a: &[S], b: &[S]) -> S {
    a.iter().zip(b).fold(value, |sum, (&a, &b)| sum + a * b)
}

/// value − Σ aᵢ bᵢ, term after term.
#[inline]
pub(crate) fn less<S: Scalar>(value: S, a: &[S], b: &[S]) -> S {
    a.iter().zip(b).fold(value, |rest, (&a, &b)| rest - a * b)
}

/// y ← y + a·x
#[inline]
pub(crate) fn add_scaled<S: Scalar>(y: &mut [S], a: S, x: &[S]) {
    for (y, &x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// out ← out + Σ weightᵢ·vectorᵢ, four vectors at a time: an entry of `out` is loaded and stored once for four of them. The sum of an
/// entry runs from the first vector to the last.
#[inline]
pub(crate) fn combine<'a, S: Scalar>(
    out: &mut [S],
    weights: &[S],
    mut vectors: impl Iterator<Item = &'a [S]>,
) {
    let mut next = || vectors.next().unwrap_or_default();
    let (quads, rest) = weights.as_chunks::<4>();
    for &[p, q, r, t] in quads {
        let (a, b, c, d) = (next(), next(), next(), next());
        let vectors = a.iter().zip(b).zip(c).zip(d);
        for (out, (((&a, &b), &c), &d)) in out.iter_mut().zip(vectors) {
            *out = *out + a * p + b * q + c * r + d * t;
        }
    }
    let (pairs, rest) = rest.as_chunks::<2>();
    for &[p, q] in pairs {
        let (a, b) = (next(), next());
        for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out = *out + a * p + b * q;
        }
    }
    for &p in rest {
        add_scaled(out, p, next());
    }
}

/// Copies as many entries as fit; the lengths agree by construction.
#[inline]
pub(crate) fn copy<S: Copy>(to: &mut [S], from: &[S]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
    }
}

/// The same numbers as cells, for [`transfer`].
#[inline(always)]
pub(crate) fn cells<S>(values: &mut [S]) -> &[Cell<S>] {
    Cell::from_mut(values).as_slice_of_cells()
}

/// Copies between two parts of one memory. The compiler turns [`copy`] into a call of `memcpy`, 0.9 KiB on a small machine that
/// needs it nowhere else. With cells it cannot assume that the parts are disjoint, and keeps the loop.
#[inline]
pub(crate) fn transfer<S: Scalar>(to: &[Cell<S>], from: &[Cell<S>]) {
    for (to, from) in to.iter().zip(from) {
        to.set(from.get());
    }
}

/// Marks a loop that is short: the compiler neither unrolls it nor turns it into a call. Unrolled, a loop of two or three passes
/// costs more before and after them than in them.
#[inline(always)]
pub(crate) fn short_loop() {
    if cfg!(target_os = "none") {
        black_box(());
    }
}

/// Sets all entries to zero, without `memset` on a small machine, for the same reason.
#[inline]
pub(crate) fn clear<S: Scalar>(values: &mut [S]) {
    values.fill(if cfg!(target_os = "none") {
        black_box(S::ZERO)
    } else {
        S::ZERO
    });
}
