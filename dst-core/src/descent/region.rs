//! Trust region: the next point from the runs so far, for any number of parameters.

use super::Verdict;
use super::coordinate::Coordinate;
use super::cursor::{Cursor, Stage};
use super::metric;
use crate::error::{Argument, Error, exact, finite};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, all_finite, copy, dot, split_mut};

/// Rows of `params` numbers beside the metric.
pub(super) const ROWS: usize = 11;

/// Steps from points that are not the best before the descent returns to the best.
const STRAYS: u8 = 4;
/// Rounds in a row with little gain after which the descent is finished.
const IDLE: u8 = 2;
/// Decreases in a row, as predicted, after which the value counts as smooth.
const SMOOTH: u8 = 3;

/// Numbers that a [`View`] of this many parameters needs: eight rows and a square matrix.
pub const fn numbers_len(params: usize) -> usize {
    params.saturating_mul(params.saturating_add(ROWS))
}

/// Descent in borrowed memory, for a number of parameters known at run time. Every call of a [`Descent`](super::Descent) is one of
/// this type, so that one copy of the code serves all sizes.
#[derive(Debug)]
pub struct View<'a, S> {
    pub(super) cursor: &'a mut Cursor<S>,
    pub(super) coordinates: &'a [Coordinate<S>],
    /// θ of the next run.
    pub(super) theta: &'a mut [S],
    /// Best θ, exactly as it was run.
    pub(super) best: &'a mut [S],
    /// u of the best θ.
    pub(super) centre: &'a mut [S],
    /// Gradient there, with respect to u.
    pub(super) slope: &'a mut [S],
    /// From the centre to the next point.
    pub(super) step: &'a mut [S],
    /// Direction in which runs failed, while the cursor says so.
    pub(super) wall: &'a mut [S],
    /// Gradient at the next point, or its difference to that at the centre.
    fresh: &'a mut [S],
    pub(super) work: &'a mut [S],
    /// u of the best θ, and the gradient there.
    anchor: &'a mut [S],
    kept: &'a mut [S],
    /// Gradient at a point that was not better, beyond a kink.
    pub(super) across: &'a mut [S],
    pub(super) metric: &'a mut [S],
}

impl<'a, S: Scalar> View<'a, S> {
    /// Descent with its cursor, one coordinate per parameter, and [`numbers_len`] numbers. To begin, use a new cursor and call
    /// [`start`](Self::start); to continue, pass the same content again.
    pub fn new(
        cursor: &'a mut Cursor<S>,
        coordinates: &'a [Coordinate<S>],
        numbers: &'a mut [S],
    ) -> Result<Self, Error> {
        let params = coordinates.len();
        exact(Argument::Memory, numbers_len(params), numbers.len())?;
        let (rows, metric) = split_mut(numbers, params.saturating_mul(ROWS));
        Ok(Self::of(cursor, coordinates, rows, metric))
    }

    pub(super) fn of(
        cursor: &'a mut Cursor<S>,
        coordinates: &'a [Coordinate<S>],
        rows: &'a mut [S],
        metric: &'a mut [S],
    ) -> Self {
        let params = coordinates.len();
        let (theta, rows) = split_mut(rows, params);
        let (best, rows) = split_mut(rows, params);
        let (centre, rows) = split_mut(rows, params);
        let (slope, rows) = split_mut(rows, params);
        let (step, rows) = split_mut(rows, params);
        let (wall, rows) = split_mut(rows, params);
        let (fresh, rows) = split_mut(rows, params);
        let (work, rows) = split_mut(rows, params);
        let (anchor, rows) = split_mut(rows, params);
        let (kept, across) = split_mut(rows, params);
        Self {
            cursor,
            coordinates,
            theta,
            best,
            centre,
            slope,
            step,
            wall,
            fresh,
            work,
            anchor,
            kept,
            across,
            metric,
        }
    }

    /// Begins at this point, with the options of the cursor.
    pub fn start(&mut self, theta: &[S]) -> Result<(), Error> {
        exact(Argument::Theta, self.coordinates.len(), theta.len())?;
        copy(self.theta, theta);
        *self.cursor = self.cursor.fresh();
        self.begin()
    }

