//! Statistics of ticks that are not kept: counts and operations in histograms, and of the errors one number per tick.
//!
//! They are those of the list of all ticks, to the last bit: sums of whole numbers are exact, and errors are added in their order.

use std::collections::BTreeMap;

use super::simulate::{TickResult, TickStatistics};
use crate::qp::{Counts, ErrorOfInputs};

/// Ticks, counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// Ticks that were solved, by their count.
    solved: BTreeMap<u32, usize>,
    unsolved: usize,
    /// Largest count, of all ticks.
    largest: u32,
    /// Ticks by their multiply-adds.
    operations: BTreeMap<usize, usize>,
    errors: Vec<f32>,
    soft_error: f32,
    active: u16,
}

/// The value at this place of the sorted list.
fn at<T: Copy>(histogram: &BTreeMap<T, usize>, place: usize) -> Option<T> {
    let mut left = place;
    for (&value, &count) in histogram {
        if left < count {
            return Some(value);
        }
        left -= count;
    }
    None
}

/// Place of the value that all but one in a hundred do not exceed.
fn p99(count: usize) -> usize {
    (0.99 * count.saturating_sub(1) as f64).round() as usize
}

impl Tally {
    /// Bytes that a tick takes: one error.
    pub(super) const PER_TICK: usize = size_of::<f32>();

    /// A tally with room for the errors of this many ticks.
    pub(super) fn for_ticks(count: usize) -> Self {
        Self {
            errors: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, tick: &TickResult) {
        self.largest = self.largest.max(tick.outcome.count);
        match tick.is_solved() {
            true => *self.solved.entry(tick.outcome.count).or_default() += 1,
            false => self.unsolved += 1,
        }
        *self.operations.entry(tick.outcome.operations).or_default() += 1;
        if !tick.error.is_nan() {
            self.errors.push(tick.error);
        }
        self.soft_error = self.soft_error.max(tick.soft_error);
        self.active = self.active.max(tick.active);
    }

    /// Number of ticks.
    pub(super) fn ticks(&self) -> usize {
        self.solved.values().sum::<usize>() + self.unsolved
    }

    /// Their statistics.
    pub(super) fn statistics(mut self) -> TickStatistics {
        let ticks = self.ticks();
        // A tick that was not solved counts as the cap.
        *self.solved.entry(self.largest).or_default() += self.unsolved;
        let of_counts = self.solved.iter().map(|(&c, &n)| f64::from(c) * n as f64);
        let of_operations = self.operations.iter().map(|(&o, &n)| o as f64 * n as f64);
        let n = ticks.max(1) as f64;
        self.errors.sort_unstable_by(f32::total_cmp);
        let errors = self.errors.iter().map(|&error| f64::from(error));
        let error = |place: usize| self.errors.get(place).map_or(0.0, |&e| f64::from(e));
        let known = self.errors.len();
        TickStatistics {
            counts: Counts {
                ticks,
                mean: of_counts.sum::<f64>() / n,
                p99: at(&self.solved, p99(ticks)).unwrap_or(0),
                max: self.largest,
                unsolved: self.unsolved,
            },
            mean_operations: of_operations.sum::<f64>() / n,
            p99_operations: at(&self.operations, p99(ticks)).map_or(0.0, |o| o as f64),
            errors: ErrorOfInputs {
                mean: errors.sum::<f64>() / known.max(1) as f64,
                p99: error(p99(known)),
                max: error(known.saturating_sub(1)),
            },
            soft_error: f64::from(self.soft_error),
            active: usize::from(self.active),
        }
    }
}

#[cfg(test)]
mod tests {
    use dst_core::qp::Status;

    use super::super::device::TickOutcome;
    use super::*;
    use crate::random::{bits, uniform};

    fn ticks(count: u64) -> Vec<TickResult> {
        let tick = |i: u64| {
            let count = (bits(1, i) % 9) as u32;
            let error = (1e-6 * uniform(2, i) / 3.0) as f32;
            TickResult {
                outcome: TickOutcome {
                    count,
                    total: count,
                    operations: 17 * count as usize + (i % 3) as usize,
                    status: match bits(3, i) % 8 {
                        0 => Status::Late,
                        1 => Status::Softened,
                        _ => Status::Solved,
                    },
                },
                error: if i.is_multiple_of(5) { f32::NAN } else { error },
                soft_error: if i.is_multiple_of(5) { error } else { f32::NAN },
                solvable: true,
                softened: 0,
                active: (i % 11) as u16,
            }
        };
        (0..count).map(tick).collect()
    }

    /// Statistics of a list, to the last bit.
    #[test]
    fn a_tally_knows_what_a_list_knows() {
        for count in [0, 1, 2, 100, 101, 3000] {
            let ticks = ticks(count);
            let cap = ticks.iter().map(|t| t.outcome.count).max().unwrap_or(0);
            let capped = ticks.iter().map(|t| match t.is_solved() {
                true => t.outcome.count,
                false => cap + 1,
            });
            let errors = ticks.iter().map(|t| f64::from(t.error));
            let errors: Vec<f64> = errors.filter(|e| !e.is_nan()).collect();
            let mut operations: Vec<usize> = ticks.iter().map(|t| t.outcome.operations).collect();
            operations.sort_unstable();
            let n = ticks.len();
            let sum: f64 = operations.iter().map(|&o| o as f64).sum();
            let place = (0.99 * n.saturating_sub(1) as f64).round() as usize;
            let soft = ticks.iter().map(|t| f64::from(t.soft_error));
            let expected = TickStatistics {
                counts: Counts::of(&capped.collect::<Vec<_>>(), cap),
                mean_operations: sum / n.max(1) as f64,
                p99_operations: operations.get(place).map_or(0.0, |&o| o as f64),
                errors: ErrorOfInputs::of(&errors),
                soft_error: soft.fold(0.0, f64::max),
                active: ticks
                    .iter()
                    .map(|t| usize::from(t.active))
                    .max()
                    .unwrap_or(0),
            };
            assert_eq!(TickStatistics::of(&ticks), expected, "{count}");
        }
        assert!(crate::parallel::comes_back(&ticks(20)));
    }
}
