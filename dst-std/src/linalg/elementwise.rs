//! Elementary functions of one number with a stated accuracy, to be inlined into vectorised loops; and a dot product.
//!
//! Each function is written without a branch, so that the compiler turns a loop over it into vector instructions;
//! [`dispatch`] compiles that loop for each instruction set and picks one at run time. Every operation
//! is an IEEE one (`mul_add` included), so the results have the same bits whatever the instruction set.
//!
//! | function | largest error seen, in units in the last place | at the ends |
//! |---|---|---|
//! | [`one::exp_inside`] | 1 | for \|x\| ≤ 708 |
//! | [`one::tanh`] | 3 | exact sign of zero, ±1 |
//! | `softplus` | 2 | s itself for large s; held at e⁻⁷⁰⁸ below −708 |
//! | its slope, the logistic function | 3 | no overflow; held at e⁻⁷⁰⁸ below −708 |
//!
//! NaN gives NaN. The test `accuracy` measures against `libm`, whose own error of up to one unit is included.
//!
//! All rest on eˣ = 2ᵏ(1 + q(r)) with k = round(x/ln 2), r = x − k·ln 2 and q the Taylor polynomial of eʳ − 1, of degree 13:
//! with |r| ≤ ½ln 2 its truncation is 2⁻⁵⁸ of the result. ln(1 + u) = 2·artanh(u/(2 + u)) with u brought into [1/√2 − 1, √2 − 1].
//! No tables, so nothing has to be gathered.

use std::f64::consts::{LN_2, LOG2_E, SQRT_2};

use pulp::{Simd, WithSimd};

use super::dispatch;

/// Adding it rounds to a whole number, which then stands in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5·2⁵²
/// ln 2 − (its nearest double)
const LN_2_LOW: f64 = 2.319_046_813_846_299_6e-17;

/// 1/3!, 1/4!, …, 1/13!: the Taylor coefficients of (eʳ − 1 − r − ½r²)/r³.
const EXP: [f64; 11] = {
    let (mut coefficients, mut factorial, mut i) = ([0.0; 11], 2.0, 0);
    while i < 11 {
        factorial *= (i + 3) as f64;
        coefficients[i] = 1.0 / factorial;
        i += 1;
    }
    coefficients
};

/// 2/3, 2/5, …, 2/23: the coefficients of 2·artanh(z)/z − 2 in z².
const ARTANH: [f64; 11] = {
    let (mut coefficients, mut i) = ([0.0; 11], 0);
    while i < 11 {
        coefficients[i] = 2.0 / (2 * i + 3) as f64;
        i += 1;
    }
    coefficients
};

/// Σ cᵢxⁱ; odd and even powers apart, because one long chain of multiplications would stall the processor.
#[inline(always)]
fn polynomial(c: &[f64; 11], x: f64) -> f64 {
    let y = x * x;
    let fma = f64::mul_add;
    let even = fma(
        fma(fma(fma(fma(c[10], y, c[8]), y, c[6]), y, c[4]), y, c[2]),
        y,
        c[0],
    );
    let odd = fma(fma(fma(fma(c[9], y, c[7]), y, c[5]), y, c[3]), y, c[1]);
    fma(odd, x, even)
}

/// Rounds to a whole number: as a number, and as the bits from which [`power_of_two`] makes a power.
#[inline(always)]
fn round(x: f64) -> (f64, u64) {
    let shifted = x + ROUND;
    (
        shifted - ROUND,
        shifted.to_bits().wrapping_sub(ROUND.to_bits()),
    )
}

/// 2ᵏ for −1022 ≤ k ≤ 1023.
#[inline(always)]
fn power_of_two(k: u64) -> f64 {
    f64::from_bits(k.wrapping_add(1023) << 52)
}

/// (2ᵏ, eʳ − 1) with x = k·ln 2 + r.
#[inline(always)]
fn reduce(x: f64) -> (f64, f64) {
    let (k, k_bits) = round(x * LOG2_E);
    let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2, x));
    let q = (r * r).mul_add(r.mul_add(polynomial(&EXP, r), 0.5), r);
    (power_of_two(k_bits), q)
}

/// Functions of one number, to be inlined into loops that are compiled for an instruction set.
pub(crate) mod one {
    use super::{ARTANH, LN_2, SQRT_2, polynomial, reduce};

    /// eˣ for −708 ≤ x ≤ 708: one factor suffices.
    #[inline(always)]
    pub(crate) fn exp_inside(x: f64) -> f64 {
        let (scale, q) = reduce(x);
        q.mul_add(scale, scale)
    }

