//! The products of a recurrent network, on tiles of coordinates.
//!
//! Everything is made of rows of [`WIDTH`] numbers, one row per coordinate and unit vector: 30 units and two zeros, whole
//! vectors of any instruction set. Weights lie as the products read them: for each input k the row of what it adds to the
//! gates i, f, g, o. Three products do all the work, and all three have the same inner loop, sums += a·(row of b) with a
//! number a and sums that stay in registers:
//!
//! - forward: gates\[r\] = Σ_k input\[r\]\[k\]·W\[k\]
//! - backward to the input: input_bar\[r\] = Σ_j gate_bar\[r\]\[j\]·Wᵀ\[j\]
//! - backward to the weights: W_bar\[k\] += Σ_r input\[r\]\[k\]·gate_bar\[r\]
//!
//! A library's product would write the gates to memory and read them again for the nonlinearities; here both happen while
//! a tile lies in the first-level cache.

use pulp::Simd;

use crate::linalg::Real;

/// Units of a layer.
pub const HIDDEN: usize = 30;
/// The same, filled up to whole vectors.
pub(super) const WIDTH: usize = 32;
/// Coordinates that go through the network together.
pub(super) const TILE: usize = 16;

/// One number per unit.
pub(super) type Row<T> = [T; WIDTH];
/// A row for each of the gates i, f, g, o.
pub(super) type Gates<T> = [Row<T>; 4];
/// A row per coordinate.
pub(super) type Rows<T> = [Row<T>; TILE];

/// Rows whose sums fit into the registers together, with four vectors each.
const FEW_REGISTERS: usize = 2;
const MANY_REGISTERS: usize = 4;

/// sums\[i\]\[g\] += Σ_k left\[i\]\[k\]·right\[k\]\[g\], for one vector of every row.
#[inline(always)]
fn accumulate<T: Real, S: Simd, const R: usize, const G: usize>(
    simd: S,
    sums: &mut [[T::Vector<S>; G]; R],
    vector: usize,
    left: [&Row<T>; R],
    right: &[[Row<T>; G]],
) {
    for (k, right) in right.iter().enumerate() {
        let mut row = [T::splat(simd, T::ZERO); G];
        for g in 0..G {
            row[g] = T::vectors::<S>(&right[g])[vector];
        }
        for i in 0..R {
            // There are at most WIDTH inputs; the mask tells the compiler.
            let a = T::splat(simd, left[i][k % WIDTH]);
            for g in 0..G {
                sums[i][g] = T::mul_add(simd, a, row[g], sums[i][g]);
            }
        }
    }
}

/// Vectors in a row.
#[inline(always)]
fn vectors_of_a_row<T: Real, S: Simd>() -> usize {
    WIDTH * size_of::<T>() / size_of::<T::Vector<S>>()
}

/// gates ← bias + input·W + hidden·U, for all coordinates of a tile.
#[inline(always)]
pub(super) fn gates<T: Real, S: Simd>(
    simd: S,
    bias: &Gates<T>,
    input: (&Rows<T>, &[Gates<T>]),
    hidden: (&Rows<T>, &[Gates<T>]),
    gates: &mut [Gates<T>; TILE],
) {
    if S::REGISTER_COUNT < 32 {
        gates_by::<T, S, FEW_REGISTERS>(simd, bias, input, hidden, gates);
    } else {
        gates_by::<T, S, MANY_REGISTERS>(simd, bias, input, hidden, gates);
    }
}

#[inline(always)]
fn gates_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    bias: &Gates<T>,
    (input, input_weights): (&Rows<T>, &[Gates<T>]),
    (hidden, hidden_weights): (&Rows<T>, &[Gates<T>]),
    gates: &mut [Gates<T>; TILE],
) {
    for vector in 0..vectors_of_a_row::<T, S>() {
        let mut start = [T::splat(simd, T::ZERO); 4];
        for g in 0..4 {
            start[g] = T::vectors::<S>(&bias[g])[vector];
        }
        let rows = input.as_chunks::<R>().0.iter();
        let rows = rows.zip(hidden.as_chunks::<R>().0);
        for ((input, hidden), to) in rows.zip(gates.as_chunks_mut::<R>().0) {
            let mut sums = [start; R];
            accumulate::<T, S, R, 4>(simd, &mut sums, vector, input.each_ref(), input_weights);
            accumulate::<T, S, R, 4>(simd, &mut sums, vector, hidden.each_ref(), hidden_weights);
            for i in 0..R {
                for g in 0..4 {
                    T::vectors_mut::<S>(&mut to[i][g])[vector] = sums[i][g];
                }
            }
        }
    }
}

/// W and U of a layer, transposed: for every gate and unit, what its cotangent gives to the inputs and to the hidden state.
pub(super) type Transposed<T> = [[[Row<T>; 2]; HIDDEN]; 4];

/// Fills it.
#[inline(always)]
pub(super) fn transpose<T: Real>(
    input: &[Gates<T>],
    hidden: &[Gates<T>],
    to: &mut Transposed<T>,
) {
    for (side, weights) in [input, hidden].into_iter().enumerate() {
        for (k, weights) in weights.iter().enumerate() {
            for (to, weights) in to.iter_mut().zip(weights) {
                for (to, &weight) in to.iter_mut().zip(weights) {
                    to[side][k % WIDTH] = weight;
                }
            }
        }
    }
}

