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

use crate::linalg::{Ahead, Real};

/// Units of a layer.
pub const HIDDEN: usize = 30;
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
/// What goes into a layer: its inputs and its hidden state.
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
fn vectors_of_a_row<T: Real, S: Simd>() -> usize {
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
    ahead: Ahead<'_, T>,
) {
    if S::REGISTER_COUNT < 32 {
        gates_by::<T, S, { 2 * FEW_REGISTERS }>(simd, bias, inputs, weights, gates, ahead);
    } else {
        gates_by::<T, S, { 2 * MANY_REGISTERS }>(simd, bias, inputs, weights, gates, ahead);
    }
}

#[inline(always)]
fn gates_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    bias: &Gates<T>,
    inputs: Inputs<'_, T>,
    weights: Sources<'_, T>,
    gates: &mut [Gates<T>; TILE],
    mut ahead: Ahead<'_, T>,
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
                    ahead.fetch(LINES);
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

/// inputs_bar ← gate_bars·Wᵀ, and the same added to that of the hidden state.
#[inline(always)]
pub(super) fn pull_gates<T: Real, S: Simd>(
    simd: S,
    gate_bars: &[Gates<T>; TILE],
    weights: &Transposed<T>,
    bars: (&mut Rows<T>, &mut Rows<T>),
    ahead: Ahead<'_, T>,
) {
    if S::REGISTER_COUNT < 32 {
        const R: usize = 2 * FEW_REGISTERS;
        pull_gates_by::<T, S, R>(simd, gate_bars, weights, bars, ahead);
    } else {
        const R: usize = 2 * MANY_REGISTERS;
        pull_gates_by::<T, S, R>(simd, gate_bars, weights, bars, ahead);
    }
}

