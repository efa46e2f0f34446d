//! Helpers of several experiments.

use crate::format::short;

/// Formats numbers as a list with commas.
pub(super) fn list(values: &[f64]) -> String {
    let texts: Vec<String> = values.iter().map(|&v| short(v)).collect();
    texts.join(", ")
}

/// Returns the slope of the least-squares line through the logarithms: the order of convergence.
pub(super) fn order(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .map(|p| (libm::log(p.0), libm::log(p.1)))
        .collect();
    let n = logs.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = logs.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    covariance / variance
}
