//! The closed form: x₁ = e^{−t}, x₂ = e^{−4θt}, so J = e^{−2t} + 16·e^{−8θt}.

use serde::Serialize;

/// The closed form of the stopping time and its derivative.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Exact {
    /// T
    pub time: f64,
    /// dT/dθ
    pub time_gradient: f64,
}

/// The flow at time t.
pub(super) fn flow(theta: f64, t: f64) -> (f64, f64) {
    (libm::exp(-t), libm::exp(-4.0 * theta * t))
}

impl Exact {
    /// The first t with e^{−2t} + 16·e^{−8θt} = ε. `None` if there is none, or it is at the start.
    pub fn solve(theta: f64, epsilon: f64) -> Option<Self> {
        let j = |t: f64| libm::exp(-2.0 * t) + 16.0 * libm::exp(-8.0 * theta * t);
        // J is convex: it falls until its minimum (θ < 0) or for ever.
        let mut high = if theta < 0.0 {
            libm::log(-1.0 / (64.0 * theta)) / (2.0 - 8.0 * theta)
        } else {
            1.0
        };
        while theta >= 0.0 && j(high) > epsilon && high < 1e300 {
            high *= 2.0;
        }
        let mut low = 0.0;
        if !(j(low) > epsilon && high > 0.0 && j(high) <= epsilon) {
            return None;
        }
        // Halving until the two are neighbours: as exact as j itself, with nothing to go wrong.
        loop {
            let middle = low + 0.5 * (high - low);
            if middle <= low || middle >= high {
                break;
            }
            if j(middle) > epsilon {
                low = middle;
            } else {
                high = middle;
            }
        }
        let second = 128.0 * libm::exp(-8.0 * theta * high);
        Some(Self {
            time: high,
            time_gradient: -second * high / (2.0 * libm::exp(-2.0 * high) + theta * second),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Exact;

    #[test]
    fn the_closed_form_agrees_with_its_difference_quotient() {
        for (theta, epsilon) in [(1.0, 1.0), (0.25, 1e-4), (0.1, 1e-2), (-0.001, 16.9)] {
            let exact = Exact::solve(theta, epsilon).unwrap();
            let d = 1e-5 * f64::abs(theta);
            let time = |theta| Exact::solve(theta, epsilon).unwrap().time;
            let quotient = (time(theta + d) - time(theta - d)) / (2.0 * d);
            let error = (quotient / exact.time_gradient - 1.0).abs();
            assert!(error < 1e-5, "theta {theta}, eps {epsilon}: {error:e}");
        }
    }

    #[test]
    fn no_crossing_is_none() {
        for (theta, epsilon) in [(1.0, 17.0), (0.0, 15.9), (-1.0, 1.0), (-0.001, 15.0)] {
            assert_eq!(Exact::solve(theta, epsilon), None);
        }
    }
}
