//! Descent on a stopping time: a program asks for the next θ, runs, and tells what came out. No heap, no closure, no panic.
//!
//! ```
//! use dst_core::descent::{Coordinate, Descent};
//! use dst_core::{Heun, Memory, formula};
//!
//! // A spring with damping θ, which should settle soon.
//! let spring = formula!(
//!     |theta: 1, x: 2, _t| [-x[1], 4.0 * x[0] + theta[0] * x[1]],
//!     |x| x[0] * x[0] + x[1] * x[1],
//! );
//! let plan = Heun::new(0.01).until(1e-3).at_most(2_000).staying_to_the_end();
//! let mut memory = Memory::<f64, 2, 1, 8>::new();
//! let mut descent = Descent::new([0.5], [Coordinate::Log]).at_most(30);
//! while !descent.finished() {
//!     match plan.sensitivity(&spring, descent.theta(), &[1.0, 0.0], &mut memory) {
//!         Ok(s) => descent.tell(s.stop.time, s.time_gradient())?,
//!         Err(_) => descent.tell_failed()?, // it did not settle
//!     };
//! }
//! let (damping, seconds) = descent.best().ok_or(dst_core::Error::StoppedAtStart)?;
//! assert!(seconds < 3.5 && damping[0] > 2.0); // from 16.6 s
//! # Ok::<(), dst_core::Error>(())
//! ```
//!
//! # The algorithm
//!
//! 1. Steps are made in coordinates u(θ), in which one length suits all parameters: [`Coordinate`]. The gradient is g = ∂T/∂u.
//! 2. The step is s = −Hg, shortened to |sᵢ| ≤ r. H is the BFGS approximation of the inverse second derivative.
//! 3. T smaller: the point is accepted. r doubles if the decrease was as predicted, and halves if it was far less.
//! 4. T larger: r shrinks to the minimum of the parabola through both values. But a stopping time jumps, where an oscillation
//!    enters or leaves the band, and the best point may lie beyond a jump. So if T rose by less than half, up to four further steps
//!    are made from there before the descent returns to the best point (the watchdog technique of Chamberlain et al., 1982).
//! 5. A run that failed halves r. Its θ is beyond the edge of stability, about which no gradient tells.
//! 6. When r falls below a floor, the descent looks along the edge instead of approaching it further: first against the shortest
//!    convex combination of the gradients on both sides of a kink, then to both sides across the gradient, with a part downhill. After
//!    a success, later steps leave out the direction that had failed. If nothing succeeds, the floor falls to a quarter.
//! 7. The floor reaches [`least_radius`](Descent::least_radius) from coarse to fine, and at once if T behaves smoothly. This is
//!    repeated with other lengths and angles until two rounds in a row gained less than 1 %.
//!
//! Bounds are kept by projection ([`Coordinate::Between`]): a smooth map has slope zero at its end, and an optimum at a bound would never be
//! reached. Where the optimum is close to an end but not at it, as a momentum of 0.98, [`Coordinate::Logit`] resolves the end.
//!
//! All of it is plain arithmetic, without a square root; `Log` and `Logit` use `libm`. The same numbers give the same bits on
//! every target. A tell costs about 3P² multiplications, the storage is P² + 11P numbers and one coordinate per parameter.

mod coordinate;
mod cursor;
mod metric;
mod region;
mod steps;

pub use coordinate::Coordinate;
pub use cursor::Cursor;
pub use region::{View, numbers_len};

use crate::error::Error;
use crate::scalar::Scalar;

/// Judgement of a descent on a run.
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
    /// Answer to a value alone: the descent needs its gradient. Nothing was changed.
    GradientWanted,
    /// The descent had finished before. Nothing was changed.
    Finished,
}

/// Descent on a function of `P` parameters; see the [module](self).
///
/// ```
/// use dst_core::descent::{Coordinate, Descent};
/// // Gains of a loop, adapted by factors; a momentum between 0 and 1.
/// static DESCENT: Descent<f32, 3> = Descent::new(
///     [4.0, 0.5, 0.9],
///     [Coordinate::Log, Coordinate::Log, Coordinate::Logit(0.0, 1.0)],
/// );
/// ```
#[derive(Clone, Debug)]
pub struct Descent<S, const P: usize> {
    cursor: Cursor<S>,
    coordinates: [Coordinate<S>; P],
    rows: [[S; P]; region::ROWS],
    metric: [[S; P]; P],
}

impl<S: Scalar, const P: usize> Descent<S, P> {
    /// Descent from a start. An invalid start or coordinate is an error of the first tell: a `static` cannot return one.
    pub const fn new(theta: [S; P], coordinates: [Coordinate<S>; P]) -> Self {
        let zero = [S::ZERO; P];
        Self {
            cursor: Cursor::new(),
            coordinates,
            rows: [
                theta, theta, zero, zero, zero, zero, zero, zero, zero, zero, zero,
            ],
            metric: [zero; P],
        }
    }

