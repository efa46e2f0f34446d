//! LDLᵀ of the rows and columns of W that belong to the active set, one row at a time.
//!
//! L is unit lower triangular and packed row by row without its diagonal: row k has k entries. D is stored as its reciprocals. A
//! row is appended in k²/2 multiply-adds, and taken out by a rank-one update of the rows behind it (Gill, Golub, Murray and
//! Saunders 1974, method C1), in one pass over them. All loops run along rows, so no index needs a check.

use crate::scalar::Scalar;
use crate::slices::{cells, dot, less, split, split_mut};

/// Entries of L for this number of rows.
pub(crate) const fn packed_len(rows: usize) -> usize {
    rows * rows.saturating_sub(1) / 2
}

/// Appends row k, given the entries of W that it shares with the rows before in `values` and its own in `diagonal`. Returns the
/// pivot; at most `least` counts as zero, and the row is then not part of the factor.
#[cfg(feature = "libm")]
#[inline]
pub(crate) fn append<S: Scalar>(
    packed: &mut [S],
    inverse: &mut [S],
    k: usize,
    values: impl Iterator<Item = S>,
    diagonal: S,
    least: S,
) -> S {
    let mut pivot = diagonal;
    let row = eliminate(packed, k, values);
    for (entry, &inverse) in row.iter_mut().zip(inverse.iter()) {
        let value = *entry;
        *entry = value * inverse;
        pivot -= value * *entry;
    }
    invert(inverse, k, pivot, least);
    pivot
}

/// Right-hand side of a system with the factor, which grows with it: L⁻¹ times the part before, and the next entry.
pub(crate) struct RightSide<'a, S> {
    pub(crate) forward: &'a mut [S],
    pub(crate) next: S,
}

/// Appends row k as `append` does, and continues a right-hand side.
#[inline]
pub(crate) fn append_with<S: Scalar>(
    packed: &mut [S],
    inverse: &mut [S],
    right: RightSide<'_, S>,
    k: usize,
    values: impl Iterator<Item = S>,
    diagonal: S,
    least: S,
) -> S {
    let (mut pivot, mut next) = (diagonal, right.next);
    let row = eliminate(packed, k, values);
    let known = inverse.iter().zip(right.forward.iter());
    for (entry, (&inverse, &forward)) in row.iter_mut().zip(known) {
        let value = *entry;
        let l = value * inverse;
        *entry = l;
        pivot -= value * l;
        next -= l * forward;
    }
    if let Some(to) = right.forward.get_mut(k) {
        *to = next;
    }
    invert(inverse, k, pivot, least);
    pivot
}

#[inline(always)]
fn invert<S: Scalar>(inverse: &mut [S], k: usize, pivot: S, least: S) {
    if let Some(inverse) = inverse.get_mut(k) {
        *inverse = if pivot > least {
            S::ONE / pivot
        } else {
            S::ZERO
        };
    }
}

/// Entries of row k, not yet divided by D. Two are computed at a time: an entry of the row is loaded once for both.
#[inline(always)]
fn eliminate<S: Scalar>(
    packed: &mut [S],
    k: usize,
    mut values: impl Iterator<Item = S>,
) -> &mut [S] {
    let (earlier, rest) = split_mut(packed, packed_len(k));
    let (row, _) = split_mut(rest, k);
    let mut earlier = &*earlier;
    let mut i = 0;
    while i + 1 < k {
        let (Some(mut p), Some(mut q)) = (values.next(), values.next()) else {
            break;
        };
        let (a, after) = split(earlier, i);
        let (b, after) = split(after, i + 1);
        earlier = after;
        let (done, next) = split_mut(row, i);
        for ((&x, &a), &b) in done.iter().zip(a).zip(b) {
            p -= a * x;
            q -= b * x;
        }
        if let ([to, beside, ..], Some(&b)) = (next, b.last()) {
            *to = p;
            *beside = q - b * p;
        }
        i += 2;
    }
    let (done, next) = split_mut(row, i);
    if let (Some(to), Some(value)) = (next.first_mut(), values.next()) {
        *to = less(value, earlier, done);
    }
    row
}

