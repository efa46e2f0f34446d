//! Dual numbers: derivatives of a formula along given directions.
//!
//! A [`Dual`] carries a value and its derivative along `K` directions at once:
//! (a + a′ε)(b + b′ε) = ab + (a′b + ab′)ε with ε² = 0. `K = 0` is the plain number: no derivative is evaluated. The directions are
//! in an array inside the number: nothing is allocated.

use core::ops::{Add, Div, Mul, Neg, Sub};

use super::arithmetic::{Arithmetic, Function, Function2, sealed::Sealed};
use super::number::Number;
use crate::scalar::Scalar;

/// Value and its derivatives along `K` directions.
///
/// ```
/// use dst_core::system::{Dual, Number};
/// let x = Number::from(Dual::<f64, 1>::variable(3.0, 0));
/// let y = x * x * 2.0 + 1.0;
/// assert_eq!((y.value(), y.dual().slope), (19.0, [12.0]));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Dual<S, const K: usize> {
    /// Value.
    pub value: S,
    /// Derivative along each direction.
    pub slope: [S; K],
}

impl<S: Scalar, const K: usize> Dual<S, K> {
    /// Variable of direction number `direction` (a constant if there is no such direction).
    #[inline]
    pub fn variable(value: S, direction: usize) -> Self {
        let mut number = Self::constant(value);
        if let Some(slope) = number.slope.get_mut(direction) {
            *slope = S::ONE;
        }
        number
    }

    /// Number with this value and the slopes of this one, times a factor.
    #[inline(always)]
    fn chain(self, value: S, factor: S) -> Self {
        Self {
            value,
            slope: self.slope.map(|s| factor * s),
        }
    }
}

/// The plain number as an argument of a derivative.
#[inline(always)]
fn plain<S: Scalar>(value: S) -> Number<Dual<S, 0>> {
    Number(Dual { value, slope: [] })
}

impl<S, const K: usize> Sealed for Dual<S, K> {}

impl<S: Scalar, const K: usize> Arithmetic for Dual<S, K> {
    type Scalar = S;

    #[inline(always)]
    fn constant(value: S) -> Self {
        Self {
            value,
            slope: [S::ZERO; K],
        }
    }
    #[inline(always)]
    fn value(self) -> S {
        self.value
    }
    #[inline(always)]
    fn plus(self, c: S) -> Self {
        Self {
            value: self.value + c,
            ..self
        }
    }
    #[inline(always)]
    fn times(self, c: S) -> Self {
        self.chain(self.value * c, c)
    }
    #[inline(always)]
    fn over(self, c: S) -> Self {
        Self {
            value: self.value / c,
            slope: self.slope.map(|s| s / c),
        }
    }
    #[inline]
    fn apply<G: Function<S>>(self, g: G) -> Self {
        let value = g.value(self.value);
        if K == 0 {
            return Self::constant(value);
        }
        self.chain(value, g.slope(plain(self.value), plain(value)).value())
    }
    #[inline]
    fn combine<G: Function2<S>>(self, other: Self, g: G) -> Self {
        let value = g.value(self.value, other.value);
        let mut result = Self::constant(value);
        let (a, b, y) = (plain(self.value), plain(other.value), plain(value));
        // The derivative with respect to a constant is not evaluated: it may be infinite.
        if self.slope != [S::ZERO; K] {
            result = result + self.chain(S::ZERO, g.slope_a(a, b, y).value());
        }
        if other.slope != [S::ZERO; K] {
            result = result + other.chain(S::ZERO, g.slope_b(a, b, y).value());
        }
        result.value = value;
        result
    }
}

impl<S: Scalar, const K: usize> Neg for Dual<S, K> {
    type Output = Self;
    #[inline(always)]
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

/// One binary operator.
macro_rules! operator {
    ($trait:ident, $method:ident, |$a:ident, $b:ident| $body:expr) => {
        impl<S: Scalar, const K: usize> $trait for Dual<S, K> {
            type Output = Self;
            #[inline(always)]
            #[allow(clippy::suspicious_arithmetic_impl)] // the product rule adds
            fn $method(self, other: Self) -> Self {
                let ($a, $b) = (self, other);
                $body
            }
        }
    };
}

operator!(Add, add, |a, b| Dual {
    value: a.value + b.value,
    slope: zip(a.slope, b.slope, |x, y| x + y),
});
operator!(Sub, sub, |a, b| Dual {
    value: a.value - b.value,
    slope: zip(a.slope, b.slope, |x, y| x - y),
});
operator!(Mul, mul, |a, b| Dual {
    value: a.value * b.value,
    slope: zip(a.slope, b.slope, |x, y| x * b.value + a.value * y),
});
operator!(Div, div, |a, b| {
    let value = a.value / b.value;
    Dual {
        value,
        slope: zip(a.slope, b.slope, |x, y| (x - value * y) / b.value),
    }
});
