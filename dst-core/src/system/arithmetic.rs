//! Arithmetic of a formula's numbers, and the elementary functions with their derivatives.
//!
//! A formula is written once, over [`Number<A>`](super::Number). Three kinds of arithmetic `A` run the same text:
//!
//! | `A` | computes |
//! |---|---|
//! | `Dual<S, 0>` | the plain value |
//! | `Dual<S, K>` | value and derivatives along K directions (forward mode) |
//! | `Traced<Dual<S, K>>` | value, and a trace from which all derivatives follow (reverse mode) |
//!
//! Each elementary function is one line: its value in `libm`, and its derivative as a formula in x and y = g(x). The derivative is
//! itself written over `Number`, so reverse mode over dual numbers gives second derivatives from the same line.

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Neg, Sub};

use super::number::Number;
use crate::scalar::Scalar;

/// Arithmetic in which a formula is evaluated. Sealed: implemented by the numbers of this crate.
pub trait Arithmetic:
    Copy
    + Debug
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + sealed::Sealed
{
    /// Number type of the values: `f32` or `f64`.
    type Scalar: Scalar;

    /// Number without derivatives.
    fn constant(value: Self::Scalar) -> Self;
    /// Value without derivatives.
    fn value(self) -> Self::Scalar;
    /// x + c
    fn plus(self, c: Self::Scalar) -> Self;
    /// c·x
    fn times(self, c: Self::Scalar) -> Self;
    /// x/c
    fn over(self, c: Self::Scalar) -> Self;
    /// g(x)
    fn apply<G: Function<Self::Scalar>>(self, g: G) -> Self;
    /// g(x, y)
    fn combine<G: Function2<Self::Scalar>>(self, other: Self, g: G) -> Self;
}

pub(super) mod sealed {
    pub trait Sealed {}
}

/// Function of one variable with its derivative.
pub trait Function<S: Scalar>: Copy {
    /// g(x)
    fn value(self, x: S) -> S;
    /// g′(x), given x and y = g(x).
    fn slope<A: Arithmetic<Scalar = S>>(self, x: Number<A>, y: Number<A>) -> Number<A>;
}

/// Function of two variables with its derivatives.
pub trait Function2<S: Scalar>: Copy {
    /// g(a, b)
    fn value(self, a: S, b: S) -> S;
    /// ∂g/∂a, given a, b and y = g(a, b).
    fn slope_a<A: Arithmetic<Scalar = S>>(
        self,
        a: Number<A>,
        b: Number<A>,
        y: Number<A>,
    ) -> Number<A>;
    /// ∂g/∂b
    fn slope_b<A: Arithmetic<Scalar = S>>(
        self,
        a: Number<A>,
        b: Number<A>,
        y: Number<A>,
    ) -> Number<A>;
}

/// 1/x
#[derive(Clone, Copy)]
pub(super) struct Recip;

impl<S: Scalar> Function<S> for Recip {
    #[inline(always)]
    fn value(self, x: S) -> S {
        S::ONE / x
    }
    #[inline(always)]
    fn slope<A: Arithmetic<Scalar = S>>(self, _: Number<A>, y: Number<A>) -> Number<A> {
        -y * y
    }
}

/// xⁿ for n ≥ 1, by repeated multiplication.
#[derive(Clone, Copy)]
pub(super) struct Powi(pub(super) u32);

impl<S: Scalar> Function<S> for Powi {
    #[inline(always)]
    fn value(self, x: S) -> S {
        // x^(n−1) first, as in the derivative: the compiler computes it once.
        repeated(x, self.0.wrapping_sub(1), S::ONE, |a, b| a * b) * x
    }
    #[inline(always)]
    fn slope<A: Arithmetic<Scalar = S>>(self, x: Number<A>, _: Number<A>) -> Number<A> {
        let one = Number::constant(S::ONE);
        let power = repeated(x, self.0.wrapping_sub(1), one, |a, b| a * b);
        Number::constant(S::from_f64(f64::from(self.0))) * power
    }
}

/// xⁿ, from the squares of x.
#[inline(always)]
fn repeated<T: Copy>(x: T, mut n: u32, one: T, times: impl Fn(T, T) -> T) -> T {
    let (mut power, mut square) = (one, x);
    while n > 0 {
        if n & 1 == 1 {
            power = times(power, square);
        }
        square = times(square, square);
        n >>= 1;
    }
    power
}

#[cfg(feature = "libm")]
pub(super) use elementary::*;

#[cfg(feature = "libm")]
mod elementary {
    use super::{Arithmetic, Function, Function2, Number};
    use crate::scalar::Scalar;

    /// One line per function: name, value for a scalar, derivative.
    macro_rules! functions {
        ($($name:ident: |$v:ident| $value:expr, |$x:ident, $y:ident| $slope:expr;)*) => {$(
            #[derive(Clone, Copy)]
            pub(in crate::system) struct $name;

            impl<S: Scalar> Function<S> for $name {
                #[inline(always)]
                fn value(self, $v: S) -> S {
                    $value
                }
                #[inline(always)]
                fn slope<A: Arithmetic<Scalar = S>>(self, $x: Number<A>, $y: Number<A>) -> Number<A> {
                    $slope
                }
            }
        )*};
    }

    /// The derivative of a function that is constant between its jumps.
    fn flat<A: Arithmetic>(_: Number<A>) -> Number<A> {
        Number::literal(0.0)
    }

