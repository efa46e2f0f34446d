//! The number that formulas are written in.

use core::cmp::Ordering;
use core::iter::{Product, Sum};
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::arithmetic::{Arithmetic, Powi, Recip};
use super::dual::Dual;
use super::trace::{Recorded, Traced};
use crate::scalar::Scalar;

/// Number of a formula: plain, with derivatives along directions, or traced.
///
/// Literals may be on either side of an operator and in `max`, `min` and `clamp`: `2.0 * x.max(0.5) + 1.0` works for `f32` and
/// `f64`. Comparisons use the value alone, so a formula branches as the plain computation does.
///
/// ```
/// use dst_core::system::{Arithmetic, Number};
/// fn saturated<A: Arithmetic>(gain: Number<A>, error: Number<A>) -> Number<A> {
///     (gain * error + 0.1).clamp(-1.0, 1.0)
/// }
/// assert_eq!(saturated(Number::plain(2.0_f64), Number::plain(0.2)).value(), 0.5);
/// ```
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Number<A>(pub(crate) A);

impl<S: Scalar> Number<Dual<S, 0>> {
    /// Plain number, without derivatives.
    #[inline(always)]
    pub fn plain(value: S) -> Self {
        Self(Dual { value, slope: [] })
    }
}

impl<S: Scalar, const K: usize> Number<Dual<S, K>> {
    /// The number as value and slopes.
    #[inline(always)]
    pub fn dual(self) -> Dual<S, K> {
        self.0
    }
}

impl<S: Scalar, const K: usize> From<Dual<S, K>> for Number<Dual<S, K>> {
    #[inline(always)]
    fn from(number: Dual<S, K>) -> Self {
        Self(number)
    }
}

impl<'t, V: Recorded> From<Traced<'t, V>> for Number<Traced<'t, V>> {
    #[inline(always)]
    fn from(number: Traced<'t, V>) -> Self {
        Self(number)
    }
}

impl<A: Arithmetic> Number<A> {
    /// Constant of the formula, in its own precision.
    #[inline(always)]
    pub fn constant(value: A::Scalar) -> Self {
        Self(A::constant(value))
    }

    /// Constant of the formula. Literals need this only where no operator or method takes them, as in `[Number::literal(0.0); 3]`.
    #[inline(always)]
    pub fn literal(value: f64) -> Self {
        Self::constant(A::Scalar::from_f64(value))
    }

    /// The number in its arithmetic.
    #[inline(always)]
    pub fn into_inner(self) -> A {
        self.0
    }

    /// Value without derivatives.
    #[inline(always)]
    pub fn value(self) -> A::Scalar {
        self.0.value()
    }

    /// |x|, with derivative +1 at zero.
    #[inline]
    pub fn abs(self) -> Self {
        if self.value() < A::Scalar::ZERO {
            -self
        } else {
            self
        }
    }

    /// −1, 0 or 1: the sign of x, with derivative zero.
    #[inline]
    pub fn signum(self) -> Self {
        let (x, zero, one) = (self.value(), A::Scalar::ZERO, A::Scalar::ONE);
        Self::constant(if x > zero {
            one
        } else if x < zero {
            -one
        } else {
            x
        })
    }

    /// The larger of two numbers, with its derivative; the first on a tie.
    #[inline]
    pub fn max(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if other > self { other } else { self }
    }

    /// The smaller of two numbers, with its derivative; the first on a tie.
    #[inline]
    pub fn min(self, other: impl Into<Self>) -> Self {
        let other = other.into();
        if other < self { other } else { self }
    }

    /// The number limited to an interval: `max(low)`, then `min(high)`.
    #[inline]
    pub fn clamp(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        self.max(low).min(high)
    }

    /// 1/x
    #[inline]
    pub fn recip(self) -> Self {
        Self(self.0.apply(Recip))
    }

    /// x²
    #[inline]
    pub fn square(self) -> Self {
        self.powi(2)
    }

    /// a·x + b
    #[inline]
    pub fn mul_add(self, a: impl Into<Self>, b: impl Into<Self>) -> Self {
        self * a.into() + b.into()
    }

    /// xⁿ by repeated multiplication.
    #[inline]
    pub fn powi(self, exponent: i32) -> Self {
        if exponent == 0 {
            return Self::constant(A::Scalar::ONE);
        }
        let positive = Self(self.0.apply(Powi(exponent.unsigned_abs())));
        if exponent < 0 {
            positive.recip()
        } else {
            positive
        }
    }
}

