//! Random streams: one for every purpose, so that no tick scores a controller that was tuned with it.
//!
//! The experiment and the export draw from here alone. The export uses training number 0 of the experiment.

use crate::random::bits;

/// Purpose of a random stream; the number is that of the training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Ticks that a training learns from.
    Pool(usize),
    /// Further ticks, which decide between its settings and train the last phase.
    Fresh(usize),
    /// The ticks of the pool that form a batch.
    Batches(usize),
    /// The search without a gradient.
    Search(usize),
    /// Batches of the other solver.
    Momentum(usize),
    /// Closed-loop runs by which the baseline is tuned.
    TuningLoops,
    /// Closed-loop runs that are scored.
    TestLoops,
    /// Held-out ticks for the score.
    Test,
    /// Closed-loop runs that set the tolerance, the capacity and the budget of an exported controller.
    CalibrationLoops,
    /// Its cold ticks.
    CalibrationTicks,
    /// Fresh closed-loop runs on which solvers are compared.
    ScoringLoops,
    /// Fresh cold ticks.
    ScoringTicks,
    /// Runs of an attempt at a certificate, counted from 1.
    Certificate(usize),
    /// Runs whose ticks ADMM is tuned on, by round.
    TuningRound(usize),
    /// Runs whose ticks decide between its settings, by round.
    ChoiceRound(usize),
}

impl Stream {
    /// The stream under this seed.
    pub fn of(self, seed: u64) -> u64 {
        let (purpose, number) = self.place();
        bits(bits(seed, purpose), number as u64)
    }

    /// Numbers are never given to another purpose. 2 was the test until its score was known while the recipe still changed.
    fn place(self) -> (u64, usize) {
        match self {
            Self::Pool(training) => (1, training),
            Self::Fresh(training) => (3, training),
            Self::TestLoops => (4, 0),
            Self::TuningLoops => (5, 0),
            Self::Test => (7, 0),
            Self::CalibrationLoops => (8, 0),
            Self::CalibrationTicks => (9, 0),
            Self::ScoringLoops => (10, 0),
            Self::ScoringTicks => (11, 0),
            Self::Certificate(attempt) => (400, attempt),
            Self::TuningRound(round) => (500, round),
            Self::ChoiceRound(round) => (600, round),
            Self::Batches(training) => (100, training),
            Self::Search(training) => (200, training),
            Self::Momentum(training) => (300, training),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::control::plants::{quadrotor, safety_filter};

    fn all(trainings: usize) -> Vec<Stream> {
        use Stream::*;
        let each = |t| {
            let training = [Pool(t), Fresh(t), Batches(t), Search(t), Momentum(t)];
            let export = [Certificate(t), TuningRound(t), ChoiceRound(t)];
            training.into_iter().chain(export)
        };
        let once = [TuningLoops, TestLoops, Test];
        let export = [
            CalibrationLoops,
            CalibrationTicks,
            ScoringLoops,
            ScoringTicks,
        ];
        let once = once.into_iter().chain(export);
        (0..trainings).flat_map(each).chain(once).collect()
    }

    #[test]
    fn no_two_purposes_share_a_stream() {
        for seed in [0, 1, 2, 3, 7, 100, u64::MAX] {
            let mut seen = HashSet::new();
            // The seed itself, and what an export once drew from, are nobody's.
            seen.extend((0..400).map(|old| bits(seed, old)));
            seen.insert(seed);
            for stream in all(10) {
                assert!(seen.insert(stream.of(seed)), "{stream:?} of seed {seed}");
            }
        }
    }

    #[test]
    fn no_tick_is_in_two_pools() {
        for plant in [safety_filter(), quadrotor().unwrap()] {
            let mut seen = HashSet::new();
            for stream in all(3) {
                for i in 0..200 {
                    let (x, _) = (plant.draw)(stream.of(1), i);
                    let bits: Vec<u64> = x.iter().map(|x| x.to_bits()).collect();
                    assert!(seen.insert(bits), "{}: tick {i} of {stream:?}", plant.name);
                }
            }
        }
    }
}
