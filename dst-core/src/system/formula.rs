//! System from a formula, without derivatives: dual numbers or a trace supply pushforward and pullback.
//!
//! The pushforward is one evaluation with one direction. For the pullback there are two ways:
//!
//! - *Dual numbers* give `K` columns of ∂A/∂(x, θ) at a time, in ⌈(D + P)/K⌉ evaluations, each about K + 1 times the cost of a plain
//!   one. No memory.
//! - *A trace* ([`trace`](super::trace)) gives all of them from one traced evaluation and one walk back, for about
//!   [`REVERSE`] plain evaluations whatever D and P are. Memory: 5 numbers per operation with two operands, in the scratch memory
//!   of the run.
//!
//! [`Derived::with_trace`] lends the memory; the cheaper of the two is then used, by these counts. Arrays of known size keep
//! everything else on the stack and let the compiler check `x[1]`.

use core::array::from_fn;

use super::arithmetic::Arithmetic;
use super::dual::Dual;
use super::number::Number;
use super::trace::{Recorded, Trace, Traced};
use super::{Bar, Cost, Dims, Direction, Point, Reading, Seed, System};
use crate::error::{Argument, Error};
use crate::scalar::Scalar;
use crate::slices::split_mut;

/// Cost of a pullback by the trace, in plain evaluations: between 4 (elementary functions) and 25 (sums and products alone, which
/// are single instructions). Dual numbers are used up to this cost.
const REVERSE: usize = 15;

/// Number of a traced evaluation.
type Recording<'t, S> = Number<Traced<'t, Dual<S, 0>>>;

/// The rate A(θ, x, t) and the criterion J(θ, x, t) of `D` states and `P` parameters, over a generic number.
///
/// [`formula!`](crate::formula) is the shorthand. [`Derived`] turns a formula into a [`System`].
pub trait Formula<const D: usize, const P: usize> {
    /// A(θ, x, t)
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
    ) -> [Number<A>; D];

    /// J(θ, x, t)
    fn criterion<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
    ) -> Number<A>;

    /// f(θ, x, t) of a running loss; J, which is already computed, unless overridden.
    fn loss<A: Arithmetic>(
        &self,
        theta: &[Number<A>; P],
        x: &[Number<A>; D],
        t: Number<A>,
        criterion: Number<A>,
    ) -> Number<A> {
        let _ = (theta, x, t);
        criterion
    }
}

/// The [`System`] made from a [`Formula`]: `K` derivative directions per evaluation, or a trace of up to `TRACE` operations.
#[derive(Clone, Copy, Debug)]
pub struct Derived<F, const D: usize, const P: usize, const K: usize = 4, const TRACE: usize = 0> {
    /// The formula.
    pub formula: F,
}

impl<F, const D: usize, const P: usize> Derived<F, D, P> {
    /// Four directions at a time: a good default from Cortex-M0 to AVX.
    pub const fn new(formula: F) -> Self {
        Self { formula }
    }
}

