//! One plant: trainings, baselines, test.

use super::baseline_rows::{add_baselines, published};
use super::many_knobs::many_knobs;
use super::robustness::{bounds, input_error, loops};
use super::rows::Rows;
use super::{ControlConfig, Failure, Findings};
use crate::control::baselines::Baselines;
use crate::control::plants::Plant;
use crate::control::{
    CHOICE, Knobset, Pool, Program, Score, Stream, Training, Tuned, TuningOptions, initial_theta,
    iterations, recipe, tune,
};
use crate::format::short;
use crate::progress::{Counter, Progress};

/// Parts of a study, for the progress bar.
pub(super) const PARTS: usize = 6;

/// Iterations over which the unrolled loss sums.
const HORIZON: usize = 50;

/// Everything about one plant.
pub(super) fn study(
    plant: &Plant,
    config: &ControlConfig,
    task: &Counter,
    progress: &Progress,
) -> Result<Findings, Failure> {
    let done = || {
        task.advance(1);
        progress.check()
    };
    let program = &plant.program;
    let bench = Baselines::new(program, config.cap);
    let test64 = plant.pool(Stream::Test.of(config.seed), config.test);
    let test = test64.cast::<f32>();
    // Of every training: the ticks that it learns from, and those that decide.
    let pools: Vec<[Pool<f64>; 2]> = (0..config.trainings)
        .map(|s| {
            [
                plant.pool(Stream::Pool(s).of(config.seed), config.pool),
                plant.pool(Stream::Fresh(s).of(config.seed), config.fresh.min(CHOICE)),
            ]
        })
        .collect();
    let mut table = Rows::new(config, &test);
    let jacobi = program
        .jacobi()
        .ok_or_else(|| no_answer("the Hessian is not positive definite"))?;
    let known = published(plant);
    let ones = vec![1.0; jacobi.len()];
    let counts = bench.fixed(&ones, known, &test);
    table.add("published ρ", false, known.words(), &counts);
    let mut jacobi_best = Vec::new();
    for ticks in &pools {
        jacobi_best.push(add_baselines(&mut table, &bench, &jacobi, ticks));
        progress.check()?;
    }
    done()?;

    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let few = Knobset::levels_and_slopes(program, jacobi.clone(), &kinds, &[]);
    let all = Knobset::each_stage(program, jacobi.clone(), &kinds, &config.switches);
    let phases = format!("{} phases", config.switches.len() + 1);
    let names = [
        "stopping time, few knobs, 1 phase".to_owned(),
        format!("unrolled loss, {phases}"),
        format!("stopping time, {phases}"),
    ];
    let mut trainings: Vec<Training> = Vec::new();
    for (s, ticks) in pools.iter().enumerate() {
        let options = config.training(s);
        let one = train(program, &few, ticks, &options, progress)?;
        let unrolled = TuningOptions {
            unrolled: Some(HORIZON),
            tail: 0.0,
            ..options.clone()
        };
        let fixed = train(program, &all, ticks, &unrolled, progress)?;
        let fresh = plant.pool(Stream::Fresh(s).of(config.seed), config.fresh);
        let both = [&ticks[0], &fresh];
        let (_, ours) = recipe(program, &kinds, &config.switches, both, &options, progress)
            .map_err(|e| no_answer(&e.to_string()))?;
        progress.check()?;
        let rows = [
            (&few, &one, true),
            (&all, &fixed, false),
            (&all, &ours, true),
        ];
        for (name, (knobs, training, is_ours)) in names.iter().zip(rows) {
            let words = format!(
                "{} million iterations of training",
                short(training.work as f64 / 1e6)
            );
            let counts = bench.counts(knobs, &training.theta, &test);
            table.add(name, is_ours, words, &counts);
        }
        trainings.push(ours);
    }
    done()?;
    let many_knobs = many_knobs(plant, &bench, &jacobi, &pools, config, &test, progress)?;
    done()?;

    // The best by the ticks that decided goes first.
    trainings.sort_by(|a, b| a.score.tail_choice().total_cmp(&b.score.tail_choice()));
    let tuned64: Vec<Tuned<f64>> = trainings
        .iter()
        .filter_map(|training| all.tuned(program, &training.theta))
        .collect();
    let tuned: Vec<Tuned<f32>> = tuned64.iter().map(Tuned::cast).collect();
    let other: Vec<Tuned<f32>> = jacobi_best
        .iter()
        .filter_map(|&setting| bench.tuned(&jacobi, setting))
        .collect();
    let ([chosen, ..], [chosen64, ..], [first, ..], [rival, ..], [retuned, ..]) = (
        &tuned[..],
        &tuned64[..],
        &trainings[..],
        &other[..],
        &jacobi_best[..],
    ) else {
        return Err(no_answer("the weights have no inverse"));
    };
    let counts = iterations(&bench.small, &test, chosen.phases(), config.cap);
    let in_f64 = iterations(program, &test64, chosen64.phases(), config.cap);
    let same = counts.iter().zip(&in_f64).filter(|(a, b)| a == b).count();
    let input_error = [chosen, rival]
        .map(|t| input_error(&bench, &test64, &test, t, chosen64.phases(), config.exact));
    done()?;
    let (closed_loop, traces) = loops(plant, &bench, &jacobi, &tuned, *retuned, config);
    done()?;
    let other_bounds = bounds(plant, &bench, &tuned, &other, config);
    done()?;
    let rival_counts = iterations(&bench.small, &test, rival.phases(), config.cap);
    Ok(Findings {
        plant: plant.name,
        tuned: Score::of(&counts, config.cap),
        rows: table.rows,
        same_count_in_f64: 100.0 * same as f64 / counts.len().max(1) as f64,
        input_error,
        closed_loop,
        other_bounds,
        many_knobs,
        counts: vec![
            ("stopping time".to_owned(), counts),
            ("Jacobi scaling, grid".to_owned(), rival_counts),
        ],
        traces,
        history: first.history.iter().map(|h| (h.step, h.score)).collect(),
        theta: first.theta.clone(),
    })
}

fn no_answer(why: &str) -> Failure {
    Failure::NoAnswer(why.to_owned())
}

/// One training of these knobs, without the last phase's own.
pub(super) fn train(
    program: &Program<f64>,
    knobs: &Knobset,
    [pool, choice]: &[Pool<f64>; 2],
    options: &TuningOptions,
    progress: &Progress,
) -> Result<Training, Failure> {
    let start = initial_theta(program, knobs, pool, options.cap);
    let training = tune(program, knobs, &start, [pool, choice], options, progress)
        .map_err(|e| no_answer(&e.to_string()))?;
    progress.check()?;
    Ok(training)
}