#[inline(always)]
fn pull_gates_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    gate_bars: &[Gates<T>; TILE],
    weights: &Transposed<T>,
    (inputs_bar, hidden_bar): (&mut Rows<T>, &mut Rows<T>),
    mut ahead: Ahead<'_, T>,
) {
    for vector in 0..vectors_of_a_row::<T, S>() {
        let to = inputs_bar.as_chunks_mut::<R>().0.iter_mut();
        let to = to.zip(hidden_bar.as_chunks_mut::<R>().0);
        for (bars, (inputs, hidden)) in gate_bars.as_chunks::<R>().0.iter().zip(to) {
            let mut sums = [[T::splat(simd, T::ZERO); 2]; R];
            for i in 0..R {
                sums[i][1] = T::vectors::<S>(&hidden[i])[vector];
            }
            for gate in 0..4 {
                ahead.fetch(LINES);
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
    ahead: &mut Ahead<'_, T>,
) {
    // There are 30 of them, or 2.
    if S::REGISTER_COUNT < 32 || !weights_bar.len().is_multiple_of(6) {
        add_outer_by::<T, S, 2>(simd, tiles, weights_bar, ahead);
    } else {
        add_outer_by::<T, S, 6>(simd, tiles, weights_bar, ahead);
    }
}

#[inline(always)]
fn add_outer_by<T: Real, S: Simd, const R: usize>(
    simd: S,
    tiles: &[(&Rows<T>, &[Gates<T>; TILE])],
    weights_bar: &mut [Gates<T>],
    ahead: &mut Ahead<'_, T>,
) {
    for (block, to) in weights_bar.as_chunks_mut::<R>().0.iter_mut().enumerate() {
        for vector in 0..vectors_of_a_row::<T, S>() {
            ahead.fetch(3 * LINES / 2);
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

/// x, or the nearest number that the kernels can work with: what lies beyond differs by less than the rounding of 1.
#[inline(always)]
fn within_reach<T: Real>(x: T) -> T {
    let x = if x > T::REACH { T::REACH } else { x };
    if x < -T::REACH { -T::REACH } else { x }
}

/// The gates of one coordinate in place of what goes into them: i, f, o = σ, g = tanh.
///
/// Divisions are what a processor is slowest at: the four gates share one, 1/a = b·1/(ab).
#[inline(always)]
fn open_gates<T: Real>(gates: &mut Gates<T>) {
    let [i, f, g, o] = gates;
    for j in 0..WIDTH {
        // σ(x) = 1/(1 + e⁻ˣ), and tanh x = −m/(2 + m) with m = e^{−2|x|} − 1, which does not cancel for small x.
        let of_i = T::ONE + T::exp_inside(within_reach(-i[j]));
        let of_f = T::ONE + T::exp_inside(within_reach(-f[j]));
        let of_o = T::ONE + T::exp_inside(within_reach(-o[j]));
        let m = T::exp_m1(-T::TWO * within_reach(g[j].abs()));
        let of_g = T::TWO + m;
        let (input, output) = (of_i * of_f, of_o * of_g);
        let inverse = T::ONE / (input * output);
        let (of_input, of_output) = (inverse * output, inverse * input);
        i[j] = of_input * of_f;
        f[j] = of_input * of_i;
        o[j] = of_output * of_g;
        g[j] = T::with_sign(m * (of_output * of_o), g[j]);
    }
}

/// c′ = f·c + i·g and h′ = o·tanh c′, for one coordinate.
#[inline(always)]
fn pass_gates<T: Real>(
    [i, f, g, o]: &Gates<T>,
    c: &Row<T>,
    c_next: &mut Row<T>,
    tanh_c: &mut Row<T>,
    h_next: &mut Row<T>,
) {
    for j in 0..WIDTH {
        c_next[j] = T::fused(f[j], c[j], i[j] * g[j]);
        tanh_c[j] = T::fast_tanh(c_next[j]);
        h_next[j] = o[j] * tanh_c[j];
    }
}

/// The nonlinearities of a layer on a tile: from what goes into the gates. In two rounds: each is a short chain of operations
/// that wait for one another, so that the processor finds other coordinates to go on with. The gates are written here,
/// row by row, and not by the products: memory that is not at hand is fetched ahead only where it is met in order.
#[inline(always)]
pub(super) fn activate<T: Real>(
    from: &[Gates<T>; TILE],
    gates: &mut [Gates<T>; TILE],
    c: &Rows<T>,
    c_next: &mut Rows<T>,
    tanh_c: &mut Rows<T>,
    h_next: &mut Rows<T>,
) {
    for (gates, from) in gates.iter_mut().zip(from) {
        let mut open = *from;
        open_gates(&mut open);
        *gates = open;
    }
    for r in 0..TILE {
        pass_gates(
            &gates[r],
            &c[r],
            &mut c_next[r],
            &mut tanh_c[r],
            &mut h_next[r],
        );
    }
}

/// What the nonlinearities of a layer have left behind on a tile.
pub(super) struct Kept<'a, T> {
    pub(super) gates: &'a [Gates<T>; TILE],
    /// c before the step.
    pub(super) c: &'a Rows<T>,
    pub(super) tanh_c: &'a Rows<T>,
}

/// Who wants something of the output h′ of a layer, besides the next step: the layer above, or the output of the network.
pub(super) enum Above<'a, T> {
    Layer {
        /// What it wants.
        bar: &'a Rows<T>,
        /// Where to leave h′ for it.
        output: &'a mut Rows<T>,
    },
    Output {
        /// Its weights and their cotangents.
        weights: &'a Row<T>,
        weights_bar: &'a mut Row<T>,
        /// The cotangents of the outputs.
        bar: &'a [T; TILE],
    },
}

/// The transpose of [`activate`] on a tile: from the cotangents of h′ and c′, those of what goes into the gates, with their sum
/// over the coordinates added to `sum`, and that of c, added to `c_before_bar`.
#[inline(always)]
pub(super) fn deactivate<T: Real, S: Simd>(
    simd: S,
    kept: &Kept<'_, T>,
    mut above: Above<'_, T>,
    (h_bar, c_bar): (&Rows<T>, &Rows<T>),
    bars: &mut [Gates<T>; TILE],
    sum: &mut Gates<T>,
    c_before_bar: &mut Rows<T>,
) {
    let one = T::splat(simd, T::ONE);
    for v in 0..vectors_of_a_row::<T, S>() {
        let mut sums = [T::splat(simd, T::ZERO); 4];
        for g in 0..4 {
            sums[g] = T::vectors::<S>(&sum[g])[v];
        }
        for r in 0..TILE {
            let [i, f, g, o] = &kept.gates[r];
            let (i, f) = (T::vectors::<S>(i)[v], T::vectors::<S>(f)[v]);
            let (g, o) = (T::vectors::<S>(g)[v], T::vectors::<S>(o)[v]);
            let t = T::vectors::<S>(&kept.tanh_c[r])[v];
            let mut h = T::vectors::<S>(&h_bar[r])[v];
            match &mut above {
                Above::Layer { bar, output } => {
                    h = T::plus(simd, h, T::vectors::<S>(&bar[r])[v]);
                    T::vectors_mut::<S>(&mut output[r])[v] = T::times(simd, o, t);
                }
                Above::Output {
                    weights,
                    weights_bar,
                    bar,
                } => {
                    let a = T::splat(simd, bar[r]);
                    h = T::mul_add(simd, a, T::vectors::<S>(*weights)[v], h);
                    let to = &mut T::vectors_mut::<S>(*weights_bar)[v];
                    *to = T::mul_add(simd, a, T::times(simd, o, t), *to);
                }
            }
            let (ho, ht) = (T::times(simd, h, o), T::times(simd, h, t));
            let c_bar = T::vectors::<S>(&c_bar[r])[v];
            let into = T::mul_add(simd, ho, T::sub_mul(simd, t, t, one), c_bar);
            let c = T::vectors::<S>(&kept.c[r])[v];
            // The slope of σ is σ − σ².
            let by = [
                T::times(simd, T::times(simd, into, g), T::sub_mul(simd, i, i, i)),
                T::times(simd, T::times(simd, into, c), T::sub_mul(simd, f, f, f)),
                T::times(simd, T::times(simd, into, i), T::sub_mul(simd, g, g, one)),
                T::times(simd, ht, T::sub_mul(simd, o, o, o)),
            ];
            for g in 0..4 {
                T::vectors_mut::<S>(&mut bars[r][g])[v] = by[g];
                sums[g] = T::plus(simd, sums[g], by[g]);
            }
            let to = &mut T::vectors_mut::<S>(&mut c_before_bar[r])[v];
            *to = T::mul_add(simd, into, f, *to);
        }
        for g in 0..4 {
            T::vectors_mut::<S>(&mut sum[g])[v] = sums[g];
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