    functions! {
        Sqrt: |x| x.sqrt(), |_x, y| 0.5 / y;
        Cbrt: |x| x.cbrt(), |_x, y| 1.0 / (3.0 * (y * y));
        Exp: |x| x.exp(), |_x, y| y;
        Exp2: |x| x.exp2(), |_x, y| y * core::f64::consts::LN_2;
        ExpM1: |x| x.exp_m1(), |_x, y| y + 1.0;
        Ln: |x| x.ln(), |x, _y| 1.0 / x;
        Log2: |x| x.log2(), |x, _y| core::f64::consts::LOG2_E / x;
        Log10: |x| x.log10(), |x, _y| core::f64::consts::LOG10_E / x;
        Ln1p: |x| x.ln_1p(), |x, _y| 1.0 / (1.0 + x);
        Sin: |x| x.sin(), |x, _y| x.cos();
        Cos: |x| x.cos(), |x, _y| -x.sin();
        Tan: |x| x.tan(), |_x, y| 1.0 + y * y;
        Asin: |x| x.asin(), |x, _y| 1.0 / (1.0 - x * x).sqrt();
        Acos: |x| x.acos(), |x, _y| -1.0 / (1.0 - x * x).sqrt();
        Atan: |x| x.atan(), |x, _y| 1.0 / (1.0 + x * x);
        Sinh: |x| x.sinh(), |x, _y| x.cosh();
        Cosh: |x| x.cosh(), |x, _y| x.sinh();
        Tanh: |x| x.tanh(), |_x, y| 1.0 - y * y;
        Asinh: |x| x.asinh(), |x, _y| 1.0 / (1.0 + x * x).sqrt();
        Acosh: |x| x.acosh(), |x, _y| 1.0 / (x * x - 1.0).sqrt();
        Atanh: |x| x.atanh(), |x, _y| 1.0 / (1.0 - x * x);
        Sigmoid: |x| S::ONE / (S::ONE + (-x).exp()), |_x, y| y * (1.0 - y);
        Softplus: |x| x.max(S::ZERO) + (-x.abs()).exp().ln_1p(), |x, _y| x.sigmoid();
        Floor: |x| x.floor(), |x, _y| flat(x);
        Ceil: |x| x.ceil(), |x, _y| flat(x);
        Round: |x| x.round(), |x, _y| flat(x);
    }

    /// xᵖ for a constant power.
    #[derive(Clone, Copy)]
    pub(in crate::system) struct Powf<S>(pub(in crate::system) S);

    impl<S: Scalar> Function<S> for Powf<S> {
        #[inline(always)]
        fn value(self, x: S) -> S {
            x.powf(self.0)
        }
        #[inline(always)]
        fn slope<A: Arithmetic<Scalar = S>>(self, x: Number<A>, _: Number<A>) -> Number<A> {
            Number::constant(self.0) * Number(x.0.apply(Self(self.0 - S::ONE)))
        }
    }

    /// aᵇ
    #[derive(Clone, Copy)]
    pub(in crate::system) struct Pow;

    impl<S: Scalar> Function2<S> for Pow {
        #[inline(always)]
        fn value(self, a: S, b: S) -> S {
            a.powf(b)
        }
        #[inline(always)]
        fn slope_a<A: Arithmetic<Scalar = S>>(
            self,
            a: Number<A>,
            b: Number<A>,
            _: Number<A>,
        ) -> Number<A> {
            b * a.pow(b - 1.0)
        }
        #[inline(always)]
        fn slope_b<A: Arithmetic<Scalar = S>>(
            self,
            a: Number<A>,
            _: Number<A>,
            y: Number<A>,
        ) -> Number<A> {
            y * a.ln()
        }
    }

    /// The angle of the point (b, a): arctan(a/b) in the right quadrant.
    #[derive(Clone, Copy)]
    pub(in crate::system) struct Atan2;

    impl<S: Scalar> Function2<S> for Atan2 {
        #[inline(always)]
        fn value(self, a: S, b: S) -> S {
            a.atan2(b)
        }
        #[inline(always)]
        fn slope_a<A: Arithmetic<Scalar = S>>(
            self,
            a: Number<A>,
            b: Number<A>,
            _: Number<A>,
        ) -> Number<A> {
            b / (a * a + b * b)
        }
        #[inline(always)]
        fn slope_b<A: Arithmetic<Scalar = S>>(
            self,
            a: Number<A>,
            b: Number<A>,
            _: Number<A>,
        ) -> Number<A> {
            -a / (a * a + b * b)
        }
    }

    /// √(a² + b²), without overflow.
    #[derive(Clone, Copy)]
    pub(in crate::system) struct Hypot;

    impl<S: Scalar> Function2<S> for Hypot {
        #[inline(always)]
        fn value(self, a: S, b: S) -> S {
            a.hypot(b)
        }
        #[inline(always)]
        fn slope_a<A: Arithmetic<Scalar = S>>(
            self,
            a: Number<A>,
            _: Number<A>,
            y: Number<A>,
        ) -> Number<A> {
            a / y
        }
        #[inline(always)]
        fn slope_b<A: Arithmetic<Scalar = S>>(
            self,
            _: Number<A>,
            b: Number<A>,
            y: Number<A>,
        ) -> Number<A> {
            b / y
        }
    }
}
