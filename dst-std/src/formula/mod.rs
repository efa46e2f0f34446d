//! Formulas of any size: systems from their equations alone, objectives from f alone.
//!
//! `formula!` and `objective!` of [`dst_core`] have sizes that the compiler knows. Here the sizes are known at run time. Pullbacks and
//! gradients come from the same trace ([`dst_core::system::trace`]): their cost does not grow with the number of states and
//! parameters.
//!
//! ```
//! use dst_core::system::{Arithmetic, Number};
//! use dst_core::{Euler, HeapMemory};
//! use dst_std::formula::{Equations, FromEquations};
//!
//! /// A chain of masses in a medium with one friction per mass.
//! struct Chain(usize);
//!
//! impl Equations for Chain {
//!     fn states(&self) -> usize {
//!         2 * self.0
//!     }
//!     fn params(&self) -> usize {
//!         self.0
//!     }
//!     fn rate<A: Arithmetic>(&self, theta: &[Number<A>], x: &[Number<A>], _t: Number<A>, rate: &mut [Number<A>]) {
//!         let (position, velocity) = x.split_at(self.0);
//!         for i in 0..self.0 {
//!             let left = if i == 0 { Number::literal(0.0) } else { position[i - 1] };
//!             let right = position.get(i + 1).copied().unwrap_or(Number::literal(0.0));
//!             rate[i] = -velocity[i];
//!             rate[self.0 + i] = 2.0 * position[i] - left - right + theta[i] * velocity[i];
//!         }
//!     }
//!     fn criterion<A: Arithmetic>(&self, _: &[Number<A>], x: &[Number<A>], _: Number<A>) -> Number<A> {
//!         x.iter().map(|&x| x * x).sum()
//!     }
//! }
//!
//! let (theta, x0) = (vec![1.0; 20], [vec![0.1; 20], vec![0.0; 20]].concat());
//! let chain = FromEquations::new(Chain(20), &theta, &x0, 0.0);
//! let plan = Euler::new(0.05).until(1e-3);
//! let mut memory = HeapMemory::new(&plan, &chain, 50);
//! let s = plan.sensitivity(&chain, &theta, &x0, &mut memory)?;
//! assert_eq!(s.steps_gradient().len(), 20);
//! # Ok::<(), dst_core::Error>(())
//! ```

mod objective;

pub use objective::{FromFunction, Function};

use dst_core::system::trace::{Recorded, Trace, Traced};
use dst_core::system::{Arithmetic, Dual, Number};
use dst_core::{Argument, Bar, Cost, Dims, Direction, Error, Point, Reading, Scalar, Seed, System};

/// Room for branches that a first evaluation did not take: the trace has this many times the length that it found.
const ROOM: usize = 2;
/// Cost of a pullback, in plain evaluations.
const REVERSE: u32 = 15;

/// The rate A(θ, x, t) and the criterion J(θ, x, t), over a generic number.
pub trait Equations {
    /// Number of states.
    fn states(&self) -> usize;
    /// Number of parameters.
    fn params(&self) -> usize;

    /// Writes A(θ, x, t).
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>],
        x: &[Number<A>],
        t: Number<A>,
        rate: &mut [Number<A>],
    );

    /// J(θ, x, t)
    fn criterion<A: Arithmetic>(
        &self,
        theta: &[Number<A>],
        x: &[Number<A>],
        t: Number<A>,
    ) -> Number<A>;

    /// f(θ, x, t) of a running loss; J, which is already computed, unless overridden.
    fn loss<A: Arithmetic>(
        &self,
        theta: &[Number<A>],
        x: &[Number<A>],
        t: Number<A>,
        criterion: Number<A>,
    ) -> Number<A> {
        let _ = (theta, x, t);
        criterion
    }
}

/// The [`System`] made from [`Equations`]: pushforward by dual numbers, pullback by a trace.
#[derive(Clone, Copy, Debug)]
pub struct FromEquations<F> {
    equations: F,
    trace: usize,
}

/// A, J and f in one arithmetic.
struct Outputs<A> {
    rate: Vec<Number<A>>,
    criterion: Number<A>,
    loss: Number<A>,
}

impl<F: Equations> FromEquations<F> {
    /// System from equations. The length of the trace is found by an evaluation at this point, and doubled: a branch may need
    /// more. If it needs more still, a gradient is refused with the length in the error; see [`with_trace`](Self::with_trace).
    pub fn new<S: Scalar>(equations: F, theta: &[S], x0: &[S], t0: S) -> Self {
        let system = Self {
            equations,
            trace: 0,
        };
        let at = Point {
            theta,
            x: x0,
            t: t0,
        };
        let trace = system.trace_len(at).saturating_mul(ROOM);
        Self { trace, ..system }
    }

    /// The same system with room for this many operations in the trace.
    pub fn with_trace(self, trace: usize) -> Self {
        Self { trace, ..self }
    }