    /// eˣ − 1 for −708 ≤ x ≤ 0.
    #[inline(always)]
    pub(crate) fn exp_m1_inside(x: f64) -> f64 {
        let (scale, q) = reduce(x);
        q.mul_add(scale, scale - 1.0)
    }

    /// eˣ − 1 for x ≤ 0.
    #[inline(always)]
    pub(crate) fn exp_m1(x: f64) -> f64 {
        exp_m1_inside(if x < -708.0 { -708.0 } else { x })
    }

    /// e^{−|x|}, never below e^{−708}, which is still a normal number.
    #[inline(always)]
    pub(crate) fn exp_of_minus_size(x: f64) -> f64 {
        let size = x.abs();
        exp_inside(if size > 708.0 { -708.0 } else { -size })
    }

    /// tanh x = −m/(2 + m) with m = e^{−2|x|} − 1, which does not cancel for small x.
    #[inline(always)]
    pub(crate) fn tanh(x: f64) -> f64 {
        let size = x.abs();
        let size = if size > 350.0 { 350.0 } else { size };
        let (scale, q) = reduce(-2.0 * size);
        let m = q.mul_add(scale, scale - 1.0);
        (-m / (2.0 + m)).copysign(x)
    }

    /// ln(1 + u) for 0 ≤ u ≤ 1.
    #[inline(always)]
    fn ln_1p(u: f64) -> f64 {
        let halve = u > SQRT_2 - 1.0;
        let f = if halve { 0.5 * (u - 1.0) } else { u };
        let base = if halve { LN_2 } else { 0.0 };
        let z = f / (2.0 + f);
        let z2 = z * z;
        // 2·artanh(z) = f − z·(f − 2z²/3 − 2z⁴/5 − …)
        base + (f - z * (f - z2 * polynomial(&ARTANH, z2)))
    }

    /// 1/(1 + e^{−s}) from e = e^{−|s|}.
    #[inline(always)]
    pub(crate) fn sigmoid_from(s: f64, e: f64) -> f64 {
        (if s < 0.0 { e } else { 1.0 }) / (1.0 + e)
    }

    /// ln(1 + eˢ)
    #[cfg(test)]
    pub(crate) fn softplus(s: f64) -> f64 {
        softplus_from(s, exp_of_minus_size(s))
    }

    /// ln(1 + eˢ) from e = e^{−|s|}.
    #[inline(always)]
    pub(crate) fn softplus_from(s: f64, e: f64) -> f64 {
        (if s < 0.0 { 0.0 } else { s }) + ln_1p(e)
    }

    /// ln(1 + eˢ) and its derivative 1/(1 + e^{−s}), from one exponential.
    #[inline(always)]
    pub(crate) fn softplus_and_slope(s: f64) -> (f64, f64) {
        let e = exp_of_minus_size(s);
        (softplus_from(s, e), sigmoid_from(s, e))
    }
}

/// Σ aᵢbᵢ, in four vectors of sums that are added at the end. (Only here do the bits depend on the length of a vector.)
///
/// # Panics
/// If the slices differ in length.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "slices of one length");
    dispatch(Dot { a, b })
}

