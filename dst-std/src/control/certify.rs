//! Certificate of a budget: fresh closed-loop runs, counted; a bound on the probability that a run has a late tick.
//!
//! The controller and its budget are fixed first. The number of runs is fixed, too, before the first one. Attempt j uses fresh runs
//! and the confidence 1 − δ·2^−j, so all attempts together have the confidence 1 − δ. If one fails, the next has a larger budget, or a tighter
//! stop test if inputs missed the accuracy.
//! Failures that no budget can cure, such as starts without a solution, are not tried again; their share is certified instead.

use dst_core::qp::Status;
use serde::Serialize;

use super::calibrate::Bench;
use super::device::Device;
use super::exact::full_capacity;
use super::simulate::{RunResult, Runs, TickResult, TickStatistics, each_loop, portion};
use super::streams::Stream;
use super::tally::Tally;
use crate::Failure;
use crate::family::certificate::{bound, runs_needed};
use crate::machine::Footprint;

/// Attempts before the bound that was reached is reported.
const ATTEMPTS: usize = 5;
/// Runs of a quick certificate.
const QUICK_RUNS: usize = 300;

/// Probability and confidence that are asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Requirement {
    /// Largest probability of a run with a late tick.
    pub late: f64,
    /// Confidence, for all attempts together.
    pub confidence: f64,
    /// True for one attempt of a few runs, whatever they show.
    pub quick: bool,
}

/// Certificate of a controller.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// Steps or iterations per tick.
    pub budget: u32,
    /// Number of the attempt, from 1.
    pub attempt: usize,
    /// Fresh runs.
    pub runs: usize,
    /// Runs with a tick that is late or not solved.
    pub late_runs: usize,
    /// Late runs whose first unsolved tick has no solution: no budget cures them.
    pub infeasible_runs: usize,
    /// Ticks without a solution that were not solved.
    pub infeasible_ticks: usize,
    /// Runs with a tick whose inputs miss the accuracy.
    pub inaccurate_runs: usize,
    /// With the confidence, the probability of a late run is at most this.
    pub bound: f64,
    /// Confidence of all attempts together.
    pub confidence: f64,
    /// Statistics of all ticks.
    pub statistics: TickStatistics,
    /// First of the late runs.
    pub first_late: Option<u64>,
    /// Share of the ticks in which rows of a kind were softened, for every kind.
    pub softened: Vec<f64>,
    /// Runs whose first tick has no solution, and the first of them.
    pub infeasible_starts: (usize, Option<u64>),
    /// Stream of the runs.
    pub stream: u64,
}

/// Contents of the file of a certificate.
#[derive(Clone, Debug, Serialize)]
pub struct CertificateFile {
    /// Name of the controller.
    pub name: String,
    /// Hash of the model: FNV-1a, 64 bits.
    pub model_hash: String,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Solver.
    pub solver: String,
    /// Steps or iterations per tick.
    pub budget: u32,
    /// Ticks of a run.
    pub ticks: usize,
    /// Fresh runs: n.
    pub runs: usize,
    /// Late runs: m.
    pub late_runs: usize,
    /// Attempt, from 1.
    pub attempt: usize,
    /// The probability that a run has a late tick is at most this …
    pub bound: f64,
    /// … with this confidence, which covers all attempts.
    pub confidence: f64,
    /// Probability that was asked for.
    pub asked: f64,
    /// Accuracy of the inputs, as a part of half the width of their bounds.
    pub accuracy: f64,
    /// Runs in which an input missed it.
    pub inaccurate_runs: usize,
    /// Limits of the certificate.
    pub does_not_cover: [&'static str; 3],
}

/// Limits of every certificate.
pub(super) const LIMITS: [&str; 3] = [
    "a plant that differs from the model",
    "starts, set-points, noise or disturbances of another distribution than that of the model file",
    "runs of more ticks than those simulated, and bounds that are changed at run time",
];

fn senseless() -> Failure {
    Failure::NoAnswer(
        "--late and --confidence must be between 0 and 1, and not that close".to_owned(),
    )
}

/// The memory of a certificate: the errors of all ticks, and the runs that are simulated at once.
fn footprint(runs: usize, ticks: usize) -> Footprint {
    const REMEDY: &str = "raise --late, or lower --confidence or --ticks";
    let at_once = runs.min(2 * portion());
    Footprint::of("a certificate")
        .with(
            format!("{runs} runs of {ticks} ticks"),
            [runs as f64, ticks as f64, Tally::PER_TICK as f64],
            REMEDY,
        )
        .with(
            format!("{at_once} runs at once"),
            [
                at_once as f64,
                ticks as f64,
                // On its way from another rank a tick is there twice.
                2.0 * size_of::<TickResult>() as f64,
            ],
            REMEDY,
        )
}

impl Requirement {
    /// Refuses a certificate that takes more memory than there is. The error is one sentence.
    pub(super) fn must_fit(&self, ticks: usize) -> Result<(), Failure> {
        let first = 0.5 * (1.0 + self.confidence);
        let runs = match self.quick {
            true => QUICK_RUNS,
            false => runs_needed(self.late, first).ok_or_else(senseless)?,
        };
        let footprint = footprint(runs, ticks);
        footprint.check().map_err(Failure::NoAnswer)
    }
}

/// Counts over the runs of an attempt, which are not kept.
struct Seen {
    /// Ticks of a whole run.
    ticks: usize,
    /// Runs so far.
    runs: u64,
    late_runs: usize,
    first_late: Option<u64>,
    infeasible_runs: usize,
    infeasible_ticks: usize,
    inaccurate_runs: usize,
    /// Runs whose first tick has no solution, and the first of them.
    infeasible_starts: (usize, Option<u64>),
    /// Ticks in which rows of a kind were softened, for every kind.
    softened: Vec<usize>,
    tally: Tally,
}

impl Seen {
    fn new(runs: usize, ticks: usize, kinds: usize) -> Self {
        Self {
            ticks,
            runs: 0,
            late_runs: 0,
            first_late: None,
            infeasible_runs: 0,
            infeasible_ticks: 0,
            inaccurate_runs: 0,
            infeasible_starts: (0, None),
            softened: vec![0; kinds],
            tally: Tally::for_ticks(runs * ticks),
        }
    }

