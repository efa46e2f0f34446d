//! Watch over the counts of a control loop: are they still those that were certified?
//!
//! A certificate says that at most a share p of the runs of R ticks has a late tick. The monitor divides the loop into runs of R
//! ticks and tests that share as the runs come in, with the Shiryaev–Roberts statistic r ← (r + 1)·f, where f is the likelihood
//! ratio of a run under the share q = 8p and under p: q/p for a late run, (1 − q)/(1 − p) for another. While the certificate holds,
//! r reaches a threshold T once in T runs or less often on average, however long the loop runs. A loop with more late runs raises r
//! by a factor of 8 at each of them. No logarithm, and one multiplication per run.

use heapless::HistoryBuf;

use crate::qp::Outcome;

/// Certificate to test against, as in the header of an exported controller.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Certificate {
    /// Steps allowed per tick.
    pub budget: u16,
    /// Ticks of a run.
    pub run: u16,
    /// Largest share of runs with a late tick.
    pub late: f32,
}

/// State of a control loop with respect to its certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Verdict {
    /// The counts look like those that were certified.
    AsCertified,
    /// Late runs are more frequent than the certificate says: another model, or another distribution of states.
    MoreLate,
}

/// Last counts of a loop, its misses, and the test against a certificate.
#[derive(Debug)]
pub struct Monitor<const N: usize> {
    certificate: Certificate,
    counts: HistoryBuf<u16, N>,
    ticks: u32,
    misses: u32,
    in_run: u16,
    late_run: bool,
    runs: u32,
    late_runs: u32,
    statistic: f32,
    threshold: f32,
}

impl<const N: usize> Monitor<N> {
    /// Starts to watch. The default threshold is one false alarm in 10⁴ runs.
    pub const fn new(certificate: Certificate) -> Self {
        Self {
            certificate,
            counts: HistoryBuf::new(),
            ticks: 0,
            misses: 0,
            in_run: 0,
            late_run: false,
            runs: 0,
            late_runs: 0,
            statistic: 0.0,
            threshold: 1e4,
        }
    }

    /// Sets the number of runs between two false alarms.
    pub fn threshold(self, runs: f32) -> Self {
        Self {
            threshold: runs,
            ..self
        }
    }

    /// Takes the outcome of a tick; returns the verdict.
    pub fn observe(&mut self, outcome: Outcome) -> Verdict {
        let late =
            !outcome.status.is_solved() || outcome.steps > usize::from(self.certificate.budget);
        self.observe_count(u16::try_from(outcome.steps).unwrap_or(u16::MAX), late)
    }

    /// Takes the count of a tick, and whether it missed the deadline; returns the verdict.
    pub fn observe_count(&mut self, count: u16, late: bool) -> Verdict {
        self.remember(count);
        self.ticks = self.ticks.saturating_add(1);
        self.misses = self.misses.saturating_add(u32::from(late));
        self.late_run |= late;
        self.in_run += 1;
        if self.in_run >= self.certificate.run.max(1) {
            self.end_run();
        }
        self.verdict()
    }

    /// Writes a count over the oldest one. `HistoryBuf` checks its place and panics beyond the end; the check here shows the compiler
    /// that this cannot happen, so that firmware links no panic.
    fn remember(&mut self, count: u16) {
        let place = match self.counts.oldest_index() {
            Some(oldest) if self.counts.is_full() => oldest,
            _ => self.counts.len(),
        };
        if place < N {
            self.counts.write(count);
        }
    }

    fn end_run(&mut self) {
        let p = self.certificate.late.clamp(1e-6, 0.5);
        let q = (8.0 * p).min(0.5 * (1.0 + p));
        let ratio = if self.late_run {
            q / p
        } else {
            (1.0 - q) / (1.0 - p)
        };
        // Far beyond every threshold; further growth would only delay the return to normal.
        self.statistic = ((self.statistic + 1.0) * ratio).min(1e12);
        self.runs = self.runs.saturating_add(1);
        self.late_runs = self.late_runs.saturating_add(u32::from(self.late_run));
        self.late_run = false;
        self.in_run = 0;
    }

