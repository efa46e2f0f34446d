//! System from a formula, without derivatives: dual numbers supply pushforward and pullback.
//!
//! The pushforward is one evaluation with one direction. The pullback needs ∂A/∂(x, θ) row by row; forward derivatives give `K`
//! columns at a time, in ⌈(D + P)/K⌉ evaluations, each about K + 1 times the cost of a plain one. For large D, write
//! [`System::pullback`] by hand instead. Arrays of known size keep everything on the stack and let the compiler check `x[1]`.

use super::dual::Dual;
use super::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};
use crate::scalar::Scalar;

/// The rate A(θ, x, t) and the criterion J(θ, x, t) of `D` states and `P` parameters, over a generic number.
///
/// Implement it for a type of your own if the formula has constants; [`formula!`](crate::formula) is the shorthand for those
/// without. [`Derived`] turns it into a [`System`].
pub trait Formula<S: Scalar, const D: usize, const P: usize> {
    /// A(θ, x, t)
    fn rate<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> [Dual<S, K>; D];

    /// J(θ, x, t)
    fn criterion<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> Dual<S, K>;

    /// f(θ, x, t) of a running loss; J, which is already computed, unless overridden.
    fn loss<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
        criterion: Dual<S, K>,
    ) -> Dual<S, K> {
        let _ = (theta, x, t);
        criterion
    }
}

/// The [`System`] made from a [`Formula`], with `K` derivative directions per evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Derived<F, const D: usize, const P: usize, const K: usize = 4> {
    /// The formula.
    pub formula: F,
}

impl<F, const D: usize, const P: usize> Derived<F, D, P> {
    /// Four directions at a time: a good default from Cortex-M0 to AVX.
    pub const fn new(formula: F) -> Self {
        Self { formula }
    }
}

/// The arguments of a formula as dual numbers.
struct Arguments<S, const D: usize, const P: usize, const K: usize> {
    theta: [Dual<S, K>; P],
    x: [Dual<S, K>; D],
    t: Dual<S, K>,
}

impl<S: Scalar, const D: usize, const P: usize, const K: usize> Arguments<S, D, P, K> {
    /// Constants, with no direction.
    #[inline(always)]
    fn at(point: Point<'_, S>) -> Self {
        Self {
            theta: lift(point.theta),
            x: lift(point.x),
            t: Dual::constant(point.t),
        }
    }
}

/// Converts slices to constants of the formula. Missing entries are zero; the engine never passes short slices.
#[inline(always)]
fn lift<S: Scalar, const N: usize, const K: usize>(values: &[S]) -> [Dual<S, K>; N] {
    let mut lifted = [Dual::constant(S::ZERO); N];
    for (to, &from) in lifted.iter_mut().zip(values) {
        to.value = from;
    }
    lifted
}

#[inline(always)]
fn aim<S: Scalar, const N: usize>(lifted: &mut [Dual<S, 1>; N], direction: &[S]) {
    for (number, &slope) in lifted.iter_mut().zip(direction) {
        number.slope = [slope];
    }
}

impl<F, const D: usize, const P: usize, const K: usize> Derived<F, D, P, K> {
    /// The slopes of a·A + j·J + l·f along every direction of the arguments. A zero seed is not evaluated: its slope may be
    /// infinite.
    #[inline(always)]
    fn slopes<S: Scalar, const L: usize>(
        &self,
        arguments: &Arguments<S, D, P, L>,
        seed: Seed<'_, S>,
    ) -> [S; L]
    where
        F: Formula<S, D, P>,
    {
        let Arguments { theta, x, t } = arguments;
        let rate = self.formula.rate(theta, x, *t);
        let mut sums = if seed.criterion != S::ZERO || seed.loss != S::ZERO {
            self.readings(arguments, seed)
        } else {
            [S::ZERO; L]
        };
        for (k, sum) in sums.iter_mut().enumerate() {
            for (&a, number) in seed.rate.iter().zip(&rate) {
                *sum += a * number.slope.get(k).copied().unwrap_or(S::ZERO);
            }
        }
        sums
    }

