//! Sets of groups of rows: the step z⁺ = prox(t) of ADMM, and its exact pullback.
//!
//! A set acts by its proximal map, argmin φ(z) + ½R(z − t)². For a hard set, φ is 0 inside and infinite outside, and the map is
//! the projection. [`Clip`] and [`SoftBounds`] act row by row. The rows of a ball or a cone are coupled: their map is the
//! Euclidean projection only if all of them have the same R, which [`Projection::check_weights`] requires.
//!
//! Cost: a clip has no division. A soft row beyond its bound takes one or two, a ball or a cone one per row and a square root.

#[cfg(feature = "libm")]
use super::cone::{Ball, Cone};
use super::program::in_order;
use super::soft::SoftBounds;
use super::step::clip;
use crate::error::{Argument, Error, exact};
use crate::scalar::Scalar;
use crate::slices::{split, split_mut};

/// Data of the rows of a group.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, S> {
    /// Lower bounds; for a ball its centre, for a cone its apex.
    pub lower: &'a [S],
    /// Upper bounds; a ball and a cone do not read them.
    pub upper: &'a [S],
    /// R
    pub weights: &'a [S],
    /// 1/R
    pub reciprocals: &'a [S],
}

impl<'a, S> Rows<'a, S> {
    fn split(self, count: usize) -> (Self, Self) {
        let (lower, lower_rest) = split(self.lower, count);
        let (upper, upper_rest) = split(self.upper, count);
        let (weights, weights_rest) = split(self.weights, count);
        let (reciprocals, reciprocals_rest) = split(self.reciprocals, count);
        let first = Self {
            lower,
            upper,
            weights,
            reciprocals,
        };
        let rest = Self {
            lower: lower_rest,
            upper: upper_rest,
            weights: weights_rest,
            reciprocals: reciprocals_rest,
        };
        (first, rest)
    }

    pub(super) fn each(self) -> impl Iterator<Item = (S, S, S, S)>
    where
        S: Scalar,
    {
        let bounds = self.lower.iter().zip(self.upper);
        let weights = self.weights.iter().zip(self.reciprocals);
        bounds.zip(weights).map(|((&l, &h), (&r, &i))| (l, h, r, i))
    }
}

/// Proximal map of a group of rows.
pub trait Projection<S: Scalar>: Copy {
    /// True if every row is clipped to its bounds and nothing else. The iteration then clips in its own pass.
    const BOX: bool = false;

    /// Checks the parameters of the set and the bounds of its rows.
    fn check(&self, lower: &[S], upper: &[S]) -> Result<(), Error>;

    /// Checks that coupled rows have the same weight. `weights` may be R or 1/R.
    fn check_weights(&self, weights: &[S]) -> Result<(), Error>;

    /// Replaces t by z⁺.
    fn project(&self, rows: Rows<'_, S>, values: &mut [S]);

    /// Replaces the cotangent of z⁺ by that of t, and adds to the cotangent of R. `at` is t.
    fn pull(&self, rows: Rows<'_, S>, at: &[S], bars: &mut [S], weights_bar: &mut [S]);
}

/// Hard bounds on every row. A row whose bounds are infinite is never clipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clip;

impl<S: Scalar> Projection<S> for Clip {
    const BOX: bool = true;

    fn check(&self, lower: &[S], upper: &[S]) -> Result<(), Error> {
        in_order(lower, upper)
    }

    fn check_weights(&self, _: &[S]) -> Result<(), Error> {
        Ok(())
    }

    fn project(&self, rows: Rows<'_, S>, values: &mut [S]) {
        for (value, (lower, upper, ..)) in values.iter_mut().zip(rows.each()) {
            *value = clip(*value, lower, upper);
        }
    }

    fn pull(&self, rows: Rows<'_, S>, at: &[S], bars: &mut [S], _: &mut [S]) {
        for ((bar, &t), (lower, upper, ..)) in bars.iter_mut().zip(at).zip(rows.each()) {
            if !(t >= lower && t <= upper) {
                *bar = S::ZERO;
            }
        }
    }
}

/// Set of a group of rows, chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Set<S> {
    /// Hard bounds.
    Clip,
    /// Soft bounds.
    Soft(SoftBounds<S>),
    /// Euclidean ball with this radius.
    #[cfg(feature = "libm")]
    Ball(Ball<S>),
    /// Second-order cone.
    #[cfg(feature = "libm")]
    Cone,
}

/// Sets of all rows of a block: the number of rows of each group and its set, in the order of the rows.
#[derive(Clone, Copy, Debug)]
pub struct Sets<'a, S>(pub &'a [(usize, Set<S>)]);

/// Calls a method of the set of a group.
macro_rules! each {
    ($set:expr, $inner:ident => $call:expr) => {
        match $set {
            Set::Clip => {
                let $inner = Clip;
                $call
            }
            Set::Soft($inner) => $call,
            #[cfg(feature = "libm")]
            Set::Ball($inner) => $call,
            #[cfg(feature = "libm")]
            Set::Cone => {
                let $inner = Cone;
                $call
            }
        }
    };
}

impl<S: Scalar> Projection<S> for Sets<'_, S> {
    fn check(&self, mut lower: &[S], mut upper: &[S]) -> Result<(), Error> {
        let rows = self.0.iter().map(|group| group.0).sum();
        exact(Argument::Bounds, lower.len(), rows)?;
        for &(count, set) in self.0 {
            let (these, rest) = split(lower, count);
            let (those, upper_rest) = split(upper, count);
            each!(set, s => s.check(these, those))?;
            (lower, upper) = (rest, upper_rest);
        }
        Ok(())
    }

    fn check_weights(&self, mut weights: &[S]) -> Result<(), Error> {
        for &(count, set) in self.0 {
            let (these, rest) = split(weights, count);
            each!(set, s => s.check_weights(these))?;
            weights = rest;
        }
        Ok(())
    }

    fn project(&self, mut rows: Rows<'_, S>, mut values: &mut [S]) {
        for &(count, set) in self.0 {
            let (these, rest) = rows.split(count);
            let (group, others) = split_mut(values, count);
            each!(set, s => s.project(these, group));
            (rows, values) = (rest, others);
        }
    }

    fn pull(
        &self,
        mut rows: Rows<'_, S>,
        mut at: &[S],
        mut bars: &mut [S],
        mut weights_bar: &mut [S],
    ) {
        for &(count, set) in self.0 {
            let (these, rest) = rows.split(count);
            let (t, at_rest) = split(at, count);
            let (bar, bars_rest) = split_mut(bars, count);
            let (weight, weights_rest) = split_mut(weights_bar, count);
            each!(set, s => s.pull(these, t, bar, weight));
            (rows, at, bars, weights_bar) = (rest, at_rest, bars_rest, weights_rest);
        }
    }
}
