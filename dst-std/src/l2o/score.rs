//! Scores of a set of runs: f along the way, the iteration at which the stop test fires, and f there.
//!
//! The test f(x_{k−1}) − f(x_k) ≤ ε also fires when f *rises*, and a method that stands still meets it at once. So a stopping
//! iteration never stands alone here: f at the stop and the share of rises come with it. Values of f are given above inf f,
//! which is zero where the data can be separated.

use serde::Serialize;

use super::penalty::EPSILON;
use crate::linalg::Real;

/// Levels above inf f to which steps are counted.
pub const LEVELS: [f64; 3] = [1e-3, 1e-4, 1e-5];

/// Score of a method on a set of problems.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodScore {
    /// Its name.
    pub name: String,
    /// Mean of f after k steps, k = 0, 1, …
    pub mean_f: Vec<f64>,
    /// Stopping iterations N: quartiles; `None` where that part of the runs did not stop.
    pub stop_quartiles: [Option<f64>; 3],
    /// Mean N of the runs that stopped; `None` if none did.
    pub stop_mean: Option<f64>,
    /// Share of runs that stopped.
    pub stopped: f64,
    /// Share of the stops at which f had risen.
    pub rises: f64,
    /// Median and mean of f at the stop.
    pub f_at_stop: [Option<f64>; 2],
    /// Mean f after 100 steps, or at the end of shorter runs.
    pub f_at_100: f64,
    /// Median number of steps to each of [`LEVELS`]; `None` where half of the runs do not get there.
    pub steps_to: [Option<f64>; 3],
}

/// The first k with f(x_{k−1}) − f(x_k) ≤ ε.
fn stop<T: Real>(values: &[T]) -> Option<usize> {
    let falls = values.windows(2).map(|pair| pair[0] - pair[1]);
    // Not finite any more: it has risen beyond all bounds.
    falls
        .enumerate()
        .find_map(|(k, fall)| (fall.is_nan() || fall <= T::from_f64(EPSILON)).then_some(k + 1))
}

/// f along a run, and inf f.
struct Values<'a, T> {
    values: &'a [T],
    least: f64,
}

impl<T: Real> Values<'_, T> {
    /// f(x_k) − inf f
    fn f(&self, k: usize) -> f64 {
        self.values[k].to_f64() - self.least
    }
}

/// The value below which a share of them lies; missing ones count as infinite.
fn quantile(sorted: &[f64], of: usize, share: f64) -> Option<f64> {
    let place = share * (of.max(1) - 1) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let first = *sorted.get(low)?;
    let second = if part > 0.0 {
        *sorted.get(low + 1)?
    } else {
        first
    };
    Some(first + part * (second - first))
}

fn median_of(mut values: Vec<f64>, of: usize) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    quantile(&values, of, 0.5)
}

impl MethodScore {
    /// From runs of equal length, one behind the other, and inf f of the problem of each.
    ///
    /// # Panics
    /// If `len` is zero.
    pub fn new<T: Real>(name: impl Into<String>, values: &[T], len: usize, least: &[f64]) -> Self {
        let runs: Vec<Values<'_, T>> = values
            .chunks_exact(len)
            .zip(least)
            .map(|(values, &least)| Values { values, least })
            .collect();
        let count = runs.len();
        let mean = |k: usize| runs.iter().map(|run| run.f(k)).sum::<f64>() / count as f64;
        let stops: Vec<(usize, &Values<'_, T>)> = runs
            .iter()
            .filter_map(|run| Some((stop(run.values)?, run)))
            .collect();
        let mut sorted: Vec<f64> = stops.iter().map(|&(n, _)| n as f64).collect();
        sorted.sort_by(f64::total_cmp);
        let at_stop: Vec<f64> = stops.iter().map(|&(n, run)| run.f(n)).collect();
        let rises = stops
            .iter()
            .filter(|&&(n, Values { values, .. })| values[n] > values[n - 1] || values[n].is_nan())
            .count();
        let some = |value: f64| (!stops.is_empty()).then_some(value / stops.len() as f64);
        let steps_to = LEVELS.map(|level| {
            let first = |run: &Values<'_, T>| (0..len).position(|k| run.f(k) <= level);
            let steps = runs.iter().filter_map(first).map(|k| k as f64).collect();
            median_of(steps, count)
        });
        Self {
            name: name.into(),
            mean_f: (0..len).map(mean).collect(),
            stop_quartiles: [0.25, 0.5, 0.75].map(|share| quantile(&sorted, count, share)),
            stop_mean: some(sorted.iter().sum()),
            stopped: stops.len() as f64 / count as f64,
            rises: some(rises as f64).unwrap_or(0.0),
            f_at_stop: [
                median_of(at_stop.clone(), stops.len()),
                some(at_stop.iter().sum()),
            ],
            f_at_100: mean(100.min(len - 1)),
            steps_to,
        }
    }

    /// Median N; infinite where half of the runs do not stop.
    pub fn median_stop(&self) -> f64 {
        self.stop_quartiles[1].unwrap_or(f64::INFINITY)
    }

    /// Median number of steps to one of [`LEVELS`]; infinite where half of the runs do not get there.
    pub fn median_steps_to(&self, level: usize) -> f64 {
        self.steps_to[level].unwrap_or(f64::INFINITY)
    }

    /// Median f at the stop; infinite without stops.
    pub fn median_f(&self) -> f64 {
        self.f_at_stop[0].unwrap_or(f64::INFINITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_rises_and_levels() {
        // Falls and stops at 3; rises at 1; never stops; leaves the numbers at 2.
        let runs = [
            [1.0, 0.5, 5e-4, 5e-4, 1e-6],
            [1.0, 2.0, 0.5, 0.2, 0.1],
            [1.0, 0.8, 0.6, 0.4, 0.2_f64],
            [1.0, 0.5, f64::INFINITY, f64::INFINITY, f64::INFINITY],
        ];
        let stops: Vec<_> = runs.iter().map(|run| stop(run)).collect();
        assert_eq!(stops, [Some(3), Some(1), None, Some(2)]);
        let score = MethodScore::new("some", runs[..3].as_flattened(), 5, &[0.0; 3]);
        assert_eq!(score.stop_quartiles, [Some(2.0), Some(3.0), None]);
        assert_eq!(
            (score.stop_mean, score.stopped, score.rises),
            (Some(2.0), 2.0 / 3.0, 0.5)
        );
        assert_eq!(score.f_at_stop, [Some(1.00025), Some(1.00025)]);
        assert_eq!(score.steps_to, [None; 3]);
        let above = MethodScore::new("same", runs[..3].as_flattened(), 5, &[0.0, 0.5, 0.2]);
        assert_eq!(above.stop_quartiles, score.stop_quartiles);
        assert_eq!(above.f_at_stop, [Some(0.75025); 2]);
        assert_eq!(above.steps_to, [Some(2.0), Some(4.0), Some(4.0)]);
        assert!((score.f_at_100 - 0.100_000_333).abs() < 1e-8 && score.mean_f[0] == 1.0);
    }
}