    /// The slopes of j·J + l·f.
    fn readings<S: Scalar, const L: usize>(
        &self,
        Arguments { theta, x, t }: &Arguments<S, D, P, L>,
        seed: Seed<'_, S>,
    ) -> [S; L]
    where
        F: Formula<S, D, P>,
    {
        let criterion = self.formula.criterion(theta, x, *t);
        let weighted = |number: Dual<S, L>, weight: S| {
            if weight == S::ZERO {
                Dual::constant(S::ZERO)
            } else {
                number.chain(weight * number.value, weight)
            }
        };
        let mut sum = weighted(criterion, seed.criterion);
        if seed.loss != S::ZERO {
            let loss = self.formula.loss(theta, x, *t, criterion);
            sum += weighted(loss, seed.loss);
        }
        sum.slope
    }
}

impl<S, F, const D: usize, const P: usize, const K: usize> System<S> for Derived<F, D, P, K>
where
    S: Scalar,
    F: Formula<S, D, P>,
{
    #[inline(always)]
    fn dims(&self) -> Dims {
        Dims::new(D, P)
    }

    #[inline(always)]
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        let Arguments { theta, x, t } = Arguments::<S, D, P, 0>::at(at);
        let values = self.formula.rate(&theta, &x, t);
        for (to, from) in rate.iter_mut().zip(values) {
            *to = from.value;
        }
        let criterion = self.formula.criterion(&theta, &x, t);
        let loss = self.formula.loss(&theta, &x, t, criterion);
        Reading {
            criterion: criterion.value,
            loss: loss.value,
        }
    }

    fn pullback(&self, at: Point<'_, S>, _: &[S], seed: Seed<'_, S>, bar: Bar<'_, S>, _: &mut [S]) {
        // With K = 0, the gradient would be all zeros.
        const { assert!(K > 0, "K must be at least 1") };
        let mut first = 0;
        while first < D + P {
            // Directions first..first+K of the joint vector (x, θ).
            let mut arguments = Arguments::<S, D, P, K>::at(at);
            let Arguments { x, theta, .. } = &mut arguments;
            let joint = x.iter_mut().chain(theta);
            for (k, number) in joint.skip(first).take(K).enumerate() {
                *number = Dual::variable(number.value, k);
            }
            let slopes = self.slopes(&arguments, seed);
            let targets = bar.x.iter_mut().chain(bar.theta.iter_mut()).skip(first);
            for (target, slope) in targets.zip(slopes) {
                *target += slope;
            }
            first += K;
        }
        if let Some(t_bar) = bar.t {
            let mut arguments = Arguments::<S, D, P, 1>::at(at);
            arguments.t = Dual::variable(at.t, 0);
            let [slope] = self.slopes(&arguments, seed);
            *t_bar += slope;
        }
    }

    fn pushforward(
        &self,
        at: Point<'_, S>,
        _: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        _: &mut [S],
    ) -> Reading<S> {
        let mut arguments = Arguments::<S, D, P, 1>::at(at);
        aim(&mut arguments.theta, along.theta);
        aim(&mut arguments.x, along.x);
        arguments.t.slope = [along.t];
        let Arguments { theta, x, t } = arguments;
        for (to, from) in rate.iter_mut().zip(self.formula.rate(&theta, &x, t)) {
            let [slope] = from.slope;
            *to = slope;
        }
        let criterion = self.formula.criterion(&theta, &x, t);
        let loss = self.formula.loss(&theta, &x, t, criterion);
        let ([loss], [criterion]) = (loss.slope, criterion.slope);
        Reading { criterion, loss }
    }

    fn cost(&self) -> Cost {
        const { assert!(K > 0, "K must be at least 1") };
        let pullback = (D + P).div_ceil(K).saturating_mul(K.saturating_add(1));
        Cost {
            pullback: Some(u32::try_from(pullback).unwrap_or(u32::MAX)),
            pushforward: Some(2),
        }
    }
}