struct Dot<'a> {
    a: &'a [f64],
    b: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let ((a, a_rest), (b, b_rest)) = (S::as_simd_f64s(self.a), S::as_simd_f64s(self.b));
        let ((a, a_last), (b, b_last)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        let mut sums = [simd.splat_f64s(0.0); 4];
        for (a, b) in a.iter().zip(b) {
            for i in 0..4 {
                sums[i] = simd.mul_add_f64s(a[i], b[i], sums[i]);
            }
        }
        for (&a, &b) in a_last.iter().zip(b_last) {
            sums[0] = simd.mul_add_f64s(a, b, sums[0]);
        }
        let (a, b) = (
            simd.partial_load_f64s(a_rest),
            simd.partial_load_f64s(b_rest),
        );
        sums[1] = simd.mul_add_f64s(a, b, sums[1]);
        let [s0, s1, s2, s3] = sums;
        simd.reduce_sum_f64s(simd.add_f64s(simd.add_f64s(s0, s1), simd.add_f64s(s2, s3)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normals, uniform};

    /// A loop over a function, compiled for the instruction set at hand.
    struct Map<'a, F> {
        x: &'a [f64],
        out: &'a mut [f64],
        function: F,
    }

    impl<F: Fn(f64) -> f64> WithSimd for Map<'_, F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            for (out, &x) in self.out.iter_mut().zip(self.x) {
                *out = (self.function)(x);
            }
        }
    }

    fn map(x: &[f64], function: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; x.len()];
        dispatch(Map {
            x,
            out: &mut out,
            function,
        });
        out
    }

    fn logistic(s: f64) -> f64 {
        one::softplus_and_slope(s).1
    }

    /// The difference in units in the last place of `exact`.
    fn ulps(value: f64, exact: f64) -> f64 {
        if value.to_bits() == exact.to_bits() || (value.is_nan() && exact.is_nan()) {
            return 0.0;
        }
        let unit = (exact.abs().next_up() - exact.abs()).max(f64::from_bits(1));
        (value - exact).abs() / unit
    }

    /// Numbers of every size, and the places where something changes.
    fn arguments() -> Vec<f64> {
        let mut x: Vec<f64> = (0..200_000)
            .map(|i| 1500.0 * (uniform(1, i) - 0.5))
            .chain(normals(2, 400_000))
            .chain((0..200_000).map(|i| 40.0 * (uniform(3, i) - 0.5)))
            .chain((0..200_000).map(|i| libm::exp(-700.0 * uniform(4, i))))
            .collect();
        for near in [
            0.0,
            0.5 * LN_2,
            LN_2,
            SQRT_2 - 1.0,
            700.0,
            708.4,
            709.782,
            745.13,
            750.0,
            1e300,
        ] {
            for x_near in [near, f64::next_up(near), f64::next_down(near)] {
                x.extend([x_near, -x_near]);
            }
        }
        x
    }

    fn check(name: &str, most: f64, function: impl Fn(f64) -> f64, exact: impl Fn(f64) -> f64) {
        let x = arguments();
        let out = map(&x, &function);
        let (mut worst, mut at) = (0.0, 0.0);
        for (&x, &value) in x.iter().zip(&out) {
            let error = ulps(value, exact(x));
            assert!(
                !error.is_nan(),
                "{name}({x:e}) = {value:e}, not {:e}",
                exact(x)
            );
            if error > worst {
                (worst, at) = (error, x);
            }
        }
        println!("{name}: {worst:.2} units, at {at:e}");
        assert!(
            worst <= most,
            "{name}: {worst:.2} units in the last place at {at:e}"
        );
        let odd = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
        for (&x, &value) in odd.iter().zip(&map(&odd, &function)) {
            // Limits that the exact function takes at infinity may be missed by e^{−708}.
            let limit = exact(x);
            let right = value.to_bits() == limit.to_bits() || (value - limit).abs() < 1e-300;
            assert!(
                right || (value.is_nan() && limit.is_nan()),
                "{name}({x}) = {value}, not {limit}"
            );
        }
    }

    #[test]
    fn accuracy() {
        let inside = |x: f64| match x.abs() > 708.0 {
            true => libm::exp(x),
            false => one::exp_inside(x),
        };
        check("exp", 1.0, inside, libm::exp);
        check("tanh", 3.0, one::tanh, libm::tanh);
        let held = |x: f64| if x < -708.0 { -708.0 } else { x };
        check("logistic", 3.0, logistic, |x| {
            let x = held(x);
            let e = libm::exp(-x.abs());
            if x < 0.0 {
                e / (1.0 + e)
            } else {
                1.0 / (1.0 + e)
            }
        });
        check("softplus", 2.0, one::softplus, |x| {
            let x = held(x);
            x.max(0.0) + libm::log1p(libm::exp(-x.abs()))
        });
    }

    /// The single functions are compiled here for what the build guarantees, without vectors.
    #[test]
    fn a_slice_of_any_length_has_the_bits_of_single_numbers() {
        let x = normals(5, 70);
        let functions: [fn(f64) -> f64; 4] = [one::exp_inside, one::tanh, logistic, one::softplus];
        for len in 0..=70 {
            for single in functions {
                for (&x, value) in x.iter().zip(map(&x[..len], single)) {
                    assert_eq!(value.to_bits(), single(x).to_bits(), "length {len}");
                }
            }
        }
    }

    #[test]
    fn slopes() {
        let h = 1e-5;
        let exact = |s: f64| libm::log1p(libm::exp(s));
        for x in normals(6, 1000) {
            let (value, slope) = one::softplus_and_slope(x);
            assert_eq!(value, one::softplus(x));
            let quotient = (exact(x + h) - exact(x - h)) / (2.0 * h);
            assert!((slope - quotient).abs() < 1e-9, "{x}: {slope} {quotient}");
        }
    }

    #[test]
    fn the_dot_product_of_any_length() {
        let (a, b) = (normals(7, 100), normals(8, 100));
        for len in 0..=100 {
            let plain: f64 = a.iter().zip(&b).take(len).map(|(a, b)| a * b).sum();
            let ours = dot(&a[..len], &b[..len]);
            assert!(
                (ours - plain).abs() < 1e-13 * 100.0,
                "length {len}: {ours} {plain}"
            );
        }
    }
}