/// input_bar ← gate_bars·Wᵀ and hidden_bar ← gate_bars·Uᵀ.
#[inline(always)]
pub(super) fn pull_gates<T: Real, S: Simd>(
    simd: S,
    gate_bars: &[Gates<T>; TILE],
    weights: &Transposed<T>,
    input_bar: &mut Rows<T>,
    hidden_bar: &mut Rows<T>,
) {
    if S::REGISTER_COUNT < 32 {
        pull_gates_by::<T, S, { 2 * FEW_REGISTERS }>(simd, gate_bars, weights, input_bar, hidden_bar);
    } else {
        pull_gates_by::<T, S, { 2 * MANY_REGISTERS }>(simd, gate_bars, weights, input_bar, hidden_bar);
    }
}

#[inline(always)]
fn pull_gates_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    gate_bars: &[Gates<T>; TILE],
    weights: &Transposed<T>,
    input_bar: &mut Rows<T>,
    hidden_bar: &mut Rows<T>,
) {
    for vector in 0..vectors_of_a_row::<T, S>() {
        let to = input_bar.as_chunks_mut::<R>().0.iter_mut();
        let to = to.zip(hidden_bar.as_chunks_mut::<R>().0);
        for (bars, (input_bar, hidden_bar)) in gate_bars.as_chunks::<R>().0.iter().zip(to) {
            let mut sums = [[T::splat(simd, T::ZERO); 2]; R];
            for gate in 0..4 {
                let mut left = [&bars[0][gate]; R];
                for i in 0..R {
                    left[i] = &bars[i][gate];
                }
                accumulate::<T, S, R, 2>(simd, &mut sums, vector, left, &weights[gate]);
            }
            for i in 0..R {
                T::vectors_mut::<S>(&mut input_bar[i])[vector] = sums[i][0];
                T::vectors_mut::<S>(&mut hidden_bar[i])[vector] = sums[i][1];
            }
        }
    }
}

/// weights_bar\[k\] += Σ_r input\[r\]\[k\]·gate_bars\[r\], for as many inputs as there are weights.
#[inline(always)]
pub(super) fn add_outer<T: Real, S: Simd>(
    simd: S,
    input: &Rows<T>,
    gate_bars: &[Gates<T>; TILE],
    weights_bar: &mut [Gates<T>],
) {
    // Both divide HIDDEN.
    if S::REGISTER_COUNT < 32 || weights_bar.len() < 6 {
        add_outer_by::<T, S, 2>(simd, input, gate_bars, weights_bar);
    } else {
        add_outer_by::<T, S, 6>(simd, input, gate_bars, weights_bar);
    }
}

#[inline(always)]
fn add_outer_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    input: &Rows<T>,
    gate_bars: &[Gates<T>; TILE],
    weights_bar: &mut [Gates<T>],
) {
    for (block, to) in weights_bar.as_chunks_mut::<R>().0.iter_mut().enumerate() {
        for vector in 0..vectors_of_a_row::<T, S>() {
            let mut sums = [[T::splat(simd, T::ZERO); 4]; R];
            for i in 0..R {
                for g in 0..4 {
                    sums[i][g] = T::vectors::<S>(&to[i][g])[vector];
                }
            }
            for (input, bars) in input.iter().zip(gate_bars) {
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
            for i in 0..R {
                for g in 0..4 {
                    T::vectors_mut::<S>(&mut to[i][g])[vector] = sums[i][g];
                }
            }
        }
    }
}

/// The gates in place of what goes into them, and c′ = f·c + i·g, h′ = o·tanh c′.
#[inline(always)]
pub(super) fn activate<T: Real>(
    gates: &mut Gates<T>,
    c: &Row<T>,
    c_next: &mut Row<T>,
    tanh_c: &mut Row<T>,
    h_next: &mut Row<T>,
) {
    let [i, f, g, o] = gates;
    for j in 0..WIDTH {
        i[j] = T::sigmoid(i[j]);
        f[j] = T::sigmoid(f[j]);
        g[j] = T::fast_tanh(g[j]);
        o[j] = T::sigmoid(o[j]);
        c_next[j] = f[j] * c[j] + i[j] * g[j];
        tanh_c[j] = T::fast_tanh(c_next[j]);
        h_next[j] = o[j] * tanh_c[j];
    }
}

/// The transpose: cotangents of what goes into the gates in place of the gates, and that of c in place of that of c′.
#[inline(always)]
pub(super) fn deactivate<T: Real>(
    gates: &mut Gates<T>,
    c: &Row<T>,
    tanh_c: &Row<T>,
    h_bar: &Row<T>,
    c_bar: &mut Row<T>,
) {
    let [i, f, g, o] = gates;
    for j in 0..WIDTH {
        let (h, t) = (h_bar[j], tanh_c[j]);
        let into = c_bar[j] + h * o[j] * (T::ONE - t * t);
        let (at_i, at_f, at_g, at_o) = (i[j], f[j], g[j], o[j]);
        o[j] = h * t * at_o * (T::ONE - at_o);
        i[j] = into * at_g * at_i * (T::ONE - at_i);
        f[j] = into * c[j] * at_f * (T::ONE - at_f);
        g[j] = into * at_i * (T::ONE - at_g * at_g);
        c_bar[j] = into * at_f;
    }
}

/// to += a·row
#[inline(always)]
pub(super) fn add_scaled<T: Real>(to: &mut Row<T>, a: T, row: &Row<T>) {
    for (to, &row) in to.iter_mut().zip(row) {
        *to += a * row;
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
