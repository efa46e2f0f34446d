//! LDLᵀ of the rows and columns of W that belong to the active set, one row at a time.
//!
//! L is unit lower triangular and packed row by row without its diagonal: row k has k entries. D is stored as its reciprocals. A
//! row is appended in k²/2 multiply-adds, and taken out by a rank-one update of the rows behind it (Gill, Golub, Murray and
//! Saunders 1974, method C1), in one pass over them. All loops run along rows, so no index needs a check.

use crate::scalar::Scalar;
use crate::slices::{cells, copy, less, short_loop, split, split_mut};

/// Entries of L for this number of rows.
pub(crate) const fn packed_len(rows: usize) -> usize {
    rows * rows.saturating_sub(1) / 2
}

/// Appends row k, given the entries of W that it shares with the rows before in `values` and its own in `diagonal`. Returns the
/// pivot; at most `least` counts as zero, and the row is then not part of the factor.
#[cfg(any(feature = "libm", test))]
#[inline]
pub(crate) fn append<S: Scalar>(
    packed: &mut [S],
    inverse: &mut [S],
    k: usize,
    values: &[S],
    diagonal: S,
    least: S,
) -> S {
    let mut pivot = diagonal;
    let (earlier, rest) = split_mut(packed, packed_len(k));
    let (row, _) = split_mut(rest, k);
    copy(row, values);
    forward(earlier, row);
    for (entry, &inverse) in row.iter_mut().zip(inverse.iter()) {
        let value = *entry;
        *entry = value * inverse;
        pivot -= value * *entry;
    }
    if let Some(inverse) = inverse.get_mut(k) {
        *inverse = inverted(pivot, least);
    }
    pivot
}

/// 1/pivot, or 0 for a pivot that counts as zero. Written so that a NaN does.
#[inline(always)]
pub(crate) fn inverted<S: Scalar>(pivot: S, least: S) -> S {
    if pivot > least {
        S::ONE / pivot
    } else {
        S::ZERO
    }
}

/// Calls a function that is always inlined with this number as its last argument. Below [`SHORT`] the number is a constant: the
/// function is compiled for each, with lengths that it knows and without loops. On a microcontroller, where a row has three entries on
/// average, that halves the instructions of a step.
macro_rules! with_length {
    ($function:ident($($argument:expr),*; $n:expr)) => {
        match $n {
            0 => $function($($argument),*, 0),
            1 => $function($($argument),*, 1),
            2 => $function($($argument),*, 2),
            3 => $function($($argument),*, 3),
            4 => $function($($argument),*, 4),
            5 => $function($($argument),*, 5),
            6 => $function($($argument),*, 6),
            7 => $function($($argument),*, 7),
            n => $function($($argument),*, n),
        }
    };
}
pub(super) use with_length;

/// Rows from which on `with_length` knows nothing.
pub(super) const SHORT: usize = 8;

/// Row k of L.
#[inline]
pub(crate) fn row<S>(packed: &[S], k: usize) -> &[S] {
    split(split(packed, packed_len(k)).1, k).0
}

/// R rows of L side by side, their number before the first a multiple of four: the columns of the rows before, four at a time, and
/// the triangle behind. All loops over them have lengths that the compiler knows, or one that they share.
struct Rows<'a, S, const R: usize> {
    before: [&'a [[S; 4]]; R],
    triangle: [[S; R]; R],
    rest: &'a [S],
}

impl<'a, S: Scalar, const R: usize> Rows<'a, S, R> {
    /// Cuts the rows off, the first of which has `first` entries.
    #[inline(always)]
    fn cut(packed: &'a [S], first: usize) -> Option<Self> {
        let mut rows = Self {
            before: [&[]; R],
            triangle: [[S::ZERO; R]; R],
            rest: packed,
        };
        let both = rows.before.iter_mut().zip(&mut rows.triangle);
        for (r, (before, triangle)) in both.enumerate() {
            let (row, rest) = rows.rest.split_at_checked(first)?;
            let (ends, rest) = rest.split_at_checked(r)?;
            *before = row.as_chunks().0;
            copy(triangle, ends);
            rows.rest = rest;
        }
        Some(rows)
    }

    /// Forward substitution of these rows, given the solution of the rows before.
    #[inline(always)]
    fn forward(&self, done: &[S], x: &mut [S; R]) {
        for (j, done) in done.as_chunks::<4>().0.iter().enumerate() {
            for (x, row) in x.iter_mut().zip(&self.before) {
                if let Some(row) = row.get(j) {
                    *x = less(*x, row, done);
                }
            }
        }
        for (r, row) in self.triangle.iter().enumerate() {
            let (done, next) = split_mut(x, r);
            if let Some(x) = next.first_mut() {
                *x = less(*x, row, done);
            }
        }
    }

