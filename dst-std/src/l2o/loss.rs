//! Loss of a training: f along the runs, or its logarithm.
//!
//! The mean of f is that of its first few values, which are a million times larger than the rest: a network that is trained on it does
//! not learn to go on. The logarithm asks for the same factor at every step. Its gradient is that of a sum with the
//! weights 1/f(x_k): other seeds in the sweep that the mean takes.

use crate::linalg::Real;

/// Term summed over the steps of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// f(x_k), as published.
    #[default]
    Mean,
    /// ln(f(x_k) − inf f + δ). δ = 1e-12 is where there is nothing left to gain, and grows with inf f, as the digits of f end sooner then.
    Log,
}

const FLOOR: f64 = 1e-12;
/// A generous bound on the rounding error of inf f in single precision.
const ROUNDING: f64 = 1e-6;

impl Loss {
    /// One word, as the command line knows it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Log => "log",
        }
    }

    /// The name of its mean.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Mean => "mean f",
            Self::Log => "mean ln f",
        }
    }

    /// True if inf f must be known.
    pub(super) const fn counts_from_infimum(self) -> bool {
        matches!(self, Self::Log)
    }

    fn above<T: Real>(f: T, least: T) -> T {
        let floor = T::from_f64(FLOOR) + T::from_f64(ROUNDING) * least;
        let above = f - least;
        floor + if above > T::ZERO { above } else { T::ZERO }
    }

    /// Its value where the objective has the value f.
    pub(super) fn of<T: Real>(self, f: T, least: T) -> T {
        match self {
            Self::Mean => f,
            Self::Log => T::from_f64(libm::log(Self::above(f, least).to_f64())),
        }
    }

    /// Its derivative by f.
    pub(super) fn slope<T: Real>(self, f: T, least: T) -> T {
        match self {
            Self::Mean => T::ONE,
            Self::Log => T::ONE / Self::above(f, least),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slopes_are_those_of_the_values() {
        for loss in [Loss::Mean, Loss::Log] {
            for (f, least) in [(0.7, 0.0), (1e-6, 0.0), (1e-13, 0.0), (0.30001, 0.3)] {
                let h = 1e-4 * (f - least);
                let rise = loss.of(f + h, least) - loss.of(f - h, least);
                let slope: f64 = loss.slope(f, least);
                let error = rise / (2.0 * h * slope) - 1.0;
                assert!(error.abs() < 1e-6, "{loss:?} at {f:e}: {error:e}");
            }
        }
        // Below inf f, as rounding may have it, nothing is gained.
        assert_eq!(Loss::Log.of(0.3 - 1e-9, 0.3_f64), Loss::Log.of(0.3, 0.3));
        assert!(Loss::Log.of(0.0_f32, 0.0).is_finite());
    }
}
