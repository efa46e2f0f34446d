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

    /// √x
    #[cfg(feature = "libm")]
    fn sqrt(self) -> Self;
    /// eˣ
    #[cfg(feature = "libm")]
    fn exp(self) -> Self;
    /// ln x
    #[cfg(feature = "libm")]
    fn ln(self) -> Self;
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
    /// arctan x
    #[cfg(feature = "libm")]
    fn atan(self) -> Self;
    /// tanh x
    #[cfg(feature = "libm")]
    fn tanh(self) -> Self;
    /// xʸ
    #[cfg(feature = "libm")]
    fn powf(self, exponent: Self) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! scalar {
    ($t:ty, $bits:ty, $exponent:expr, $($method:ident => $function:ident),*; $pow:ident) => {
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
            $(
                #[cfg(feature = "libm")]
                #[inline]
                fn $method(self) -> Self {
                    libm::$function(self)
                }
            )*
            #[cfg(feature = "libm")]
            #[inline]
            fn powf(self, exponent: Self) -> Self {
                libm::$pow(self, exponent)
            }
        }
    };
}

scalar!(f32, u32, 0x7f80_0000, sqrt => sqrtf, exp => expf, ln => logf, ln_1p => log1pf,
    sin => sinf, cos => cosf, tan => tanf, atan => atanf, tanh => tanhf; powf);
scalar!(f64, u64, 0x7ff0_0000_0000_0000, sqrt => sqrt, exp => exp, ln => log, ln_1p => log1p,
    sin => sin, cos => cos, tan => tan, atan => atan, tanh => tanh; pow);

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