    /// Backward substitution: takes the part of these rows from those before.
    #[inline(always)]
    fn backward(&self, before: &mut [S], x: &mut [S; R]) {
        for (r, row) in self.triangle.iter().enumerate().rev() {
            let (before, next) = split_mut(x, r);
            if let Some(&mut last) = next.first_mut() {
                for (x, &l) in before.iter_mut().zip(row) {
                    *x -= l * last;
                }
            }
        }
        for (j, before) in before.as_chunks_mut::<4>().0.iter_mut().enumerate() {
            for (&x, row) in x.iter().zip(&self.before).rev() {
                if let Some(row) = row.get(j) {
                    for (before, &l) in before.iter_mut().zip(row) {
                        *before -= l * x;
                    }
                }
            }
        }
    }
}

/// Solves Lx = x in place, four rows at a time. Each entry subtracts its terms from the first to the last; with four of them side by
/// side a subtraction need not wait for the one before it.
#[inline(always)]
pub(crate) fn forward<S: Scalar>(packed: &[S], x: &mut [S]) {
    let whole = x.len() - x.len() % 4;
    let mut rest = packed;
    for first in (0..whole).step_by(4) {
        rest = forward_at::<S, 4>(rest, x, first);
    }
    match x.len() - whole {
        1 => _ = forward_at::<S, 1>(rest, x, whole),
        2 => _ = forward_at::<S, 2>(rest, x, whole),
        3 => _ = forward_at::<S, 3>(rest, x, whole),
        _ => {}
    }
}

/// R rows of it, those with which `packed` begins; returns the rows after them.
#[inline(always)]
fn forward_at<'a, S: Scalar, const R: usize>(
    packed: &'a [S],
    x: &mut [S],
    first: usize,
) -> &'a [S] {
    let (done, next) = split_mut(x, first);
    match (
        Rows::<S, R>::cut(packed, done.len()),
        next.first_chunk_mut(),
    ) {
        (Some(rows), Some(x)) => {
            rows.forward(done, x);
            rows.rest
        }
        _ => &[],
    }
}

/// Solves Lᵀx = x in place, four rows at a time: an entry of x is loaded and stored once for four of them.
#[inline(never)]
pub(crate) fn backward<S: Scalar>(packed: &[S], x: &mut [S]) {
    backward_inline(packed, x);
}

/// The same for a length that the compiler knows.
#[inline(always)]
pub(crate) fn backward_inline<S: Scalar>(packed: &[S], x: &mut [S]) {
    let whole = x.len() - x.len() % 4;
    // The rows beyond a multiple of four come first.
    match x.len() - whole {
        1 => backward_at::<S, 1>(packed, x, whole),
        2 => backward_at::<S, 2>(packed, x, whole),
        3 => backward_at::<S, 3>(packed, x, whole),
        _ => {}
    }
    let mut first = whole;
    while first > 0 {
        first -= 4;
        backward_at::<S, 4>(packed, x, first);
    }
}

/// R rows of it.
#[inline(always)]
fn backward_at<S: Scalar, const R: usize>(packed: &[S], x: &mut [S], first: usize) {
    let (_, packed) = split(packed, packed_len(first));
    let (before, next) = split_mut(x, first);
    if let (Some(rows), Some(x)) = (
        Rows::<S, R>::cut(packed, before.len()),
        next.first_chunk_mut(),
    ) {
        rows.backward(before, x);
    }
}