/// Implemented by no type: without the feature `libm` an elementary function does not compile, and the message names the feature.
#[cfg(not(feature = "libm"))]
#[diagnostic::on_unimplemented(
    message = "elementary functions need the feature `libm` of dst-core",
    label = "not available without the feature `libm`",
    note = "enable it in Cargo.toml: dst-core = {{ …, features = [\"libm\"] }}"
)]
pub trait FeatureLibm {}

/// The elementary functions: with `libm` their bodies, without it the same names with a bound that cannot be met.
macro_rules! elementary {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) => |$self:ident| $body:expr;)*) => {
        #[cfg(feature = "libm")]
        impl<A: Arithmetic> Number<A> {$(
            $(#[$doc])*
            #[inline]
            pub fn $name($self $(, $argument: $type)*) -> Self {
                $body
            }
        )*}

        #[cfg(not(feature = "libm"))]
        impl<A: Arithmetic> Number<A> {$(
            $(#[$doc])*
            #[allow(unused_variables, clippy::needless_pass_by_value)]
            pub fn $name(self $(, $argument: $type)*) -> Self
            where
                Self: FeatureLibm,
            {
                self
            }
        )*}
    };
}

#[cfg(feature = "libm")]
use super::arithmetic as g;

elementary! {
    /// √x; the derivative at zero is infinite.
    sqrt() => |self| Self(self.0.apply(g::Sqrt));
    /// ∛x; the derivative at zero is infinite.
    cbrt() => |self| Self(self.0.apply(g::Cbrt));
    /// eˣ
    exp() => |self| Self(self.0.apply(g::Exp));
    /// 2ˣ
    exp2() => |self| Self(self.0.apply(g::Exp2));
    /// eˣ − 1, accurate near zero.
    exp_m1() => |self| Self(self.0.apply(g::ExpM1));
    /// ln x
    ln() => |self| Self(self.0.apply(g::Ln));
    /// log₂ x
    log2() => |self| Self(self.0.apply(g::Log2));
    /// log₁₀ x
    log10() => |self| Self(self.0.apply(g::Log10));
    /// ln(1 + x), accurate near zero.
    ln_1p() => |self| Self(self.0.apply(g::Ln1p));
    /// sin x
    sin() => |self| Self(self.0.apply(g::Sin));
    /// cos x
    cos() => |self| Self(self.0.apply(g::Cos));
    /// tan x
    tan() => |self| Self(self.0.apply(g::Tan));
    /// arcsin x
    asin() => |self| Self(self.0.apply(g::Asin));
    /// arccos x
    acos() => |self| Self(self.0.apply(g::Acos));
    /// arctan x
    atan() => |self| Self(self.0.apply(g::Atan));
    /// The angle of the point (`x`, `self`), in (−π, π].
    atan2(x: impl Into<Self>) => |self| Self(self.0.combine(x.into().0, g::Atan2));
    /// √(x² + y²), without overflow; no derivative at the origin.
    hypot(other: impl Into<Self>) => |self| Self(self.0.combine(other.into().0, g::Hypot));
    /// sinh x
    sinh() => |self| Self(self.0.apply(g::Sinh));
    /// cosh x
    cosh() => |self| Self(self.0.apply(g::Cosh));
    /// tanh x
    tanh() => |self| Self(self.0.apply(g::Tanh));
    /// arsinh x
    asinh() => |self| Self(self.0.apply(g::Asinh));
    /// arcosh x
    acosh() => |self| Self(self.0.apply(g::Acosh));
    /// artanh x
    atanh() => |self| Self(self.0.apply(g::Atanh));
    /// The logistic function 1/(1 + e⁻ˣ).
    sigmoid() => |self| Self(self.0.apply(g::Sigmoid));
    /// ln(1 + eˣ), without overflow.
    softplus() => |self| Self(self.0.apply(g::Softplus));
    /// xᵖ for a constant power and positive x.
    powf(power: f64) => |self| self.power(A::Scalar::from_f64(power));
    /// xʸ for positive x, where the exponent may depend on θ, x or t.
    pow(exponent: impl Into<Self>) => |self| Self(self.0.combine(exponent.into().0, g::Pow));
    /// The largest integer that is not above x, with derivative zero.
    floor() => |self| Self(self.0.apply(g::Floor));
    /// The smallest integer that is not below x, with derivative zero.
    ceil() => |self| Self(self.0.apply(g::Ceil));
    /// The nearest integer, halves away from zero, with derivative zero.
    round() => |self| Self(self.0.apply(g::Round));
    /// x − p·⌊x/p⌋, in [0, p): wraps an angle, with derivative one.
    rem_euclid(period: f64) => |self| self - (self / period).floor() * period;
}

#[cfg(feature = "libm")]
impl<A: Arithmetic> Number<A> {
    /// xᵖ for a power in the formula's own precision.
    #[inline]
    pub(crate) fn power(self, power: A::Scalar) -> Self {
        Self(self.0.apply(g::Powf(power)))
    }

    /// sin x and cos x.
    #[inline]
    pub fn sin_cos(self) -> (Self, Self) {
        (self.sin(), self.cos())
    }
}

impl<A: Arithmetic> From<f64> for Number<A> {
    #[inline(always)]
    fn from(value: f64) -> Self {
        Self::literal(value)
    }
}

impl<A: Arithmetic> From<f32> for Number<A> {
    #[inline(always)]
    fn from(value: f32) -> Self {
        Self::literal(f64::from(value))
    }
}

impl<A: Arithmetic> PartialEq for Number<A> {
    #[inline(always)]
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

impl<A: Arithmetic> PartialOrd for Number<A> {
    #[inline(always)]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value().partial_cmp(&other.value())
    }
}

impl<A: Arithmetic> PartialEq<f64> for Number<A> {
    #[inline(always)]
    fn eq(&self, literal: &f64) -> bool {
        self.value() == A::Scalar::from_f64(*literal)
    }
}

impl<A: Arithmetic> PartialOrd<f64> for Number<A> {
    #[inline(always)]
    fn partial_cmp(&self, literal: &f64) -> Option<Ordering> {
        self.value().partial_cmp(&A::Scalar::from_f64(*literal))
    }
}

impl<A: Arithmetic> Neg for Number<A> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self(-self.0)
    }
}