/// Builds a [`System`] from a formula, without derivatives.
///
/// ```
/// use dst_core::{Euler, Memory, formula};
/// // A = diag(1, θ)·∇f with f = ½x₁² + 2x₂²; stop when ‖∇f‖² ≤ 1e-4
/// let flow = formula!(
///     |theta: 1, x: 2, _t| [x[0], theta[0] * x[1] * 4.0],
///     |x| x[0] * x[0] + x[1] * x[1] * 16.0,
/// );
/// let mut memory = Memory::<f64, 2, 1, 8>::new(); // 2 states, 1 parameter, 8 checkpoint slots
/// let s = Euler::new(0.05).until(1e-4).sensitivity(&flow, &[1.0], &[1.0, 1.0], &mut memory)?;
/// assert_eq!(s.steps, 90);
/// # Ok::<(), dst_core::Error>(())
/// ```
///
/// `|theta: 1, x: 2, t|` names the arguments and their lengths; the first body is A(θ, x, t), an array, the
/// second J. A third is the loss f. J and f are written `|x| …`, or `|theta, x, t| …` where they depend on more:
///
/// ```
/// # use dst_core::{Euler, Memory, formula};
/// // x follows the target r(t) = t with gain θ; stop when it is at most 0.1 behind.
/// let tracking = formula!(
///     |theta: 1, x: 1, t| [theta[0] * (x[0] - t) - 1.0],
///     |theta, x, t| (x[0] - t) * (x[0] - t),
/// );
/// # let mut memory = Memory::<f64, 1, 1, 8>::new();
/// let s = Euler::new(0.01).until(0.01).sensitivity(&tracking, &[2.0], &[-1.0], &mut memory)?;
/// assert!(s.time_gradient()[0] < 0.0);
/// # Ok::<(), dst_core::Error>(())
/// ```
///
/// Numbers are [`Dual`]s: literals can be used directly, and the elementary functions are methods (`x[0].exp()`).
#[macro_export]
macro_rules! formula {
    (|$theta:ident: $p:expr, $x:ident: $d:expr, $t:ident| $rate:expr, $($readings:tt)*) => {{
        #[derive(Clone, Copy, Debug)]
        struct Anonymous;
        impl<S: $crate::Scalar> $crate::Formula<S, { $d }, { $p }> for Anonymous {
            #[inline(always)]
            fn rate<const K: usize>(
                &self,
                $theta: &[$crate::system::Dual<S, K>; $p],
                $x: &[$crate::system::Dual<S, K>; $d],
                $t: $crate::system::Dual<S, K>,
            ) -> [$crate::system::Dual<S, K>; $d] {
                $rate
            }
            $crate::formula!(@readings $p, $d, $($readings)*);
        }
        $crate::system::Derived::<_, { $d }, { $p }>::new(Anonymous)
    }};
    (@readings $p:expr, $d:expr, |$x:ident| $criterion:expr $(, $($loss:tt)*)?) => {
        $crate::formula!(@readings $p, $d, |_theta, $x, _t| $criterion $(, $($loss)*)?);
    };
    (@readings $p:expr, $d:expr, |$theta:ident, $x:ident, $t:ident| $criterion:expr $(, $($loss:tt)*)?) => {
        #[allow(unused_variables)]
        #[inline(always)]
        fn criterion<const K: usize>(
            &self,
            $theta: &[$crate::system::Dual<S, K>; $p],
            $x: &[$crate::system::Dual<S, K>; $d],
            $t: $crate::system::Dual<S, K>,
        ) -> $crate::system::Dual<S, K> {
            $criterion
        }
        $($crate::formula!(@loss $p, $d, $($loss)*);)?
    };
    (@loss $p:expr, $d:expr,) => {};
    (@loss $p:expr, $d:expr, |$x:ident| $loss:expr $(,)?) => {
        $crate::formula!(@loss $p, $d, |_theta, $x, _t| $loss);
    };
    (@loss $p:expr, $d:expr, |$theta:ident, $x:ident, $t:ident| $loss:expr $(,)?) => {
        #[allow(unused_variables)]
        #[inline(always)]
        fn loss<const K: usize>(
            &self,
            $theta: &[$crate::system::Dual<S, K>; $p],
            $x: &[$crate::system::Dual<S, K>; $d],
            $t: $crate::system::Dual<S, K>,
            _: $crate::system::Dual<S, K>,
        ) -> $crate::system::Dual<S, K> {
            $loss
        }
    };
}
