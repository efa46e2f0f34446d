//! The nonlinearities of a recurrent layer, on tiles of coordinates.
//!
//! Gates i, f, o = σ and g = tanh of what the products leave, c′ = f·c + i·g, h′ = o·tanh c′; and the transpose, from what they leave
//! behind. Products are in `kernel`.

use pulp::Simd;

use super::kernel::{Gates, Row, Rows, TILE, WIDTH, vectors_of_a_row};
use crate::linalg::Real;

/// x, or the nearest number that the kernels can work with: what lies beyond differs by less than the rounding of 1.
#[inline(always)]
fn within_reach<T: Real>(x: T) -> T {
    let x = if x > T::REACH { T::REACH } else { x };
    if x < -T::REACH { -T::REACH } else { x }
}

/// The same of |x|.
#[inline(always)]
fn size_within_reach<T: Real>(x: T) -> T {
    let size = x.abs();
    if size > T::REACH { T::REACH } else { size }
}

/// The gates of one coordinate in place of what goes into them: i, f, o = σ, g = tanh.
///
/// Divisions are what a processor is slowest at: the four gates share one, 1/a = b·1/(ab).
#[inline(always)]
fn open_gates<T: Real>(gates: &mut Gates<T>) {
    let [i, f, g, o] = gates;
    for j in 0..WIDTH {
        // σ(x) = 1/(1 + e⁻ˣ), and tanh x = −m/(2 + m) with m = e^{−2|x|} − 1, which does not cancel for small x.
        // Signs change last, where a multiplication absorbs them.
        let of_i = T::ONE + T::exp_inside(-within_reach(i[j]));
        let of_f = T::ONE + T::exp_inside(-within_reach(f[j]));
        let of_o = T::ONE + T::exp_inside(-within_reach(o[j]));
        let m = T::exp_m1_inside(-T::TWO * size_within_reach(g[j]));
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

/// Values of the nonlinearities of a layer on a tile, kept for the transpose.
pub(super) struct Kept<'a, T> {
    pub(super) gates: &'a [Gates<T>; TILE],
    /// c before the step.
    pub(super) c: &'a Rows<T>,
    pub(super) tanh_c: &'a Rows<T>,
}

/// The consumer of the output h′ of a layer besides the next step: the layer above, or the output of the network.
pub(super) enum Above<'a, T> {
    Layer {
        /// The cotangent that it passes down.
        bar: &'a Rows<T>,
        /// The place for h′.
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
/// over the coordinates added to `sum`, and that of c, added to `c_before_bar` or written over it (`afresh`).
#[inline(always)]
pub(super) fn deactivate<T: Real, S: Simd>(
    simd: S,
    kept: &Kept<'_, T>,
    mut above: Above<'_, T>,
    (h_bar, c_bar): (&Rows<T>, &Rows<T>),
    bars: &mut [Gates<T>; TILE],
    sum: &mut Gates<T>,
    (c_before_bar, afresh): (&mut Rows<T>, bool),
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
            *to = if afresh {
                T::times(simd, into, f)
            } else {
                T::mul_add(simd, into, f, *to)
            };
        }
        for g in 0..4 {
            T::vectors_mut::<S>(&mut sum[g])[v] = sums[g];
        }
    }
}