    /// Verdict on all runs so far.
    pub fn verdict(&self) -> Verdict {
        if self.statistic >= self.threshold {
            Verdict::MoreLate
        } else {
            Verdict::AsCertified
        }
    }

    /// Starts the test again; the counts stay.
    pub fn acknowledge(&mut self) {
        self.statistic = 0.0;
    }

    /// Number of ticks, and of those that missed the deadline.
    pub fn misses(&self) -> (u32, u32) {
        (self.ticks, self.misses)
    }

    /// Number of whole runs, and of those with a late tick.
    pub fn late_runs(&self) -> (u32, u32) {
        (self.runs, self.late_runs)
    }

    /// Smallest count that this share of the last ticks did not exceed; 0 before the first tick. Takes N² comparisons and no
    /// memory.
    pub fn quantile(&self, share: f32) -> u16 {
        let held = self.counts.len();
        let needed = share * held as f32;
        let mut found = u16::MAX;
        for &candidate in self.counts.iter() {
            let below = self.counts.iter().filter(|&&c| c <= candidate).count();
            if below as f32 >= needed && candidate < found {
                found = candidate;
            }
        }
        if held == 0 { 0 } else { found }
    }

    /// Counts of the last ticks, oldest first.
    pub fn counts(&self) -> impl Iterator<Item = u16> + '_ {
        self.counts.oldest_ordered().copied()
    }
}

#[cfg(feature = "defmt")]
impl<const N: usize> defmt::Format for Monitor<N> {
    fn format(&self, f: defmt::Formatter<'_>) {
        defmt::write!(
            f,
            "{} ticks, {} late, p99 {} steps, {} of {} runs late: {}",
            self.ticks,
            self.misses,
            self.quantile(0.99),
            self.late_runs,
            self.runs,
            self.verdict()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qp::Status;
    use std::vec::Vec;

    const CERTIFIED: Certificate = Certificate {
        budget: 10,
        run: 20,
        late: 0.01,
    };

    fn outcome(steps: usize, status: Status) -> Outcome {
        Outcome {
            status,
            steps,
            operations: 0,
        }
    }

    #[test]
    fn counts_misses_and_quantiles() {
        let mut monitor = Monitor::<8>::new(CERTIFIED);
        assert_eq!(monitor.quantile(0.5), 0);
        for steps in 1..=10 {
            monitor.observe(outcome(steps, Status::Solved));
        }
        monitor.observe(outcome(10, Status::Late));
        monitor.observe(outcome(11, Status::Solved));
        assert_eq!(monitor.misses(), (12, 2));
        let held: Vec<u16> = monitor.counts().collect();
        assert_eq!(held, [5, 6, 7, 8, 9, 10, 10, 11]);
        assert_eq!(
            [0.1, 0.5, 0.75, 0.99].map(|s| monitor.quantile(s)),
            [5, 8, 10, 11]
        );
    }

    /// Runs until the alarm, at most `most`, if a share of runs is late.
    fn until_alarm(share: f64, seed: u64, most: u32) -> u32 {
        let mut monitor = Monitor::<4>::new(Certificate {
            run: 1,
            ..CERTIFIED
        });
        let mut state = seed;
        for run in 0..most {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let late = ((state >> 11) as f64) < share * (1u64 << 53) as f64;
            if monitor.observe_count(1, late) == Verdict::MoreLate {
                return run;
            }
        }
        most
    }

    #[test]
    fn alarms_are_rare_while_the_certificate_holds_and_soon_when_it_does_not() {
        let mean = |share: f64, most: u32| {
            let sum: u64 = (0..200)
                .map(|s| u64::from(until_alarm(share, 7 + s, most)))
                .sum();
            sum as f64 / 200.0
        };
        // At the certified share the mean time to a false alarm is at least the threshold (cut at five times it).
        let quiet = mean(0.01, 50_000);
        assert!(quiet > 1e4, "{quiet}");
        let alarmed = mean(0.1, 50_000);
        assert!(alarmed < 200.0, "{alarmed}");
    }
}