    /// Checks the start and computes its coordinates, once.
    fn begin(&mut self) -> Result<(), Error> {
        if self.cursor.stage != Stage::Fresh {
            return Ok(());
        }
        finite(Argument::Theta, self.theta)?;
        self.cursor.check()?;
        let parameters = self.coordinates.iter().zip(self.theta.iter());
        for ((coordinate, &theta), u) in parameters.zip(self.centre.iter_mut()) {
            if !coordinate.is_valid() {
                return Err(Error::Invalid(Argument::Bounds));
            }
            *u = coordinate
                .of(theta)
                .ok_or(Error::Invalid(Argument::Start))?;
        }
        copy(self.best, self.theta);
        self.step.fill(S::ZERO);
        self.slope.fill(S::ZERO);
        self.cursor.stage = Stage::Searching;
        self.cursor.polling = true;
        self.cursor.floor = S::from_f64(0.25) * self.cursor.initial;
        Ok(())
    }

    /// θ of the next run.
    pub fn theta(&self) -> &[S] {
        self.theta
    }

    /// Best θ and its value; `None` before the first run with a value and a gradient.
    pub fn best(&self) -> Option<(&[S], S)> {
        self.cursor
            .has_value()
            .then_some((&*self.best, self.cursor.value))
    }

    /// Tells the value and the gradient of the run at [`theta`](Self::theta); see [`Descent::tell`](super::Descent::tell).
    pub fn tell(&mut self, value: S, gradient: &[S]) -> Result<Verdict, Error> {
        exact(Argument::Gradient, self.coordinates.len(), gradient.len())?;
        self.begin()?;
        if self.cursor.finished() {
            return Ok(Verdict::Finished);
        }
        if !value.is_finite() || !self.slopes(gradient) {
            return Ok(self.miss(Verdict::Failed));
        }
        self.cursor.count();
        if self.cursor.stage == Stage::Searching {
            self.cursor.stage = Stage::Descending;
            self.cursor.radius = self.cursor.initial;
            self.cursor.mark = S::MAX;
            self.arrive(value);
            self.forget();
        } else {
            let decrease = self.cursor.value - value;
            let learned = self.learn();
            if decrease <= S::ZERO {
                self.slopes(gradient);
                if self.cursor.strays == 0 && !self.cursor.polling {
                    copy(self.across, self.fresh);
                    self.cursor.kinked = true;
                }
                if self.may_stray(-decrease) {
                    self.stray();
                } else {
                    self.reject(-decrease);
                }
                self.propose();
                return Ok(Verdict::Rejected);
            }
            // `learn` left the difference of the gradients there.
            self.slopes(gradient);
            self.trust(decrease, learned);
            self.arrive(value);
        }
        self.propose();
        Ok(Verdict::Accepted)
    }

    /// Tells the value alone; see [`Descent::tell_value`](super::Descent::tell_value).
    pub fn tell_value(&mut self, value: S) -> Result<Verdict, Error> {
        self.begin()?;
        if self.cursor.finished() {
            return Ok(Verdict::Finished);
        }
        if !value.is_finite() {
            return Ok(self.miss(Verdict::Failed));
        }
        if !self.cursor.has_value()
            || value < self.cursor.value
            || self.may_stray(value - self.cursor.value)
        {
            return Ok(Verdict::GradientWanted);
        }
        self.cursor.count();
        self.reject(value - self.cursor.value);
        self.propose();
        Ok(Verdict::Rejected)
    }

    /// Tells that the run at [`theta`](Self::theta) has no value; see [`Descent::tell_failed`](super::Descent::tell_failed).
    pub fn tell_failed(&mut self) -> Result<Verdict, Error> {
        self.begin()?;
        if self.cursor.finished() {
            return Ok(Verdict::Finished);
        }
        Ok(self.miss(Verdict::Failed))
    }

    /// Gradient with respect to u at the next point; false if a number is not finite.
    fn slopes(&mut self, gradient: &[S]) -> bool {
        let points = self.coordinates.iter().zip(self.theta.iter());
        let places = self.centre.iter().zip(self.step.iter());
        let outputs = self.fresh.iter_mut().zip(gradient);
        for (((coordinate, &theta), (&u, &step)), (out, &gradient)) in
            points.zip(places).zip(outputs)
        {
            *out = gradient * coordinate.slope(u + step, theta);
        }
        all_finite(self.fresh)
    }

    /// True if the run may go on from a point that is worse than the best by `rise`.
    fn may_stray(&self, rise: S) -> bool {
        let cursor = &*self.cursor;
        !cursor.polling && cursor.strays < STRAYS && rise <= S::HALF * cursor.value.abs()
    }

