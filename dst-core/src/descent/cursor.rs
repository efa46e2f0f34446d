//! Options and position of a descent, without its vectors.

use crate::error::{Argument, Error};
use crate::scalar::Scalar;

/// Part of the descent that is in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing checked, no run made.
    Fresh,
    /// No value yet: points around the start are tried.
    Searching,
    Descending,
    Finished,
    /// Finished without a value.
    Lost,
}

/// Options and position of a descent; with a [`View`](super::View), the vectors are borrowed beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cursor<S> {
    /// Value at the best point.
    pub(super) value: S,
    /// Decrease that the model predicts for the next point.
    pub(super) predicted: S,
    pub(super) radius: S,
    /// Radius for the return from points that are not the best.
    pub(super) first: S,
    /// Length of a step below which other directions are tried.
    pub(super) floor: S,
    /// Value when the floor was last at its top.
    pub(super) mark: S,
    /// First radius; zero stands for the default.
    pub(super) initial: S,
    /// Radius of the end; zero stands for the default.
    pub(super) least: S,
    limit: usize,
    runs: usize,
    /// Points tried around the centre.
    pub(super) misses: usize,
    /// Steps made from points that are not the best.
    pub(super) strays: u8,
    /// Rounds in a row that gained little.
    pub(super) idle: u8,
    /// Descents of the floor.
    pub(super) rounds: u8,
    /// Decreases in a row that were as predicted.
    pub(super) smooth: u8,
    pub(super) stage: Stage,
    /// The metric has learned a curvature.
    pub(super) learned: bool,
    /// A direction is left out.
    pub(super) walled: bool,
    /// Points around the centre are tried.
    pub(super) polling: bool,
    /// A gradient beyond a kink is known.
    pub(super) kinked: bool,
}

impl<S: Scalar> Default for Cursor<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Scalar> Cursor<S> {
    /// Cursor of a descent that has not begun, with default options.
    pub const fn new() -> Self {
        Self {
            value: S::ZERO,
            predicted: S::ZERO,
            radius: S::ZERO,
            first: S::ZERO,
            floor: S::ZERO,
            mark: S::ZERO,
            initial: S::ZERO,
            least: S::ZERO,
            limit: 1000,
            runs: 0,
            misses: 0,
            strays: 0,
            idle: 0,
            rounds: 0,
            smooth: 0,
            stage: Stage::Fresh,
            learned: false,
            walled: false,
            polling: false,
            kinked: false,
        }
    }

    /// As [`Descent::at_most`](super::Descent::at_most).
    #[must_use]
    pub const fn at_most(mut self, runs: usize) -> Self {
        self.limit = runs;
        self
    }

    /// As [`Descent::radius`](super::Descent::radius).
    #[must_use]
    pub const fn radius(mut self, radius: S) -> Self {
        self.initial = radius;
        self
    }

    /// As [`Descent::least_radius`](super::Descent::least_radius).
    #[must_use]
    pub const fn least_radius(mut self, radius: S) -> Self {
        self.least = radius;
        self
    }

    /// As [`Descent::finished`](super::Descent::finished).
    pub fn finished(&self) -> bool {
        matches!(self.stage, Stage::Finished | Stage::Lost) || self.runs >= self.limit
    }

    /// As [`Descent::runs`](super::Descent::runs).
    pub const fn runs(&self) -> usize {
        self.runs
    }

    /// Cursor with the same options, before the first run.
    pub(super) fn fresh(&self) -> Self {
        let options = Self::new().at_most(self.limit).radius(self.initial);
        options.least_radius(self.least)
    }

    /// Fills in the defaults and checks the options.
    pub(super) fn check(&mut self) -> Result<(), Error> {
        if self.initial == S::ZERO {
            self.initial = S::from_f64(0.25);
        }
        if self.least == S::ZERO {
            self.least = self.initial * S::from_f64(1.0 / 64.0);
        }
        let valid = self.least > S::ZERO && self.least <= self.initial && self.most().is_finite();
        if !valid {
            return Err(Error::Invalid(Argument::Radius));
        }
        self.radius = self.initial;
        Ok(())
    }

    /// Largest radius.
    pub(super) fn most(&self) -> S {
        self.initial * S::from_f64(8.0)
    }

    pub(super) fn count(&mut self) {
        self.runs = self.runs.saturating_add(1);
    }

    pub(super) fn has_value(&self) -> bool {
        matches!(self.stage, Stage::Descending | Stage::Finished)
    }

    pub(super) fn value(&self) -> S {
        self.value
    }
}
