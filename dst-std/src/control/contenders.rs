//! Settings of ADMM in the warm loop, all at equal accuracy: tuned by the stopping time, Jacobi scaling with a grid, OSQP's defaults.
//!
//! The tuning alternates with simulation: the loop of the present setting is recorded, with the points from which its ticks start, and
//! the knobs are tuned on these ticks. The next round records the loop of the tuned setting, which is the one that it will meet.

use super::baselines::{FixedSetting, ruiz};
use super::calibrate::{Bench, ITERATIONS};
use super::device::{AdmmDevice, Device, InputMap};
use super::distance::tune_by_distance;
use super::knobset::Knobset;
use super::pool::Pool;
use super::program::Program;
use super::recipe::SWITCHES;
use super::simulate::{Recorded, Runs, record};
use super::streams::Stream;
use super::tuned::Tuned;
use super::tuning::{TuningOptions, tune};
use crate::Failure;
use crate::random::bits;

/// Weights of the grid, over Jacobi scaling: powers of ten.
const GRID: [f64; 7] = [-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0];
/// Relaxation of the grid and of OSQP.
const RELAXATION: f64 = 1.6;
/// OSQP's default ρ.
const OSQP_RHO: f64 = 0.1;
/// Multiply-adds that a tuning may take; a program that is too large for a few steps is not tuned.
const WORK: f64 = 1.5e10;
const FEWEST_STEPS: usize = 20;

/// Sizes of the tuning.
#[derive(Clone, Copy, Debug)]
pub struct RoundSizes {
    /// Rounds of simulation and tuning.
    pub rounds: usize,
    /// Steps of a round.
    pub steps: usize,
    /// Ticks to learn from.
    pub pool: usize,
    /// Ticks that decide between settings.
    pub choice: usize,
}

/// Loss by which the knobs of ADMM are tuned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TuningLoss {
    /// Stopping time, mean and tail.
    StoppingTime,
    /// Sum of the logarithms of the residuals over this many iterations.
    Unrolled(usize),
    /// Squared distance to the solution, phase by phase, as LAH trains.
    Lah,
}

impl TuningLoss {
    /// Name of a setting that is tuned by this loss.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StoppingTime => "ADMM tuned by its stopping time",
            Self::Unrolled(_) => "ADMM tuned by an unrolled loss",
            Self::Lah => "ADMM tuned by LAH's loss",
        }
    }
}

/// A setting of ADMM.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Name.
    pub name: &'static str,
    /// Controller; `None` if the setting does not reach the accuracy.
    pub device: Option<AdmmDevice>,
    /// Knobs that were tuned.
    pub knobs: Option<(Knobset, Vec<f64>)>,
    /// Iterations of the solver that the tuning took.
    pub work: usize,
}