    /// Moves the centre to a point that is not the best.
    fn stray(&mut self) {
        if self.cursor.strays == 0 {
            copy(self.wall, self.step);
            self.cursor.walled = false;
            self.cursor.first = S::HALF * self.cursor.radius;
        }
        self.cursor.strays = self.cursor.strays.saturating_add(1);
        self.cursor.smooth = 0;
        for (u, &step) in self.centre.iter_mut().zip(self.step.iter()) {
            *u += step;
        }
        copy(self.slope, self.fresh);
    }

    /// Returns to the best point.
    fn go_back(&mut self) {
        copy(self.centre, self.anchor);
        copy(self.slope, self.kept);
        self.cursor.strays = 0;
        self.cursor.radius = self.cursor.first;
    }

    /// Moves the centre to the point that was run.
    fn arrive(&mut self, value: S) {
        for (u, &step) in self.centre.iter_mut().zip(self.step.iter()) {
            *u += step;
        }
        copy(self.best, self.theta);
        copy(self.slope, self.fresh);
        copy(self.anchor, self.centre);
        copy(self.kept, self.slope);
        self.cursor.value = value;
        self.cursor.strays = 0;
        self.cursor.misses = 0;
        self.cursor.polling = false;
        self.cursor.kinked = false;
    }

    /// Learns the curvature along the step, if it is positive.
    fn learn(&mut self) -> bool {
        for (y, &slope) in self.fresh.iter_mut().zip(self.slope.iter()) {
            *y -= slope;
        }
        let curvature = dot(self.step, self.fresh);
        let fall = dot(self.step, self.slope).abs();
        let positive = curvature > S::from_f64(1e-3) * fall;
        if !positive {
            return false;
        }
        let first = !self.cursor.learned;
        let good = metric::learn(self.metric, self.step, self.fresh, self.work, first);
        self.cursor.learned = good;
        if !good {
            self.forget();
        }
        good
    }

    /// Metric of a steepest descent with steps of the radius.
    fn forget(&mut self) {
        let most = largest(self.slope);
        let a = self.cursor.radius / most;
        let a = if a > S::ZERO && a.is_finite() {
            a
        } else {
            S::ONE
        };
        metric::reset(self.metric, self.coordinates.len(), a);
        self.cursor.learned = false;
    }

    /// Adapts the radius after a decrease.
    fn trust(&mut self, decrease: S, learned: bool) {
        let length = largest(self.step);
        let cursor = &mut *self.cursor;
        let ratio = decrease / cursor.predicted;
        let smooth = !cursor.polling && ratio > S::HALF && ratio < S::from_f64(1.5);
        cursor.smooth = if smooth {
            cursor.smooth.saturating_add(1)
        } else {
            0
        };
        if cursor.smooth >= SMOOTH {
            cursor.floor = cursor.least;
        }
        let whole = length >= S::from_f64(0.8) * cursor.radius;
        if cursor.polling {
            self.lean();
        } else if ratio < S::from_f64(0.1) {
            cursor.radius = S::HALF * length;
        } else if ratio > S::from_f64(0.5) {
            if whole {
                cursor.radius = (S::TWO * cursor.radius).min(cursor.most());
            } else if !learned {
                // No positive curvature: the model underestimates the step.
                for entry in self.metric.iter_mut() {
                    *entry *= S::TWO;
                }
            }
        }
    }

    /// Shrinks the radius to the minimum of the parabola through both values and the slope.
    fn reject(&mut self, rise: S) {
        let fall = dot(self.step, self.slope).abs();
        let share = fall / (S::TWO * (rise + fall));
        self.shrink(share.max(S::from_f64(0.2)).min(S::HALF));
    }

    /// Counts a run without a value, and proposes another.
    fn miss(&mut self, verdict: Verdict) -> Verdict {
        self.cursor.count();
        self.shrink(S::HALF);
        self.propose();
        verdict
    }

    /// Reacts to a point that is not better than the best.
    fn shrink(&mut self, share: S) {
        let polls = self.polls();
        let cursor = &mut *self.cursor;
        cursor.smooth = 0;
        if cursor.strays > 0 {
            self.go_back();
        } else if !cursor.polling {
            cursor.radius = share * largest(self.step);
            copy(self.wall, self.step);
            cursor.walled = false;
        } else {
            cursor.misses = cursor.misses.saturating_add(1);
            if cursor.misses >= polls {
                // All directions were tried.
                cursor.misses = 0;
                if cursor.has_value() {
                    cursor.polling = false;
                    cursor.radius = cursor.floor;
                    cursor.floor *= S::from_f64(0.25);
                } else {
                    cursor.radius *= S::TWO;
                    if cursor.radius > cursor.most() {
                        cursor.stage = Stage::Lost;
                    }
                }
            }
        }
    }

