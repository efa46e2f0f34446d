//! Hyperparameters in a file, to begin another tuning from.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::method::{Role, TunedMethod};
use super::outcome::TuningOutcome;
use crate::files::{read_text_at_most, reason, write_file};
use crate::machine::Footprint;

/// The most bytes of a file: ten million hyperparameters.
const LARGEST: u64 = 256 << 20;

/// Hyperparameters of a method, as JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SavedTheta {
    /// The name of the method.
    pub method: String,
    /// The hyperparameters in the order of the method.
    pub theta: Vec<f64>,
    /// The problem that they were tuned on.
    pub problem: String,
    /// The number of iterations on held-out starts, the median.
    pub held_out_median: Option<usize>,
}

impl SavedTheta {
    /// Returns the tuned values of an outcome.
    pub fn of(outcome: &TuningOutcome) -> Self {
        Self {
            method: outcome.method.to_owned(),
            theta: outcome.tuned.theta.clone(),
            problem: outcome.problem.clone(),
            held_out_median: outcome.tuned.held_out.median,
        }
    }

    /// Reads a file. The error is one sentence.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = read_text_at_most(path, LARGEST);
        let text = text.map_err(|error| format!("{}: {}", path.display(), reason(&error)))?;
        /// The most bytes of memory for a byte of text: a list of digits, while it grows.
        const VALUES: f64 = 12.0;
        Footprint::of(path.display().to_string())
            .with("its values", [VALUES, text.len() as f64], "give fewer")
            .check()?;
        serde_json::from_str(&text).map_err(|error| {
            format!(
                "{}: not hyperparameters that --save wrote: {error}",
                path.display()
            )
        })
    }

    /// Writes a file, whole or not at all. The error is one sentence.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        text.push('\n');
        write_file(path, text.as_bytes())
    }

    /// Returns θ if it fits this method in `dim` variables. The error is one sentence.
    pub fn fitting(self, method: TunedMethod, dim: usize) -> Result<Vec<f64>, String> {
        if self.method != method.name() {
            return Err(format!(
                "the values are those of {}, not of {}",
                self.method,
                method.name()
            ));
        }
        let expected = method.textbook(1.0, dim).len();
        if self.theta.len() != expected {
            return Err(format!(
                "{} values, but {} has {expected} here",
                self.theta.len(),
                method.name()
            ));
        }
        for (i, &value) in self.theta.iter().enumerate() {
            let valid = match method.role(i) {
                Role::Step => value > 0.0 && value.is_finite(),
                Role::Momentum => value > 0.0 && value < 1.0,
            };
            if !valid {
                return Err(format!(
                    "value {} is {value}; step sizes are positive, momenta between 0 and 1",
                    i + 1
                ));
            }
        }
        Ok(self.theta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn saved(method: TunedMethod, theta: &[f64]) -> SavedTheta {
        SavedTheta {
            method: method.name().to_owned(),
            theta: theta.to_vec(),
            problem: "x".to_owned(),
            held_out_median: None,
        }
    }

    #[test]
    fn values_that_do_not_fit_are_refused() {
        let (ball, gd) = (TunedMethod::HeavyBall, TunedMethod::Gd);
        let fit = |s: SavedTheta, method| s.fitting(method, 7);
        assert_eq!(fit(saved(ball, &[0.1, 0.9]), ball), Ok(vec![0.1, 0.9]));
        let refused = |s, method| fit(s, method).unwrap_err();
        assert!(refused(saved(ball, &[0.1, 0.9]), gd).contains("not of gd"));
        assert!(refused(saved(ball, &[0.1]), ball).contains("has 2 here"));
        assert!(refused(saved(ball, &[0.1, 1.0]), ball).contains("value 2 is 1"));
        assert!(refused(saved(gd, &[-0.1]), gd).contains("positive"));
        let pre = TunedMethod::Preconditioned;
        assert!(refused(saved(pre, &[0.1; 6]), pre).contains("has 7 here"));
    }
}