impl Bench<'_> {
    /// ADMM with these knobs and the tolerances of the model.
    fn admm(&self, tuned: &Tuned<f64>) -> AdmmDevice {
        let scenario = self.scenario;
        let single = |v: &[f64]| -> Vec<f32> { v.iter().map(|&v| v as f32).collect() };
        let inputs = scenario.active.inputs;
        let input_map = scenario.input_map.as_ref().map(|map| InputMap {
            map: single(map),
            lower: single(&scenario.active.lower[..inputs]),
            upper: single(&scenario.active.upper[..inputs]),
        });
        AdmmDevice {
            program: scenario.program.cast(),
            tuned: tuned.cast(),
            input_map,
        }
    }

    fn fixed(&self, base: &[f64], setting: FixedSetting) -> Option<AdmmDevice> {
        let weights: Vec<f64> = base.iter().map(|b| b * setting.rho).collect();
        let tuned = Tuned::constant(&self.scenario.program, &weights, setting.alpha)?;
        Some(self.admm(&tuned))
    }

    /// OSQP's first ρ and its relaxation over Ruiz' scaling, without the refactorisations that adapt ρ.
    pub fn osqp_defaults(&self, accuracy: f64) -> Result<Contender, Failure> {
        let setting = FixedSetting {
            rho: OSQP_RHO,
            alpha: RELAXATION,
        };
        let device = match self.fixed(&ruiz(&self.scenario.program), setting) {
            Some(device) => self.calibrate_admm(&device, accuracy)?,
            None => None,
        };
        Ok(Contender {
            name: "OSQP's defaults",
            device,
            knobs: None,
            work: 0,
        })
    }

    /// Jacobi scaling with the best ρ of a grid in the loop.
    pub fn jacobi_grid(&self, accuracy: f64) -> Result<(Contender, f64), Failure> {
        let mut contender = Contender {
            name: "Jacobi grid",
            device: None,
            knobs: None,
            work: 0,
        };
        let mut best = 1.0;
        let Some(base) = self.scenario.program.jacobi() else {
            return Ok((contender, best));
        };
        let hidden = self.progress.unobserved();
        let few = self.with_few(&hidden);
        let name = format!("{}: grid", self.scenario.name);
        let task = self.progress.task(name, GRID.len() + 2);
        let setting = |rho: f64| FixedSetting {
            rho,
            alpha: RELAXATION,
        };
        let middle = match self.fixed(&base, setting(1.0)) {
            Some(device) => self.calibrate_admm(&device, accuracy)?,
            None => None,
        };
        task.advance(1);
        let mut least = f64::INFINITY;
        for power in GRID {
            let rho = libm::pow(10.0, power);
            if let Some(mut device) = self.fixed(&base, setting(rho)) {
                if let Some(middle) = &middle {
                    device.program.tolerance = middle.program.tolerance;
                }
                let found = few.calibration(&Device::Admm(device), ITERATIONS)?;
                let counts = found.statistics().counts;
                let value = counts.mean
                    + f64::from(counts.p99)
                    + f64::from(ITERATIONS) * counts.unsolved as f64 / counts.ticks.max(1) as f64;
                if value < least {
                    (least, best) = (value, rho);
                }
            }
            task.advance(1);
        }
        if let Some(device) = self.fixed(&base, setting(best)) {
            contender.device = self.calibrate_admm(&device, accuracy)?;
        }
        Ok((contender, best))
    }

    /// ADMM tuned by its stopping time on the ticks of its own loop, from the best setting of the grid.
    pub fn tuned_admm(
        &self,
        start: (&AdmmDevice, f64),
        accuracy: f64,
        sizes: RoundSizes,
    ) -> Result<Contender, Failure> {
        self.admm_tuned_by(TuningLoss::StoppingTime, start, accuracy, sizes)
    }

    /// ADMM tuned by a loss on the ticks of its own loop, from the best setting of the grid.
    pub fn admm_tuned_by(
        &self,
        loss: TuningLoss,
        start: (&AdmmDevice, f64),
        accuracy: f64,
        sizes: RoundSizes,
    ) -> Result<Contender, Failure> {
        let mut contender = Contender {
            name: loss.name(),
            device: None,
            knobs: None,
            work: 0,
        };
        let program = &self.scenario.program;
        let Some(base) = program.jacobi() else {
            return Ok(contender);
        };
        let knobs = Knobset::each_stage(program, base, &self.scenario.kinds, &SWITCHES);
        let mut theta = knobs.start(start.1, RELAXATION);
        let mut device = start.0.clone();
        let mut options = TuningOptions {
            cap: ITERATIONS,
            ..TuningOptions::default()
        };
        if let TuningLoss::Unrolled(horizon) = loss {
            (options.unrolled, options.tail) = (Some(horizon), 0.0);
        }
        // About a hundred iterations for an instance, forwards and backwards.
        let step = (options.batch * 300 * device.iteration_operations()) as f64;
        let steps = sizes
            .steps
            .min((WORK / step / sizes.rounds as f64) as usize);
        if steps < FEWEST_STEPS {
            return Ok(contender);
        }
        for round in 0..sizes.rounds {
            let pools = [
                (Stream::TuningRound(round), sizes.pool),
                (Stream::ChoiceRound(round), sizes.choice),
            ];
            let mut made = Vec::new();
            for (stream, count) in pools {
                made.push(self.loop_pool(&device, stream, count)?);
            }
            let [pool, choice] = &made[..] else {
                return Ok(contender);
            };
            if pool.is_empty() || choice.is_empty() {
                return Ok(contender);
            }
            // The stop test that the calibration found.
            let program = Program {
                tolerance: device.program.cast().tolerance,
                ..program.clone()
            };
            let options = TuningOptions {
                steps,
                seed: bits(Stream::Batches(0).of(self.seed), round as u64),
                ..options.clone()
            };
            let pools = [pool, choice];
            let train = match loss {
                TuningLoss::Lah => tune_by_distance,
                TuningLoss::StoppingTime | TuningLoss::Unrolled(_) => tune,
            };
            let found = train(&program, &knobs, &theta, pools, &options, self.progress);
            self.progress.check()?;
            let Ok(found) = found else {
                break;
            };
            contender.work += found.work;
            let Some(tuned) = knobs.tuned(&program, &found.theta) else {
                break;
            };
            let Some(next) = self.calibrate_admm(&self.admm(&tuned), accuracy)? else {
                break;
            };
            (device, theta) = (next, found.theta);
            contender.device = Some(device.clone());
            contender.knobs = Some((knobs.clone(), theta.clone()));
        }
        Ok(contender)
    }

    /// Ticks of the loop of a controller, spread over its runs, and one cold tick for every four of them.
    fn loop_pool(
        &self,
        device: &AdmmDevice,
        stream: Stream,
        count: usize,
    ) -> Result<Pool<f64>, Failure> {
        let stream = stream.of(self.seed);
        let warm = count - count / 5;
        // A prime stride spreads the ticks over all times of a run.
        let stride = 7;
        let runs = Runs {
            stream,
            count: (stride * warm).div_ceil(self.ticks.max(1)).max(1),
            ticks: self.ticks,
            budget: ITERATIONS,
        };
        let device = Device::Admm(device.clone());
        let ticks = record(self.scenario, &device, runs, self.progress)?;
        let mut ticks: Vec<Recorded> = ticks.into_iter().step_by(stride).take(warm).collect();
        let zeros = vec![0.0; self.scenario.program.shape.states()];
        for number in 0..count / 5 {
            let (p, extra) = self.scenario.cold(bits(stream, u64::MAX), number as u64);
            ticks.push(Recorded {
                p,
                extra,
                start: zeros.clone(),
            });
        }
        let wide = |v: &[f32]| -> Vec<f64> { v.iter().map(|&v| f64::from(v)).collect() };
        let states = ticks.iter().map(|t| (wide(&t.p), wide(&t.extra)));
        let pool = Pool::of_states(&self.scenario.program, states);
        let starts = ticks.iter().flat_map(|t| wide(&t.start)).collect();
        let failure = || Failure::NoAnswer("a recorded tick has no starting point".to_owned());
        pool.with_starts(starts).ok_or_else(failure)
    }
}
