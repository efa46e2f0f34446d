//! The stopping time as part of the training loss.
//!
//! A run stops at the first k with J_k = f(x_{k−1}) − f(x_k) ≤ ε. As the paper differentiates it (`Crossing::Paper`, h = 1),
//! dN/dθ = −dJ_N/D with D = J_N − J_{N−1}. J is the difference of two values of f, so this is the gradient of a sum with the
//! weights −1/D on f(x_{N−1}) and 1/D on f(x_N): seeds of a sweep, chosen after the run, which may go on beyond its
//! stop, as the loss asks.

use crate::linalg::Real;

/// Term added to the loss.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Penalty {
    /// Nothing.
    #[default]
    None,
    /// λ·N, as the paper states it.
    Literal {
        /// λ
        weight: f64,
    },
    /// Counts a stop only if f is low and falls, from some training step on: 0 ≤ J ≤ ε, f ≤ inf f + 1e-3, D < 0. The gradient of the
    /// mean N gets the length of that of the loss.
    Guarded {
        /// Training steps without it.
        from: usize,
    },
    /// The same with the last step taken as given, x_N = x_{N−1} + a constant: nothing is gained by making it shorter, which would
    /// bring J down and leave f where it is.
    Carried {
        /// Training steps without it.
        from: usize,
    },
    /// The time to a level of f, N = the first k with f(x_k) ≤ inf f + level: nothing but a lower f brings it down. From some
    /// training step on, and at the length of the gradient of the loss, as the guarded one.
    Target {
        /// The level above inf f.
        level: f64,
        /// Training steps without it.
        from: usize,
    },
}

/// ε of the stop test.
pub const EPSILON: f64 = 1e-5;
/// The guarded penalty looks away while f is further above inf f than this.
const LOW: f64 = 1e-3;
/// A denominator below this cannot be divided by in single precision; such stops are counted and left out.
const FLAT: f64 = 1e-30;

/// Weights that a stop puts on two values of f.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Term<T> {
    /// N, counted from the beginning of the run.
    pub(super) stop: usize,
    /// The weights of f(x_{N−1}) and f(x_N).
    pub(super) weights: [T; 2],
}

impl<T: Real> Term<T> {
    /// The weight of f(x_k).
    pub(super) fn at(&self, k: usize) -> T {
        let [before, last] = self.weights;
        if k == self.stop {
            last
        } else if k + 1 == self.stop {
            before
        } else {
            T::ZERO
        }
    }
}

/// Result of a penalty on a segment of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found<T> {
    /// No stop yet.
    Nothing,
    /// A stop without a derivative.
    Flat,
    /// A stop.
    Stop(Term<T>),
}

impl Penalty {
    /// One word, as the command line knows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Literal { .. } => "literal",
            Self::Guarded { .. } => "guarded",
            Self::Carried { .. } => "carried",
            Self::Target { .. } => "target",
        }
    }

    /// Training steps without it, for those whose gradient then gets the length of that of the loss.
    pub(crate) const fn warm_up(self) -> Option<usize> {
        match self {
            Self::None | Self::Literal { .. } => None,
            Self::Guarded { from } | Self::Carried { from } | Self::Target { from, .. } => {
                Some(from)
            }
        }
    }

    /// Looks for a stop among the steps after `from`, in the values f(x_0), f(x_1), … known so far. A decrease can be compared
    /// with one before it from the second step on. `least` is inf f.
    pub(super) fn find<T: Real>(self, values: &[T], from: usize, least: T) -> Found<T> {
        let guarded = match self {
            Self::None => return Found::Nothing,
            Self::Literal { .. } => false,
            Self::Guarded { .. } | Self::Carried { .. } => true,
            Self::Target { level, .. } => {
                return reaches(values, from, least + T::from_f64(level));
            }
        };
        for k in (from + 1).max(2)..values.len() {
            let (now, before) = (values[k - 1] - values[k], values[k - 2] - values[k - 1]);
            let slope = now - before;
            let stops = now <= T::from_f64(EPSILON);
            let low = values[k] <= least + T::from_f64(LOW);
            let accepted = now >= T::ZERO && low && slope < T::ZERO;
            if stops && (accepted || !guarded) {
                return if slope.abs() > T::from_f64(FLAT) {
                    Found::Stop(Term {
                        stop: k,
                        weights: [-T::ONE / slope, T::ONE / slope],
                    })
                } else {
                    Found::Flat
                };
            }
        }
        Found::Nothing
    }
}

/// Looks for the step that brings f to the level.
fn reaches<T: Real>(values: &[T], from: usize, level: T) -> Found<T> {
    for k in from + 1..values.len() {
        let (before, now) = (values[k - 1], values[k]);
        if before > level && now <= level {
            return Found::Stop(Term {
                stop: k,
                weights: [T::ZERO, T::ONE / (before - now)],
            });
        }
    }
    Found::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_each_penalty_sees_a_stop() {
        let (literal, guarded) = (
            Penalty::Literal { weight: 1.0 },
            Penalty::Guarded { from: 0 },
        );
        let falls = [1.0, 0.5, 1e-4, 9.5e-5, 9.4e-5_f64];
        let stop = |penalty: Penalty, values: &[f64], from| match penalty.find(values, from, 0.0) {
            Found::Stop(term) => Some((term.stop, term.weights[0] > 0.0)),
            _ => None,
        };
        for penalty in [literal, guarded] {
            assert_eq!(stop(penalty, &falls, 0), Some((3, true)));
            assert_eq!(stop(penalty, &falls, 3), Some((4, true)));
            assert_eq!(stop(penalty, &falls[..3], 0), None);
        }
        // A rise, and a standstill at a large f: the literal penalty accepts both as a stop.
        let rises = [1.0, 0.5, 0.6, 0.7_f64];
        let stands = [1.0, 0.5, 0.5, 0.5_f64];
        for values in [rises, stands] {
            assert_eq!(stop(literal, &values, 0), Some((2, true)));
            assert_eq!(stop(guarded, &values, 0), None);
        }
        assert_eq!(literal.find(&[1.0, 1.0, 1.0], 0, 0.0), Found::<f64>::Flat);
        assert_eq!(stop(Penalty::None, &falls, 0), None);
        let target = Penalty::Target {
            level: 0.55,
            from: 0,
        };
        let reached = |values: &[f64], from, least| match target.find(values, from, least) {
            Found::Stop(Term { stop, weights }) => Some((stop, weights)),
            _ => None,
        };
        assert_eq!(reached(&falls, 0, 0.0), Some((1, [0.0, 2.0])));
        assert_eq!(reached(&falls, 1, 0.0), None, "below it already");
        assert_eq!(reached(&[1.0, 0.9, 0.8], 0, 0.0), None);
        assert_eq!(
            reached(&[1.0, 0.9, 0.8], 0, 0.26).map(|stop| stop.0),
            Some(2)
        );
    }
}