/// Row k of L.
#[inline]
pub(crate) fn row<S>(packed: &[S], k: usize) -> &[S] {
    split(split(packed, packed_len(k)).1, k).0
}

/// Solves Lx = x in place, four rows at a time. Each sum runs from its first entry to its last; with four sums side by side an
/// addition need not wait for the one before it.
#[inline]
pub(crate) fn forward<S: Scalar>(packed: &[S], x: &mut [S]) {
    let (mut rest, mut k) = (packed, 0);
    while k + 4 <= x.len() {
        let (a, after) = split(rest, k);
        let (b, after) = split(after, k + 1);
        let (c, after) = split(after, k + 2);
        let (d, after) = split(after, k + 3);
        rest = after;
        let (done, next) = split_mut(x, k);
        let (mut p, mut q, mut r, mut t) = (S::ZERO, S::ZERO, S::ZERO, S::ZERO);
        for ((((&x, &a), &b), &c), &d) in done.iter().zip(a).zip(b).zip(c).zip(d) {
            p += a * x;
            q += b * x;
            r += c * x;
            t += d * x;
        }
        let triangle = (split(b, k).1, split(c, k).1, split(d, k).1);
        if let ([x0, x1, x2, x3, ..], (&[b0], &[c0, c1], &[d0, d1, d2])) = (next, triangle) {
            *x0 -= p;
            *x1 -= q + b0 * *x0;
            *x2 -= r + c0 * *x0 + c1 * *x1;
            *x3 -= t + d0 * *x0 + d1 * *x1 + d2 * *x2;
        }
        k += 4;
    }
    for k in k..x.len() {
        let (row, after) = split(rest, k);
        rest = after;
        let (done, next) = split_mut(x, k);
        if let Some(x) = next.first_mut() {
            *x -= dot(row, done);
        }
    }
}

/// Solves Lᵀx = x for the first n rows, in place; two rows at a time, so that an entry of x is loaded and stored once for both.
#[inline]
pub(crate) fn back<S: Scalar>(packed: &[S], x: &mut [S], n: usize) {
    let (mut rest, _) = split(packed, packed_len(n));
    let (mut x, _) = split_mut(x, n);
    while let [before @ .., q, p] = x {
        let k = before.len() + 1;
        let (above, last) = split(rest, rest.len().saturating_sub(k));
        let (above, row) = split(above, above.len().saturating_sub(k - 1));
        let p = *p;
        if let Some(&l) = last.last() {
            *q -= l * p;
        }
        for ((x, &a), &b) in before.iter_mut().zip(last).zip(row) {
            *x = *x - a * p - b * *q;
        }
        (rest, x) = (above, before);
    }
}

/// Solves Lᵀx = x in place, four rows at a time: an entry of x is loaded and stored once for four of them. The order of the
/// subtractions is that of [`back`].
#[inline]
pub(crate) fn backward<S: Scalar>(packed: &[S], x: &mut [S]) {
    let whole = x.len() - x.len() % 4;
    // The rows beyond a multiple of four come first.
    for k in (whole..x.len()).rev() {
        let (before, rest) = split_mut(x, k);
        if let Some(&mut last) = rest.first_mut() {
            for (x, &l) in before.iter_mut().zip(row(packed, k)) {
                *x -= l * last;
            }
        }
    }
    for k in (0..whole).step_by(4).rev() {
        let (_, rest) = split(packed, packed_len(k));
        let (a, rest) = split(rest, k);
        let (b, rest) = split(rest, k + 1);
        let (c, rest) = split(rest, k + 2);
        let (d, _) = split(rest, k + 3);
        let (before, next) = split_mut(x, k);
        let triangle = (split(b, k).1, split(c, k).1, split(d, k).1);
        if let ([x0, x1, x2, x3, ..], (&[b0], &[c0, c1], &[d0, d1, d2])) = (next, triangle) {
            *x2 -= d2 * *x3;
            *x1 = *x1 - d1 * *x3 - c1 * *x2;
            *x0 = *x0 - d0 * *x3 - c0 * *x2 - b0 * *x1;
            let (x0, x1, x2, x3) = (*x0, *x1, *x2, *x3);
            let rows = a.iter().zip(b).zip(c).zip(d);
            for (x, (((&a, &b), &c), &d)) in before.iter_mut().zip(rows) {
                *x = *x - d * x3 - c * x2 - b * x1 - a * x0;
            }
        }
    }
}

