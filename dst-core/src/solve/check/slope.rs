//! Derivative of a functional by differences, with an estimate of its error.

use super::desk::{Along, Desk};
use crate::scalar::Scalar;
use crate::system::{Reading, System};

/// Functional at the point, and the rounding error with which it is evaluated there.
#[derive(Clone, Copy)]
pub(super) struct Centre<S> {
    value: S,
    rounding: S,
    /// Rounding error of a derivative that is zero because others cancel.
    floor: S,
}

/// Judgement of one derivative.
#[derive(Clone, Copy)]
pub(super) enum Verdict<S> {
    Agrees,
    /// The differences do not decide it.
    Undecided,
    Differs {
        /// Derivative by differences.
        expected: S,
        /// Deviation, in units of the tolerance.
        excess: S,
    },
}

/// Quotient of differences.
#[derive(Clone, Copy)]
struct Slope<S> {
    value: S,
    error: S,
    /// True if the slopes on both sides do not approach each other with the step size: a kink, or a pole.
    kink: bool,
    /// True if the quotients of both step sizes agree.
    settled: bool,
}

/// Cube root of the distance between 1 and the next number: relative tolerance, and half of the relative step size.
pub(super) fn cube_root<S: Scalar>() -> S {
    S::from_f64(if S::EPSILON.to_f64() > 1e-10 {
        4.9e-3
    } else {
        6.1e-6
    })
}

/// Square root of the same: tolerance of values without differences.
pub(super) fn square_root<S: Scalar>() -> S {
    S::from_f64(if S::EPSILON.to_f64() > 1e-10 {
        3.5e-4
    } else {
        1.5e-8
    })
}

/// Numbers below this one count as zero: smaller ones have few digits.
fn least<S: Scalar>() -> S {
    S::from_f64(if S::EPSILON.to_f64() > 1e-10 {
        1e-33
    } else {
        1e-290
    })
}

impl<S: Scalar, Y: System<S> + ?Sized> Desk<'_, S, Y> {
    /// Evaluates the functional, and measures its rounding error.
    pub(super) fn centre(&mut self) -> Centre<S> {
        let [value, size] = self.here();
        let four = S::from_f64(4.0);
        let floor = if self.weights == Reading::ZERO {
            let largest = self.rate.iter().fold(S::ZERO, |most, a| most.max(a.abs()));
            S::from_f64(16.0) * S::EPSILON * largest
        } else {
            S::ZERO
        };
        let mut rounding = four * S::EPSILON * size;
        for series in [20, 30, 40, 50] {
            let change = (self.rounded(series) - value).abs();
            if change.is_finite() {
                rounding = rounding.max(change);
            }
        }
        Centre {
            value,
            rounding,
            floor,
        }
    }

    /// Irregular part of the functional along a direction: rounding, digits lost in a difference, a kink or a pole. Fourth
    /// differences over nine places amplify it by about eight, and leave nothing of a smooth function.
    fn roughness(&mut self, along: Along, tau: S) -> S {
        let eighth = tau * S::from_f64(0.125);
        let mut values = [S::ZERO; 9];
        for (k, value) in values.iter_mut().enumerate() {
            *value = self.near(along, eighth * (S::from_count(k) - S::from_f64(4.0)));
        }
        let mut rest: &mut [S] = &mut values;
        for _ in 0..4 {
            let mut previous = S::NAN;
            for value in rest.iter_mut() {
                (previous, *value) = (*value, *value - previous);
            }
            rest = rest.split_first_mut().map_or(&mut [], |(_, rest)| rest);
        }
        let largest = rest.iter().fold(S::ZERO, |most, v| most.max(v.abs()));
        largest * S::from_f64(0.25)
    }

    fn slope(&mut self, centre: Centre<S>, rough: S, along: Along, tau: S) -> Slope<S> {
        let half = tau * S::HALF;
        let outer = [self.near(along, tau), self.near(along, -tau)];
        let inner = [self.near(along, half), self.near(along, -half)];
        let quotient = |[up, down]: [S; 2], tau: S| (up - down) / (tau + tau);
        let bend =
            |[up, down]: [S; 2], tau: S| ((up - centre.value) - (centre.value - down)).abs() / tau;
        let (wide, narrow) = (quotient(outer, tau), quotient(inner, half));
        let disagreement = (wide - narrow).abs();
        let per_step = S::from_f64(4.0) / half;
        let rounding = centre.rounding * per_step;
        let noise = centre.rounding.max(rough) * per_step;
        let (wide_bend, bend) = (bend(outer, tau), bend(inner, half));
        // A smooth function bends half as much over half the distance.
        let kink = bend > S::from_f64(0.7) * wide_bend && bend > rounding + rounding;
        let error = S::from_f64(3.0) * disagreement + noise;
        let third = S::from_f64(1.0 / 3.0);
        Slope {
            value: narrow + (narrow - wide) * third,
            error: if error.is_finite() {
                error
            } else {
                S::INFINITY
            },
            kink,
            settled: disagreement <= S::from_f64(0.1) * narrow.abs() + rounding,
        }
    }

    /// Compares a derivative along a direction with differences.
    pub(super) fn judge(&mut self, centre: Centre<S>, along: Along, found: S) -> Verdict<S> {
        let tau = cube_root::<S>() * S::TWO;
        let tolerance = |slope: &Slope<S>| {
            let size = slope.value.abs().max(found.abs());
            // A derivative along a direction has the rounding errors of the functional itself.
            let rounding = S::from_f64(16.0) * centre.rounding + centre.floor;
            slope.error + cube_root::<S>() * size + rounding + least()
        };
        let agrees = |slope: &Slope<S>| (found - slope.value).abs() <= tolerance(slope);
        let mut others = [None; 3];
        let mut best = self.slope(centre, S::ZERO, along, tau);
        if !(best.settled && agrees(&best)) {
            best.error = S::INFINITY;
            let mut rough = S::ZERO;
            for (factor, slot) in [1.0, 1.0 / 32.0, 8.0].into_iter().zip(&mut others) {
                let tau = tau * S::from_f64(factor);
                // Of a coarse function a short step may see a flat piece only.
                rough = rough.max(self.roughness(along, tau));
                let other = self.slope(centre, rough, along, tau);
                *slot = Some(other);
                if other.error < best.error {
                    best = other;
                }
            }
        }
        if best.error == S::INFINITY {
            return Verdict::Undecided;
        }
        if !best.settled {
            return Verdict::Undecided;
        }
        if agrees(&best) {
            return Verdict::Agrees;
        }
        let deviation = (found - best.value).abs();
        // Differences of another step size deviate as much as the derivative does.
        let contradicted = others
            .iter()
            .flatten()
            .any(|other| other.settled && (other.value - best.value).abs() > S::HALF * deviation);
        if best.kink || contradicted {
            return Verdict::Undecided;
        }
        let size = best.error + cube_root::<S>() * best.value.abs() + least();
        Verdict::Differs {
            expected: best.value,
            excess: if deviation.is_finite() {
                deviation / size
            } else {
                S::MAX
            },
        }
    }
}
