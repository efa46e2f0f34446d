//! The products of a recurrent layer, on tiles of coordinates.
//!
//! Everything is made of rows of [`WIDTH`] numbers, one for each unit of a layer: 30 units and two zeros, whole vectors of any
//! instruction set. Weights lie as the products read them: for each input k the rows of what it adds to the
//! gates i, f, g, o; so do those of the hidden state. Three products do all the work, and all three have the
//! same inner loop, sums += a·(row of b) with a number a and sums that stay in registers:
//!
//! - forward: gates\[r\] = Σ_k input\[r\]\[k\]·W\[k\]
//! - backward to the inputs: input_bar\[r\] = Σ_j gate_bar\[r\]\[j\]·Wᵀ\[j\]
//! - backward to the weights: W_bar\[k\] += Σ_r input\[r\]\[k\]·gate_bar\[r\]
//!
//! A library's product would write the gates to memory and read them again for the nonlinearities; here both happen while
//! a tile lies in the first-level cache.

use pulp::Simd;

use crate::linalg::{Prefetch, Real};

/// Units of a layer.
pub(super) const HIDDEN: usize = 30;
/// The same, filled up to whole vectors.
pub(super) const WIDTH: usize = 32;
/// Coordinates that go through the network together.
pub(super) const TILE: usize = 32;

/// One number per unit.
pub(super) type Row<T> = [T; WIDTH];
/// A row for each of the gates i, f, g, o.
pub(super) type Gates<T> = [Row<T>; 4];
/// A row per coordinate.
pub(super) type Rows<T> = [Row<T>; TILE];
/// Operands of a layer: its inputs and its hidden state.
pub(super) type Inputs<'a, T> = [&'a Rows<T>; 2];
/// The weights that belong to them.
pub(super) type Sources<'a, T> = [&'a [Gates<T>]; 2];

/// Lines of the cache to ask for in a part of a product: as many as are under way at once. All parts together get through what a
/// layer leaves behind on a tile.
const LINES: usize = 10;

/// Coordinates whose sums fit into the registers together, with four vectors each.
const FEW_REGISTERS: usize = 2;
const MANY_REGISTERS: usize = 4;

/// sums\[i\]\[g\] += Σ_k left\[i\]\[k\]·right\[k\]\[g\], for one vector of every row.
#[inline(always)]
fn accumulate<T: Real, S: Simd, const R: usize, const W: usize>(
    simd: S,
    sums: &mut [[T::Vector<S>; 2]; R],
    (pair, vector): (usize, usize),
    left: [&Row<T>; R],
    right: &[[Row<T>; W]],
) {
    for (k, right) in right.iter().enumerate() {
        let mut row = [T::splat(simd, T::ZERO); 2];
        for g in 0..2 {
            row[g] = T::vectors::<S>(&right[2 * pair + g])[vector];
        }
        for i in 0..R {
            // There are no more rows on the right than units; the remainder tells the compiler.
            let a = T::splat(simd, left[i][k % WIDTH]);
            for g in 0..2 {
                sums[i][g] = T::mul_add(simd, a, row[g], sums[i][g]);
            }
        }
    }
}

/// Vectors in a row.
#[inline(always)]
pub(super) fn vectors_of_a_row<T: Real, S: Simd>() -> usize {
    WIDTH * size_of::<T>() / size_of::<T::Vector<S>>()
}

/// The rows of a tile, `R` at a time; this is number `n`.
#[inline(always)]
fn block<T, const R: usize>(rows: &Rows<T>, n: usize) -> [&Row<T>; R] {
    rows.as_chunks::<R>().0[n].each_ref()
}

/// gates ← bias + inputs·W, for all coordinates of a tile.
#[inline(always)]
pub(super) fn gates<T: Real, S: Simd>(
    simd: S,
    bias: &Gates<T>,
    inputs: Inputs<'_, T>,
    weights: Sources<'_, T>,
    gates: &mut [Gates<T>; TILE],
    prefetch: Prefetch<'_, T>,
) {
    if S::REGISTER_COUNT < 32 {
        gates_by::<T, S, { 2 * FEW_REGISTERS }>(simd, bias, inputs, weights, gates, prefetch);
    } else {
        gates_by::<T, S, { 2 * MANY_REGISTERS }>(simd, bias, inputs, weights, gates, prefetch);
    }
}

#[inline(always)]
fn gates_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    bias: &Gates<T>,
    inputs: Inputs<'_, T>,
    weights: Sources<'_, T>,
    gates: &mut [Gates<T>; TILE],
    mut prefetch: Prefetch<'_, T>,
) {
    for vector in 0..vectors_of_a_row::<T, S>() {
        for pair in 0..2 {
            let mut start = [T::splat(simd, T::ZERO); 2];
            for g in 0..2 {
                start[g] = T::vectors::<S>(&bias[2 * pair + g])[vector];
            }
            for (n, to) in gates.as_chunks_mut::<R>().0.iter_mut().enumerate() {
                let mut sums = [start; R];
                for source in 0..2 {
                    prefetch.fetch(LINES);
                    let left = block(inputs[source], n);
                    accumulate(simd, &mut sums, (pair, vector), left, weights[source]);
                }
                for i in 0..R {
                    for g in 0..2 {
                        T::vectors_mut::<S>(&mut to[i][2 * pair + g])[vector] = sums[i][g];
                    }
                }
            }
        }
    }
}

/// The weights of a layer, transposed: for every gate and unit, what its cotangent gives to the inputs and to the hidden
/// state.
pub(super) type Transposed<T> = [[[Row<T>; 2]; HIDDEN]; 4];