/// Takes row k out of a factor of n rows. `p` and `beta` are scratch of n entries.
pub(crate) fn remove<S: Scalar>(
    packed: &mut [S],
    inverse: &mut [S],
    k: usize,
    n: usize,
    p: &mut [S],
    beta: &mut [S],
) {
    let packed = cells(packed);
    let inverse = cells(inverse);
    let Some(removed) = inverse.get(k) else {
        return;
    };
    let mut alpha = S::ONE / removed.get();
    let (_, p) = split_mut(p, k);
    let (_, beta) = split_mut(beta, k);
    for i in k + 1..n {
        // Row i becomes row i − 1: the part before column k stays, the part behind it moves left and is updated.
        let (_, from) = split(packed, packed_len(i));
        let (_, to) = split(packed, packed_len(i - 1));
        let (head, from) = split(from, k);
        let (start, to) = split(to, k);
        for (to, from) in start.iter().zip(head) {
            to.set(from.get());
        }
        let Some((w, from)) = from.split_first() else {
            return;
        };
        let mut w = w.get();
        let (done, rest) = split_mut(p, i - 1 - k);
        let (factors, next) = split_mut(beta, i - 1 - k);
        for (((to, from), &p), &beta) in to.iter().zip(from).zip(done.iter()).zip(factors.iter()) {
            let l = from.get();
            w -= p * l;
            to.set(l + beta * w);
        }
        let (Some(d), Some(inverse)) = (inverse.get(i), inverse.get(i - 1)) else {
            return;
        };
        let d = S::ONE / d.get();
        let inverted = S::ONE / (d + alpha * w * w);
        inverse.set(inverted);
        if let (Some(p), Some(beta)) = (rest.first_mut(), next.first_mut()) {
            *p = w;
            *beta = w * alpha * inverted;
        }
        alpha *= d * inverted;
    }
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
        let mut forward = vec![0.0; 9];
        for (k, &r) in rows.iter().enumerate() {
            let values = rows.iter().map(|&c| w[r][c]);
            let right_side = RightSide {
                forward: &mut forward,
                next: right(r),
            };
            append_with(&mut l, &mut d, right_side, k, values, w[r][r], 0.0);
            // The right-hand side goes along.
            let expected = right(r) - dot(row(&l, k), &forward);
            assert!((forward[k] - expected).abs() < 1e-14, "{k}: {forward:?}");
        }
        (l, d)
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
                expected[k] -= dot(row(&l, k), &expected[..k]);
            }
            let mut found = start;
            forward(&l[..packed_len(n)], &mut found);
            assert_eq!(found, expected, "{n} rows");
            back(&l, &mut expected, n);
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
            x[k] = right(k) - dot(row(&l, k), &x);
        }
        x.iter_mut().zip(&d).for_each(|(x, d)| *x *= d);
        back(&l, &mut x, 7);
        for (k, row) in w.iter().enumerate() {
            let sum: f64 = row.iter().zip(&x).map(|(w, x)| w * x).sum();
            assert!((sum - right(k)).abs() < 1e-12, "{k}: {sum}");
        }
    }
}
