//! Objective from f alone, of any size.

use dst_core::system::trace::{Recorded, Trace};
use dst_core::system::{Arithmetic, Dual, Number};
use dst_core::{Error, Objective, Scalar};

use super::{ROOM, short_trace};

/// f(x), over a generic number.
pub trait Function {
    /// Number of variables.
    fn dim(&self) -> usize;
    /// f(x)
    fn value<A: Arithmetic>(&self, x: &[Number<A>]) -> Number<A>;
}

/// The [`Objective`] made from a [`Function`]: the gradient by a trace, Hessian-vector products by a trace over dual numbers.
///
/// ```
/// use dst_core::Objective;
/// use dst_core::system::{Arithmetic, Number};
/// use dst_std::formula::{FromFunction, Function};
///
/// struct Bowl(Vec<f64>);
/// impl Function for Bowl {
///     fn dim(&self) -> usize {
///         self.0.len()
///     }
///     fn value<A: Arithmetic>(&self, x: &[Number<A>]) -> Number<A> {
///         x.iter().zip(&self.0).map(|(&x, &w)| w * x.powi(4)).sum()
///     }
/// }
/// let bowl = FromFunction::new(Bowl(vec![1.0, 2.0]), &[1.0_f64, 1.0]);
/// let (mut gradient, mut scratch) = ([0.0; 2], vec![0.0; Objective::<f64>::scratch_len(&bowl)]);
/// assert_eq!(bowl.value_gradient(&[1.0, 2.0], &mut gradient, &mut [], &mut scratch), 33.0);
/// assert_eq!(gradient, [4.0, 64.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FromFunction<F> {
    function: F,
    trace: usize,
}

impl<F: Function> FromFunction<F> {
    /// Objective from f. The length of the trace is found by an evaluation at `x`, and doubled: a branch may need more.
    pub fn new<S: Scalar>(function: F, x: &[S]) -> Self {
        let objective = Self { function, trace: 0 };
        let trace = objective.trace_len(x).saturating_mul(ROOM);
        Self { trace, ..objective }
    }

    /// The same objective with room for this many operations in the trace.
    pub fn with_trace(self, trace: usize) -> Self {
        Self { trace, ..self }
    }

    /// Number of operations that a trace at this point has.
    pub fn trace_len<S: Scalar>(&self, x: &[S]) -> usize {
        let trace = Trace::<Dual<S, 0>>::new(&mut []);
        let input = |(i, &v)| trace.input(Dual::constant(v), i).into();
        let x: Vec<_> = x.iter().enumerate().map(input).collect();
        let _ = self.function.value(&x);
        trace.len()
    }

    /// f, and the cotangents of the variables; `None` if the trace does not fit.
    fn sweep<'m, V: Recorded>(
        &self,
        x: impl Iterator<Item = V>,
        scratch: &'m mut [V::Scalar],
    ) -> (V, Option<&'m [V::Scalar]>) {
        let (memory, rest) = scratch.split_at_mut(V::RECORD * self.trace);
        let adjoints = &mut rest[..V::ADJOINT * (self.trace + self.function.dim())];
        let trace = Trace::<V>::new(memory);
        let input = |(i, v)| trace.input(v, i).into();
        let x: Vec<_> = x.enumerate().map(input).collect();
        let f = self.function.value(&x).into_inner();
        if trace.len() > trace.capacity() {
            return (f.inner(), None);
        }
        trace.clear(adjoints);
        trace.seed(adjoints, f, V::constant(V::Scalar::ONE));
        trace.sweep(adjoints);
        (f.inner(), Some(&adjoints[V::ADJOINT * self.trace..]))
    }
}

impl<S: Scalar, F: Function> Objective<S> for FromFunction<F> {
    fn dim(&self) -> usize {
        self.function.dim()
    }

    fn scratch_len(&self) -> usize {
        let (record, adjoint) = (<Dual<S, 1>>::RECORD, <Dual<S, 1>>::ADJOINT);
        (record + adjoint)
            .saturating_mul(self.trace)
            .saturating_add(adjoint * self.function.dim())
    }

    fn value_gradient(&self, x: &[S], gradient: &mut [S], _: &mut [S], scratch: &mut [S]) -> S {
        let (f, inputs) = self.sweep(x.iter().map(|&v| Dual::<S, 0>::constant(v)), scratch);
        match inputs {
            Some(inputs) => gradient.copy_from_slice(inputs),
            None => gradient.fill(S::NAN),
        }
        f.value
    }

    fn add_hessian_vector(&self, x: &[S], v: &[S], _: &[S], out: &mut [S], scratch: &mut [S]) {
        let along = x.iter().zip(v).map(|(&value, &slope)| Dual::<S, 1> {
            value,
            slope: [slope],
        });
        match self.sweep(along, scratch).1 {
            Some(inputs) => {
                for (out, pair) in out.iter_mut().zip(inputs.chunks_exact(2)) {
                    *out += pair[1];
                }
            }
            None => out.fill(S::NAN),
        }
    }

    fn fault(&self, x: &[S]) -> Option<Error> {
        short_trace(self.trace_len(x), self.trace)
    }
}
