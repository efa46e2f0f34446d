//! Instrumented systems that count evaluations where they happen.

use core::cell::Cell;

use dst_core::{Bar, Cost, Dims, Direction, Objective, Point, Reading, Scalar, Seed, System};

/// Number of calls so far.
#[derive(Debug, Default)]
pub struct Counts {
    /// Evaluations of the rate (or of f and ∇f).
    pub rate: Cell<usize>,
    /// Pullbacks (or Hessian-vector products).
    pub pullback: Cell<usize>,
    /// Pushforwards.
    pub pushforward: Cell<usize>,
}

fn bump(cell: &Cell<usize>) {
    cell.set(cell.get() + 1);
}

/// System that counts its calls.
#[derive(Debug)]
pub struct Counted<'c, Y> {
    /// The system.
    pub inner: Y,
    /// Its counts.
    pub counts: &'c Counts,
}

impl<S: Scalar, Y: System<S>> System<S> for Counted<'_, Y> {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        bump(&self.counts.rate);
        self.inner.rate(at, rate, tape, scratch)
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        bump(&self.counts.pullback);
        self.inner.pullback(at, tape, seed, bar, scratch);
    }
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        bump(&self.counts.pushforward);
        self.inner.pushforward(at, tape, along, rate, scratch)
    }
    fn cost(&self) -> Cost {
        self.inner.cost()
    }
}

/// Objective that counts its calls.
#[derive(Debug)]
pub struct CountedObjective<'c, O> {
    /// The objective.
    pub inner: O,
    /// Its counts: `rate` of gradients, `pullback` of Hessian-vector products.
    pub counts: &'c Counts,
}

impl<S: Scalar, O: Objective<S>> Objective<S> for CountedObjective<'_, O> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }
    fn tape_len(&self) -> usize {
        self.inner.tape_len()
    }
    fn scratch_len(&self) -> usize {
        self.inner.scratch_len()
    }
    fn value_gradient(&self, x: &[S], gradient: &mut [S], tape: &mut [S], scratch: &mut [S]) -> S {
        bump(&self.counts.rate);
        self.inner.value_gradient(x, gradient, tape, scratch)
    }
    fn add_hessian_vector(&self, x: &[S], v: &[S], tape: &[S], out: &mut [S], scratch: &mut [S]) {
        bump(&self.counts.pullback);
        self.inner.add_hessian_vector(x, v, tape, out, scratch);
    }
}
