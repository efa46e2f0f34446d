//! One iteration of ADMM, shared by the controller on the device and the system that is differentiated: the same operations in
//! the same order, and therefore the same bits.

use super::program::{Instance, Qp, Shape, Tolerance};
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, pieces, pieces_mut, split, split_mut};

/// Knobs of one phase.
#[derive(Clone, Copy, Debug)]
pub struct Phase<'a, S> {
    /// R, one number per constraint of a block.
    pub weights: &'a [S],
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
    /// K of each phase.
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
            self.count() * shape.inverse_entries(),
            self.inverses.len(),
        )
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
        let mut inverses = pieces(inverses, shape.inverse_entries());
        Self {
            weights,
            relaxation: relaxation.first().copied().unwrap_or(S::ONE),
            inverse: inverses.nth(number).unwrap_or_default(),
        }
    }
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

/// Program with the data of one tick.
#[derive(Clone, Copy, Debug)]
pub struct Solver<'a, S> {
    /// Part of the program that is the same at every tick.
    pub qp: Qp<'a, S>,
    /// Part of the program that changes with the tick.
    pub instance: Instance<'a, S>,
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

impl<'a, S: Scalar> Solver<'a, S> {
    /// Checks the instance.
    pub fn new(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
    ) -> Result<Self, Error> {
        instance.check(qp.shape)?;
        tolerance.check(&instance)?;
        Ok(Self::unchecked(qp, instance, tolerance))
    }

    pub(crate) fn unchecked(
        qp: Qp<'a, S>,
        instance: Instance<'a, S>,
        tolerance: Tolerance<S>,
    ) -> Self {
        Self {
            qp,
            instance,
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
        for (((w, &r), &z), &y) in weighted.iter_mut().zip(phase.weights).zip(z).zip(y) {
            *w = r * z - y;
        }
        self.qp.transposed(weighted, right);
        for (b, &g) in right.iter_mut().zip(linear) {
            *b -= g;
        }
        let (u, _) = split_mut(rows, n);
        apply(phase.inverse, right, u);
        self.qp.extend(rows);
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
        let mut largest = Residual {
            primal: S::ZERO,
            dual: S::ZERO,
        };
        let parts = pieces_mut(z, m).zip(pieces_mut(y, m));
        let parts = parts.zip(pieces_mut(rows, m));
        for (block, ((z, y), rows)) in self.blocks().zip(parts) {
            self.point(phase, block.linear, (z, y), rows, scratch);
            let (stationarity, rest) = split_mut(scratch, m);
            let (dual, _) = split_mut(rest, self.qp.shape.variables());
            let alpha = phase.relaxation;
            let data = phase.weights.iter().zip(block.lower).zip(block.upper);
            let states = z.iter_mut().zip(y.iter_mut()).zip(rows.iter());
            for (((z, y), &q), (((&r, &lo), &hi), e)) in
                states.zip(data.zip(stationarity.iter_mut()))
            {
                let v = alpha * q + (S::ONE - alpha) * *z;
                let next = clip(v + *y / r, lo, hi);
                *e = r * ((alpha - S::ONE) * (q - *z) + (*z - next));
                *y += r * (v - next);
                *z = next;
                largest.primal = larger(largest.primal, (q - next).abs());
            }
            self.qp.transposed(stationarity, dual);
            for e in dual.iter() {
                largest.dual = larger(largest.dual, e.abs());
            }
        }
        Residual {
            primal: largest.primal * self.primal_scale,
            dual: largest.dual * self.dual_scale,
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

/// Computes out ← K·v with a symmetric K, by columns.
#[inline]
pub(crate) fn apply<S: Scalar>(matrix: &[S], v: &[S], out: &mut [S]) {
    out.fill(S::ZERO);
    for (column, &v) in pieces(matrix, out.len()).zip(v) {
        add_scaled(out, v, column);
    }
}
