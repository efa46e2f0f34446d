//! Tolerance and memory of a controller, set by measurement: the loosest stop test whose inputs meet the accuracy asked for.
//!
//! *Active set*: the violation τ that counts as zero. Its error at the smallest τ is what single precision can reach. *ADMM*: both
//! tolerances, scaled together by bisection. An accuracy is met if the error of every solved tick is at most that, in warm loops and
//! from a cold start; the calibration asks for a margin, because fresh ticks are worse than the worst that was seen.

use super::device::{ActiveDevice, AdmmDevice, Device};
use super::exact::full_capacity;
use super::scenario::Scenario;
use super::simulate::{RunResult, Runs, TickResult, TickStatistics, cold_ticks, warm_loops};
use super::streams::Stream;
use crate::Failure;
use crate::format::short;
use crate::progress::Progress;

/// Iterations of ADMM that count as never.
pub(super) const ITERATIONS: u32 = 500;
/// Part of the accuracy that calibration ticks may use.
const MARGIN: f64 = 0.5;
/// Part of the accuracy that may be rounding, of which calibration has seen nearly the worst.
const ROUNDING: f64 = 0.8;
/// Rows of memory beyond the largest active set.
const SPARE_ROWS: usize = 4;
/// Tolerances of the active set, as parts of the accuracy. Bounds may be missed by about as much.
const PARTS: [f64; 3] = [0.01, 0.001, 0.0];
/// Scales of the tolerances of ADMM: powers of ten.
const SCALES: (f64, f64) = (-5.0, 1.0);
const HALVINGS: usize = 7;
/// Least number of runs of a calibration of ADMM.
const FEWEST_RUNS: usize = 3;
/// Cold ticks for a run of it: they are the ones with many active bounds.
const COLD: usize = 25;
/// Factors by which tolerances are tightened until fresh ticks meet the accuracy.
const TIGHTER: [f64; 4] = [1.0, 0.3, 0.1, 0.03];
/// Runs of a score of ADMM over those of a calibration.
const SCORED: usize = 4;
/// A share of solved ticks below which there is nothing to export.
const LEAST_SOLVED: f64 = 0.05;

/// Sizes of the simulations.
#[derive(Clone, Copy, Debug)]
pub struct BenchSizes {
    /// Runs that calibrate.
    pub runs: usize,
    /// Cold ticks beside them.
    pub cold: usize,
    /// Runs and cold ticks of a calibration of ADMM, which takes many of them.
    pub few: usize,
    /// Multiply-adds of such a calibration, which decide about fewer.
    pub work: f64,
}

/// A scenario with the sizes and the seed of its simulations.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// The plant.
    pub scenario: &'a Scenario,
    /// Seed of all streams.
    pub seed: u64,
    /// Ticks of a run.
    pub ticks: usize,
    /// Sizes.
    pub sizes: BenchSizes,
    /// True if ADMM must meet the accuracy in every tick. For a comparison, all but one tick in a hundred are enough.
    pub strict: bool,
    /// Progress.
    pub progress: &'a Progress,
}

/// Ticks of loops and cold ticks.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Closed loops.
    pub loops: Vec<RunResult>,
    /// Cold ticks.
    pub cold: RunResult,
}

impl Measured {
    /// All ticks.
    pub fn ticks(&self) -> impl Iterator<Item = &TickResult> {
        self.loops.iter().flatten().chain(&self.cold)
    }

    /// Statistics of all ticks.
    pub fn statistics(&self) -> TickStatistics {
        TickStatistics::of(self.ticks())
    }

    /// Largest count of a tick that was solved.
    pub fn largest(&self) -> u32 {
        let solved = self.ticks().filter(|t| t.is_solved());
        solved.map(|t| t.outcome.count).max().unwrap_or(0)
    }

    /// Ticks with a solution that were not solved.
    pub fn missed(&self) -> usize {
        let missed = self.ticks().filter(|t| t.solvable && !t.is_solved());
        missed.count()
    }

    /// Share of the ticks that were solved.
    pub fn solved(&self) -> f64 {
        let solved = self.ticks().filter(|t| t.is_solved()).count();
        solved as f64 / self.ticks().count().max(1) as f64
    }
}

/// A calibrated active-set controller.
#[derive(Clone, Debug)]
pub struct CalibratedSet {
    /// The controller.
    pub device: ActiveDevice,
    /// Its calibration ticks.
    pub measured: Measured,
    /// Error that single precision reaches.
    pub floor: f64,
}

