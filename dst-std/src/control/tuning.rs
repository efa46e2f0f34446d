//! Offline tuning: Adam on the gradient of the stopping time, mean and tail.
//!
//! The loss of a batch is mean(N) + w·tail(N) with the soft maximum tail = τ·(ln Σ exp(N/τ) − ln n), τ = 0.15·mean + 1: the
//! deadline is missed by the slow ticks, not by the average one. Part of every batch are the slowest of the pool. The
//! setting that is kept is the one with the least ½ mean + ½ p99 on the whole pool, in the precision of the device.

use dst_core::Error;
use dst_core::mpc::Knobs;
use rayon::prelude::*;

use super::gradient::differentiate;
use super::pool::Pool;
use super::program::Program;
use super::score::{Score, iterations};
use super::tuned::Tuned;
use crate::data::random::bits;

/// Which knobs there are: R = base·exp(Φθ) and α, per phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Knobset {
    /// R at θ = 0.
    pub base: Vec<f64>,
    /// Φ, row by row.
    pub basis: Vec<f64>,
    /// Where the second, third … phase begins.
    pub switches: Vec<usize>,
}

impl Knobset {
    /// A level and a slope against ln(stage) for every kind of constraint; `kinds` are as in
    /// [`Plant::kinds`](super::plants::Plant::kinds).
    pub fn levels_and_slopes(
        program: &Program<f64>,
        base: Vec<f64>,
        kinds: &[usize],
        switches: &[usize],
    ) -> Self {
        let stages = program.shape.stages;
        // Centred, so that the slope leaves the level alone.
        let logs: Vec<f64> = (1..=stages).map(|k| libm::log(k as f64)).collect();
        let mean = logs.iter().sum::<f64>() / stages as f64;
        Self::by_place(
            program,
            base,
            switches,
            2 * kinds.len(),
            |row, kind, stage| {
                let _ = kinds;
                row[2 * kind] = 1.0;
                row[2 * kind + 1] = logs[stage] - mean;
            },
            kinds,
        )
    }

    /// One knob for every kind and stage.
    pub fn each_stage(
        program: &Program<f64>,
        base: Vec<f64>,
        kinds: &[usize],
        switches: &[usize],
    ) -> Self {
        let stages = program.shape.stages;
        Self::by_place(
            program,
            base,
            switches,
            stages * kinds.len(),
            |row, kind, stage| {
                row[kind * stages + stage] = 1.0;
            },
            kinds,
        )
    }

    /// `fill` writes the row of Φ of a constraint of this kind and stage.
    fn by_place(
        program: &Program<f64>,
        base: Vec<f64>,
        switches: &[usize],
        width: usize,
        fill: impl Fn(&mut [f64], usize, usize),
        kinds: &[usize],
    ) -> Self {
        let shape = program.shape;
        let n = shape.variables();
        // Which kind the rows of one stage are: inputs, then outputs.
        let kind_of: Vec<usize> = kinds
            .iter()
            .enumerate()
            .flat_map(|(kind, &count)| std::iter::repeat_n(kind, count))
            .collect();
        let mut basis = vec![0.0; shape.rows() * width];
        for (i, row) in basis.chunks_exact_mut(width).enumerate() {
            let (place, stage) = if i < n {
                (i % shape.inputs, i / shape.inputs)
            } else {
                let i = i - n;
                (shape.inputs + i % shape.outputs, i / shape.outputs)
            };
            fill(row, kind_of[place], stage);
        }
        Self {
            base,
            basis,
            switches: switches.to_vec(),
        }
    }

    /// The map of dst-core.
    pub fn knobs(&self) -> Knobs<'_, f64> {
        Knobs {
            base: &self.base,
            basis: &self.basis,
            phases: self.switches.len() + 1,
        }
    }

    /// θ where R = ρ·base on the level knobs, and α, are the same in all phases. `levels` are the knobs that raise all rows
    /// together.
    pub fn start(&self, rho: f64, alpha: f64) -> Vec<f64> {
        let knobs = self.knobs();
        let width = knobs.per_phase();
        // ln ρ on every row, by least squares over Φ with orthogonal columns; exact when levels are among the knobs.
        let mut phase = vec![0.0; width + 1];
        for (j, knob) in phase.iter_mut().take(width).enumerate() {
            let column = self.basis.iter().skip(j).step_by(width);
            let (sum, square) = column.fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
            *knob = libm::log(rho) * sum / square;
        }
        phase[width] = Knobs::logit(alpha);
        phase.repeat(self.switches.len() + 1)
    }

    /// The parameters of θ with their inverses; `None` where they are not finite or K does not exist.
    pub fn tuned(&self, program: &Program<f64>, theta: &[f64]) -> Option<Tuned<f64>> {
        let phases = self.switches.len() + 1;
        let mut params = vec![0.0; phases * program.shape.phase_params()];
        self.knobs().params(theta, &mut params);
        Tuned::new(program, params, self.switches.clone())
    }
}

