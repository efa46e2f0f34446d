//! A bound on the probability that a run is late, from counted runs: Clopper and Pearson (1934).
//!
//! The setting is fixed first, then `runs` fresh runs are counted. With `late` of them beyond the limit, the probability of a late
//! run is at most the (1 − δ)-quantile of Beta(late + 1, runs − late), with confidence 1 − δ. Without a late run that is
//! 1 − δ^(1/runs). The number of runs must be fixed before the first one. The bound holds for instances of the same distribution.
//!
//! ```
//! use dst_std::family::certificate;
//!
//! assert_eq!(certificate::runs_needed(1e-3, 0.95), Some(2995));
//! let bound = certificate::bound(2995, 0, 0.95).unwrap();
//! assert!(bound <= 1e-3);
//! // One late run, and the same runs show less.
//! assert!(certificate::bound(2995, 1, 0.95).unwrap() > 1.5e-3);
//! ```

/// Halvings of an interval; more change nothing in an `f64`.
const HALVINGS: usize = 200;

/// Returns the upper bound on the probability of a late run, with `late` late ones among `runs`. None without runs, with more late ones
/// than runs, or if the confidence is not between 0 and 1.
pub fn bound(runs: usize, late: usize, confidence: f64) -> Option<f64> {
    if runs == 0 || late > runs || !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let delta = 1.0 - confidence;
    if late == runs {
        return Some(1.0);
    }
    if late == 0 {
        return Some(-libm::expm1(libm::log(delta) / runs as f64));
    }
    // The probability of at most `late` late runs falls with p; at the bound it is δ.
    let (mut low, mut high) = (late as f64 / runs as f64, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if at_most(runs, late, middle) > delta {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(high)
}

/// Returns the number of runs, none of them late, that shows a probability of at most `probability`. None if either argument is not
/// between 0 and 1.
pub fn runs_needed(probability: f64, confidence: f64) -> Option<usize> {
    let inside = |p: f64| p > 0.0 && p < 1.0;
    if !inside(probability) || !inside(confidence) {
        return None;
    }
    let runs = libm::log1p(-confidence) / libm::log1p(-probability);
    Some((runs.ceil() as usize).max(1))
}

/// The probability of at most `late` successes among `runs` trials: the sum of binomial terms, each from the one before.
fn at_most(runs: usize, late: usize, p: f64) -> f64 {
    if p >= 1.0 {
        return if late >= runs { 1.0 } else { 0.0 };
    }
    let n = runs as f64;
    let odds = libm::log(p) - libm::log1p(-p);
    let mut term = n * libm::log1p(-p);
    let mut terms = Vec::with_capacity(late + 1);
    terms.push(term);
    for k in 0..late {
        let k = k as f64;
        term += libm::log((n - k) / (k + 1.0)) + odds;
        terms.push(term);
    }
    let largest = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|t| libm::exp(t - largest)).sum();
    libm::exp(largest) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_answers() {
        assert_eq!(runs_needed(1e-3, 0.95), Some(2995));
        assert_eq!(runs_needed(1e-4, 0.95), Some(29_956));
        for (probability, runs) in [(1e-3, 2995), (1e-4, 29_956)] {
            assert!(bound(runs, 0, 0.95).unwrap() <= probability);
            assert!(bound(runs - 1, 0, 0.95).unwrap() > probability);
        }
        // Quantiles of Beta(m + 1, n − m) from tables: 0.95 of Beta(2, 9), of Beta(3, 98); 0.99 of Beta(6, 15).
        for (runs, late, confidence, known) in [
            (10, 1, 0.95, 0.394_163_3),
            (100, 2, 0.95, 0.061_619_2),
            (1, 0, 0.95, 0.95),
        ] {
            let found = bound(runs, late, confidence).unwrap();
            assert!((found - known).abs() < 2e-6, "{runs} {late}: {found}");
        }
    }

    #[test]
    fn the_bound_is_the_probability_that_it_says() {
        // Exactly δ of the samples at the bound have at most as many late runs.
        for (runs, late) in [(50, 3), (2995, 7), (40_000, 12)] {
            let p = bound(runs, late, 0.9).unwrap();
            assert!((at_most(runs, late, p) - 0.1).abs() < 1e-9);
            assert!(p > bound(runs, late - 1, 0.9).unwrap());
        }
        // A sum that is known: 3 trials at ½.
        assert!((at_most(3, 1, 0.5) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn senseless_questions_have_no_answer() {
        assert_eq!(bound(0, 0, 0.95), None);
        assert_eq!(bound(3, 4, 0.95), None);
        assert_eq!(bound(3, 1, 1.0), None);
        assert_eq!(bound(3, 1, f64::NAN), None);
        assert_eq!(bound(3, 3, 0.95), Some(1.0));
        assert_eq!(runs_needed(0.0, 0.95), None);
        assert_eq!(runs_needed(1e-3, 0.0), None);
    }
}
