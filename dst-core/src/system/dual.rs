//! Dual numbers: derivatives of a user's formula without writing them.
//!
//! A [`Dual`] carries a value and its derivative along `K` directions at once:
//! (a + a′ε)(b + b′ε) = ab + (a′b + ab′)ε with ε² = 0. `K = 0` is the plain number, at no extra cost, so one formula over
//! `Dual<S, K>` serves the forward run, the pushforward and the pullback. The directions are in an array inside the number:
//! nothing is allocated.

use core::cmp::Ordering;
use core::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::scalar::Scalar;

/// Value and its derivatives along `K` directions.
///
/// Literals may be on either side: `2.0 * x + 1.0` works in `f32` and `f64` formulas.
///
/// ```
/// use dst_core::system::Dual;
/// let x = Dual::<f64, 1>::variable(3.0, 0);
/// let y = x * x * 2.0 + 1.0;
/// assert_eq!((y.value, y.slope[0]), (19.0, 12.0));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dual<S, const K: usize> {
    /// Value.
    pub value: S,
    /// Derivative along each direction.
    pub slope: [S; K],
}

impl<S: Scalar, const K: usize> Dual<S, K> {
    /// Number that does not depend on the directions.
    #[inline]
    pub fn constant(value: S) -> Self {
        Self {
            value,
            slope: [S::ZERO; K],
        }
    }

    /// Variable of direction number `direction` (a constant if there is no such direction).
    #[inline]
    pub fn variable(value: S, direction: usize) -> Self {
        let mut number = Self::constant(value);
        if let Some(slope) = number.slope.get_mut(direction) {
            *slope = S::ONE;
        }
        number
    }

    /// Literal of the formula.
    #[inline]
    pub fn literal(value: f64) -> Self {
        Self::constant(S::from_f64(value))
    }

    /// g(x), given the derivative g′(x).
    #[inline]
    pub fn chain(self, value: S, derivative: S) -> Self {
        Self {
            value,
            slope: self.slope.map(|s| derivative * s),
        }
    }

    /// |x|, with derivative +1 at zero.
    #[inline]
    pub fn abs(self) -> Self {
        if self.value < S::ZERO { -self } else { self }
    }

    /// The larger of two numbers, with its derivative.
    #[inline]
    pub fn max(self, other: Self) -> Self {
        if other.value > self.value {
            other
        } else {
            self
        }
    }

    /// The smaller of two numbers, with its derivative.
    #[inline]
    pub fn min(self, other: Self) -> Self {
        if other.value < self.value {
            other
        } else {
            self
        }
    }

    /// 1/x
    #[inline]
    pub fn recip(self) -> Self {
        let inverse = S::ONE / self.value;
        self.chain(inverse, -inverse * inverse)
    }

    /// x², cheaper than `powi(2)`.
    #[inline]
    pub fn square(self) -> Self {
        self * self
    }

    /// xⁿ by repeated multiplication.
    #[inline]
    pub fn powi(self, exponent: i32) -> Self {
        if exponent == 0 {
            return Self::constant(S::ONE);
        }
        // x^(n−1) first: the derivative n·x^(n−1) needs it, and there must be no division for x = 0.
        let (mut power, mut square) = (S::ONE, self.value);
        let mut left = exponent.unsigned_abs().wrapping_sub(1);
        while left > 0 {
            if left & 1 == 1 {
                power *= square;
            }
            square *= square;
            left >>= 1;
        }
        let n = S::from_f64(f64::from(exponent.unsigned_abs()));
        let positive = self.chain(power * self.value, n * power);
        if exponent < 0 {
            positive.recip()
        } else {
            positive
        }
    }
}

#[cfg(feature = "libm")]
impl<S: Scalar, const K: usize> Dual<S, K> {
    /// √x; the derivative at zero is infinite.
    #[inline]
    pub fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.chain(root, S::HALF / root)
    }
    /// eˣ
    #[inline]
    pub fn exp(self) -> Self {
        let value = self.value.exp();
        self.chain(value, value)
    }
    /// ln x
    #[inline]
    pub fn ln(self) -> Self {
        self.chain(self.value.ln(), S::ONE / self.value)
    }
    /// sin x
    #[inline]
    pub fn sin(self) -> Self {
        self.chain(self.value.sin(), self.value.cos())
    }
    /// cos x
    #[inline]
    pub fn cos(self) -> Self {
        self.chain(self.value.cos(), -self.value.sin())
    }
    /// tan x
    #[inline]
    pub fn tan(self) -> Self {
        let value = self.value.tan();
        self.chain(value, S::ONE + value * value)
    }
    /// arctan x
    #[inline]
    pub fn atan(self) -> Self {
        self.chain(
            self.value.atan(),
            S::ONE / (S::ONE + self.value * self.value),
        )
    }
    /// tanh x
    #[inline]
    pub fn tanh(self) -> Self {
        let value = self.value.tanh();
        self.chain(value, S::ONE - value * value)
    }
    /// The logistic function 1/(1 + e⁻ˣ).
    #[inline]
    pub fn sigmoid(self) -> Self {
        let value = S::ONE / (S::ONE + (-self.value).exp());
        self.chain(value, value * (S::ONE - value))
    }
    /// ln(1 + eˣ), without overflow.
    #[inline]
    pub fn softplus(self) -> Self {
        let x = self.value;
        let value = x.max(S::ZERO) + (-x.abs()).exp().ln_1p();
        self.chain(value, S::ONE / (S::ONE + (-x).exp()))
    }
    /// xᵖ for a constant power and positive x.
    #[inline]
    pub fn powf(self, power: f64) -> Self {
        let p = S::from_f64(power);
        self.chain(self.value.powf(p), p * self.value.powf(p - S::ONE))
    }
}

