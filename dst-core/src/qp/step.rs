//! One iteration of ADMM, shared by the controller on the device and the system that is differentiated: the same operations in
//! the same order, and therefore the same bits.
//!
//! An iteration has no division: K and 1/R are prepared when R is chosen. One pass over the rows computes z⁺, y⁺ and both
//! residuals, with d = q − z, v = z + αd, t = v + y·(1/R), z⁺ = prox(t), e = R((α − 1)d + z − z⁺), where Hu + g + Gᵀy⁺ = Gᵀe.

use super::kernels::apply;
use super::program::{Instance, Qp, Shape, Tolerance};
use super::projection::{Clip, Projection, Rows};
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{pieces, pieces_mut, split, split_mut};

/// Knobs of one phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a, S> {
    /// R, one number per constraint of a block.
    pub weights: &'a [S],
    /// 1/R
    pub reciprocals: &'a [S],
    /// α
    pub relaxation: S,
    /// K, n × n.
    pub inverse: &'a [S],
}

/// Knobs of all phases.
#[derive(Clone, Copy, Debug)]
pub struct Phases<'a, S> {
    /// Phase after phase: R of a block, then α.
    pub params: &'a [S],
    /// K, then 1/R, of each phase; [`Inversion::of_phases`](super::Inversion::of_phases) writes them.
    pub inverses: &'a [S],
    /// Iterations at which the second, third … phase begins, in increasing order.
    pub switches: &'a [usize],
}

impl<'a, S: Scalar> Phases<'a, S> {
    /// Number of phases; at least one.
    pub fn count(&self) -> usize {
        self.switches.len() + 1
    }

    /// Checks the lengths.
    pub fn check(&self, shape: Shape) -> Result<(), Error> {
        exact(
            Argument::Theta,
            self.count() * shape.phase_params(),
            self.params.len(),
        )?;
        exact(
            Argument::Model,
            self.count() * shape.prepared_entries(),
            self.inverses.len(),
        )
    }

    /// Checks the lengths, and that rows which a set couples have the same R in every phase.
    pub fn check_with<P: Projection<S>>(&self, shape: Shape, sets: &P) -> Result<(), Error> {
        self.check(shape)?;
        check_weights(shape, self.inverses, sets)
    }

    /// Phase of an iteration.
    #[inline]
    pub(crate) fn number(switches: &[usize], iteration: usize) -> usize {
        switches.iter().take_while(|&&s| s <= iteration).count()
    }

    /// Knobs of this iteration.
    #[inline]
    pub fn at(&self, shape: Shape, iteration: usize) -> Phase<'a, S> {
        let number = Self::number(self.switches, iteration);
        Phase::cut(shape, self.params, self.inverses, number)
    }
}

impl<'a, S: Scalar> Phase<'a, S> {
    #[inline]
    pub(crate) fn cut(shape: Shape, params: &'a [S], inverses: &'a [S], number: usize) -> Self {
        let params = pieces(params, shape.phase_params()).nth(number);
        let (weights, relaxation) = split(params.unwrap_or_default(), shape.rows());
        let prepared = pieces(inverses, shape.prepared_entries()).nth(number);
        let (inverse, reciprocals) = split(prepared.unwrap_or_default(), shape.inverse_entries());
        Self {
            weights,
            reciprocals,
            relaxation: relaxation.first().copied().unwrap_or(S::ONE),
            inverse,
        }
    }
}

/// Checks that rows which a set couples have the same R in every phase, by 1/R.
pub(crate) fn check_weights<S: Scalar, P: Projection<S>>(
    shape: Shape,
    inverses: &[S],
    sets: &P,
) -> Result<(), Error> {
    pieces(inverses, shape.prepared_entries())
        .try_for_each(|prepared| sets.check_weights(split(prepared, shape.inverse_entries()).1))
}

/// Residuals of an iterate, each divided by its tolerance.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Residual<S> {
    /// ‖Gu − z⁺‖_∞/ε_p
    pub primal: S,
    /// ‖Hu + g + Gᵀy⁺‖_∞/ε_d
    pub dual: S,
}

impl<S: Scalar> Residual<S> {
    /// The larger of the two; solved if at most 1.
    pub fn ratio(&self) -> S {
        larger(self.primal, self.dual)
    }
}