    /// Adds the next run.
    fn add(&mut self, run: &RunResult, accuracy: f64) {
        let number = self.runs;
        self.runs += 1;
        let is_infeasible = |t: &TickResult| t.outcome.status == Status::Infeasible || !t.solvable;
        let mut unsolved = run.iter().filter(|t| !t.is_solved()).peekable();
        let first_is_infeasible = unsolved.peek().is_some_and(|t| is_infeasible(t));
        if run.len() < self.ticks || unsolved.peek().is_some() {
            self.late_runs += 1;
            self.first_late.get_or_insert(number);
            self.infeasible_runs += usize::from(first_is_infeasible);
        }
        self.infeasible_ticks += unsolved.filter(|t| is_infeasible(t)).count();
        let inaccurate = run.iter().any(|t| f64::from(t.error) > accuracy);
        self.inaccurate_runs += usize::from(inaccurate);
        if run.first().is_some_and(|t| !t.solvable) {
            self.infeasible_starts.0 += 1;
            self.infeasible_starts.1.get_or_insert(number);
        }
        for tick in run {
            for (kind, count) in self.softened.iter_mut().enumerate() {
                *count += usize::from(tick.softened & (1 << kind.min(63)) != 0);
            }
            self.tally.add(tick);
        }
    }
}

impl Bench<'_> {
    /// Certifies a controller, from this budget on. The device may gain memory with the budget.
    pub fn certify(
        &self,
        device: &mut Device,
        mut budget: u32,
        accuracy: f64,
        required: Requirement,
    ) -> Result<Certificate, Failure> {
        let delta = 1.0 - required.confidence;
        let mut attempt = 1;
        loop {
            let confidence = match required.quick {
                true => required.confidence,
                false => 1.0 - delta * libm::exp2(-(attempt as f64)),
            };
            let runs = match required.quick {
                true => QUICK_RUNS,
                false => runs_needed(required.late, confidence).ok_or_else(senseless)?,
            };
            let found = self.attempt(device, budget, accuracy, (attempt, runs))?;
            let upper = bound(runs, found.late_runs, confidence).ok_or_else(senseless)?;
            let certificate = Certificate {
                bound: upper,
                confidence: required.confidence,
                ..found
            };
            let late = upper > required.late;
            let curable = certificate.late_runs > certificate.infeasible_runs;
            let raised = (budget + budget / 2 + 2).min(budget.max(self.most_steps() / 3));
            let mut changed = late && curable && raised > budget;
            if let Device::ActiveSet(active) = device
                && !required.quick
                && attempt < ATTEMPTS
            {
                let full = full_capacity(&active.program);
                if late && curable && active.capacity < full {
                    active.capacity = (active.capacity + 4).min(full);
                    changed = true;
                }
                if certificate.inaccurate_runs > 0 && active.tolerance > 0.0 {
                    // Below what single precision resolves, zero is the same.
                    let tighter = active.tolerance / 10.0;
                    active.tolerance = if tighter > 1e-6 { tighter } else { 0.0 };
                    changed = true;
                }
            }
            if required.quick || !changed || attempt == ATTEMPTS {
                return Ok(certificate);
            }
            attempt += 1;
            if late && curable {
                budget = raised;
            }
        }
    }

    fn attempt(
        &self,
        device: &Device,
        budget: u32,
        accuracy: f64,
        (attempt, runs): (usize, usize),
    ) -> Result<Certificate, Failure> {
        let stream = Stream::Certificate(attempt).of(self.seed);
        let name = match attempt {
            1 => format!("{}: certifying", self.scenario.name),
            _ => format!("{}: certifying, attempt {attempt}", self.scenario.name),
        };
        let task = self.progress.task(name, runs);
        let plan = Runs {
            stream,
            count: runs,
            ticks: self.ticks,
            budget,
        };
        footprint(runs, self.ticks)
            .check()
            .map_err(Failure::NoAnswer)?;
        let mut seen = Seen::new(runs, self.ticks, self.scenario.active.kinds);
        let both = (&task, self.progress);
        each_loop(self.scenario, device, plan, both, |run| {
            seen.add(&run, accuracy);
        })?;
        let ticks = seen.tally.ticks().max(1) as f64;
        let softened = seen.softened.iter().map(|&count| count as f64 / ticks);
        Ok(Certificate {
            budget,
            attempt,
            runs,
            late_runs: seen.late_runs,
            infeasible_runs: seen.infeasible_runs,
            infeasible_ticks: seen.infeasible_ticks,
            inaccurate_runs: seen.inaccurate_runs,
            bound: 1.0,
            confidence: 0.0,
            first_late: seen.first_late,
            softened: softened.collect(),
            infeasible_starts: seen.infeasible_starts,
            statistics: seen.tally.statistics(),
            stream,
        })
    }
}