impl Bench<'_> {
    /// The same with few runs.
    pub(super) fn with_few<'b>(&'b self, progress: &'b Progress) -> Bench<'b> {
        // A hundred iterations per tick, of a few multiply-adds for every entry of K.
        let shape = self.scenario.program.shape;
        let entries = shape.inverse_entries() + 3 * shape.output_entries() + 8 * shape.rows();
        let run = (100 * self.ticks * shape.blocks * entries) as f64;
        let few =
            ((self.sizes.work / run) as usize).clamp(FEWEST_RUNS, self.sizes.few.max(FEWEST_RUNS));
        Bench {
            sizes: BenchSizes {
                runs: few,
                cold: COLD * few,
                ..self.sizes
            },
            progress,
            ..*self
        }
    }

    /// Ticks of the calibration streams.
    pub fn calibration(&self, device: &Device, budget: u32) -> Result<Measured, Failure> {
        let streams = [Stream::CalibrationLoops, Stream::CalibrationTicks];
        self.measure(device, streams, budget, [self.sizes.runs, self.sizes.cold])
    }

    /// Fresh ticks for scores.
    pub fn scoring(&self, device: &Device, budget: u32) -> Result<Measured, Failure> {
        let streams = [Stream::ScoringLoops, Stream::ScoringTicks];
        self.measure(device, streams, budget, [self.sizes.runs, self.sizes.cold])
    }

    /// The same, with few runs.
    pub(super) fn scoring_with_few(&self, device: &Device) -> Result<Measured, Failure> {
        let streams = [Stream::ScoringLoops, Stream::ScoringTicks];
        let few = self.with_few(self.progress).sizes;
        let counts = [SCORED * few.runs, few.cold];
        self.measure(device, streams, ITERATIONS, counts)
    }

    fn measure(
        &self,
        device: &Device,
        [loops, cold]: [Stream; 2],
        budget: u32,
        [runs, ticks]: [usize; 2],
    ) -> Result<Measured, Failure> {
        let of = |stream: Stream, count: usize| Runs {
            stream: stream.of(self.seed),
            count,
            ticks: self.ticks,
            budget,
        };
        let name = format!("{}: simulating the {}", self.scenario.name, device.solver());
        let task = self.progress.task(name, runs);
        let loops = of(loops, runs);
        Ok(Measured {
            loops: warm_loops(self.scenario, device, loops, &task, self.progress)?,
            cold: cold_ticks(self.scenario, device, of(cold, ticks), self.progress)?,
        })
    }

    /// Steps that no tick of an active set should need.
    pub fn most_steps(&self) -> u32 {
        let rows = self.scenario.active.rows();
        u32::try_from(10 * rows + 100).unwrap_or(u32::MAX)
    }

    /// Calibrates the active set to an accuracy; refuses one that single precision does not reach.
    pub fn calibrate_set(&self, accuracy: f64) -> Result<CalibratedSet, Failure> {
        let full = full_capacity(&self.scenario.active);
        let mut device = ActiveDevice {
            program: self.scenario.active.cast(),
            capacity: full,
            tolerance: 0.0,
        };
        let measure = |device: &ActiveDevice| {
            self.calibration(&Device::ActiveSet(device.clone()), self.most_steps())
        };
        let mut measured = measure(&device)?;
        self.refuse_unsolved(&measured)?;
        let floor = measured.statistics().errors.max;
        if floor > ROUNDING * accuracy {
            return Err(Failure::NoAnswer(format!(
                "an accuracy of {} is beyond single precision for this model; the smallest possible is {}",
                short(accuracy),
                short(round_up(floor / ROUNDING))
            )));
        }
        for part in PARTS {
            device.tolerance = (part * accuracy) as f32;
            if part == 0.0 {
                break;
            }
            let found = measure(&device)?;
            let fresh = self.scoring(&Device::ActiveSet(device.clone()), self.most_steps())?;
            let fits = found.statistics().errors.max <= MARGIN * accuracy
                && fresh.statistics().errors.max <= accuracy
                && found.solved() >= measured.solved();
            if fits {
                measured = found;
                break;
            }
        }
        // A smaller memory changes nothing but ticks that need more of it.
        let fresh = |device: &ActiveDevice| {
            self.scoring(&Device::ActiveSet(device.clone()), self.most_steps())
        };
        let largest = fresh(&device)?;
        let solved = [measured.solved(), largest.solved()];
        let active = measured.statistics().active;
        let mut capacity = active.max(largest.statistics().active) + SPARE_ROWS;
        while capacity < full {
            device.capacity = capacity;
            let found = measure(&device)?;
            if found.solved() >= solved[0] && fresh(&device)?.solved() >= solved[1] {
                measured = found;
                break;
            }
            capacity += SPARE_ROWS;
        }
        device.capacity = capacity.min(full);
        Ok(CalibratedSet {
            device,
            measured,
            floor,
        })
    }

    /// Refuses a model of which hardly any tick can be solved.
    fn refuse_unsolved(&self, measured: &Measured) -> Result<(), Failure> {
        // A run may become solvable after its start; a start that has no solution is reason enough.
        let starts = measured.cold.iter().filter(|t| t.is_solved()).count();
        let starts = starts as f64 / measured.cold.len().max(1) as f64;
        let solved = measured.solved().min(starts);
        if solved >= LEAST_SOLVED {
            return Ok(());
        }
        let solvable = measured.cold.iter().filter(|t| t.solvable).count();
        let share = if solved == 0.0 {
            "no tick".to_owned()
        } else {
            format!(
                "only {} % of the ticks",
                short((1000.0 * solved).round() / 10.0)
            )
        };
        let reason = match solvable as f64 >= LEAST_SOLVED * measured.cold.len() as f64 {
            true => {
                "single precision does not resolve the program; take other units or a shorter horizon"
            }
            false => {
                "the hard bounds cannot be kept there; make them soft, or the start set smaller"
            }
        };
        Err(Failure::NoAnswer(format!(
            "{share} from {} can be solved: {reason}",
            self.scenario.start_words()
        )))
    }

    /// The error of ADMM that must meet the accuracy.
    fn error(&self, measured: &Measured) -> f64 {
        let errors = measured.statistics().errors;
        if self.strict { errors.max } else { errors.p99 }
    }

    /// Scales the tolerances of an ADMM controller until the inputs meet the accuracy. `None` if no scale does.
    pub fn calibrate_admm(
        &self,
        device: &AdmmDevice,
        accuracy: f64,
    ) -> Result<Option<AdmmDevice>, Failure> {
        let hidden = self.progress.unobserved();
        let few = self.with_few(&hidden);
        let (mut low, mut high) = SCALES;
        let mut best = None;
        for _ in 0..HALVINGS {
            let middle = 0.5 * (low + high);
            let scaled = device.scaled(libm::pow(10.0, middle));
            let found = few.calibration(&Device::Admm(scaled.clone()), ITERATIONS)?;
            if self.error(&found) <= MARGIN * accuracy {
                best = Some(scaled);
                low = middle;
            } else {
                high = middle;
            }
        }
        let Some(best) = best else {
            return Ok(None);
        };
        for factor in TIGHTER {
            let tighter = best.scaled(factor);
            let fresh = few.scoring_with_few(&Device::Admm(tighter.clone()))?;
            if self.error(&fresh) <= accuracy {
                return Ok(Some(tighter));
            }
        }
        Ok(None)
    }
}

impl AdmmDevice {
    /// The same controller with both tolerances multiplied.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        let mut device = self.clone();
        let tolerance = &mut device.program.tolerance;
        for part in [
            &mut tolerance.primal,
            &mut tolerance.dual,
            &mut tolerance.dual_relative,
        ] {
            *part = (f64::from(*part) * factor) as f32;
        }
        device
    }
}

/// The next number with one significant digit.
pub(crate) fn round_up(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return value;
    }
    let exponent = libm::floor(libm::log10(value));
    let unit = libm::pow(10.0, exponent);
    let digits = libm::ceil(value / unit * (1.0 - 1e-12));
    // Division by a power of ten is exact in more cases than a product with its inverse.
    if exponent < 0.0 {
        digits / libm::pow(10.0, -exponent)
    } else {
        digits * unit
    }
}

#[cfg(test)]
mod tests {
    use super::round_up;

    #[test]
    fn one_digit_rounded_up() {
        for (value, expected) in [(1.2e-5, 2e-5), (9.3e-4, 1e-3), (0.02, 0.02), (3.4, 4.0)] {
            assert_eq!(round_up(value), expected);
        }
    }
}