/// Program with the data of one tick, and the sets of its rows: [`Clip`], or others by [`with`](Solver::with).
#[derive(Clone, Copy, Debug)]
pub struct Solver<'a, S, P = Clip> {
    /// Part of the program that is the same at every tick.
    pub qp: Qp<'a, S>,
    /// Part of the program that changes with the tick.
    pub instance: Instance<'a, S>,
    pub(crate) sets: P,
    /// 1/ε_p
    pub(crate) primal_scale: S,
    /// 1/ε_d
    pub(crate) dual_scale: S,
}

/// Slices of one block.
pub(crate) struct Block<'a, S> {
    pub(crate) linear: &'a [S],
    pub(crate) lower: &'a [S],
    pub(crate) upper: &'a [S],
}

impl<'a, S> Block<'a, S> {
    /// Data of the rows in this phase.
    pub(crate) fn rows<'b>(&self, phase: Phase<'b, S>) -> Rows<'b, S>
    where
        'a: 'b,
    {
        Rows {
            lower: self.lower,
            upper: self.upper,
            weights: phase.weights,
            reciprocals: phase.reciprocals,
        }
    }
}

impl<'a, S: Scalar> Solver<'a, S> {
    /// Checks the instance.
    pub fn new(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
    ) -> Result<Self, Error> {
        Self::with(qp, instance, tolerance, Clip)
    }

    pub(crate) fn unchecked(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
    ) -> Self {
        Solver::prepared(qp, instance, tolerance, Clip)
    }
}

impl<'a, S: Scalar, P: Projection<S>> Solver<'a, S, P> {
    /// Checks the instance and the sets. [`Phases::check_with`] checks the weights of coupled rows.
    pub fn with(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
        sets: P,
    ) -> Result<Self, Error> {
        instance.check(qp.shape)?;
        tolerance.check(&instance)?;
        let solver = Self::prepared(qp, instance, tolerance, sets);
        for block in solver.blocks() {
            sets.check(block.lower, block.upper)?;
        }
        Ok(solver)
    }

    fn prepared(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
        sets: P,
    ) -> Self {
        Self {
            qp,
            instance,
            sets,
            primal_scale: S::ONE / tolerance.primal,
            dual_scale: S::ONE / tolerance.dual_of(&instance),
        }
    }

    pub(crate) fn blocks(&self) -> impl Iterator<Item = Block<'a, S>> {
        let shape = self.qp.shape;
        let Instance {
            linear,
            lower,
            upper,
        } = self.instance;
        let bounds = pieces(lower, shape.rows()).zip(pieces(upper, shape.rows()));
        pieces(linear, shape.variables())
            .zip(bounds)
            .map(|(linear, (lower, upper))| Block {
                linear,
                lower,
                upper,
            })
    }

    /// Computes rows ← Gu with u = K(Gᵀ(R∘z − y) − g), for one block.
    #[inline]
    pub(crate) fn point(
        &self,
        phase: Phase<'_, S>,
        linear: &[S],
        (z, y): (&[S], &[S]),
        rows: &mut [S],
        scratch: &mut [S],
    ) {
        let n = self.qp.shape.variables();
        let (weighted, rest) = split_mut(scratch, self.qp.shape.rows());
        let (right, _) = split_mut(rest, n);
        let states = || phase.weights.iter().zip(z).zip(y);
        if self.qp.shape.outputs == 0 {
            for ((b, ((&r, &z), &y)), &g) in right.iter_mut().zip(states()).zip(linear) {
                *b = r * z - y - g;
            }
        } else {
            for (w, ((&r, &z), &y)) in weighted.iter_mut().zip(states()) {
                *w = r * z - y;
            }
            self.qp.transposed(weighted, right);
            for (b, &g) in right.iter_mut().zip(linear) {
                *b -= g;
            }
        }
        let (u, _) = split_mut(rows, n);
        apply(phase.inverse, right, u);
        self.qp.extend(rows);
    }

    /// Computes z⁺ of one block from z, y and q = Gu; `next` first holds t.
    #[inline]
    pub(crate) fn next(
        &self,
        phase: Phase<'_, S>,
        block: &Block<'_, S>,
        states: (&[S], &[S], &[S]),
        next: &mut [S],
    ) {
        target(phase, states, next);
        self.sets.project(block.rows(phase), next);
    }

    /// Makes one iteration of all blocks, in place: z and y become z⁺ and y⁺, `rows` Gu. `scratch` has [`Shape::scratch`]
    /// entries.
    pub fn iterate(
        &self,
        phase: Phase<'_, S>,
        z: &mut [S],
        y: &mut [S],
        rows: &mut [S],
        scratch: &mut [S],
    ) -> Residual<S> {
        let m = self.qp.shape.rows();
        let mut largest = Largest::new();
        let parts = pieces_mut(z, m).zip(pieces_mut(y, m));
        let parts = parts.zip(pieces_mut(rows, m));
        for (block, ((z, y), rows)) in self.blocks().zip(parts) {
            self.point(phase, block.linear, (z, y), rows, scratch);
            let (errors, rest) = split_mut(scratch, m);
            if !P::BOX {
                self.next(phase, &block, (z, y, rows), errors);
            }
            let weights = phase.weights.iter().zip(phase.reciprocals);
            let data = weights.zip(block.lower.iter().zip(block.upper));
            let states = z.iter_mut().zip(y.iter_mut()).zip(rows.iter());
            let alpha = phase.relaxation;
            let beta = alpha - S::ONE;
            for (((z, y), &q), (((&r, &i), (&lo, &hi)), e)) in
                states.zip(data.zip(errors.iter_mut()))
            {
                let d = q - *z;
                let v = *z + alpha * d;
                let next = if P::BOX { clip(v + *y * i, lo, hi) } else { *e };
                let error = r * (beta * d + (*z - next));
                *y += r * (v - next);
                *z = next;
                largest.primal(q - next);
                if self.qp.shape.outputs == 0 {
                    largest.dual(error);
                } else {
                    *e = error;
                }
            }
            if self.qp.shape.outputs > 0 {
                let (dual, _) = split_mut(rest, self.qp.shape.variables());
                self.qp.transposed(errors, dual);
                dual.iter().for_each(|&e| largest.dual(e));
            }
        }
        largest.scaled(self.primal_scale, self.dual_scale)
    }
}