    /// The equations.
    pub fn equations(&self) -> &F {
        &self.equations
    }

    /// Number of operations that a trace at this point has.
    pub fn trace_len<S: Scalar>(&self, at: Point<'_, S>) -> usize {
        let trace = Trace::<Dual<S, 0>>::new(&mut []);
        self.traced(&trace, at);
        trace.len()
    }

    fn evaluate<A: Arithmetic>(
        &self,
        theta: &[Number<A>],
        x: &[Number<A>],
        t: Number<A>,
    ) -> Outputs<A> {
        let mut rate = vec![Number::literal(0.0); x.len()];
        self.equations.rate(theta, x, t, &mut rate);
        let criterion = self.equations.criterion(theta, x, t);
        let loss = self.equations.loss(theta, x, t, criterion);
        Outputs {
            rate,
            criterion,
            loss,
        }
    }

    /// Evaluation into a trace. The inputs are numbered x, θ, t.
    fn traced<'t, S: Scalar>(
        &self,
        trace: &'t Trace<'t, Dual<S, 0>>,
        at: Point<'_, S>,
    ) -> Outputs<Traced<'t, Dual<S, 0>>> {
        let (d, p) = (at.x.len(), at.theta.len());
        let inputs = |values: &[S], first: usize| -> Vec<_> {
            let input = |(i, &v)| trace.input(Dual::constant(v), first + i).into();
            values.iter().enumerate().map(input).collect()
        };
        let (x, theta) = (inputs(at.x, 0), inputs(at.theta, d));
        let t = trace.input(Dual::constant(at.t), d + p);
        self.evaluate(&theta, &x, t.into())
    }
}

impl<S: Scalar, F: Equations> System<S> for FromEquations<F> {
    fn dims(&self) -> Dims {
        let (d, p) = (self.equations.states(), self.equations.params());
        // Records, their cotangents, and those of the inputs.
        let trace = self.trace.saturating_mul(<Dual<S, 0>>::RECORD + 1);
        Dims::new(d, p).with_scratch(trace.saturating_add(d + p + 1))
    }

    fn rate(&self, at: Point<'_, S>, rate: &mut [S], _: &mut [S], _: &mut [S]) -> Reading<S> {
        let plain = |values: &[S]| -> Vec<_> { values.iter().map(|&v| Number::plain(v)).collect() };
        let found = self.evaluate(&plain(at.theta), &plain(at.x), Number::plain(at.t));
        for (to, from) in rate.iter_mut().zip(found.rate) {
            *to = from.value();
        }
        Reading {
            criterion: found.criterion.value(),
            loss: found.loss.value(),
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
        let (memory, adjoints) = scratch.split_at_mut(self.trace * <Dual<S, 0>>::RECORD);
        let trace = Trace::<Dual<S, 0>>::new(memory);
        let found = self.traced(&trace, at);
        if trace.len() > trace.capacity() {
            // No gradient instead of a wrong one; `fault` names the reason.
            bar.theta.fill(S::NAN);
            bar.x.fill(S::NAN);
            return;
        }
        trace.clear(adjoints);
        for (&a, output) in seed.rate.iter().zip(found.rate) {
            trace.seed(adjoints, output.into_inner(), Dual::constant(a));
        }
        let readings = [(found.criterion, seed.criterion), (found.loss, seed.loss)];
        for (output, seed) in readings {
            trace.seed(adjoints, output.into_inner(), Dual::constant(seed));
        }
        trace.sweep(adjoints);
        let targets = bar.x.iter_mut().chain(bar.theta.iter_mut()).chain(bar.t);
        for (target, input) in targets.zip(&adjoints[self.trace..]) {
            *target += *input;
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
        let dual = |value: S, slope: S| {
            Number::from(Dual {
                value,
                slope: [slope],
            })
        };
        let aimed = |values: &[S], slopes: &[S]| -> Vec<_> {
            values
                .iter()
                .zip(slopes)
                .map(|(&v, &s)| dual(v, s))
                .collect()
        };
        let (theta, x) = (aimed(at.theta, along.theta), aimed(at.x, along.x));
        let found = self.evaluate(&theta, &x, dual(at.t, along.t));
        for (to, from) in rate.iter_mut().zip(found.rate) {
            [*to] = from.dual().slope;
        }
        let ([criterion], [loss]) = (found.criterion.dual().slope, found.loss.dual().slope);
        Reading { criterion, loss }
    }

    fn cost(&self) -> Cost {
        Cost {
            pullback: Some(REVERSE),
            pushforward: Some(2),
        }
    }

    fn fault(&self, at: Point<'_, S>) -> Option<Error> {
        short_trace(self.trace_len(at), self.trace)
    }
}

fn short_trace(needed: usize, given: usize) -> Option<Error> {
    (needed > given).then_some(Error::Length {
        argument: Argument::Trace,
        needed,
        given,
    })
}
