//! A rate written once, with no derivatives: dual numbers supply pushforward and pullback.
//!
//! The pushforward is one evaluation with one direction. The pullback needs ∂A/∂(x, θ) row by row, which
//! forward derivatives give `K` columns at a time: ⌈(D + P)/K⌉ evaluations, each about K + 1 times the plain one.
//! That is the price of not writing a transpose; for large D write [`System::pullback`] by hand.
//! Arrays of known size keep everything on the stack and let `x[1]` be checked when the program is compiled.

use crate::dual::Dual;
use crate::scalar::Scalar;
use crate::system::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};

/// The rate A(θ, x, t) and the criterion J(x) of `D` states and `P` parameters, over a generic number.
///
/// Implement it for a type of your own when the formula has constants; [`formula!`](crate::formula) is the
/// shorthand for those without. [`Derived`] turns it into a [`System`].
pub trait Formula<S: Scalar, const D: usize, const P: usize> {
    /// A(θ, x, t)
    fn rate<const K: usize>(
        &self,
        theta: &[Dual<S, K>; P],
        x: &[Dual<S, K>; D],
        t: Dual<S, K>,
    ) -> [Dual<S, K>; D];

    /// J(x)
    fn criterion<const K: usize>(&self, x: &[Dual<S, K>; D]) -> Dual<S, K>;

    /// f(x) of a running loss; J, which is at hand, unless said otherwise.
    fn loss<const K: usize>(&self, x: &[Dual<S, K>; D], criterion: Dual<S, K>) -> Dual<S, K> {
        let _ = x;
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

impl<F, const D: usize, const P: usize, const K: usize> Derived<F, D, P, K> {
    /// j·J + l·f, leaving out what has no weight.
    fn readings<S: Scalar>(&self, x: &[Dual<S, K>; D], seed: Seed<'_, S>) -> Dual<S, K>
    where
        F: Formula<S, D, P>,
    {
        let criterion = self.formula.criterion(x);
        let weighted = |number: Dual<S, K>, weight: S| {
            if weight == S::ZERO {
                Dual::constant(S::ZERO)
            } else {
                number.chain(weight * number.value, weight)
            }
        };
        let sum = weighted(criterion, seed.criterion);
        if seed.loss == S::ZERO {
            sum
        } else {
            sum + weighted(self.formula.loss(x, criterion), seed.loss)
        }
    }
}

/// Turns slices into constants of the formula. Short slices leave zeros: the engine never passes any.
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
        let (theta, x) = (lift::<S, P, 0>(at.theta), lift::<S, D, 0>(at.x));
        for (to, from) in rate
            .iter_mut()
            .zip(self.formula.rate(&theta, &x, Dual::constant(at.t)))
        {
            *to = from.value;
        }
        let criterion = self.formula.criterion(&x);
        let loss = self.formula.loss(&x, criterion);
        Reading {
            criterion: criterion.value,
            loss: loss.value,
        }
    }

    fn pullback(&self, at: Point<'_, S>, _: &[S], seed: Seed<'_, S>, bar: Bar<'_, S>, _: &mut [S]) {
        // None at a time would be none at all: a gradient of zeros.
        const { assert!(K > 0, "K must be at least 1") };
        let mut first = 0;
        while first < D + P {
            // Directions first..first+K of the joint vector (x, θ).
            let (mut x, mut theta) = (lift::<S, D, K>(at.x), lift::<S, P, K>(at.theta));
            for (k, number) in x
                .iter_mut()
                .chain(&mut theta)
                .skip(first)
                .take(K)
                .enumerate()
            {
                *number = Dual::variable(number.value, k);
            }
            let rate = self.formula.rate(&theta, &x, Dual::constant(at.t));
            // What was not asked for is not evaluated: its slope may be infinite.
            let readings = if seed.criterion != S::ZERO || seed.loss != S::ZERO {
                self.readings(&x, seed)
            } else {
                Dual::constant(S::ZERO)
            };
            let targets = bar.x.iter_mut().chain(bar.theta.iter_mut()).skip(first);
            for (k, (target, slope)) in targets.zip(readings.slope).enumerate() {
                let mut sum = slope;
                for (&a, number) in seed.rate.iter().zip(&rate) {
                    sum += a * number.slope.get(k).copied().unwrap_or(S::ZERO);
                }
                *target += sum;
            }
            first += K;
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
        let (mut theta, mut x) = (lift::<S, P, 1>(at.theta), lift::<S, D, 1>(at.x));
        aim(&mut theta, along.theta);
        aim(&mut x, along.x);
        for (to, from) in rate
            .iter_mut()
            .zip(self.formula.rate(&theta, &x, Dual::constant(at.t)))
        {
            let [slope] = from.slope;
            *to = slope;
        }
        let criterion = self.formula.criterion(&x);
        let ([loss], [criterion]) = (self.formula.loss(&x, criterion).slope, criterion.slope);
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

/// A [`System`] from a formula, no derivatives written.
///
/// ```
/// use dst_core::{Euler, Integrator, Memory, formula};
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
/// second J(x). A third, `|x| …`, is the running loss f(x). Numbers are [`Dual`]s: literals mix in, and the
/// elementary functions are methods (`x[0].exp()`).
#[macro_export]
macro_rules! formula {
    (|$theta:ident: $p:expr, $x:ident: $d:expr, $t:ident| $rate:expr, |$y:ident| $criterion:expr $(, |$z:ident| $loss:expr)? $(,)?) => {{
        #[derive(Clone, Copy, Debug)]
        struct Anonymous;
        impl<S: $crate::Scalar> $crate::Formula<S, { $d }, { $p }> for Anonymous {
            #[inline(always)]
            fn rate<const K: usize>(
                &self,
                $theta: &[$crate::Dual<S, K>; $p],
                $x: &[$crate::Dual<S, K>; $d],
                $t: $crate::Dual<S, K>,
            ) -> [$crate::Dual<S, K>; $d] {
                $rate
            }
            #[inline(always)]
            fn criterion<const K: usize>(&self, $y: &[$crate::Dual<S, K>; $d]) -> $crate::Dual<S, K> {
                $criterion
            }
            $(
                #[inline(always)]
                fn loss<const K: usize>(
                    &self,
                    $z: &[$crate::Dual<S, K>; $d],
                    _: $crate::Dual<S, K>,
                ) -> $crate::Dual<S, K> {
                    $loss
                }
            )?
        }
        $crate::Derived::<_, { $d }, { $p }>::new(Anonymous)
    }};
}