/// One binary operator: between numbers, and with a literal on either side.
macro_rules! operator {
    ($trait:ident, $method:ident, $assign:ident, $assign_method:ident, |$a:ident, $c:ident| $right:expr, |$l:ident, $b:ident| $left:expr) => {
        impl<A: Arithmetic> $trait for Number<A> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Self($trait::$method(self.0, other.0))
            }
        }
        impl<A: Arithmetic> $trait<f64> for Number<A> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, literal: f64) -> Self {
                let ($a, $c) = (self.0, A::Scalar::from_f64(literal));
                Self($right)
            }
        }
        impl<A: Arithmetic> $trait<Number<A>> for f64 {
            type Output = Number<A>;
            #[inline(always)]
            fn $method(self, other: Number<A>) -> Number<A> {
                let ($l, $b) = (A::Scalar::from_f64(self), other.0);
                Number($left)
            }
        }
        impl<A: Arithmetic> $assign for Number<A> {
            #[inline(always)]
            fn $assign_method(&mut self, other: Self) {
                *self = $trait::$method(*self, other);
            }
        }
        impl<A: Arithmetic> $assign<f64> for Number<A> {
            #[inline(always)]
            fn $assign_method(&mut self, literal: f64) {
                *self = $trait::$method(*self, literal);
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, |a, c| a.plus(c), |c, b| b
    .plus(c));
operator!(
    Sub,
    sub,
    SubAssign,
    sub_assign,
    |a, c| a.plus(-c),
    |c, b| (-b).plus(c)
);
operator!(
    Mul,
    mul,
    MulAssign,
    mul_assign,
    |a, c| a.times(c),
    |c, b| b.times(c)
);
operator!(Div, div, DivAssign, div_assign, |a, c| a.over(c), |c, b| {
    A::constant(c) / b
});

impl<A: Arithmetic> Sum for Number<A> {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::constant(A::Scalar::ZERO), |sum, term| sum + term)
    }
}

impl<'n, A: Arithmetic> Sum<&'n Number<A>> for Number<A> {
    fn sum<I: Iterator<Item = &'n Self>>(terms: I) -> Self {
        terms.copied().sum()
    }
}

impl<A: Arithmetic> Product for Number<A> {
    fn product<I: Iterator<Item = Self>>(factors: I) -> Self {
        factors.fold(Self::constant(A::Scalar::ONE), |product, factor| {
            product * factor
        })
    }
}

#[cfg(all(test, feature = "libm"))]
mod tests;