/// Takes row k out of a factor of n rows. `p` and `beta` are scratch of n entries. None if a slice is too short.
pub(crate) fn remove<S: Scalar>(
    packed: &mut [S],
    inverse: &mut [S],
    k: usize,
    n: usize,
    p: &mut [S],
    beta: &mut [S],
) -> Option<()> {
    let packed = cells(packed);
    let (_, inverse) = cells(inverse).split_at_checked(k)?;
    let (p, beta) = (cells(p).get(k..)?, cells(beta).get(k..)?);
    let mut alpha = S::ONE / inverse.first()?.get();
    let (mut to, mut from) = packed.get(packed_len(k)..)?.split_at_checked(k)?;
    for (done, pair) in inverse.get(..n - k)?.windows(2).enumerate() {
        // Row i becomes row i − 1: the part before column k stays, the part behind it moves left and is updated.
        let i = k + 1 + done;
        let (row, rest) = from.split_at_checked(i)?;
        let (head, row) = row.split_at_checked(k)?;
        let (start, updated) = to.split_at_checked(k)?;
        for (to, from) in start.iter().zip(head) {
            to.set(from.get());
            short_loop();
        }
        let (w, row) = row.split_first()?;
        let mut w = w.get();
        let (known, next) = p.split_at_checked(done)?;
        let (factors, next_factor) = beta.split_at_checked(done)?;
        let columns = updated.get(..done)?.iter().zip(row.get(..done)?);
        for ((to, from), (p, beta)) in columns.zip(known.iter().zip(factors)) {
            let l = from.get();
            w -= p.get() * l;
            to.set(l + beta.get() * w);
            short_loop();
        }
        let [before, own] = pair else { return None };
        let d = S::ONE / own.get();
        let inverted = S::ONE / (d + alpha * w * w);
        before.set(inverted);
        next.first()?.set(w);
        next_factor.first()?.set(w * alpha * inverted);
        alpha *= d * inverted;
        (to, from) = (packed.get(packed_len(i)..)?, rest);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// A positive definite matrix with entries that are not special.
    fn matrix(n: usize) -> Vec<Vec<f64>> {
        let root = |i: usize, j: usize| ((i * 7 + j * 3) % 11) as f64 / 11.0 - 0.4;
        let entry = |i: usize, j: usize| {
            let sum: f64 = (0..n + 2).map(|k| root(i, k) * root(j, k)).sum();
            sum + if i == j { 0.5 } else { 0.0 }
        };
        (0..n)
            .map(|i| (0..n).map(|j| entry(i, j)).collect())
            .collect()
    }

    fn right(row: usize) -> f64 {
        row as f64 - 2.5
    }

    fn factor(w: &[Vec<f64>], rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let (mut l, mut d) = (vec![0.0; packed_len(9)], vec![0.0; 9]);
        for (k, &r) in rows.iter().enumerate() {
            let values: Vec<f64> = rows.iter().map(|&c| w[r][c]).collect();
            append(&mut l, &mut d, k, &values, w[r][r], 0.0);
        }
        (l, d)
    }

    /// Solves Lᵀx = x, row by row.
    fn back(packed: &[f64], x: &mut [f64]) {
        for k in (0..x.len()).rev() {
            let last = x[k];
            for (x, l) in x.iter_mut().zip(row(packed, k)) {
                *x -= l * last;
            }
        }
    }

    #[test]
    fn a_factor_without_a_row_is_that_of_the_others() {
        let w = matrix(8);
        for k in 0..8 {
            let (mut l, mut d) = factor(&w, &[0, 1, 2, 3, 4, 5, 6, 7]);
            remove(&mut l, &mut d, k, 8, &mut [0.0; 8], &mut [0.0; 8]);
            let rest: Vec<usize> = (0..8).filter(|&i| i != k).collect();
            let (expected, pivots) = factor(&w, &rest);
            for (a, b) in l.iter().zip(&expected).take(packed_len(7)) {
                assert!((a - b).abs() < 1e-13, "row {k}: {a} {b}");
            }
            for (a, b) in d.iter().zip(&pivots).take(7) {
                assert!((a - b).abs() < 1e-12 * b, "row {k}: {a} {b}");
            }
        }
    }

    #[test]
    fn rows_side_by_side_have_the_bits_of_rows_one_by_one() {
        let w = matrix(9);
        for n in 0..=9 {
            let rows: Vec<usize> = (0..n).collect();
            let (l, _) = factor(&w, &rows);
            let start: Vec<f64> = (0..n).map(|k| 1.7 - k as f64 / 3.0).collect();
            let mut expected = start.clone();
            for k in 0..n {
                expected[k] = less(expected[k], row(&l, k), &expected[..k]);
            }
            let mut found = start;
            forward(&l[..packed_len(n)], &mut found);
            assert_eq!(found, expected, "{n} rows");
            back(&l, &mut expected);
            backward(&l[..packed_len(n)], &mut found);
            assert_eq!(found, expected, "{n} rows, transposed");
        }
    }

    #[test]
    fn a_solution_satisfies_its_equations() {
        let w = matrix(7);
        let (l, d) = factor(&w, &[0, 1, 2, 3, 4, 5, 6]);
        let mut x = vec![0.0; 7];
        for k in 0..7 {
            x[k] = less(right(k), row(&l, k), &x);
        }
        x.iter_mut().zip(&d).for_each(|(x, d)| *x *= d);
        backward(&l, &mut x);
        for (k, row) in w.iter().enumerate() {
            let sum: f64 = row.iter().zip(&x).map(|(w, x)| w * x).sum();
            assert!((sum - right(k)).abs() < 1e-12, "{k}: {sum}");
        }
    }
}
