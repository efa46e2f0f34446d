//! From dJ to dT: four ways to read the moment at which J crosses ε.
//!
//! A run stops between x_{N−1}, where J > ε, and x_N, where J ≤ ε. By the implicit function theorem
//! ∂T/∂p = −(∂J/∂p at fixed time) / (dJ/dt), both at the crossing (Theorem 1 of the paper). The choices differ in
//! where numerator and slope are taken; all share one backward sweep, with seeds w_i on ∇J(x_N), ∇J(x_{N−1}), ∇J(x_{N−2}):
//!
//! | crossing | seeds | slope dJ/dt | order in h |
//! |---|---|---|---|
//! | [`Paper`](Crossing::Paper) | 1 at x_N | (J_N − J_{N−1})/h | 1 with every integrator |
//! | [`Interpolated`](Crossing::Interpolated) | α at x_N, 1 − α at x_{N−1} | (J_N − J_{N−1})/h | 1; *exact* gradient of N\* |
//! | [`Slope`](Crossing::Slope) | the same | −∇J·A, interpolated | 2 (Heun) |
//! | [`Hermite`](Crossing::Hermite) | quadratic through three steps, at s\* | derivative of the cubic | 3 (RK4) |
//!
//! α = (J_{N−1} − ε)/(J_{N−1} − J_N) and N\* = N − 1 + α. s\* is where the cubic through both values and both
//! slopes of J meets ε. With N = 1 there is no third step, and `Hermite` interpolates its numerator linearly.
//! The paper's Appendix A drops the minus sign that its Theorem 1 has; Theorem 1 and Definition 3 are right.

use crate::scalar::Scalar;

/// How the stopping time is read off the last step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Crossing {
    /// Definition 3 of the paper: −h·dJ_N/(J_N − J_{N−1}).
    Paper,
    /// The exact gradient of the linearly interpolated N\*; what finite differences of N\* see.
    #[default]
    Interpolated,
    /// Interpolated numerator over the interpolated slope −∇J·A; second order with [`Heun`](crate::Heun).
    Slope,
    /// Cubic Hermite interpolation of J; third order with [`Rk4`](crate::Rk4).
    Hermite,
}

impl Crossing {
    /// Every crossing.
    pub const ALL: [Self; 4] = [Self::Paper, Self::Interpolated, Self::Slope, Self::Hermite];

    /// Its name, as it stands in code.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Paper => "Paper",
            Self::Interpolated => "Interpolated",
            Self::Slope => "Slope",
            Self::Hermite => "Hermite",
        }
    }

    /// Does it need dJ/dt at both ends of the last step?
    pub(crate) fn needs_slopes(self) -> bool {
        matches!(self, Self::Slope | Self::Hermite)
    }
}

/// How well the crossing is determined, both relative: rescaling J, or any one state, changes neither.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Condition<S> {
    /// The fall of J over the last step, in units of the rounding error of J: |ΔJ| / (eps·max(|J|, |ε|)).
    /// Its reciprocal bounds the relative error that rounding makes in the gradient.
    pub rounding: S,
    /// |∇J·A| / Σ|∂J/∂xᵢ·Aᵢ| at x_N: 1 where every state brings J down, 0 where the flow grazes the level set and dJ/dt is
    /// all cancellation. One, too, where only a tangent run was made, which never forms ∇J.
    pub transversality: S,
}

/// What is known about the last step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastStep<S> {
    pub(crate) h: S,
    pub(crate) epsilon: S,
    /// N ≥ 1
    pub(crate) steps: usize,
    /// J_{N−1} > ε
    pub(crate) before: S,
    /// J_N ≤ ε
    pub(crate) after: S,
    /// dJ/dt at x_{N−1} and x_N, where the crossing asked for them.
    pub(crate) slopes: (S, S),
}

/// The crossing, resolved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolved<S> {
    /// T = t_{N−1} + fraction·h
    pub(crate) fraction: S,
    /// dJ/dt at the crossing; negative.
    pub(crate) slope: S,
    /// w_i on dJ_N, dJ_{N−1}, dJ_{N−2}
    pub(crate) weights: [S; 3],
}

impl<S: Scalar> LastStep<S> {
    pub(crate) fn resolve(&self, crossing: Crossing) -> Resolved<S> {
        let (zero, one) = (S::ZERO, S::ONE);
        let fall = self.after - self.before;
        let alpha = (self.before - self.epsilon) / -fall;
        let linear = [alpha, one - alpha, zero];
        match crossing {
            Crossing::Paper => Resolved {
                fraction: one,
                slope: fall / self.h,
                weights: [one, zero, zero],
            },
            Crossing::Interpolated => Resolved {
                fraction: alpha,
                slope: fall / self.h,
                weights: linear,
            },
            Crossing::Slope => {
                let (before, after) = self.slopes;
                Resolved {
                    fraction: alpha,
                    slope: (one - alpha) * before + alpha * after,
                    weights: linear,
                }
            }
            Crossing::Hermite => {
                let s = self.hermite_root(alpha);
                let (_, slope) = self.hermite(s);
                let weights = if self.steps < 2 {
                    [s, one - s, zero]
                } else {
                    // Lagrange on the nodes 1, 0, −1.
                    [
                        S::HALF * s * (s + one),
                        one - s * s,
                        S::HALF * s * (s - one),
                    ]
                };
                Resolved {
                    fraction: s,
                    slope: slope / self.h,
                    weights,
                }
            }
        }
    }