/// How to tune.
#[derive(Clone, Debug)]
pub struct Options {
    /// Steps of Adam.
    pub steps: usize,
    /// Instances per step.
    pub batch: usize,
    /// Of these, from the slowest of the pool.
    pub hard: usize,
    /// Step length.
    pub rate: f64,
    /// Weight of the tail.
    pub tail: f64,
    /// The gradient of an instance is shortened to this many times its N.
    pub clip: f64,
    /// Iterations allowed.
    pub cap: u32,
    /// Trainings of which the best is kept, where [`recipe`](super::recipe) does them.
    pub restarts: usize,
    /// Knobs before this one stay as they are.
    pub first: usize,
    /// Which of two settings is better: the one with less of this.
    pub key: fn(&Score) -> f64,
    /// Where batches come from.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            steps: 150,
            batch: 16,
            hard: 6,
            rate: 0.08,
            tail: 0.3,
            clip: 1.0,
            cap: 500,
            restarts: 1,
            first: 0,
            key: Score::choice,
            seed: 1,
        }
    }
}

/// How far a training is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progressed {
    /// Steps done.
    pub step: usize,
    /// Score of the present setting on the pool.
    pub score: Score,
}

/// What a training found.
#[derive(Clone, Debug, PartialEq)]
pub struct Training {
    /// θ of the best setting.
    pub theta: Vec<f64>,
    /// Its score on the pool.
    pub score: Score,
    /// The score on the pool after every step.
    pub history: Vec<Progressed>,
    /// Iterations that were computed, the choice of the setting included.
    pub work: usize,
}

/// How often the whole pool is looked at.
const LOOK: usize = 10;
/// The hard ones are drawn from the slowest of the pool: this share of it …
const SLOWEST_SHARE: usize = 50;
/// … or so many, if that is more.
const SLOWEST: usize = 12;

/// mean + w·tail, and the weight of every count in its gradient.
pub fn objective(counts: &[f64], tail: f64) -> (f64, Vec<f64>) {
    let n = counts.len().max(1) as f64;
    let mean = counts.iter().sum::<f64>() / n;
    let tau = 0.15 * mean + 1.0;
    let largest = counts.iter().fold(0.0, |m: f64, &c| m.max(c));
    let powers: Vec<f64> = counts
        .iter()
        .map(|c| libm::exp((c - largest) / tau))
        .collect();
    let sum: f64 = powers.iter().sum();
    let soft = largest + tau * libm::log(sum / n);
    let weights = powers.iter().map(|p| 1.0 / n + tail * p / sum);
    (mean + tail * soft, weights.collect())
}

/// Tunes from θ on the pool; `interrupted` is asked after every step.
pub fn tune(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    pool: &Pool<f64>,
    options: &Options,
    mut interrupted: impl FnMut(Progressed) -> bool,
) -> Result<Training, Error> {
    let (small, small_pool) = (program.cast::<f32>(), pool.cast::<f32>());
    let mut work = 0;
    let mut look = |tuned: &Tuned<f64>| {
        let tuned: Tuned<f32> = tuned.cast();
        let counts = iterations(&small, &small_pool, tuned.phases(), options.cap);
        work += counts
            .iter()
            .map(|&c| c.min(options.cap) as usize)
            .sum::<usize>();
        counts
    };
    let mut theta = theta.to_vec();
    let mut adam = Adam::new(theta.len(), options.rate);
    let mut best: Option<(Vec<f64>, Score)> = None;
    let mut slowest: Vec<usize> = (0..pool.len()).collect();
    let mut history = Vec::new();
    let mut spent = 0;
    for step in 0..=options.steps {
        let Some(tuned) = knobset.tuned(program, &theta) else {
            break;
        };
        if step % LOOK == 0 || step == options.steps {
            let counts = look(&tuned);
            slowest.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
            let score = Score::of(&counts, options.cap);
            if best
                .as_ref()
                .is_none_or(|b| (options.key)(&score) < (options.key)(&b.1))
            {
                best = Some((theta.clone(), score));
            }
            let progressed = Progressed { step, score };
            history.push(progressed);
            if interrupted(progressed) {
                break;
            }
        }
        if step == options.steps {
            break;
        }
        let chosen = options.batch_of(&slowest, step);
        let found: Result<Vec<_>, Error> = chosen
            .par_iter()
            .map(|&i| differentiate(program, pool, i, tuned.phases(), options.cap))
            .collect();
        let found = found?;
        let counts: Vec<f64> = found.iter().map(|f| f.iterations).collect();
        let (_, weights) = objective(&counts, options.tail);
        let (mut gradient, mut own) = (vec![0.0; theta.len()], vec![0.0; theta.len()]);
        for (one, weight) in found.iter().zip(weights) {
            spent += one.work;
            knobset.knobs().pull(&tuned.params, &one.gradient, &mut own);
            // A crossing that is nearly flat has a gradient beyond all bounds, which says nothing about the next instance.
            let norm = own.iter().map(|g| g * g).sum::<f64>().sqrt();
            let weight = weight * (options.clip * one.iterations / norm).min(1.0);
            for (sum, g) in gradient.iter_mut().zip(&own) {
                *sum += weight * g;
            }
        }
        gradient
            .iter_mut()
            .take(options.first)
            .for_each(|g| *g = 0.0);
        // Down to a fifth of the step length at the end: the last settings are compared, not wandered through.
        let decay = 1.0 - 0.8 * step as f64 / options.steps.max(1) as f64;
        adam.step(&mut theta, &gradient, decay);
    }
    let (theta, score) = best.ok_or(Error::Invalid(dst_core::Argument::Theta))?;
    Ok(Training {
        theta,
        score,
        history,
        work: work + spent,
    })
}