impl<F, const D: usize, const P: usize, const K: usize, const TRACE: usize>
    Derived<F, D, P, K, TRACE>
{
    /// True if pullbacks use the trace: its memory is there, and dual numbers would cost more.
    pub const REVERSE: bool = TRACE > 0 && Self::DUAL_COST > REVERSE;

    /// Cost of a pullback by dual numbers, in plain evaluations.
    const DUAL_COST: usize = {
        assert!(K > 0, "K must be at least 1"); // with K = 0 the gradient would be all zeros
        (D + P).div_ceil(K).saturating_mul(K.saturating_add(1))
    };

    /// The same system with memory for a trace of up to `N` operations: pullbacks at a cost that does not grow with D + P.
    ///
    /// [`trace_len`](Self::trace_len) tells how many are needed. With fewer, a gradient is refused, with the number in the error.
    /// The memory is part of the scratch memory of the run ([`Dims::scratch`]).
    pub fn with_trace<const N: usize>(self) -> Derived<F, D, P, K, N> {
        Derived {
            formula: self.formula,
        }
    }

    /// Number of operations that a trace at this point has. Branches of the formula may have different numbers.
    pub fn trace_len<S: Scalar>(&self, theta: &[S; P], x: &[S; D], t: S) -> usize
    where
        F: Formula<D, P>,
    {
        let trace = Trace::<Dual<S, 0>>::new(&mut []);
        self.trace(&trace, Point { theta, x, t });
        trace.len()
    }

    /// Traced evaluation of A, J and f. The inputs are numbered x, θ, t.
    #[inline(always)]
    fn trace<'t, S: Scalar>(
        &self,
        trace: &'t Trace<'t, Dual<S, 0>>,
        at: Point<'_, S>,
    ) -> ([Recording<'t, S>; D], [Recording<'t, S>; 2])
    where
        F: Formula<D, P>,
    {
        let input = |values: &[S], i: usize, first: usize| {
            let value = values.get(i).copied().unwrap_or(S::ZERO);
            Number(trace.input(Dual::constant(value), first.wrapping_add(i)))
        };
        let x = from_fn(|i| input(at.x, i, 0));
        let theta = from_fn(|i| input(at.theta, i, D));
        let t = Number(trace.input(Dual::constant(at.t), D + P));
        let rate = self.formula.rate(&theta, &x, t);
        let criterion = self.formula.criterion(&theta, &x, t);
        let loss = self.formula.loss(&theta, &x, t, criterion);
        (rate, [criterion, loss])
    }

    /// Pullback by the trace.
    fn reverse<S: Scalar>(
        &self,
        at: Point<'_, S>,
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) where
        F: Formula<D, P>,
    {
        let (memory, adjoints) = split_mut(scratch, <Dual<S, 0>>::RECORD * TRACE);
        let trace = Trace::<Dual<S, 0>>::new(memory);
        let (rate, [criterion, loss]) = self.trace(&trace, at);
        if trace.len() > TRACE {
            // No gradient instead of a wrong one; `fault` names the reason.
            bar.theta.fill(S::NAN);
            bar.x.fill(S::NAN);
            return;
        }
        trace.clear(adjoints);
        for (&a, output) in seed.rate.iter().zip(rate) {
            trace.seed(adjoints, output.0, Dual::constant(a));
        }
        trace.seed(adjoints, criterion.0, Dual::constant(seed.criterion));
        trace.seed(adjoints, loss.0, Dual::constant(seed.loss));
        trace.sweep(adjoints);
        let (_, inputs) = split_mut(adjoints, TRACE);
        let targets = bar.x.iter_mut().chain(bar.theta.iter_mut());
        for (target, input) in targets.chain(bar.t).zip(inputs) {
            *target += *input;
        }
    }
}

/// The arguments of a formula as dual numbers.
struct Arguments<S, const D: usize, const P: usize, const K: usize> {
    theta: [Number<Dual<S, K>>; P],
    x: [Number<Dual<S, K>>; D],
    t: Number<Dual<S, K>>,
}

impl<S: Scalar, const D: usize, const P: usize, const K: usize> Arguments<S, D, P, K> {
    /// Constants, with no direction.
    #[inline(always)]
    fn at(point: Point<'_, S>) -> Self {
        Self {
            theta: lift(point.theta),
            x: lift(point.x),
            t: Number::constant(point.t),
        }
    }
}

/// Converts slices to constants of the formula. Missing entries are zero; the engine never passes short slices.
#[inline(always)]
fn lift<S: Scalar, const N: usize, const K: usize>(values: &[S]) -> [Number<Dual<S, K>>; N] {
    let mut lifted: [Number<Dual<S, K>>; N] = [Number::constant(S::ZERO); N];
    for (to, &from) in lifted.iter_mut().zip(values) {
        to.0.value = from;
    }
    lifted
}

#[inline(always)]
fn aim<S: Scalar, const N: usize>(lifted: &mut [Number<Dual<S, 1>>; N], direction: &[S]) {
    for (number, &slope) in lifted.iter_mut().zip(direction) {
        number.0.slope = [slope];
    }
}

