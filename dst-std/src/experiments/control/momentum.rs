//! The other solver: projected gradient with momentum, where a grid over its two parameters is hard to beat.

use dst_core::qp::ProjectedMomentum;
use dst_core::{Error, HeapMemory, Map, Mode, Status};
use rayon::prelude::*;

use super::rows::Rows;
use super::{ControlConfig, Failure, MethodRow};
use crate::control::plants::axis_model;
use crate::control::{Pool, Program, Score, Stream, TuningOptions, objective};
use crate::format::short;

/// Steps a and β.
type Setting = [f64; 2];

/// Iterations of every instance; `cap` + 1 where the tolerance was not met.
fn counts(program: &Program<f64>, pool: &Pool<f64>, at: Setting, cap: u32) -> Vec<u32> {
    let each = |i: usize| count(program, pool, i, at, cap).unwrap_or(cap + 1);
    (0..pool.len()).into_par_iter().map(each).collect()
}

fn count(
    program: &Program<f64>,
    pool: &Pool<f64>,
    i: usize,
    at: Setting,
    cap: u32,
) -> Result<u32, Error> {
    let instance = pool.instance(i);
    let system =
        ProjectedMomentum::new(program.shape, &program.hessian, instance, program.tolerance)?;
    let plan = Map.until(0.0).at_most(cap as usize - 1);
    let mut memory = HeapMemory::new(&plan, &system, 0);
    let start = vec![0.0; 2 * program.shape.blocks * program.shape.variables()];
    let problem = plan.on(&system, &at, &start)?;
    problem.start(&mut memory)?;
    Ok(match problem.complete(&mut memory)? {
        Status::Reached(stop) => stop.steps as u32 + 1,
        _ => cap + 1,
    })
}

/// The largest eigenvalue of H, by the power method: 1/a of the classical step.
fn curvature(program: &Program<f64>) -> f64 {
    let n = program.shape.variables();
    let mut v = vec![1.0; n];
    let mut norm = 1.0;
    for k in 0..2000 {
        // Not orthogonal to anything by accident.
        if k == 0 {
            v.iter_mut()
                .enumerate()
                .for_each(|(i, v)| *v += 0.1 * i as f64);
        }
        let next: Vec<f64> = program
            .hessian
            .chunks_exact(n)
            .map(|row| row.iter().zip(&v).map(|(h, v)| h * v).sum())
            .collect();
        norm = next.iter().map(|x: &f64| x * x).sum::<f64>().sqrt();
        v = next.iter().map(|x| x / norm).collect();
    }
    norm
}

/// Descends mean + tail from a setting by the gradient of the stopping time, in ln a and logit β.
fn descend(
    program: &Program<f64>,
    pool: &Pool<f64>,
    start: Setting,
    options: &TuningOptions,
) -> Setting {
    let mut knobs = [libm::log(start[0]), libm::log(start[1] / (1.0 - start[1]))];
    let setting = |k: [f64; 2]| [libm::exp(k[0]), 1.0 / (1.0 + libm::exp(-k[1]))];
    let (mut first, mut second) = ([0.0; 2], [0.0; 2]);
    let mut slowest: Vec<usize> = (0..pool.len()).collect();
    let mut best = (f64::INFINITY, start);
    for step in 0..=options.steps {
        let at = setting(knobs);
        if step % 10 == 0 {
            let counts = counts(program, pool, at, options.cap);
            slowest.sort_by_key(|&i| (std::cmp::Reverse(counts[i]), i));
            let choice = Score::of(&counts, options.cap).choice();
            if choice < best.0 {
                best = (choice, at);
            }
        }
        let batch = options.batch_of(&slowest, step);
        let found: Vec<(f64, [f64; 2])> = batch
            .par_iter()
            .filter_map(|&i| gradient(program, pool, i, at, options.cap).ok())
            .collect();
        let counts: Vec<f64> = found.iter().map(|f| f.0).collect();
        let (_, weights) = objective(&counts, options.tail);
        let mut sum = [0.0; 2];
        for ((_, g), w) in found.iter().zip(weights) {
            sum[0] += w * g[0] * at[0];
            sum[1] += w * g[1] * at[1] * (1.0 - at[1]);
        }
        for j in 0..2 {
            first[j] = 0.9 * first[j] + 0.1 * sum[j];
            second[j] = 0.99 * second[j] + 0.01 * sum[j] * sum[j];
            knobs[j] -= 0.5 * options.rate * first[j] / (f64::sqrt(second[j]) + 1e-8);
        }
    }
    best.1
}

fn gradient(
    program: &Program<f64>,
    pool: &Pool<f64>,
    i: usize,
    at: Setting,
    cap: u32,
) -> Result<(f64, [f64; 2]), Error> {
    let instance = pool.instance(i);
    let system =
        ProjectedMomentum::new(program.shape, &program.hessian, instance, program.tolerance)?;
    let plan = Map.until(0.0).at_most(cap as usize - 1).mode(Mode::Adjoint);
    let mut memory = HeapMemory::with_records(&plan, &system, 48);
    let start = vec![0.0; 2 * program.shape.blocks * program.shape.variables()];
    let s = plan.sensitivity(&system, &at, &start, &mut memory)?;
    let [a, beta] = *s.steps_gradient() else {
        return Err(Error::NoPullback);
    };
    Ok((s.stop.steps + 1.0, [a, beta]))
}

/// Projected gradient with momentum on one axis: a grid, and the gradient from its best point.
pub(super) fn rows(config: &ControlConfig) -> Result<Vec<MethodRow>, Failure> {
    let model = axis_model();
    let program = &model
        .program()
        .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let curvature = curvature(program);
    // Scored in double precision, on a test of its own.
    let no_test = Pool::of_states(&program.cast(), []);
    let mut table = Rows::new(config, &no_test);
    let test = model.ticks(program, Stream::Test.of(config.seed), config.test);
    let steps = [0.5, 0.8, 1.0, 1.2, 1.5].map(|f| f / curvature);
    let betas = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    for s in 0..config.trainings {
        let stream = Stream::Pool(s).of(config.seed);
        let pool = model.ticks(program, stream, config.pool.min(300));
        let blend =
            |at: Setting| Score::of(&counts(program, &pool, at, config.cap), config.cap).blend();
        let settings = steps.iter().flat_map(|&a| betas.map(|b| [a, b]));
        let found = settings
            .map(|at| (blend(at), at))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, grid)) = found else { continue };
        let mut options = config.options(Stream::Momentum(s));
        options.steps = options.steps.min(100);
        let descended = descend(program, &pool, grid, &options);
        for (name, ours, at) in [
            ("two-parameter grid", false, grid),
            ("stopping time", true, descended),
        ] {
            let words = format!("a·L = {}, β = {}", short(at[0] * curvature), short(at[1]));
            let counts = counts(program, &test, at, config.cap);
            table.add(name, ours, words, &counts);
        }
    }
    Ok(table.rows)
}