/// Trains the last phase alone, on the slowest of many more ticks: those that it is there for.
///
/// `fresh` are ticks beside the pool; only those that reach the last phase count. Where none does, nothing changes.
pub fn secure(
    program: &Program<f64>,
    knobset: &Knobset,
    theta: &[f64],
    fresh: &Pool<f64>,
    options: &Options,
    interrupted: impl FnMut(Progressed) -> bool,
) -> Result<Training, Error> {
    let nothing = |work| Training {
        theta: theta.to_vec(),
        score: Score::of(&[], options.cap),
        history: Vec::new(),
        work,
    };
    let (Some(&last), Some(tuned)) = (knobset.switches.last(), knobset.tuned(program, theta))
    else {
        return Ok(nothing(0));
    };
    let small: Tuned<f32> = tuned.cast();
    let counts = iterations(&program.cast(), &fresh.cast(), small.phases(), options.cap);
    let work = counts.iter().map(|&c| c.min(options.cap) as usize).sum();
    let mut slow: Vec<usize> = (0..counts.len())
        .filter(|&i| counts[i] as usize > last)
        .collect();
    slow.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
    slow.truncate(MOST_SLOW);
    if slow.is_empty() {
        return Ok(nothing(work));
    }
    let slow = fresh.subset(&slow);
    let options = Options {
        first: theta.len() - (knobset.knobs().per_phase() + 1),
        // The slowest of all counts here.
        key: |score| score.max + score.mean,
        ..options.clone()
    };
    // Jacobi scaling is safer than what was learned from quick ticks, as a rule.
    let mut starts = vec![theta.to_vec()];
    for rho in [0.5, 1.0, 2.0] {
        let safe = knobset.start(rho, 1.7);
        let (head, tail) = (&theta[..options.first], &safe[options.first..]);
        starts.push([head, tail].concat());
    }
    let small_slow = slow.cast::<f32>();
    let value = |theta: &Vec<f64>| {
        let Some(tuned) = knobset.tuned(program, theta) else {
            return f64::INFINITY;
        };
        let tuned: Tuned<f32> = tuned.cast();
        let counts = iterations(&program.cast(), &small_slow, tuned.phases(), options.cap);
        (options.key)(&Score::of(&counts, options.cap))
    };
    let begin = starts
        .iter()
        .min_by(|a, b| value(a).total_cmp(&value(b)))
        .map_or(theta, Vec::as_slice);
    let training = tune(program, knobset, begin, &slow, &options, interrupted)?;
    Ok(Training {
        work: work + training.work,
        ..training
    })
}

/// No more than so many are needed to train a phase.
const MOST_SLOW: usize = 200;

impl Options {
    /// Instances of one step: random ones of the pool, and random ones of its slowest, which `slowest` lists first.
    pub fn batch_of(&self, slowest: &[usize], step: usize) -> Vec<usize> {
        let hard = self.hard.min(self.batch);
        let stream = bits(self.seed, step as u64);
        let pick = |i: usize, of: usize| (bits(stream, i as u64) % of.max(1) as u64) as usize;
        let few = SLOWEST
            .max(slowest.len() / SLOWEST_SHARE)
            .min(slowest.len());
        let random = (hard..self.batch).map(|i| pick(i, slowest.len()));
        let worst = (0..hard).map(|i| slowest[pick(i, few)]);
        worst.chain(random).collect()
    }
}

struct Adam {
    first: Vec<f64>,
    second: Vec<f64>,
    steps: i32,
    rate: f64,
}

impl Adam {
    fn new(len: usize, rate: f64) -> Self {
        Self {
            first: vec![0.0; len],
            second: vec![0.0; len],
            steps: 0,
            rate,
        }
    }

    fn step(&mut self, theta: &mut [f64], gradient: &[f64], decay: f64) {
        self.steps += 1;
        let (b1, b2) = (0.9, 0.999);
        let [c1, c2] = [b1, b2].map(|b: f64| 1.0 - b.powi(self.steps));
        let moments = self.first.iter_mut().zip(&mut self.second);
        for ((theta, g), (m, v)) in theta.iter_mut().zip(gradient).zip(moments) {
            *m = b1 * *m + (1.0 - b1) * g;
            *v = b2 * *v + (1.0 - b2) * g * g;
            *theta -= decay * self.rate * (*m / c1) / ((*v / c2).sqrt() + 1e-8);
        }
    }
}
