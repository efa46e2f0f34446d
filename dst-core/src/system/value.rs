//! Objective from f alone: the gradient by a trace, Hessian-vector products by a trace over dual numbers.
//!
//! The gradient is one traced evaluation and a walk back. For ∇²f(x)·v the same is done with dual numbers in the direction v:
//! the slopes of the cotangents are then the entries of the product (forward over reverse).

use core::array::from_fn;

use super::arithmetic::Arithmetic;
use super::dual::Dual;
use super::formula::short_trace;
use super::number::Number;
use super::objective::Objective;
use super::trace::{Recorded, Trace};
use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::split_mut;

/// f(x) of `D` variables, over a generic number. [`objective!`](crate::objective) is the shorthand.
pub trait Value<const D: usize> {
    /// f(x)
    fn value<A: Arithmetic>(&self, x: &[Number<A>; D]) -> Number<A>;
}

/// The [`Objective`] made from a [`Value`], with memory for a trace of up to `TRACE` operations.
#[derive(Clone, Copy, Debug)]
pub struct FromValue<F, const D: usize, const TRACE: usize> {
    /// f
    pub function: F,
}

impl<F: Value<D>, const D: usize, const TRACE: usize> FromValue<F, D, TRACE> {
    /// Objective from f.
    pub const fn new(function: F) -> Self {
        Self { function }
    }

    /// The same objective with memory for a trace of `N` operations; the default of [`objective!`](crate::objective) is 8·D + 16.
    pub fn with_trace<const N: usize>(self) -> FromValue<F, D, N> {
        FromValue {
            function: self.function,
        }
    }

    /// Number of operations that a trace at this point has. Branches of f may have different numbers.
    pub fn trace_len<S: Scalar>(&self, x: &[S; D]) -> usize {
        self.count(x)
    }

    fn count<S: Scalar>(&self, x: &[S]) -> usize {
        let trace = Trace::<Dual<S, 0>>::new(&mut []);
        let at = |i: usize| x.get(i).copied().unwrap_or(S::ZERO);
        let x = from_fn(|i| Number(trace.input(Dual::constant(at(i)), i)));
        let _ = self.function.value(&x);
        trace.len()
    }

    /// f, and the cotangents of the variables in the second slice; `None` if the trace does not fit.
    #[inline(always)]
    fn sweep<'m, V: Recorded>(
        &self,
        x: impl Fn(usize) -> V,
        scratch: &'m mut [V::Scalar],
    ) -> (V, Option<&'m [V::Scalar]>) {
        let (memory, adjoints) = split_mut(scratch, V::RECORD * TRACE);
        let trace = Trace::<V>::new(memory);
        let x = from_fn(|i| Number(trace.input(x(i), i)));
        let f = self.function.value(&x).0;
        if trace.len() > TRACE {
            return (f.inner(), None);
        }
        let (adjoints, _) = split_mut(adjoints, V::ADJOINT * (TRACE + D));
        trace.clear(adjoints);
        trace.seed(adjoints, f, V::constant(V::Scalar::ONE));
        trace.sweep(adjoints);
        let (_, inputs) = split_mut(adjoints, V::ADJOINT * TRACE);
        (f.inner(), Some(inputs))
    }
}

impl<S: Scalar, F: Value<D>, const D: usize, const TRACE: usize> Objective<S>
    for FromValue<F, D, TRACE>
{
    fn dim(&self) -> usize {
        D
    }

    fn scratch_len(&self) -> usize {
        let (record, adjoint) = (<Dual<S, 1>>::RECORD, <Dual<S, 1>>::ADJOINT);
        (record + adjoint)
            .saturating_mul(TRACE)
            .saturating_add(adjoint * D)
    }

    fn value_gradient(&self, x: &[S], gradient: &mut [S], _: &mut [S], scratch: &mut [S]) -> S {
        let at = |i: usize| Dual::<S, 0>::constant(x.get(i).copied().unwrap_or(S::ZERO));
        let (f, inputs) = self.sweep(at, scratch);
        match inputs {
            Some(inputs) => crate::slices::copy(gradient, inputs),
            // No gradient instead of a wrong one; `fault` names the reason.
            None => gradient.fill(S::NAN),
        }
        f.value
    }

    fn add_hessian_vector(&self, x: &[S], v: &[S], _: &[S], out: &mut [S], scratch: &mut [S]) {
        let entry = |values: &[S], i: usize| values.get(i).copied().unwrap_or(S::ZERO);
        let at = |i: usize| Dual::<S, 1> {
            value: entry(x, i),
            slope: [entry(v, i)],
        };
        let (_, inputs) = self.sweep(at, scratch);
        match inputs {
            Some(inputs) => {
                let (pairs, _) = inputs.as_chunks::<2>();
                for (out, [_, product]) in out.iter_mut().zip(pairs) {
                    *out += *product;
                }
            }
            None => out.fill(S::NAN),
        }
    }

    fn fault(&self, x: &[S]) -> Option<Error> {
        short_trace(self.count(x), TRACE)
    }
}