impl<S: Scalar, const K: usize> From<S> for Dual<S, K> {
    fn from(value: S) -> Self {
        Self::constant(value)
    }
}

/// Comparisons use the value alone: a formula branches as the plain computation does.
impl<S: Scalar, const K: usize> PartialEq for Dual<S, K> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<S: Scalar, const K: usize> PartialOrd for Dual<S, K> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<S: Scalar, const K: usize> Neg for Dual<S, K> {
    type Output = Self;
    #[inline]
    fn neg(self) -> Self {
        Self {
            value: -self.value,
            slope: self.slope.map(|s| -s),
        }
    }
}

/// Combines two slopes entry by entry.
#[inline(always)]
fn zip<S: Scalar, const K: usize>(mut a: [S; K], b: [S; K], f: impl Fn(S, S) -> S) -> [S; K] {
    for (a, b) in a.iter_mut().zip(b) {
        *a = f(*a, b);
    }
    a
}

/// One binary operator: between duals, and with a literal on either side.
macro_rules! operator {
    ($trait:ident, $method:ident, $assign:ident, $assign_method:ident, |$a:ident, $b:ident| $body:expr) => {
        impl<S: Scalar, const K: usize> $trait for Dual<S, K> {
            type Output = Self;
            #[inline]
            #[allow(clippy::suspicious_arithmetic_impl)] // the product rule adds
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $body
            }
        }
        impl<S: Scalar, const K: usize> $trait<f64> for Dual<S, K> {
            type Output = Self;
            #[inline]
            fn $method(self, literal: f64) -> Self {
                $trait::$method(self, Self::literal(literal))
            }
        }
        impl<S: Scalar, const K: usize> $trait<Dual<S, K>> for f64 {
            type Output = Dual<S, K>;
            #[inline]
            fn $method(self, other: Dual<S, K>) -> Dual<S, K> {
                $trait::$method(Dual::literal(self), other)
            }
        }
        impl<S: Scalar, const K: usize> $assign for Dual<S, K> {
            #[inline]
            fn $assign_method(&mut self, other: Self) {
                *self = $trait::$method(*self, other);
            }
        }
        impl<S: Scalar, const K: usize> $assign<f64> for Dual<S, K> {
            #[inline]
            fn $assign_method(&mut self, literal: f64) {
                *self = $trait::$method(*self, literal);
            }
        }
    };
}

operator!(Add, add, AddAssign, add_assign, |a, b| Dual {
    value: a.value + b.value,
    slope: zip(a.slope, b.slope, |x, y| x + y),
});
operator!(Sub, sub, SubAssign, sub_assign, |a, b| Dual {
    value: a.value - b.value,
    slope: zip(a.slope, b.slope, |x, y| x - y),
});
operator!(Mul, mul, MulAssign, mul_assign, |a, b| Dual {
    value: a.value * b.value,
    slope: zip(a.slope, b.slope, |x, y| x * b.value + a.value * y),
});
operator!(Div, div, DivAssign, div_assign, |a, b| {
    let value = a.value / b.value;
    Dual {
        value,
        slope: zip(a.slope, b.slope, |x, y| (x - value * y) / b.value),
    }
});

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, f: impl Fn(Dual<f64, 1>) -> Dual<f64, 1>, at: &[f64]) {
        for &x in at {
            let exact = f(Dual::variable(x, 0)).slope[0];
            let h = 1e-6 * (1.0 + x.abs());
            let (up, down) = (
                f(Dual::constant(x + h)).value,
                f(Dual::constant(x - h)).value,
            );
            let estimate = (up - down) / (2.0 * h);
            assert!(
                (exact - estimate).abs() <= 1e-8 * (1.0 + exact.abs()),
                "{name}({x}): {exact} {estimate}"
            );
        }
    }

    #[test]
    fn every_function_agrees_with_central_differences() {
        let both = [-1.3, -0.2, 0.4, 1.7];
        let positive = [0.3, 1.1, 2.5];
        check(
            "arithmetic",
            |x| (2.0 * x - 1.0) / (x * x + 3.0) - x / 2.0 + 1.0 / (x + 9.0),
            &both,
        );
        check("abs", Dual::abs, &both);
        check("recip", Dual::recip, &positive);
        check("max", |x| x.max(Dual::literal(0.3)).min(x * x), &both);
        for n in [-3, -1, 0, 1, 2, 5] {
            check("powi", |x| x.powi(n), &both);
        }
        check("sqrt", Dual::sqrt, &positive);
        check("exp", Dual::exp, &both);
        check("ln", Dual::ln, &positive);
        check(
            "sin cos tan atan",
            |x| x.sin() * x.cos() + x.tan() - x.atan(),
            &both,
        );
        check("tanh", Dual::tanh, &both);
        check("sigmoid", Dual::sigmoid, &both);
        check("softplus", Dual::softplus, &both);
        check("powf", |x| x.powf(1.7), &positive);
    }

    #[test]
    fn assignment_and_comparison() {
        let mut x = Dual::<f32, 2>::variable(2.0, 1);
        x *= 3.0;
        x -= Dual::variable(1.0, 0);
        assert_eq!((x.value, x.slope), (5.0, [-1.0, 3.0]));
        assert!(x > Dual::literal(4.0) && x == Dual::constant(5.0));
        assert_eq!(Dual::<f64, 0>::variable(1.0, 7).powi(0).value, 1.0);
        assert_eq!(Dual::<f64, 1>::variable(0.0, 0).powi(1).slope, [1.0]);
    }
}
