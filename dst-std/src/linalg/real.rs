//! One source for single and double precision: vectors of either type, and the functions of a neural network.
//!
//! A kernel that is generic over [`Real`] is written with two tools. Products hold whole vectors of the instruction set at
//! hand (`Lanes`). Functions of one number are written as plain loops over short arrays of their own, which the compiler
//! vectorises: it knows that nothing overlaps.

use dst_core::Scalar;
use pulp::Simd;

use super::elementwise::one;
use crate::parallel::Piece;

/// `f32` or `f64`, and nothing else: what it stands on cannot be named outside of this crate.
pub trait Real: Scalar + Lanes + Piece {}
impl Real for f32 {}
impl Real for f64 {}

/// Vectors of numbers of this type, and functions of one of them, accurate to a few units in the last place.
pub trait Lanes: Sized + Copy {
    /// A vector register.
    type Vector<S: Simd>: Copy;

    /// The whole vectors of a slice, from its start.
    fn vectors<S: Simd>(slice: &[Self]) -> &[Self::Vector<S>];
    /// The same, to write to.
    fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [Self::Vector<S>];
    /// (x, …, x)
    fn splat<S: Simd>(simd: S, x: Self) -> Self::Vector<S>;
    /// a·b + c; two roundings where one is not for free.
    fn mul_add<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// c − a·b
    fn sub_mul<S: Simd>(
        simd: S,
        a: Self::Vector<S>,
        b: Self::Vector<S>,
        c: Self::Vector<S>,
    ) -> Self::Vector<S>;
    /// a·b
    fn times<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// a + b
    fn plus<S: Simd>(simd: S, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    /// The sum of the entries.
    fn sum<S: Simd>(simd: S, a: Self::Vector<S>) -> Self;

    /// e to three times this is still a number.
    const REACH: Self;
    /// eˣ, for |x| ≤ 3·[`REACH`](Self::REACH).
    fn exp_inside(x: Self) -> Self;
    /// eˣ − 1, for −2·[`REACH`](Self::REACH) ≤ x ≤ 0.
    fn exp_m1_inside(x: Self) -> Self;
    /// a·b + c, rounded once.
    fn fused(a: Self, b: Self, c: Self) -> Self;
    /// |x| with the sign of y.
    fn with_sign(x: Self, y: Self) -> Self;
    /// √x
    fn root(x: Self) -> Self;
    /// tanh x
    fn fast_tanh(x: Self) -> Self;
    /// x for x ≥ 0, eˣ − 1 below.
    fn elu(x: Self) -> Self;
    /// ln(1 + eˣ) and its derivative 1/(1 + e⁻ˣ).
    fn softplus_and_slope(x: Self) -> (Self, Self);
}

macro_rules! lanes {
    ($type:ty, $vector:ident, $slice:ident, $slice_mut:ident, $splat:ident, $mul_add:ident, $sub_mul:ident, $times:ident, $add:ident, $sum:ident, $functions:ident, $reach:literal) => {
        impl Lanes for $type {
            type Vector<S: Simd> = S::$vector;

            #[inline(always)]
            fn vectors<S: Simd>(slice: &[Self]) -> &[S::$vector] {
                S::$slice(slice).0
            }
            #[inline(always)]
            fn vectors_mut<S: Simd>(slice: &mut [Self]) -> &mut [S::$vector] {
                S::$slice_mut(slice).0
            }
            #[inline(always)]
            fn splat<S: Simd>(simd: S, x: Self) -> S::$vector {
                simd.$splat(x)
            }
            #[inline(always)]
            fn mul_add<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$mul_add(a, b, c)
            }
            #[inline(always)]
            fn sub_mul<S: Simd>(
                simd: S,
                a: S::$vector,
                b: S::$vector,
                c: S::$vector,
            ) -> S::$vector {
                simd.$sub_mul(a, b, c)
            }
            #[inline(always)]
            fn times<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$times(a, b)
            }
            #[inline(always)]
            fn plus<S: Simd>(simd: S, a: S::$vector, b: S::$vector) -> S::$vector {
                simd.$add(a, b)
            }
            #[inline(always)]
            fn sum<S: Simd>(simd: S, a: S::$vector) -> Self {
                simd.$sum(a)
            }
            const REACH: Self = $reach;

            #[inline(always)]
            fn exp_inside(x: Self) -> Self {
                $functions::exp_inside(x)
            }
            #[inline(always)]
            fn exp_m1_inside(x: Self) -> Self {
                $functions::exp_m1_inside(x)
            }
            #[inline(always)]
            fn fused(a: Self, b: Self, c: Self) -> Self {
                a.mul_add(b, c)
            }
            #[inline(always)]
            fn with_sign(x: Self, y: Self) -> Self {
                x.copysign(y)
            }
            #[inline(always)]
            fn root(x: Self) -> Self {
                x.sqrt()
            }
            #[inline(always)]
            fn fast_tanh(x: Self) -> Self {
                $functions::tanh(x)
            }
            #[inline(always)]
            fn elu(x: Self) -> Self {
                if x < 0.0 { $functions::exp_m1(x) } else { x }
            }
            #[inline(always)]
            fn softplus_and_slope(x: Self) -> (Self, Self) {
                $functions::softplus_and_slope(x)
            }
        }
    };
}

