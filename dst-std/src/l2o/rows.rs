//! One pass over the rows of W: Σᵢ rowᵢ·weigh(rowᵢ·x), for one point x or several.
//!
//! Rows are still in the cache when the weights that multiply them are known. With several points, W is read once for all of them. The
//! sums of a point have the same order, whatever other points there are.

use pulp::{Simd, WithSimd};

use crate::linalg::Real;
use crate::linalg::real::Lanes;

/// Rows that go through the pass together.
pub(super) const ROWS: usize = 8;

/// A σ(s) below this counts as zero. Products with numbers that have left the normal range take a processor a hundred times as long,
/// and on large problems most examples come to that.
const NEGLIGIBLE: f64 = 1e-30;

/// Turns z of some rows, the first of which has this number, into what multiplies the rows in the second half of a pass. (A
/// closure would not be compiled for the instruction set at hand.)
pub(super) trait Weigh<T> {
    fn weigh(&mut self, first: usize, z: [T; ROWS]) -> [T; ROWS];
}

/// For the gradient: residuals (σ(z) − y)/n. Keeps σ(s) and sums up n·f, where s = z for y = 0 and −z for y = 1: f = softplus(s) and
/// |σ(z) − y| = σ(s), without the differences that would leave nothing of a small f.
pub(super) struct Residuals<'a, T> {
    labels: &'a [T],
    slopes: &'a mut [T],
    share: T,
    sum: T,
}

impl<'a, T: Real> Residuals<'a, T> {
    /// For examples with these labels, and room for σ(s).
    pub(super) fn new(labels: &'a [T], slopes: &'a mut [T]) -> Self {
        Self {
            share: T::ONE / T::from_count(labels.len()),
            labels,
            slopes,
            sum: T::ZERO,
        }
    }

    /// f, after the pass.
    pub(super) fn mean(&self) -> T {
        self.share * self.sum
    }
}

impl<T: Real> Weigh<T> for Residuals<'_, T> {
    #[inline(always)]
    fn weigh(&mut self, first: usize, z: [T; ROWS]) -> [T; ROWS] {
        let mut signs = [T::ONE; ROWS];
        for (sign, &y) in signs.iter_mut().zip(&self.labels[first..]) {
            *sign = T::ONE - T::TWO * y;
        }
        let (mut values, mut slopes) = ([T::ZERO; ROWS], [T::ZERO; ROWS]);
        for i in 0..ROWS {
            (values[i], slopes[i]) = T::softplus_and_slope(signs[i] * z[i]);
        }
        let mut weights = [T::ZERO; ROWS];
        for (i, slope) in self.slopes[first..].iter_mut().enumerate().take(ROWS) {
            self.sum += values[i];
            *slope = if slopes[i] > T::from_f64(NEGLIGIBLE) {
                slopes[i]
            } else {
                T::ZERO
            };
            weights[i] = self.share * signs[i] * *slope;
        }
        weights
    }
}

/// For a product with the Hessian: σ(1 − σ)·z/n.
pub(super) struct Curvatures<'a, T> {
    slopes: &'a [T],
    share: T,
}

impl<'a, T: Real> Curvatures<'a, T> {
    /// From σ(s) of all examples.
    pub(super) fn new(slopes: &'a [T]) -> Self {
        Self {
            slopes,
            share: T::ONE / T::from_count(slopes.len()),
        }
    }
}

impl<T: Real> Weigh<T> for Curvatures<'_, T> {
    #[inline(always)]
    fn weigh(&mut self, first: usize, z: [T; ROWS]) -> [T; ROWS] {
        let mut weights = [T::ZERO; ROWS];
        for ((weight, z), &slope) in weights.iter_mut().zip(z).zip(&self.slopes[first..]) {
            *weight = self.share * slope * (T::ONE - slope) * z;
        }
        weights
    }
}

/// sums ← sums + Wᵀ·weigh(W·point), for all points.
pub(super) struct Pass<'a, T, F> {
    /// W, row by row.
    pub(super) data: &'a [T],
    /// Length of a row, of a point and of its sum: whole vectors.
    pub(super) stride: usize,
    pub(super) points: &'a [T],
    pub(super) sums: &'a mut [T],
    /// One per point.
    pub(super) weigh: &'a mut [F],
    /// Room for every point.
    pub(super) rooms: &'a mut [Room<T>],
}

/// State of a pass over some rows and a point: at first, vectors whose entries add up to z, then the factors of the rows.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Room<T> {
    products: [[T; LANES]; ROWS],
    weights: [T; ROWS],
}

/// Numbers in the longest vector.
const LANES: usize = 16;

impl<T: Real> Room<T> {
    pub(super) fn new() -> Self {
        Self {
            products: [[T::ZERO; LANES]; ROWS],
            weights: [T::ZERO; ROWS],
        }
    }
}

/// Numbers of a row that all points meet before the next ones: those of all rows fill a third of the first-level cache. With one
/// point there is nothing to share.
fn piece<T>(points: usize) -> usize {
    match points {
        1 => usize::MAX,
        _ => 16_384 / ROWS / size_of::<T>(),
    }
}

/// A vector.
type Vector<T, S> = <T as Lanes>::Vector<S>;
/// A piece of some rows.
type Block<'a, T, S> = [&'a [Vector<T, S>]; ROWS];

/// Points that share the reading of a vector, where the registers hold their sums.
const TOGETHER: usize = 2;

