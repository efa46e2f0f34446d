//! Candidates for the next point: the step of the model, a step along a kink, steps across the gradient.

use super::metric;
use super::region::{View, largest};
use crate::scalar::Scalar;
use crate::slices::{add_scaled, dot};

impl<S: Scalar> View<'_, S> {
    /// Step of the model, −Hg, scaled to the radius; returns the factor.
    pub(super) fn follow(&mut self) -> S {
        let bounds = self.coordinates.iter().zip(self.centre.iter());
        for ((out, &slope), (coordinate, &u)) in
            self.work.iter_mut().zip(self.slope.iter()).zip(bounds)
        {
            let (lo, hi) = coordinate.limits();
            // A bound holds the parameter.
            let held = (u <= lo && slope > S::ZERO) || (u >= hi && slope < S::ZERO);
            *out = if held { S::ZERO } else { -slope };
        }
        metric::apply(self.metric, self.work, self.step);
        for (step, &work) in self.step.iter_mut().zip(self.work.iter()) {
            if work == S::ZERO {
                *step = S::ZERO;
            }
        }
        if self.cursor.walled {
            let outward = dot(self.step, self.wall);
            if outward > S::ZERO {
                let share = outward / dot(self.wall, self.wall);
                add_scaled(self.step, -share, self.wall);
            }
        }
        let length = largest(self.step);
        let part = (self.cursor.radius / length).min(S::ONE);
        for step in self.step.iter_mut() {
            *step *= part;
        }
        part
    }

    /// Step to a point beside the centre: along a coordinate, without its part along the gradient, and downhill by some of it.
    pub(super) fn poll(&mut self) {
        let mut number = self.cursor.misses;
        if self.cursor.kinked {
            if number == 0 {
                return self.along_the_kink();
            }
            number -= 1;
        }
        let most = largest(self.slope);
        let steepest = self.slope.iter().position(|s| s.abs() == most);
        let mut line = number / 2;
        if let Some(steepest) = steepest
            && self.cursor.has_value()
            && line >= steepest
        {
            line += 1;
        }
        let sign = if number.is_multiple_of(2) {
            S::ONE
        } else {
            -S::ONE
        };
        for (out, &slope) in self.work.iter_mut().zip(self.slope.iter()) {
            *out = if most > S::ZERO {
                slope / most
            } else {
                S::ZERO
            };
        }
        let square = dot(self.work, self.work);
        let along = self.work.get(line).copied().unwrap_or(S::ZERO);
        let across = if square > S::ZERO {
            along / square
        } else {
            S::ZERO
        };
        for (i, (step, &g)) in self.step.iter_mut().zip(self.work.iter()).enumerate() {
            let axis = if i == line { S::ONE } else { S::ZERO };
            *step = axis - across * g;
        }
        let downhill = S::from_f64(match self.cursor.rounds % 3 {
            0 => 0.3,
            1 => 0.1,
            _ => 0.6,
        });
        let length = largest(self.step);
        for (step, &g) in self.step.iter_mut().zip(self.work.iter()) {
            *step = sign * *step / length - downhill * g;
        }
        let length = largest(self.step);
        for step in self.step.iter_mut() {
            *step *= self.cursor.radius / length;
        }
    }

    /// Step of the radius against the shortest convex combination of the gradients on both sides of a kink.
    fn along_the_kink(&mut self) {
        let a = S::ONE / largest(self.slope);
        for ((step, &g), &h) in self
            .step
            .iter_mut()
            .zip(self.slope.iter())
            .zip(self.across.iter())
        {
            *step = a * h - a * g;
        }
        let square = dot(self.step, self.step);
        let share = -a * dot(self.step, self.slope) / square;
        let share = share.max(S::ZERO).min(S::ONE);
        for (step, &g) in self.step.iter_mut().zip(self.slope.iter()) {
            *step = -(a * g + share * *step);
        }
        let length = largest(self.step);
        for step in self.step.iter_mut() {
            *step *= self.cursor.radius / length;
        }
    }

    /// θ at the end of the step, within the limits; a coordinate that would not be finite does not move.
    pub(super) fn place(&mut self) {
        let places = self.coordinates.iter().zip(self.centre.iter());
        let outputs = self.theta.iter_mut().zip(self.best.iter());
        for (((coordinate, &centre), (theta, &best)), step) in
            places.zip(outputs).zip(self.step.iter_mut())
        {
            let (lo, hi) = coordinate.limits();
            let u = (centre + *step).max(lo).min(hi);
            *theta = coordinate.theta(u);
            *step = u - centre;
            if !theta.is_finite() || !step.is_finite() || *step == S::ZERO {
                (*theta, *step) = (
                    if self.cursor.strays > 0 {
                        coordinate.theta(centre)
                    } else {
                        best
                    },
                    S::ZERO,
                );
            }
        }
    }
}