impl<F, const D: usize, const P: usize, const K: usize, const TRACE: usize>
    Derived<F, D, P, K, TRACE>
{
    /// The slopes of a·A + j·J + l·f along every direction of the arguments. A zero seed is not evaluated: its slope may be
    /// infinite.
    #[inline(always)]
    fn slopes<S: Scalar, const L: usize>(
        &self,
        arguments: &Arguments<S, D, P, L>,
        seed: Seed<'_, S>,
    ) -> [S; L]
    where
        F: Formula<D, P>,
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
                *sum += a * number.0.slope.get(k).copied().unwrap_or(S::ZERO);
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
        F: Formula<D, P>,
    {
        let criterion = self.formula.criterion(theta, x, *t);
        let weighted = |number: Number<Dual<S, L>>, weight: S| {
            if weight == S::ZERO {
                Dual::constant(S::ZERO)
            } else {
                number.0.times(weight)
            }
        };
        let mut sum = weighted(criterion, seed.criterion);
        if seed.loss != S::ZERO {
            let loss = self.formula.loss(theta, x, *t, criterion);
            sum = sum + weighted(loss, seed.loss);
        }
        sum.slope
    }
}

impl<S, F, const D: usize, const P: usize, const K: usize, const TRACE: usize> System<S>
    for Derived<F, D, P, K, TRACE>
where
    S: Scalar,
    F: Formula<D, P>,
{
    #[inline(always)]
    fn dims(&self) -> Dims {
        let dims = Dims::new(D, P);
        if Self::REVERSE {
            // Records, their cotangents, and those of the inputs.
            let trace = TRACE.saturating_mul(<Dual<S, 0>>::RECORD + 1);
            dims.with_scratch(trace.saturating_add(D + P + 1))
        } else {
            dims
        }
    }

    #[inline(always)]
    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        let Arguments { theta, x, t } = Arguments::<S, D, P, 0>::at(at);
        let values = self.formula.rate(&theta, &x, t);
        for (to, from) in rate.iter_mut().zip(values) {
            *to = from.value();
        }
        let criterion = self.formula.criterion(&theta, &x, t);
        let loss = self.formula.loss(&theta, &x, t, criterion);
        Reading {
            criterion: criterion.value(),
            loss: loss.value(),
        }
    }

    fn pullback(
        &self,
        at: Point<'_, S>,
        _: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        if Self::REVERSE {
            return self.reverse(at, seed, bar, scratch);
        }
        let mut first = 0;
        while first < D + P {
            // Directions first..first+K of the joint vector (x, θ).
            let mut arguments = Arguments::<S, D, P, K>::at(at);
            let Arguments { x, theta, .. } = &mut arguments;
            let joint = x.iter_mut().chain(theta);
            for (k, number) in joint.skip(first).take(K).enumerate() {
                *number = Number(Dual::variable(number.value(), k));
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
            arguments.t = Number(Dual::variable(at.t, 0));
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
        arguments.t.0.slope = [along.t];
        let Arguments { theta, x, t } = arguments;
        for (to, from) in rate.iter_mut().zip(self.formula.rate(&theta, &x, t)) {
            let [slope] = from.0.slope;
            *to = slope;
        }
        let criterion = self.formula.criterion(&theta, &x, t);
        let loss = self.formula.loss(&theta, &x, t, criterion);
        let ([loss], [criterion]) = (loss.0.slope, criterion.0.slope);
        Reading { criterion, loss }
    }

    fn cost(&self) -> Cost {
        let pullback = if Self::REVERSE {
            REVERSE
        } else {
            Self::DUAL_COST
        };
        Cost {
            pullback: Some(u32::try_from(pullback).unwrap_or(u32::MAX)),
            pushforward: Some(2),
        }
    }

    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        if !Self::REVERSE {
            return None;
        }
        let trace = Trace::<Dual<S, 0>>::new(&mut []);
        self.trace(&trace, at);
        short_trace(trace.len(), TRACE)
    }
}

/// The error of a trace that does not fit.
pub(super) fn short_trace(needed: usize, given: usize) -> Option<Error> {
    (needed > given).then_some(Error::Length {
        argument: Argument::Trace,
        needed,
        given,
    })
}