lanes!(
    f32,
    f32s,
    as_simd_f32s,
    as_mut_simd_f32s,
    splat_f32s,
    mul_add_e_f32s,
    negate_mul_add_e_f32s,
    mul_f32s,
    add_f32s,
    reduce_sum_f32s,
    single,
    28.0
);
lanes!(
    f64,
    f64s,
    as_simd_f64s,
    as_mut_simd_f64s,
    splat_f64s,
    mul_add_e_f64s,
    negate_mul_add_e_f64s,
    mul_f64s,
    add_f64s,
    reduce_sum_f64s,
    one,
    230.0
);

/// The functions in single precision: the same reductions as [`super::elementwise`] has in double precision, fewer terms.
mod single {
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    /// The rounding error of it.
    const LOG2_E_LOW: f32 = 1.925_963e-8;
    /// ln 2 in two parts, the first with zeros at its end: k·LN_2_HIGH is exact.
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    /// Adding it leaves no room for a fraction.
    const ROUND: f32 = 12_582_912.0;

    /// (2ᵏ, eʳ − 1) with x = k·ln 2 + r, for −87 ≤ x ≤ 88.
    #[inline(always)]
    fn reduce(x: f32) -> (f32, f32) {
        let shifted = x.mul_add(LOG2_E, ROUND);
        let k = shifted - ROUND;
        let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2_HIGH, x));
        // The polynomial closest to (eʳ − 1 − r)/r² on |r| ≤ ½ ln 2 in what it makes of eʳ − 1, found by Lawson's iteration: relative
        // error 1.3·10⁻⁸.
        let p = r.mul_add(1.388_250_8e-3, 8.366_58e-3);
        let p = r.mul_add(r.mul_add(p, 4.166_72e-2), 1.666_654_3e-1);
        let q = (r * r).mul_add(r.mul_add(p, 0.499_999_98), r);
        let k = shifted.to_bits().wrapping_sub(ROUND.to_bits());
        (f32::from_bits(k.wrapping_add(127) << 23), q)
    }

    /// (k, φ, (2^φ − 1)/φ) with x·log₂e = k + φ, k where an exponent is: fewer operations than [`reduce`].
    #[inline(always)]
    fn reduce_quickly(x: f32) -> (u32, f32, f32) {
        let shifted = x.mul_add(LOG2_E, ROUND);
        let f = x.mul_add(LOG2_E_LOW, x.mul_add(LOG2_E, ROUND - shifted));
        // The polynomial closest to (2^φ − 1)/φ on |φ| ≤ ½, found by Lawson's iteration: relative error 2·10⁻⁸.
        let p = f.mul_add(1.540_351_2e-4, 1.339_073_5e-3);
        let p = f.mul_add(f.mul_add(p, 9.618_238e-3), 5.550_357_3e-2);
        let p = f.mul_add(f.mul_add(p, 2.402_265e-1), 6.931_472e-1);
        (shifted.to_bits() << 23, f, p)
    }

    /// e^x for |x| ≤ 87.
    #[inline(always)]
    pub(super) fn exp_inside(x: f32) -> f32 {
        let (k, f, p) = reduce_quickly(x);
        // A power of two multiplies by adding to the exponent.
        f32::from_bits(f.mul_add(p, 1.0).to_bits().wrapping_add(k))
    }

    /// eˣ − 1 for −87 ≤ x ≤ 0.
    #[inline(always)]
    pub(super) fn exp_m1_inside(x: f32) -> f32 {
        let (scale, q) = reduce(x);
        q.mul_add(scale, scale - 1.0)
    }

    /// eˣ − 1 for x ≤ 0.
    #[inline(always)]
    pub(super) fn exp_m1(x: f32) -> f32 {
        exp_m1_inside(if x < -87.0 { -87.0 } else { x })
    }

    /// −m/(2 + m) with m = e^{−2|x|} − 1, which does not cancel for small x. The sign comes from x.
    #[inline(always)]
    pub(super) fn tanh(x: f32) -> f32 {
        let size = x.abs();
        let m = exp_m1_inside(-2.0 * if size > 20.0 { 20.0 } else { size });
        (m / (2.0 + m)).copysign(x)
    }

    /// ln(1 + u) for 0 ≤ u ≤ 1.
    #[inline(always)]
    fn ln_1p(u: f32) -> f32 {
        let halve = u > std::f32::consts::SQRT_2 - 1.0;
        let f = if halve { 0.5 * (u - 1.0) } else { u };
        let base = if halve { std::f32::consts::LN_2 } else { 0.0 };
        let z = f / (2.0 + f);
        let z2 = z * z;
        // 2·artanh(z) = f − z·(f − 2z²/3 − 2z⁴/5 − …)
        let p = z2.mul_add(2.0 / 9.0, 2.0 / 7.0);
        let p = z2.mul_add(z2.mul_add(p, 2.0 / 5.0), 2.0 / 3.0);
        base + (f - z * (f - z2 * p))
    }

    #[inline(always)]
    pub(super) fn softplus_and_slope(x: f32) -> (f32, f32) {
        let size = x.abs();
        let (scale, q) = reduce(if size > 87.0 { -87.0 } else { -size });
        let e = q.mul_add(scale, scale);
        let value = (if x < 0.0 { 0.0 } else { x }) + ln_1p(e);
        (value, (if x < 0.0 { e } else { 1.0 }) / (1.0 + e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normals, uniform};

    /// The largest difference to the exact function, in units in the last place of single precision.
    fn worst(function: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
        let arguments = normals(1, 300_000)
            .into_iter()
            .chain((0..300_000).map(|i| 170.0 * (uniform(2, i) - 0.5)))
            .chain((0..300_000).map(|i| libm::exp(-40.0 * uniform(3, i))))
            .chain((0..300_000).map(|i| -libm::exp(-40.0 * uniform(4, i))));
        let mut worst = 0.0_f64;
        for x in arguments {
            let x = x as f32;
            let (value, exact) = (f64::from(function(x)), exact(f64::from(x)));
            let size = (exact.abs() as f32).max(f32::MIN_POSITIVE);
            let unit = f64::from(size.next_up() - size);
            worst = worst.max((value - exact).abs() / unit);
        }
        worst
    }

    #[test]
    fn single_precision_is_accurate_to_units_in_the_last_place() {
        let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
        let softplus = |x: f64| x.max(0.0) + libm::log1p(libm::exp(-x.abs()));
        let elu = |x: f64| if x < 0.0 { libm::expm1(x) } else { x };
        type Case = (&'static str, f64, fn(f32) -> f32, fn(f64) -> f64);
        let functions: [Case; 5] = [
            ("tanh", 3.0, f32::fast_tanh, libm::tanh),
            ("elu", 2.0, f32::elu, elu),
            (
                "exp",
                3.0,
                |x| f32::exp_inside(x.clamp(-28.0, 28.0)),
                |x| libm::exp(x.clamp(-28.0, 28.0)),
            ),
            ("softplus", 2.0, |x| f32::softplus_and_slope(x).0, softplus),
            ("its slope", 3.0, |x| f32::softplus_and_slope(x).1, sigmoid),
        ];
        for (name, most, function, exact) in functions {
            let worst = worst(function, exact);
            println!("{name}: {worst:.2} units");
            assert!(worst <= most, "{name}: {worst} units in the last place");
        }
    }

    #[test]
    fn the_ends_and_not_a_number() {
        for x in [f32::INFINITY, 1e30, 100.0] {
            assert_eq!((f32::fast_tanh(x), f32::fast_tanh(-x)), (1.0, -1.0));
            assert_eq!((f32::elu(x), f32::elu(-x)), (x, -1.0));
            assert_eq!(f32::softplus_and_slope(x), (x, 1.0));
        }
        for value in [
            f32::fast_tanh(f32::NAN),
            f32::elu(f32::NAN),
            f32::softplus_and_slope(f32::NAN).0,
        ] {
            assert!(value.is_nan());
        }
    }

    #[test]
    fn double_precision_elu() {
        for x in [-1e300, -745.0, -1.0, -1e-12, 0.0, 2.0] {
            let exact = if x < 0.0 { libm::expm1(x) } else { x };
            let value = f64::elu(x);
            assert!((value - exact).abs() <= 4e-16 * exact.abs(), "{x}: {value}");
        }
    }
}
