//! Euclidean ball and second-order cone, with an offset o per row, which is the lower bound of the row: z − o is in the set.
//!
//! The derivative is that of the side on which t lies; on the boundary of the set it is the one inside.

use super::projection::{Projection, Rows};
use super::step::larger;
use crate::error::{Argument, Error, finite};
use crate::scalar::Scalar;
use crate::slices::add_scaled;

/// Euclidean ball ‖z − o‖ ≤ r over the rows of the group, which have the same R.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ball<S> {
    /// r
    pub radius: S,
}

impl<S: Scalar> Projection<S> for Ball<S> {
    fn check(&self, lower: &[S], _: &[S]) -> Result<(), Error> {
        if self.radius >= S::ZERO && self.radius.is_finite() {
            finite(Argument::Bounds, lower)
        } else {
            Err(Error::Invalid(Argument::Bounds))
        }
    }

    fn check_weights(&self, weights: &[S]) -> Result<(), Error> {
        equal(weights)
    }

    fn project(&self, rows: Rows<'_, S>, values: &mut [S]) {
        add_scaled(values, -S::ONE, rows.lower);
        let norm = norm(values);
        if norm > self.radius {
            let factor = self.radius / norm;
            values.iter_mut().for_each(|v| *v *= factor);
        }
        add_scaled(values, S::ONE, rows.lower);
    }

    /// (r/‖t‖)(I − t̂t̂ᵀ) outside, with t̂ = t/‖t‖.
    fn pull(&self, rows: Rows<'_, S>, at: &[S], bars: &mut [S], _: &mut [S]) {
        let from = || at.iter().zip(rows.lower).map(|(&t, &o)| t - o);
        let norm = norm_of(from());
        if norm <= self.radius {
            return;
        }
        let along = from()
            .zip(bars.iter())
            .fold(S::ZERO, |sum, (t, &bar)| sum + t / norm * bar);
        for (bar, t) in bars.iter_mut().zip(from()) {
            *bar = self.radius / norm * (*bar - along * (t / norm));
        }
    }
}

/// Second-order cone ‖z₁ …‖ ≤ z₀ over the rows of the group, which have the same R.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cone;

impl<S: Scalar> Projection<S> for Cone {
    fn check(&self, lower: &[S], _: &[S]) -> Result<(), Error> {
        finite(Argument::Bounds, lower)
    }

    fn check_weights(&self, weights: &[S]) -> Result<(), Error> {
        equal(weights)
    }

    fn project(&self, rows: Rows<'_, S>, values: &mut [S]) {
        add_scaled(values, -S::ONE, rows.lower);
        if let Some((axis, others)) = values.split_first_mut() {
            let norm = norm(others);
            if norm <= -*axis {
                *axis = S::ZERO;
                others.fill(S::ZERO);
            } else if norm > *axis {
                let mean = S::HALF * (*axis + norm);
                *axis = mean;
                others.iter_mut().for_each(|v| *v *= mean / norm);
            }
        }
        add_scaled(values, S::ONE, rows.lower);
    }

    /// Between the cone and its polar, with ŵ = w/‖w‖ and a = (t₀ + ‖w‖)/2: z₀ = a and z₁… = aŵ.
    fn pull(&self, rows: Rows<'_, S>, at: &[S], bars: &mut [S], _: &mut [S]) {
        let mut from = at.iter().zip(rows.lower).map(|(&t, &o)| t - o);
        let (Some(axis), Some((axis_bar, others_bar))) = (from.next(), bars.split_first_mut())
        else {
            return;
        };
        let norm = norm_of(from.clone());
        if norm <= axis {
            return;
        }
        if norm <= -axis {
            bars.fill(S::ZERO);
            return;
        }
        let mean = S::HALF * (axis + norm);
        let along = from
            .clone()
            .zip(others_bar.iter())
            .fold(S::ZERO, |sum, (w, &bar)| sum + w / norm * bar);
        let common = S::HALF * (*axis_bar + along);
        for (bar, w) in others_bar.iter_mut().zip(from) {
            let unit = w / norm;
            *bar = common * unit + mean / norm * (*bar - along * unit);
        }
        *axis_bar = common;
    }
}

/// Checks that the rows of a coupled group have one weight.
fn equal<S: Scalar>(weights: &[S]) -> Result<(), Error> {
    let mut pairs = weights.iter().zip(weights.iter().skip(1));
    if pairs.all(|(a, b)| a == b) {
        Ok(())
    } else {
        Err(Error::UnequalWeights)
    }
}

fn norm<S: Scalar>(values: &[S]) -> S {
    norm_of(values.iter().copied())
}

/// Euclidean norm, scaled by the largest entry: squares neither overflow nor vanish.
fn norm_of<S: Scalar>(values: impl Iterator<Item = S> + Clone) -> S {
    let largest = values.clone().fold(S::ZERO, |m, v| larger(m, v.abs()));
    if !(largest > S::ZERO && largest.is_finite()) {
        return largest;
    }
    let squares = values.fold(S::ZERO, |sum, v| {
        let part = v / largest;
        sum + part * part
    });
    largest * squares.sqrt()
}