    /// The cubic through J and dJ/dt at both ends, minus ε, and its derivative by s.
    fn hermite(&self, s: S) -> (S, S) {
        let (a, b) = (self.before - self.epsilon, self.after - self.epsilon);
        let (m, n) = (self.h * self.slopes.0, self.h * self.slopes.1);
        // a + m·s + q·s² + c·s³
        let fall = b - a;
        let three = S::TWO + S::ONE;
        let q = three * fall - S::TWO * m - n;
        let c = m + n - S::TWO * fall;
        (
            a + s * (m + s * (q + s * c)),
            m + s * (S::TWO * q + three * s * c),
        )
    }

    /// The root of the cubic in [0, 1], by Newton kept inside a shrinking bracket. It exists: the ends differ in sign.
    fn hermite_root(&self, start: S) -> S {
        let (mut low, mut high, mut s) = (S::ZERO, S::ONE, start);
        // Bisection alone gains a bit per round, so this bound is reached by no sane input.
        for _ in 0..64 {
            let (value, slope) = self.hermite(s);
            if value > S::ZERO {
                low = s;
            } else if value < S::ZERO {
                high = s;
            } else {
                return s;
            }
            let newton = s - value / slope;
            let next = if newton > low && newton < high {
                newton
            } else {
                S::HALF * (low + high)
            };
            if (next - s).abs() <= S::EPSILON {
                return next;
            }
            s = next;
        }
        s
    }

    /// How well determined the crossing is. `transversality` is that of the slope at x_N.
    pub(crate) fn condition(&self, transversality: S) -> Condition<S> {
        let fall = self.before - self.after;
        let size = self
            .before
            .abs()
            .max(self.after.abs())
            .max(self.epsilon.abs());
        Condition {
            rounding: fall / size / S::EPSILON,
            transversality,
        }
    }

    /// Too flat for a derivative: fewer than four good bits in ΔJ; or, where the slope is −∇J·A, one that rises or is
    /// nothing but cancellation. Asked this way round, a NaN counts as flat.
    pub(crate) fn is_flat(&self, crossing: Crossing, slope: S, condition: Condition<S>) -> bool {
        let clear = condition.rounding >= S::from_f64(16.0) && slope < S::ZERO;
        let crosses = condition.transversality >= S::from_f64(64.0) * S::EPSILON;
        !(clear && (crosses || !crossing.needs_slopes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last(before: f64, after: f64, slopes: (f64, f64)) -> LastStep<f64> {
        LastStep {
            h: 0.5,
            epsilon: 1.0,
            steps: 2,
            before,
            after,
            slopes,
        }
    }

    #[test]
    fn a_cubic_is_found_exactly() {
        // J(t) = 2 − t³ on t = 0.8 … 1.3 crosses 1 at t = 1.
        let j = |t: f64| 2.0 - t * t * t;
        let step = last(j(0.8), j(1.3), (-3.0 * 0.64, -3.0 * 1.69));
        let r = step.resolve(Crossing::Hermite);
        assert!((0.8 + 0.5 * r.fraction - 1.0).abs() < 1e-15, "{r:?}");
        assert!((r.slope + 3.0).abs() < 1e-14, "{r:?}");
        assert!((r.weights.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn hermite_ends_on_hostile_slopes() {
        for slopes in [
            (1e30, -1e30),
            (-1e-30, 0.0),
            (0.0, 0.0),
            (f64::NAN, 1.0),
            (5.0, 5.0),
        ] {
            let s = last(1.5, 0.5, slopes).hermite_root(0.5);
            assert!((0.0..=1.0).contains(&s), "{slopes:?}: {s}");
        }
    }

    #[test]
    fn flatness_is_relative() {
        let flat = |step: LastStep<f64>, crossing: Crossing, transversality: f64| {
            let slope = step.resolve(crossing).slope;
            step.is_flat(crossing, slope, step.condition(transversality))
        };
        for scale in [1e-200, 1.0, 1e200] {
            let step = LastStep {
                epsilon: scale,
                before: 1.5 * scale,
                after: 0.5 * scale,
                slopes: (-scale, -scale),
                ..last(0.0, 0.0, (0.0, 0.0))
            };
            for crossing in Crossing::ALL {
                assert!(
                    !flat(step, crossing, 1.0)
                        && flat(step, crossing, f64::NAN) == crossing.needs_slopes()
                );
                assert_eq!(flat(step, crossing, 1e-15), crossing.needs_slopes());
                let same = LastStep {
                    before: scale * (1.0 + 2e-16),
                    after: scale,
                    ..step
                };
                assert!(flat(same, crossing, 1.0), "{crossing:?} at {scale}");
            }
        }
        assert!(
            flat(last(1.5, 0.5, (1.0, 1.0)), Crossing::Slope, 1.0),
            "a slope that rises"
        );
    }

    #[test]
    fn one_step_has_no_third_point() {
        let step = LastStep {
            steps: 1,
            ..last(1.5, 0.5, (-2.0, -2.0))
        };
        assert_eq!(step.resolve(Crossing::Hermite).weights, [0.5, 0.5, 0.0]);
        assert_eq!(
            last(1.5, 0.5, (-2.0, -2.0))
                .resolve(Crossing::Hermite)
                .weights,
            [0.375, 0.75, -0.125]
        );
    }
}