    /// Limits the number of runs; 1000 if not set.
    #[must_use]
    pub const fn at_most(mut self, runs: usize) -> Self {
        self.cursor = self.cursor.at_most(runs);
        self
    }

    /// Sets the length of the first step in the coordinates, also the first radius; 0.25 if not set. The radius grows up to eight
    /// times this.
    #[must_use]
    pub const fn radius(mut self, radius: S) -> Self {
        self.cursor = self.cursor.radius(radius);
        self
    }

    /// Sets the radius below which the descent is finished; 1/64 of the first if not set.
    #[must_use]
    pub const fn least_radius(mut self, radius: S) -> Self {
        self.cursor = self.cursor.least_radius(radius);
        self
    }

    /// θ of the next run; the best θ after the end. Always finite and within the bounds, if the start was.
    pub const fn theta(&self) -> &[S; P] {
        let [theta, ..] = &self.rows;
        theta
    }

    /// Tells the value and the gradient of the run at [`theta`](Self::theta), the gradient with respect to θ itself. A number that is infinite or
    /// NaN counts as a failed run.
    ///
    /// # Errors
    /// [`Error::Length`] for a gradient of another length; [`Error::Invalid`] if the start, the coordinates or the radii are
    /// invalid.
    pub fn tell(&mut self, value: S, gradient: &[S]) -> Result<Verdict, Error> {
        self.view().tell(value, gradient)
    }

    /// Tells the value alone. [`Verdict::GradientWanted`] asks for [`tell`](Self::tell) with the same value and the gradient;
    /// otherwise the run is judged, and the cost of its gradient saved. Gradients of rejected runs are used where they are
    /// given: without them a few more runs are made.
    ///
    /// # Errors
    /// As for [`tell`](Self::tell).
    pub fn tell_value(&mut self, value: S) -> Result<Verdict, Error> {
        self.view().tell_value(value)
    }

    /// Tells that the run at [`theta`](Self::theta) has no value or no gradient: it did not stop, was not finite, or crossed ε
    /// too flatly.
    ///
    /// # Errors
    /// As for [`tell`](Self::tell).
    pub fn tell_failed(&mut self) -> Result<Verdict, Error> {
        self.view().tell_failed()
    }

    /// Best θ and its value: the least with a gradient. `None` before the first.
    pub fn best(&self) -> Option<(&[S; P], S)> {
        let [_, best, ..] = &self.rows;
        self.cursor
            .has_value()
            .then_some((best, self.cursor.value()))
    }

    /// True if the descent is over: the radius is below the least, the limit of runs is reached, or no run around the start had
    /// a value.
    pub fn finished(&self) -> bool {
        self.cursor.finished()
    }

    /// Number of runs so far.
    pub const fn runs(&self) -> usize {
        self.cursor.runs()
    }

    /// The same descent as slices, as for sizes known at run time.
    pub fn view(&mut self) -> View<'_, S> {
        let (rows, metric) = (self.rows.as_flattened_mut(), self.metric.as_flattened_mut());
        View::of(&mut self.cursor, &self.coordinates, rows, metric)
    }
}

/// Vectors of nalgebra; a gradient is passed as `gradient.as_slice()`.
#[cfg(feature = "nalgebra")]
impl<S: Scalar, const P: usize> Descent<S, P> {
    /// [`theta`](Self::theta) as a vector.
    ///
    /// ```
    /// use dst_core::descent::{Coordinate, Descent};
    /// use nalgebra::SVector;
    ///
    /// // ½‖θ − c‖² + 1
    /// let c = SVector::from([1.0, -2.0]);
    /// let mut descent = Descent::new([0.0, 0.0], [Coordinate::Free(1.0); 2]);
    /// while !descent.finished() {
    ///     let away = descent.theta_vector() - c;
    ///     descent.tell(1.0 + 0.5 * away.dot(&away), away.as_slice())?;
    /// }
    /// assert!(descent.best_vector().is_some_and(|(best, _)| (best - c).dot(&(best - c)) < 1e-6));
    /// # Ok::<(), dst_core::Error>(())
    /// ```
    pub fn theta_vector(&self) -> nalgebra::SVector<S, P> {
        nalgebra::SVector::from(*self.theta())
    }

    /// [`best`](Self::best) as a vector.
    pub fn best_vector(&self) -> Option<(nalgebra::SVector<S, P>, S)> {
        let (best, value) = self.best()?;
        Some((nalgebra::SVector::from(*best), value))
    }
}