/// Builds an [`Objective`] from f alone: gradient and Hessian-vector product are derived.
///
/// ```
/// use dst_core::methods::Nesterov;
/// use dst_core::{Euler, Memory, objective};
///
/// let valley = objective!(|x: 2| 100.0 * (x[1] - x[0] * x[0]).powi(2) + (1.0 - x[0]).powi(2));
/// // State (y, x), θ = (α, β), 20 slots; the trace takes memory: 180 rows of 4 numbers.
/// let mut memory = Memory::<f64, 4, 2, 20, 180>::new();
/// let s = Euler::new(1.0).until(1e-8).at_most(50_000).sensitivity(
///     &Nesterov::new(valley),
///     &[1e-3, 0.9],
///     &[-1.2, 1.0, -1.2, 1.0],
///     &mut memory,
/// )?;
/// assert!(s.steps_gradient()[1] < 0.0); // more momentum stops sooner
/// # Ok::<(), dst_core::Error>(())
/// ```
///
/// Constants are captured as in [`formula!`](crate::formula): `objective!(with a = 1.0, data: [f64; 8] = samples; |x: 3| …)`; a named type is
/// written `objective!(pub struct Valley { a: f64 } |x: 2| …)` and made into an objective by `objective()`. The body may be a block
/// with loops and branches.
///
/// The trace has room for 8·D + 16 operations with two operands; [`FromValue::with_trace`] sets another number, and the error of a
/// trace that does not fit names it. A gradient costs a few evaluations of f, whatever D is; the product at most three times as
/// much as the gradient.
#[macro_export]
macro_rules! objective {
    (with $($name:ident $(: $type:ty)? = $value:expr),+ $(,)?; |$x:ident: $d:tt| $f:expr $(,)?) => {{
        #[derive(Clone, Copy, Debug)]
        struct Anonymous {
            $($name: $crate::formula!(@type $($type)?)),+
        }
        $crate::objective!(@impl Anonymous [$($name)+] |$x: $d| $f);
        $crate::system::FromValue::<_, { $d }, { 8 * ($d) + 16 }>::new(Anonymous { $($name: $value),+ })
    }};
    (|$x:ident: $d:tt| $f:expr $(,)?) => {{
        #[derive(Clone, Copy, Debug)]
        struct Anonymous;
        $crate::objective!(@impl Anonymous [] |$x: $d| $f);
        $crate::system::FromValue::<_, { $d }, { 8 * ($d) + 16 }>::new(Anonymous)
    }};
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($field:ident: $type:ty),* $(,)? } |$x:ident: $d:tt| $f:expr $(,)?) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $(#[doc = concat!("Constant `", stringify!($field), "` of the objective.")] $vis $field: $type),*
        }
        $crate::objective!(@impl $name [$($field)*] |$x: $d| $f);
        impl $name {
            /// The function as an objective.
            #[allow(dead_code)]
            $vis const fn objective(self) -> $crate::system::FromValue<Self, { $d }, { 8 * ($d) + 16 }> {
                $crate::system::FromValue::new(self)
            }
        }
    };
    (@impl $name:ident $fields:tt |$x:ident: $d:tt| $f:expr) => {
        impl $crate::system::Value<{ $d }> for $name {
            #[inline(always)]
            fn value<A: $crate::system::Arithmetic>(
                &self,
                $x: &[$crate::system::Number<A>; $d],
            ) -> $crate::system::Number<A> {
                $crate::formula!(@lift self A $fields);
                $f
            }
        }
    };
    ($($other:tt)*) => {
        ::core::compile_error!(
            "expected objective!(|x: D| f): the number of variables and f; constants go in front: objective!(with a = 1.0; |x: D| f)"
        )
    };
}