/// Value that a formula captures: a constant while the formula is differentiated.
///
/// Numbers become numbers of the formula, arrays of them arrays; integers and `bool` stay what they are. Firmware without double
/// precision captures `f32`: an `f64` is converted at every evaluation.
pub trait Capture: Copy {
    /// The value inside the formula.
    type As<A: Arithmetic>: Copy;
    /// Converts the value.
    fn lift<A: Arithmetic>(self) -> Self::As<A>;
}

macro_rules! capture {
    ($($number:ty)*; $($same:ty)*) => {
        $(impl Capture for $number {
            type As<A: Arithmetic> = Number<A>;
            #[inline(always)]
            fn lift<A: Arithmetic>(self) -> Number<A> {
                self.into()
            }
        })*
        $(impl Capture for $same {
            type As<A: Arithmetic> = Self;
            #[inline(always)]
            fn lift<A: Arithmetic>(self) -> Self {
                self
            }
        })*
    };
}

capture!(f32 f64; bool i32 u32 usize);

impl<T: Capture, const N: usize> Capture for [T; N] {
    type As<A: Arithmetic> = [T::As<A>; N];
    #[inline(always)]
    fn lift<A: Arithmetic>(self) -> [T::As<A>; N] {
        self.map(T::lift)
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
/// # Captured constants
///
/// A formula is no closure: it is compiled for several kinds of numbers, so it captures what `with` names, as `f64` or with a type
/// ([`Capture`]). The compiler answers a forgotten name with E0434, "can't capture dynamic environment".
///
/// ```
/// # use dst_core::{Euler, Memory, formula};
/// let (mass, springs) = (2.0, [1.0, 0.5]);
/// let plant = formula!(with m = mass, k: [f64; 2] = springs; |theta: 1, x: 2, _t| [
///     -x[1],
///     (k[0] * x[0] + k[1] * x[0].powi(3) + theta[0] * x[1]).clamp(-5.0, 5.0) / m,
/// ], |x| x[0] * x[0] + x[1] * x[1]);
/// # let mut memory = Memory::<f64, 2, 1, 8>::new();
/// let s = Euler::new(0.01).until(1e-4).sensitivity(&plant, &[0.2], &[1.0, 0.0], &mut memory)?;
/// assert!(s.time_gradient()[0] < 0.0); // more friction stops sooner
/// # Ok::<(), dst_core::Error>(())
/// ```
///
/// # A named type
///
/// With a name the formula can be a field, a return type or a `static`; `system()` makes the [`Derived`] system.
///
/// ```
/// # use dst_core::{formula, system::Derived};
/// formula!(
///     /// A pendulum with friction.
///     pub struct Pendulum { length: f64, friction: f64 }
///     |theta: 1, x: 2, _t| [-x[1], 9.81 / length * x[0].sin() + (friction + theta[0]) * x[1]],
///     |x| x[0] * x[0]
/// );
/// struct Rig { plant: Derived<Pendulum, 2, 1> }
/// let rig = Rig { plant: Pendulum { length: 0.5, friction: 0.1 }.system() };
/// assert_eq!(rig.plant.formula.length, 0.5);
/// ```
///
/// # Many states
///
/// With D + P above a dozen, [`Derived::with_trace`] makes pullbacks cheap.
///
/// The numbers are [`Number`](crate::system::Number)s: literals can be used directly, and the elementary functions are methods
/// (`x[0].exp()`).
#[macro_export]
macro_rules! formula {
    (with $($name:ident $(: $type:ty)? = $value:expr),+ $(,)?;
     |$theta:ident: $p:expr, $x:ident: $d:expr, $t:ident| $rate:expr, $($readings:tt)*) => {{
        #[derive(Clone, Copy, Debug)]
        struct Anonymous {
            $($name: $crate::formula!(@type $($type)?)),+
        }
        $crate::formula!(@impl Anonymous [$($name)+] |$theta: $p, $x: $d, $t| $rate, $($readings)*);
        $crate::system::Derived::<_, { $d }, { $p }>::new(Anonymous { $($name: $value),+ })
    }};
    (|$theta:ident: $p:expr, $x:ident: $d:expr, $t:ident| $rate:expr, $($readings:tt)*) => {{
        #[derive(Clone, Copy, Debug)]
        struct Anonymous;
        $crate::formula!(@impl Anonymous [] |$theta: $p, $x: $d, $t| $rate, $($readings)*);
        $crate::system::Derived::<_, { $d }, { $p }>::new(Anonymous)
    }};
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($field:ident: $type:ty),* $(,)? }
     |$theta:ident: $p:expr, $x:ident: $d:expr, $t:ident| $rate:expr, $($readings:tt)*) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $(#[doc = concat!("Constant `", stringify!($field), "` of the formula.")] $vis $field: $type),*
        }
        $crate::formula!(@impl $name [$($field)*] |$theta: $p, $x: $d, $t| $rate, $($readings)*);
        impl $name {
            /// The formula as a system.
            #[allow(dead_code)]
            $vis const fn system(self) -> $crate::system::Derived<Self, { $d }, { $p }> {
                $crate::system::Derived::new(self)
            }
        }
    };
    (@impl $name:ident $fields:tt
     |$theta:ident: $p:expr, $x:ident: $d:expr, $t:ident| $rate:expr, $($readings:tt)*) => {
        impl $crate::Formula<{ $d }, { $p }> for $name {
            #[allow(unused_variables)]
            #[inline(always)]
            fn rate<A: $crate::system::Arithmetic>(
                &self,
                $theta: &[$crate::system::Number<A>; $p],
                $x: &[$crate::system::Number<A>; $d],
                $t: $crate::system::Number<A>,
            ) -> [$crate::system::Number<A>; $d] {
                $crate::formula!(@lift self A $fields);
                $rate
            }
            $crate::formula!(@criterion $p, $d, $fields $($readings)*);
        }
    };
    (@criterion $p:expr, $d:expr, $fields:tt |$x:ident| $criterion:expr $(, $($loss:tt)*)?) => {
        $crate::formula!(@criterion $p, $d, $fields |_theta, $x, _t| $criterion $(, $($loss)*)?);
    };
    (@criterion $p:expr, $d:expr, $fields:tt |$theta:ident, $x:ident, $t:ident| $criterion:expr $(, $($loss:tt)*)?) => {
        #[allow(unused_variables)]
        #[inline(always)]
        fn criterion<A: $crate::system::Arithmetic>(
            &self,
            $theta: &[$crate::system::Number<A>; $p],
            $x: &[$crate::system::Number<A>; $d],
            $t: $crate::system::Number<A>,
        ) -> $crate::system::Number<A> {
            $crate::formula!(@lift self A $fields);
            $criterion
        }
        $($crate::formula!(@loss $p, $d, $fields $($loss)*);)?
    };
    (@loss $p:expr, $d:expr, $fields:tt) => {};
    (@loss $p:expr, $d:expr, $fields:tt |$x:ident| $loss:expr $(,)?) => {
        $crate::formula!(@loss $p, $d, $fields |_theta, $x, _t| $loss);
    };
    (@loss $p:expr, $d:expr, $fields:tt |$theta:ident, $x:ident, $t:ident| $loss:expr $(,)?) => {
        #[allow(unused_variables)]
        #[inline(always)]
        fn loss<A: $crate::system::Arithmetic>(
            &self,
            $theta: &[$crate::system::Number<A>; $p],
            $x: &[$crate::system::Number<A>; $d],
            $t: $crate::system::Number<A>,
            _: $crate::system::Number<A>,
        ) -> $crate::system::Number<A> {
            $crate::formula!(@lift self A $fields);
            $loss
        }
    };
    // The type of a captured constant.
    (@type) => { f64 };
    (@type $type:ty) => { $type };
    // The captured constants as numbers of the formula.
    (@lift $self:ident $arithmetic:ident [$($field:ident)*]) => {
        $(let $field = $crate::system::Capture::lift::<$arithmetic>($self.$field);)*
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected formula!(|theta: P, x: D, t| [A_1, ..., A_D], |x| J): the rate as an array of D entries, then the criterion; \
             constants go in front: formula!(with mass = m; |theta: P, x: D, t| ...)"
        )
    };
}