impl<T: Real, F: Weigh<T>> WithSimd for Pass<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            data,
            stride,
            points,
            sums,
            weigh,
            rooms,
        } = self;
        let count = weigh.len();
        let together = match S::REGISTER_COUNT < 32 {
            true => 0,
            false => count - count % TOGETHER,
        };
        let piece = piece::<T>(count).min(stride).max(1);
        for (block, data) in data.chunks_exact((ROWS * stride).max(1)).enumerate() {
            for room in &mut *rooms {
                room.products = [[T::ZERO; LANES]; ROWS];
            }
            for first in (0..stride).step_by(piece) {
                let rows = cut::<T, S>(data, stride, first, piece);
                let at = |number: usize| number * stride + first;
                let (pairs, singles) = rooms.split_at_mut(together);
                for (pair, rooms) in pairs.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
                    let x = [&points[at(2 * pair)..], &points[at(2 * pair + 1)..]];
                    multiply(simd, &rows, x, rooms);
                }
                for (single, room) in singles.as_chunks_mut::<1>().0.iter_mut().enumerate() {
                    multiply(simd, &rows, [&points[at(together + single)..]], room);
                }
            }
            for (weigh, room) in weigh.iter_mut().zip(&mut *rooms) {
                let mut z = [T::ZERO; ROWS];
                for (z, products) in z.iter_mut().zip(&room.products) {
                    *z = T::sum(simd, T::vectors::<S>(products)[0]);
                }
                room.weights = weigh.weigh(block * ROWS, z);
            }
            for first in (0..stride).step_by(piece) {
                let rows = cut::<T, S>(data, stride, first, piece);
                let (pairs, singles) = rooms.split_at(together);
                let (pair_sums, single_sums) = sums.split_at_mut(together * stride);
                let sums = pair_sums.chunks_exact_mut(TOGETHER * stride);
                for (rooms, sums) in pairs.as_chunks::<TOGETHER>().0.iter().zip(sums) {
                    let (a, b) = sums.split_at_mut(stride);
                    combine(simd, &rows, rooms, [&mut a[first..], &mut b[first..]]);
                }
                let sums = single_sums.chunks_exact_mut(stride);
                for (room, sums) in singles.as_chunks::<1>().0.iter().zip(sums) {
                    combine(simd, &rows, room, [&mut sums[first..]]);
                }
            }
        }
    }
}

/// A piece of some rows.
#[inline(always)]
fn cut<T: Real, S: Simd>(data: &[T], stride: usize, first: usize, len: usize) -> Block<'_, T, S> {
    let last = stride.min(first.saturating_add(len));
    let mut rows: Block<'_, T, S> = [&[]; ROWS];
    for (row, data) in rows.iter_mut().zip(data.chunks_exact(stride)) {
        *row = T::vectors::<S>(&data[first..last]);
    }
    let len = rows[0].len();
    for row in &mut rows {
        *row = &row[..len];
    }
    rows
}

/// Adds the products of a piece of some rows with `N` points.
// Numbers of loops that the compiler knows: everything stays in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn multiply<T: Real, S: Simd, const N: usize>(
    simd: S,
    rows: &Block<'_, T, S>,
    points: [&[T]; N],
    rooms: &mut [Room<T>; N],
) {
    let len = rows[0].len();
    let mut x = [rows[0]; N];
    let mut sums = [[T::splat(simd, T::ZERO); ROWS]; N];
    for n in 0..N {
        x[n] = &T::vectors::<S>(points[n])[..len];
        for (sum, products) in sums[n].iter_mut().zip(&rooms[n].products) {
            *sum = T::vectors::<S>(products)[0];
        }
    }
    for k in 0..len {
        for n in 0..N {
            for i in 0..ROWS {
                sums[n][i] = T::mul_add(simd, rows[i][k], x[n][k], sums[n][i]);
            }
        }
    }
    for (room, sums) in rooms.iter_mut().zip(&sums) {
        for (products, &sum) in room.products.iter_mut().zip(sums) {
            T::vectors_mut::<S>(products)[0] = sum;
        }
    }
}

/// Adds a piece of some rows with their weights to `N` sums.
// Numbers of loops that the compiler knows: everything stays in registers.
#[allow(clippy::needless_range_loop)]
#[inline(always)]
fn combine<T: Real, S: Simd, const N: usize>(
    simd: S,
    rows: &Block<'_, T, S>,
    rooms: &[Room<T>; N],
    sums: [&mut [T]; N],
) {
    let len = rows[0].len();
    let mut factors = [[T::splat(simd, T::ZERO); ROWS]; N];
    for (factors, room) in factors.iter_mut().zip(rooms) {
        for (factor, &weight) in factors.iter_mut().zip(&room.weights) {
            *factor = T::splat(simd, weight);
        }
    }
    let sums = sums.map(|sums| &mut T::vectors_mut::<S>(sums)[..len]);
    for k in 0..len {
        for n in 0..N {
            let (mut even, mut odd) = (sums[n][k], T::splat(simd, T::ZERO));
            for i in (0..ROWS).step_by(2) {
                even = T::mul_add(simd, factors[n][i], rows[i][k], even);
                odd = T::mul_add(simd, factors[n][i + 1], rows[i + 1][k], odd);
            }
            sums[n][k] = T::plus(simd, even, odd);
        }
    }
}