    /// Number of points around the centre: one along a kink, if there is one, and two on each of P − 1 lines across the gradient.
    /// Without a gradient, two on each of P axes.
    fn polls(&self) -> usize {
        let (spare, kink) = match self.cursor.has_value() {
            true => (1, usize::from(self.cursor.kinked)),
            false => (0, 0),
        };
        let lines = self.coordinates.len().saturating_sub(spare);
        lines.saturating_mul(2).saturating_add(kink)
    }

    /// After a step that succeeded beside one that failed: the wall faces the part of the latter across the former.
    fn lean(&mut self) {
        let along = dot(self.wall, self.step) / dot(self.step, self.step);
        add_scaled(self.wall, -along, self.step);
        self.cursor.walled = all_finite(self.wall) && largest(self.wall) > S::ZERO;
    }

    /// Finds the next point.
    fn propose(&mut self) {
        // A short step may be the end, or lead to other directions; then to the end.
        for _ in 0..4 {
            if self.cursor.finished() {
                break;
            }
            self.aim();
            if self.cursor.polling || !self.is_short() {
                return;
            }
            self.turn();
        }
        self.finish();
    }

    fn is_short(&self) -> bool {
        largest(self.step) < self.cursor.floor
            || self.theta.iter().zip(self.best.iter()).all(|(a, b)| a == b)
    }

    /// Decides what follows a short step.
    fn turn(&mut self) {
        if self.cursor.strays > 0 {
            return self.go_back();
        }
        let (polls, steepest) = (self.polls(), largest(self.slope));
        let cursor = &mut *self.cursor;
        // The minimum of a smooth function, not the edge of a jump: the slope is nearly zero.
        let flat = steepest * cursor.initial <= S::from_f64(0.01) * cursor.value.abs();
        let (quarter, four) = (S::from_f64(0.25), S::from_f64(4.0));
        let gained = cursor.mark - cursor.value > S::from_f64(0.01) * cursor.value.abs();
        let idle = if gained {
            0
        } else {
            cursor.idle.saturating_add(1)
        };
        if cursor.walled {
            // The best point along the wall: test whether the wall is still there.
            cursor.walled = false;
            cursor.radius = cursor.radius.max(four * cursor.floor);
        } else if cursor.floor > cursor.least && polls > 0 {
            cursor.polling = true;
            cursor.misses = 0;
            cursor.radius = four * cursor.floor;
        } else if !(cursor.smooth >= SMOOTH && flat) && idle < IDLE {
            // Once more from coarse to fine, with other lengths and angles: a jump may have hidden a way.
            cursor.idle = idle;
            cursor.mark = cursor.value;
            cursor.rounds = cursor.rounds.wrapping_add(1);
            let factor = match cursor.rounds % 3 {
                0 => 1.0,
                1 => 0.6,
                _ => 1.6,
            };
            cursor.radius = S::from_f64(factor) * cursor.initial;
            cursor.floor = quarter * cursor.radius;
        } else {
            cursor.stage = Stage::Finished;
            return;
        }
        self.forget();
    }

    /// Computes the next point.
    fn aim(&mut self) {
        // Part of the model's own step that fits into the region.
        let mut part = S::ONE;
        if self.cursor.polling {
            self.poll();
        } else {
            part = self.follow();
        }
        self.place();
        let mut fall = -dot(self.step, self.slope);
        if !self.cursor.polling && (fall <= S::ZERO || fall.is_nan()) {
            self.forget();
            self.cursor.walled = false;
            part = self.follow();
            self.place();
            fall = -dot(self.step, self.slope);
        }
        self.cursor.predicted = fall * (S::ONE - S::HALF * part);
    }

    /// θ of a finished descent is the best.
    fn finish(&mut self) {
        self.cursor.stage = match self.cursor.stage {
            Stage::Searching | Stage::Lost => Stage::Lost,
            _ => Stage::Finished,
        };
        copy(self.theta, self.best);
    }
}

/// Largest |entry|.
pub(super) fn largest<S: Scalar>(values: &[S]) -> S {
    values.iter().fold(S::ZERO, |most, v| most.max(v.abs()))
}