/// Computes t = v + y·(1/R) of one block from z, y and q.
#[inline]
pub(crate) fn target<S: Scalar>(
    phase: Phase<'_, S>,
    (z, y, q): (&[S], &[S], &[S]),
    target: &mut [S],
) {
    let rows = z.iter().zip(y).zip(q).zip(phase.reciprocals);
    for (t, (((&z, &y), &q), &i)) in target.iter_mut().zip(rows) {
        *t = z + phase.relaxation * (q - z) + y * i;
    }
}

/// Largest residuals so far.
///
/// One comparison per residual, which skips a NaN; the sum of the dual residuals catches it. That is enough: if z, y, q or z⁺
/// of a row is NaN, so is its e, and with it an entry of Gᵀe. An infinite one makes the dual residual infinite or NaN.
struct Largest<S> {
    primal: S,
    dual: S,
    sum: S,
}

impl<S: Scalar> Largest<S> {
    fn new() -> Self {
        let [primal, dual, sum] = [S::ZERO; 3];
        Self { primal, dual, sum }
    }

    #[inline(always)]
    fn primal(&mut self, value: S) {
        let size = value.abs();
        if size > self.primal {
            self.primal = size;
        }
    }

    #[inline(always)]
    fn dual(&mut self, value: S) {
        let size = value.abs();
        self.sum += size;
        if size > self.dual {
            self.dual = size;
        }
    }

    fn scaled(self, primal: S, dual: S) -> Residual<S> {
        let found = if self.sum.is_nan() { S::NAN } else { self.dual };
        Residual {
            primal: self.primal * primal,
            dual: found * dual,
        }
    }
}

/// The larger of two numbers, or NaN if either is NaN: an iterate with NaN must not count as a solution.
#[inline(always)]
pub(crate) fn larger<S: Scalar>(a: S, b: S) -> S {
    if b > a || b.is_nan() { b } else { a }
}

/// Logarithm of a residual, for a criterion. Residuals below 10⁻³⁰ count as zero, and the logarithm no longer falls.
#[cfg(feature = "libm")]
pub(crate) fn logarithm<S: Scalar>(ratio: S) -> S {
    larger(S::from_f64(FLOOR), ratio).ln()
}

/// Threshold below which a residual counts as zero.
#[cfg(feature = "libm")]
pub(crate) const FLOOR: f64 = 1e-30;

/// Clips by plain comparisons: a NaN stays a NaN, and the result is the same in every language.
#[inline(always)]
pub(crate) fn clip<S: Scalar>(value: S, lower: S, upper: S) -> S {
    if value < lower {
        lower
    } else if value > upper {
        upper
    } else {
        value
    }
}
