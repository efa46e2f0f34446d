//! Coordinates in which a descent measures its steps: θ = θ(u), and steps in u are comparable between parameters.

use crate::scalar::Scalar;

/// Coordinate u of one parameter θ, in which the trust region limits the steps.
///
/// A step of length one is a large step for this parameter: the descent starts with 0.25.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum Coordinate<S> {
    /// Any real number, θ = scale·u. The scale is a typical size of the parameter, positive.
    Free(S),
    /// Closed interval lo ≤ θ ≤ hi, in which u is linear and the interval has the length 4. Steps end at the bounds, so that an
    /// optimum at a bound is reached exactly.
    Between(S, S),
    /// Positive number, u = ln θ: steps are factors.
    #[cfg(feature = "libm")]
    Log,
    /// Open interval lo < θ < hi with u = ln((θ − lo)/(hi − θ)). Near each end steps are factors of the distance to it, as a
    /// momentum β close to 1 needs. An end itself is not reached.
    #[cfg(feature = "libm")]
    Logit(S, S),
}

/// Length of the interval of [`Coordinate::Between`] in u: the slope of [`Coordinate::Logit`] in its middle.
const WIDTH: f64 = 4.0;

impl<S: Scalar> Coordinate<S> {
    /// True if the coordinate is well defined.
    pub(super) fn is_valid(self) -> bool {
        match self {
            Self::Free(scale) => scale > S::ZERO && scale.is_finite(),
            Self::Between(lo, hi) => lo < hi && (hi - lo).is_finite(),
            #[cfg(feature = "libm")]
            Self::Log => true,
            #[cfg(feature = "libm")]
            Self::Logit(lo, hi) => lo < hi && (hi - lo).is_finite(),
        }
    }

    /// u of a parameter; `None` if the parameter is not in the range of the coordinate.
    pub(super) fn of(self, theta: S) -> Option<S> {
        let (u, inside) = match self {
            Self::Free(scale) => (theta / scale, true),
            Self::Between(lo, hi) => (
                (theta - lo) / (hi - lo) * S::from_f64(WIDTH),
                lo <= theta && theta <= hi,
            ),
            #[cfg(feature = "libm")]
            Self::Log => (theta.ln(), theta > S::ZERO),
            #[cfg(feature = "libm")]
            Self::Logit(lo, hi) => (((theta - lo) / (hi - theta)).ln(), lo < theta && theta < hi),
        };
        (inside && u.is_finite()).then_some(u)
    }

    /// Limits of u: bounds of the parameter, or the range in which θ(u) neither overflows nor rounds to a bound.
    pub(super) fn limits(self) -> (S, S) {
        match self {
            Self::Free(_) => (-S::MAX, S::MAX),
            Self::Between(..) => (S::ZERO, S::from_f64(WIDTH)),
            #[cfg(feature = "libm")]
            Self::Log => {
                let most = S::from_f64(0.98) * S::MAX.ln();
                (-most, most)
            }
            #[cfg(feature = "libm")]
            Self::Logit(..) => {
                let most = -(S::EPSILON * S::from_f64(WIDTH)).ln();
                (-most, most)
            }
        }
    }

    /// θ(u); within the bounds whatever the rounding.
    pub(super) fn theta(self, u: S) -> S {
        match self {
            Self::Free(scale) => scale * u,
            Self::Between(lo, hi) => (lo + (hi - lo) * (u / S::from_f64(WIDTH))).max(lo).min(hi),
            #[cfg(feature = "libm")]
            Self::Log => u.exp(),
            #[cfg(feature = "libm")]
            Self::Logit(lo, hi) => {
                // The distance to the nearer end is the small number, and keeps its digits.
                let share = S::ONE / (S::ONE + u.abs().exp());
                let distance = (hi - lo) * share;
                let theta = if u < S::ZERO {
                    lo + distance
                } else {
                    hi - distance
                };
                theta.max(lo).min(hi)
            }
        }
    }

    /// dθ/du at u, where θ = θ(u).
    pub(super) fn slope(self, u: S, theta: S) -> S {
        #[cfg(not(feature = "libm"))]
        let _ = (u, theta); // constant slopes only
        match self {
            Self::Free(scale) => scale,
            Self::Between(lo, hi) => (hi - lo) / S::from_f64(WIDTH),
            #[cfg(feature = "libm")]
            Self::Log => theta,
            #[cfg(feature = "libm")]
            Self::Logit(lo, hi) => {
                let share = S::ONE / (S::ONE + u.abs().exp());
                (hi - lo) * share * (S::ONE - share)
            }
        }
    }
}

#[cfg(all(test, feature = "libm"))]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_derivatives_and_coordinates_invert() {
        let all = [
            (Coordinate::Free(3.0), -7.0),
            (Coordinate::Between(-1.0, 2.0), 0.5),
            (Coordinate::Log, 4e5),
            (Coordinate::Logit(0.0, 1.0), 0.98),
            (Coordinate::Logit(-2.0, 5.0), -1.9),
        ];
        for (coordinate, theta) in all {
            let u: f64 = coordinate.of(theta).unwrap();
            assert!((coordinate.theta(u) / theta - 1.0).abs() < 1e-14);
            let h = 1e-5;
            let difference = (coordinate.theta(u + h) - coordinate.theta(u - h)) / (2.0 * h);
            let slope = coordinate.slope(u, theta);
            assert!((difference / slope - 1.0).abs() < 1e-8, "{coordinate:?}");
        }
    }

    #[test]
    fn the_limits_stay_inside() {
        for coordinate in [
            Coordinate::<f32>::Log,
            Coordinate::Logit(0.0, 1.0),
            Coordinate::Between(0.1, 0.7),
        ] {
            let (lo, hi) = coordinate.limits();
            let (a, b) = (coordinate.theta(lo), coordinate.theta(hi));
            assert!(a.is_finite() && b.is_finite() && a < b, "{coordinate:?}");
            match coordinate {
                Coordinate::Log => assert!(a > 0.0),
                Coordinate::Logit(lo, hi) => assert!(lo < a && b < hi),
                _ => assert!((a, b) == (0.1, 0.7)),
            }
        }
    }
}
