//! Descent.

mod coordinate;
mod metric;
mod region;

pub use coordinate::Coordinate;
pub use region::{View, numbers_len};

use crate::error::{Argument, Error};
use crate::scalar::Scalar;

/// Judgement of a descent on what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Verdict {
    /// The value is the least so far, and its θ is the best.
    Accepted,
    /// The value is not less than the least so far.
    Rejected,
    /// The run failed, or a number was infinite or NaN.
    Failed,
    /// Answer to a value alone: it is the least so far; tell it again with its gradient.
    GradientWanted,
    /// The descent had finished before; nothing was changed.
    Finished,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing told, nothing checked.
    Fresh,
    /// No value yet.
    Searching,
    Descending,
    Finished,
    /// Finished without a value.
    Lost,
}

/// Options and position of a descent, without its vectors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cursor<S> {
    value: S,
    floor: S,
    mark: S,
    first: S,
    predicted: S,
    radius: S,
    initial: S,
    least: S,
    limit: usize,
    runs: usize,
    misses: usize,
    strays: u8,
    rounds: u8,
    stage: Stage,
    learned: bool,
    walled: bool,
    smooth: u8,
    polling: bool,
}

impl<S: Scalar> Default for Cursor<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Scalar> Cursor<S> {
    /// Cursor.
    pub const fn new() -> Self {
        Self {
            value: S::ZERO,
            floor: S::ZERO,
            mark: S::ZERO,
            first: S::ZERO,
            predicted: S::ZERO,
            radius: S::ZERO,
            initial: S::ZERO,
            least: S::ZERO,
            limit: 1000,
            runs: 0,
            misses: 0,
            strays: 0,
            rounds: 0,
            stage: Stage::Fresh,
            learned: false,
            walled: false,
            smooth: 0,
            polling: false,
        }
    }
    fn fresh(&self) -> Self {
        Self { initial: self.initial, least: self.least, limit: self.limit, ..Self::new() }
    }
    fn check(&mut self) -> Result<(), Error> {
        if self.initial == S::ZERO { self.initial = S::from_f64(0.25); }
        if self.least == S::ZERO { self.least = S::from_f64(1.0/256.0); }
        self.radius = self.initial;
        if self.radius > S::ZERO && self.radius.is_finite() && self.least > S::ZERO { Ok(()) } else { Err(Error::Invalid(Argument::Radius)) }
    }
    fn most(&self) -> S { self.initial * S::from_f64(8.0) }
    fn count(&mut self) {
        self.runs = self.runs.saturating_add(1);
    }
    fn has_value(&self) -> bool { matches!(self.stage, Stage::Descending | Stage::Finished) }
    /// Finished.
    pub fn finished(&self) -> bool {
        matches!(self.stage, Stage::Finished | Stage::Lost) || self.runs >= self.limit
    }
    /// Runs.
    pub fn runs(&self) -> usize { self.runs }
}

/// Descent.
#[derive(Clone, Debug)]
pub struct Descent<S, const P: usize> {
    cursor: Cursor<S>,
    coordinates: [Coordinate<S>; P],
    rows: [[S; P]; region::ROWS],
    metric: [[S; P]; P],
}

impl<S: Scalar, const P: usize> Descent<S, P> {
    /// New.
    pub const fn new(theta: [S; P], coordinates: [Coordinate<S>; P]) -> Self {
        let zero = [S::ZERO; P];
        Self {
            cursor: Cursor::new(),
            coordinates,
            rows: [theta, theta, zero, zero, zero, zero, zero, zero, zero, zero],
            metric: [zero; P],
        }
    }
    /// View.
    pub fn view(&mut self) -> View<'_, S> {
        View::of(&mut self.cursor, &self.coordinates, self.rows.as_flattened_mut(), self.metric.as_flattened_mut())
    }
    /// θ
    pub fn theta(&self) -> &[S; P] {
        let [theta, ..] = &self.rows;
        theta
    }
    /// best
    pub fn best(&self) -> Option<(&[S; P], S)> {
        let [_, best, ..] = &self.rows;
        self.cursor.has_value().then_some((best, self.cursor.value))
    }
    /// tell
    pub fn tell(&mut self, value: S, gradient: &[S]) -> Result<Verdict, Error> { self.view().tell(value, gradient) }
    /// tell
    pub fn tell_value(&mut self, value: S) -> Result<Verdict, Error> { self.view().tell_value(value) }
    /// tell
    pub fn tell_failed(&mut self) -> Result<Verdict, Error> { self.view().tell_failed() }
    /// finished
    pub fn finished(&self) -> bool { self.cursor.finished() }
    /// runs
    pub fn runs(&self) -> usize { self.cursor.runs }
}