/// Fills it.
#[inline(always)]
pub(super) fn transpose<T: Real>(weights: Sources<'_, T>, to: &mut Transposed<T>) {
    for (source, weights) in weights.into_iter().enumerate() {
        for (k, weights) in weights.iter().enumerate().take(WIDTH) {
            for (to, weights) in to.iter_mut().zip(weights) {
                for (to, &weight) in to.iter_mut().zip(weights) {
                    to[source][k] = weight;
                }
            }
        }
    }
}

/// inputs_bar ← gate_bars·Wᵀ, and the same added to that of the hidden state, or written over it (`afresh`).
#[inline(always)]
pub(super) fn pull_gates<T: Real, S: Simd>(
    simd: S,
    gate_bars: &[Gates<T>; TILE],
    weights: &Transposed<T>,
    bars: (&mut Rows<T>, &mut Rows<T>),
    afresh: bool,
    prefetch: Prefetch<'_, T>,
) {
    if S::REGISTER_COUNT < 32 {
        const R: usize = 2 * FEW_REGISTERS;
        pull_gates_by::<T, S, R>(simd, gate_bars, weights, bars, afresh, prefetch);
    } else {
        const R: usize = 2 * MANY_REGISTERS;
        pull_gates_by::<T, S, R>(simd, gate_bars, weights, bars, afresh, prefetch);
    }
}

#[inline(always)]
fn pull_gates_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    gate_bars: &[Gates<T>; TILE],
    weights: &Transposed<T>,
    (inputs_bar, hidden_bar): (&mut Rows<T>, &mut Rows<T>),
    afresh: bool,
    mut prefetch: Prefetch<'_, T>,
) {
    for vector in 0..vectors_of_a_row::<T, S>() {
        let to = inputs_bar.as_chunks_mut::<R>().0.iter_mut();
        let to = to.zip(hidden_bar.as_chunks_mut::<R>().0);
        for (bars, (inputs, hidden)) in gate_bars.as_chunks::<R>().0.iter().zip(to) {
            let mut sums = [[T::splat(simd, T::ZERO); 2]; R];
            if !afresh {
                for i in 0..R {
                    sums[i][1] = T::vectors::<S>(&hidden[i])[vector];
                }
            }
            for gate in 0..4 {
                prefetch.fetch(LINES);
                let mut left = [&bars[0][gate]; R];
                for i in 0..R {
                    left[i] = &bars[i][gate];
                }
                accumulate(simd, &mut sums, (0, vector), left, &weights[gate]);
            }
            for i in 0..R {
                T::vectors_mut::<S>(&mut inputs[i])[vector] = sums[i][0];
                T::vectors_mut::<S>(&mut hidden[i])[vector] = sums[i][1];
            }
        }
    }
}

/// weights_bar\[k\] += Σ_r input\[r\]\[k\]·gate_bars\[r\], over the coordinates of one tile or two: the sums must be loaded and stored, and
/// the more coordinates share that, the less it costs each.
#[inline(always)]
pub(super) fn add_outer<T: Real, S: Simd>(
    simd: S,
    tiles: &[(&Rows<T>, &[Gates<T>; TILE])],
    weights_bar: &mut [Gates<T>],
    prefetch: &mut Prefetch<'_, T>,
) {
    // There are 30 of them, or 2.
    if S::REGISTER_COUNT < 32 || !weights_bar.len().is_multiple_of(6) {
        add_outer_by::<T, S, 2>(simd, tiles, weights_bar, prefetch);
    } else {
        add_outer_by::<T, S, 6>(simd, tiles, weights_bar, prefetch);
    }
}

#[inline(always)]
fn add_outer_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    tiles: &[(&Rows<T>, &[Gates<T>; TILE])],
    weights_bar: &mut [Gates<T>],
    prefetch: &mut Prefetch<'_, T>,
) {
    // A vector of all gates of all coordinates stays in the first-level cache from block to block.
    for vector in 0..vectors_of_a_row::<T, S>() {
        for (block, to) in weights_bar.as_chunks_mut::<R>().0.iter_mut().enumerate() {
            // A part of this product takes half as long again as one of the others.
            prefetch.fetch(3 * LINES / 2);
            let mut sums = [[T::splat(simd, T::ZERO); 4]; R];
            for i in 0..R {
                for g in 0..4 {
                    sums[i][g] = T::vectors::<S>(&to[i][g])[vector];
                }
            }
            for &(input, bars) in tiles {
                for (input, bars) in input.iter().zip(bars) {
                    let mut row = [T::splat(simd, T::ZERO); 4];
                    for g in 0..4 {
                        row[g] = T::vectors::<S>(&bars[g])[vector];
                    }
                    for i in 0..R {
                        let a = T::splat(simd, input[(block * R + i) % WIDTH]);
                        for g in 0..4 {
                            sums[i][g] = T::mul_add(simd, a, row[g], sums[i][g]);
                        }
                    }
                }
            }
            for i in 0..R {
                for g in 0..4 {
                    T::vectors_mut::<S>(&mut to[i][g])[vector] = sums[i][g];
                }
            }
        }
    }
}

/// to += a·row
#[inline(always)]
pub(super) fn add_scaled<T: Real>(to: &mut Row<T>, a: T, row: &Row<T>) {
    for (to, &row) in to.iter_mut().zip(row) {
        *to = T::fused(a, row, *to);
    }
}

/// a·b
#[inline(always)]
pub(super) fn dot<T: Real, S: Simd>(simd: S, a: &Row<T>, b: &Row<T>) -> T {
    let mut sum = T::splat(simd, T::ZERO);
    for (&a, &b) in T::vectors::<S>(a).iter().zip(T::vectors::<S>(b)) {
        sum = T::mul_add(simd, a, b, sum);
    }
    T::sum(simd, sum)
}
