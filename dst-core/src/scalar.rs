//! Number types of the engine: `f32` and `f64`.
//!
//! All operations are plain IEEE arithmetic or `libm`, never the platform's mathematics library, so that the same inputs give the
//! same bits on x86, Cortex-M and RISC-V.

use core::fmt::{Debug, Display};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A real floating-point number: `f32` or `f64`.
///
/// The trait is sealed: the guarantees about bits and finiteness hold for these two types only.
/// The elementary functions need the feature `libm`.
pub trait Scalar:
    sealed::Sealed
    + Copy
    + Default
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// 0
    const ZERO: Self;
    /// 1
    const ONE: Self;
    /// ½
    const HALF: Self;
    /// 2
    const TWO: Self;
    /// The distance from 1 to the next larger number.
    const EPSILON: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// Not a number.
    const NAN: Self;
    /// The largest finite number.
    const MAX: Self;

    /// The nearest number of this type; exact for `f64`.
    fn from_f64(value: f64) -> Self;
    /// The nearest number to a count below 2⁶³.
    fn from_count(count: usize) -> Self;
    /// The same value in double precision, exact.
    fn to_f64(self) -> f64;
    /// True if the number is neither infinite nor NaN. Tests the bits: an integer comparison on machines without an FPU.
    fn is_finite(self) -> bool;
    /// True if the number is NaN.
    fn is_nan(self) -> bool;
    /// True if all entries are finite.
    fn all_finite(values: &[Self]) -> bool;
    /// |x|
    fn abs(self) -> Self;
    /// The larger of two numbers; if one is NaN, the other.
    fn max(self, other: Self) -> Self;
    /// The smaller of two numbers; if one is NaN, the other.
    fn min(self, other: Self) -> Self;

    /// The next smaller number.
    fn next_down(self) -> Self;

    /// The bits, widened to 64.
    fn bits(self) -> u64;
    /// The number with these bits; the upper half is ignored for `f32`.
    fn from_bits(bits: u64) -> Self;

    /// √x
    #[cfg(feature = "libm")]
    fn sqrt(self) -> Self;
    /// ∛x
    #[cfg(feature = "libm")]
    fn cbrt(self) -> Self;
    /// eˣ
    #[cfg(feature = "libm")]
    fn exp(self) -> Self;
    /// 2ˣ
    #[cfg(feature = "libm")]
    fn exp2(self) -> Self;
    /// eˣ − 1, accurate near zero
    #[cfg(feature = "libm")]
    fn exp_m1(self) -> Self;
    /// ln x
    #[cfg(feature = "libm")]
    fn ln(self) -> Self;
    /// log₂ x
    #[cfg(feature = "libm")]
    fn log2(self) -> Self;
    /// log₁₀ x
    #[cfg(feature = "libm")]
    fn log10(self) -> Self;
    /// ln(1 + x), accurate near zero
    #[cfg(feature = "libm")]
    fn ln_1p(self) -> Self;
    /// sin x
    #[cfg(feature = "libm")]
    fn sin(self) -> Self;
    /// cos x
    #[cfg(feature = "libm")]
    fn cos(self) -> Self;
    /// tan x
    #[cfg(feature = "libm")]
    fn tan(self) -> Self;
    /// arcsin x
    #[cfg(feature = "libm")]
    fn asin(self) -> Self;
    /// arccos x
    #[cfg(feature = "libm")]
    fn acos(self) -> Self;
    /// arctan x
    #[cfg(feature = "libm")]
    fn atan(self) -> Self;
    /// sinh x
    #[cfg(feature = "libm")]
    fn sinh(self) -> Self;
    /// cosh x
    #[cfg(feature = "libm")]
    fn cosh(self) -> Self;
    /// tanh x
    #[cfg(feature = "libm")]
    fn tanh(self) -> Self;
    /// arsinh x
    #[cfg(feature = "libm")]
    fn asinh(self) -> Self;
    /// arcosh x
    #[cfg(feature = "libm")]
    fn acosh(self) -> Self;
    /// artanh x
    #[cfg(feature = "libm")]
    fn atanh(self) -> Self;
    /// The largest integer that is not above x.
    #[cfg(feature = "libm")]
    fn floor(self) -> Self;
    /// The smallest integer that is not below x.
    #[cfg(feature = "libm")]
    fn ceil(self) -> Self;
    /// The nearest integer, halves away from zero.
    #[cfg(feature = "libm")]
    fn round(self) -> Self;
    /// xʸ
    #[cfg(feature = "libm")]
    fn powf(self, exponent: Self) -> Self;
    /// The angle of the point (`x`, `self`).
    #[cfg(feature = "libm")]
    fn atan2(self, x: Self) -> Self;
    /// √(x² + y²), without overflow.
    #[cfg(feature = "libm")]
    fn hypot(self, other: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! scalar {
    ($t:ty, $bits:ty, $exponent:expr, $($method:ident => $function:ident),*; $($method2:ident => $function2:ident),*) => {
        impl Scalar for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const HALF: Self = 0.5;
            const TWO: Self = 2.0;
            const EPSILON: Self = <$t>::EPSILON;
            const INFINITY: Self = <$t>::INFINITY;
            const NAN: Self = <$t>::NAN;
            const MAX: Self = <$t>::MAX;

            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn from_count(count: usize) -> Self {
                // x86-64 converts signed numbers in one instruction and unsigned ones in six, which every step would pay for.
                // `usize::MAX`, which stands for no limit, stays large.
                #[cfg(target_pointer_width = "64")]
                let count = count & (usize::MAX >> 1);
                count as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                self.to_bits() & $exponent != $exponent
            }
            #[inline(always)]
            fn all_finite(values: &[Self]) -> bool {
                // In a floating-point unit that has one number per register it takes one instruction per entry: 0·x is NaN if and
                // only if x is not finite.
                if cfg!(target_abi = "eabihf") && size_of::<Self>() == 4 {
                    return values.iter().fold(-0.0, |sum, v| sum + v * 0.0) == 0.0;
                }
                // Adding one to the exponent carries into the sign bit if and only if all exponent bits are set. The carries of
                // all entries are collected there: no comparison and no branch per entry, and the loop vectorises.
                const ONE: $bits = $exponent & !($exponent << 1);
                let carries = values.iter().fold(0, |all, v| all | ((v.to_bits() & $exponent) + ONE));
                carries >> (<$bits>::BITS - 1) == 0
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                <$t>::is_nan(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$t>::max(self, other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                <$t>::min(self, other)
            }
            #[inline(always)]
            fn next_down(self) -> Self {
                <$t>::next_down(self)
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                u64::from(self.to_bits())
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                <$t>::from_bits(bits as $bits)
            }
            $(
                #[cfg(feature = "libm")]
                #[inline]
                fn $method(self) -> Self {
                    libm::$function(self)
                }
            )*
            $(
                #[cfg(feature = "libm")]
                #[inline]
                fn $method2(self, other: Self) -> Self {
                    libm::$function2(self, other)
                }
            )*
        }
    };
}

scalar!(f32, u32, 0x7f80_0000, sqrt => sqrtf, cbrt => cbrtf, exp => expf, exp2 => exp2f, exp_m1 => expm1f, ln => logf, log2
    => log2f, log10 => log10f, ln_1p => log1pf, sin => sinf, cos => cosf, tan => tanf, asin => asinf, acos => acosf, atan =>
    atanf, sinh => sinhf, cosh => coshf, tanh => tanhf, asinh => asinhf, acosh => acoshf, atanh => atanhf, floor => floorf,
    ceil => ceilf, round => roundf; powf => powf, atan2 => atan2f, hypot => hypotf);
scalar!(f64, u64, 0x7ff0_0000_0000_0000, sqrt => sqrt, cbrt => cbrt, exp => exp, exp2 => exp2, exp_m1 => expm1, ln => log,
    log2 => log2, log10 => log10, ln_1p => log1p, sin => sin, cos => cos, tan => tan, asin => asin, acos => acos, atan =>
    atan, sinh => sinh, cosh => cosh, tanh => tanh, asinh => asinh, acosh => acosh, atanh => atanh, floor => floor, ceil =>
    ceil, round => round; powf => pow, atan2 => atan2, hypot => hypot);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::slices::all_finite;

    #[test]
    fn finite_is_decided_by_the_exponent() {
        for v in [0.0, -0.0, 1.5, f64::MAX, f64::MIN_POSITIVE, 5e-324] {
            assert!(Scalar::is_finite(v) && Scalar::is_finite(-v), "{v}");
        }
        for v in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(!Scalar::is_finite(v) && !Scalar::is_finite(v as f32), "{v}");
        }
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(all_finite(&[0.0, -f64::MAX, 5e-324]) && !all_finite(&[-1.0, bad, f64::MAX]));
            assert!(!all_finite(&[bad as f32, -0.0]) && all_finite::<f32>(&[]));
        }
    }
}
