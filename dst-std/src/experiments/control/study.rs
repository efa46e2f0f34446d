//! One plant: trainings, baselines, test.

use dst_core::mpc::Phases;
use rayon::prelude::*;

use super::baselines::{Balancing, Bench, Fixed, Key, best, grid, ruiz};
use super::{Config, Failure, Findings, ManyKnobs, Row, closed_loop, momentum, search};
use crate::control::plants::{Plant, axis_model};
use crate::control::{
    Knobset, Pool, Program, Score, Training, Tuned, begin, iterations, recipe, solve,
    solve_exactly, tune,
};
use crate::data::random::bits;
use crate::report::{Interrupt, Task, short};

/// Parts of a study, for the progress bar.
pub(super) const PARTS: usize = 6;

/// Streams of a seed.
const TRAINING: u64 = 1;
const TEST: u64 = 2;
const FRESH: u64 = 3;
const LOOPS: u64 = 4;

/// The pool of a training.
fn training_pool(plant: &Plant, config: &Config, training: usize) -> Pool<f64> {
    let seed = bits(bits(config.seed, TRAINING), training as u64);
    plant.pool(seed, config.pool)
}

fn jacobi(program: &Program<f64>) -> Result<Vec<f64>, Failure> {
    let fault = || Failure::NoAnswer("the Hessian is not positive definite".to_owned());
    program.jacobi().ok_or_else(fault)
}

/// A row under way.
struct Column<'a> {
    config: &'a Config,
    test: &'a Pool<f32>,
    rows: Vec<Row>,
}

impl Column<'_> {
    fn add(&mut self, name: &str, ours: bool, setting: String, counts: &[u32]) {
        let score = Score::of(counts, self.config.cap);
        match self.rows.iter_mut().find(|row| row.name == name) {
            Some(row) => {
                row.scores.push(score);
                row.setting = format!("{}; {setting}", row.setting);
            }
            None => self.rows.push(Row {
                name: name.to_owned(),
                ours,
                setting,
                scores: vec![score],
            }),
        }
    }
}

fn in_words(setting: Fixed) -> String {
    format!("ρ = {}, α = {}", short(setting.rho), short(setting.alpha))
}

/// Everything about one plant.
pub(super) fn study(
    plant: &Plant,
    config: &Config,
    task: &Task,
    interrupt: &Interrupt,
) -> Result<Findings, Failure> {
    let go_on = || {
        task.advance(1);
        match interrupt.raised() {
            true => Err(Failure::Interrupted),
            false => Ok(()),
        }
    };
    let program = &plant.program;
    let bench = Bench::new(program, config.cap);
    let test64 = plant.pool(bits(config.seed, TEST), config.test);
    let test = test64.cast::<f32>();
    let pools: Vec<Pool<f64>> = (0..config.seeds)
        .map(|s| training_pool(plant, config, s))
        .collect();
    let mut table = Column {
        config,
        test: &test,
        rows: Vec::new(),
    };
    let jacobi = jacobi(program)?;
    let known = published(plant);
    let ones = vec![1.0; jacobi.len()];
    table.add(
        "published ρ",
        false,
        in_words(known),
        &bench.fixed(&ones, known, &test),
    );
    let mut jacobi_best = known;
    for pool in &pools {
        jacobi_best = baselines(&mut table, &bench, &jacobi, &pool.cast());
        go_on_quietly(interrupt)?;
    }
    go_on()?;

    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let one_phase = Knobset::levels_and_slopes(program, jacobi.clone(), &kinds, &[]);
    let mut chosen: Option<(Knobset, Training)> = None;
    let million = |work: usize| {
        format!(
            "{} million iterations of training",
            short(work as f64 / 1e6)
        )
    };
    for (s, pool) in pools.iter().enumerate() {
        let training = train(program, &one_phase, pool, config, s, interrupt)?;
        let counts = test_counts(&bench, &one_phase, &training.theta, &test);
        table.add(
            "stopping time, few knobs, 1 phase",
            true,
            million(training.work),
            &counts,
        );
        let fresh = plant.pool(bits(bits(config.seed, FRESH), s as u64), config.fresh);
        let options = config.options(bits(config.seed, 100 + s as u64));
        let stop = |_| interrupt.raised();
        let (knobs, training) = recipe(
            program,
            &kinds,
            &config.switches,
            [pool, &fresh],
            &options,
            stop,
        )
        .map_err(|e| Failure::NoAnswer(e.to_string()))?;
        go_on_quietly(interrupt)?;
        let counts = test_counts(&bench, &knobs, &training.theta, &test);
        let name = format!("stopping time, {} phases", config.switches.len() + 1);
        table.add(&name, true, million(training.work), &counts);
        let better = |c: &(Knobset, Training)| training.score.choice() < c.1.score.choice();
        if chosen.as_ref().is_none_or(better) {
            chosen = Some((knobs, training));
        }
    }
    // The few knobs first, then the phases.
    table
        .rows
        .sort_by_key(|row| (row.ours, row.name.ends_with("phases")));
    let (phases, chosen) =
        chosen.ok_or_else(|| Failure::NoAnswer("no training was made".to_owned()))?;
    go_on()?;
    let many_knobs = many(plant, &bench, &jacobi, &pools, config, &test, interrupt)?;
    go_on()?;

    let tuned64 = phases
        .tuned(program, &chosen.theta)
        .ok_or_else(|| Failure::NoAnswer("the tuned weights have no inverse".to_owned()))?;
    let tuned: Tuned<f32> = tuned64.cast();
    let other = bench
        .tuned(&jacobi, jacobi_best)
        .ok_or_else(|| Failure::NoAnswer("the Jacobi weights have no inverse".to_owned()))?;
    let counts = iterations(&bench.small, &test, tuned.phases(), config.cap);
    let in_f64 = iterations(program, &test64, tuned64.phases(), config.cap);
    let same = counts.iter().zip(&in_f64).filter(|(a, b)| a == b).count();
    let input_error = [&tuned, &other]
        .map(|t| input_error(&bench, &test64, &test, t, tuned64.phases(), config.exact));
    go_on()?;
    let (closed_loop, traces) = loops(plant, &bench, &jacobi, &tuned, jacobi_best, config);
    go_on()?;
    let other_bounds = bounds(plant, &bench, &tuned, &other, config);
    go_on()?;
    let rival_counts = bench.fixed(&jacobi, jacobi_best, &test);
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
        history: chosen.history.iter().map(|h| (h.step, h.score)).collect(),
        theta: chosen.theta,
    })
}

fn go_on_quietly(interrupt: &Interrupt) -> Result<(), Failure> {
    match interrupt.raised() {
        true => Err(Failure::Interrupted),
        false => Ok(()),
    }
}

/// What the sources of the two problems publish.
fn published(plant: &Plant) -> Fixed {
    let rho = if plant.program.shape.outputs > 0 {
        100.0
    } else {
        5.0
    };
    Fixed { rho, alpha: 1.0 }
}

/// All baselines on one pool; returns the Jacobi setting that is best by ½ mean + ½ p99.
fn baselines(table: &mut Column<'_>, bench: &Bench<'_>, jacobi: &[f64], pool: &Pool<f32>) -> Fixed {
    let config = table.config;
    let rounds = rounds(pool, config);
    let (ones, ruiz) = (vec![1.0; jacobi.len()], ruiz(bench.program));
    let alphas: &[f64] = if config.coarse {
        &[1.0, 1.6, 1.8]
    } else {
        &[1.0, 1.3, 1.5, 1.6, 1.7, 1.8, 1.9]
    };
    let by: [(&str, Key); 2] = [("mean", |s| s.mean), ("mean + p99", Score::blend)];
    let mut jacobi_best = Fixed {
        rho: 1.0,
        alpha: 1.6,
    };
    for (base, name, from) in [
        (&ones[..], "(ρ, α) by grid", 0.0),
        (jacobi, "Jacobi scaling, (ρ, α) by grid", -1.5),
    ] {
        // The published ρ lie inside.
        let settings = grid(from, 18, alphas);
        for (what, key) in by {
            let counts = |s: &Fixed, p: &Pool<f32>| bench.fixed(base, *s, p);
            if let Some((setting, _)) = best(&settings, &rounds, config.cap, key, counts) {
                let counts = bench.fixed(base, setting, table.test);
                table.add(
                    &format!("{name}, by {what}"),
                    false,
                    in_words(setting),
                    &counts,
                );
                if from < 0.0 {
                    jacobi_best = setting;
                }
            }
        }
    }
    // Rules start around the best fixed ρ of their base.
    let factors: &[f64] = if config.coarse {
        &[1.0]
    } else {
        &[0.2, 1.0, 5.0]
    };
    for (base, name, intervals, threshold, reach) in [
        (
            &ones[..],
            "OSQP residual balancing",
            &[10, 25, 50][..],
            2.0,
            1e6,
        ),
        (&ruiz, "the same + Ruiz", &[10, 25, 50], 2.0, 1e6),
        (jacobi, "the same + Jacobi", &[10, 25, 50], 2.0, 1e6),
        // Bounded, without a threshold, looked at often; K exact, where TinyMPC has a first-order update.
        (&ones, "TinyMPC-style adaptive ρ", &[5, 10], 1.0, 10.0),
    ] {
        let settings = grid(-2.0, 28, &[1.6]);
        let few = rounds.get(..1).unwrap_or_default();
        let counts = |s: &Fixed, p: &Pool<f32>| bench.fixed(base, *s, p);
        let middle = best(&settings, few, config.cap, |s| s.mean, counts);
        let middle = middle.map_or(1.0, |found| found.0.rho);
        let rules = rules(factors, middle, intervals, threshold, reach, config.coarse);
        add_balancing(table, bench, base, name, &rules, &rounds);
    }
    jacobi_best
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn rules(
    rhos: &[f64],
    scale: f64,
    intervals: &[u32],
    threshold: f64,
    reach: f64,
    coarse: bool,
) -> Vec<Balancing> {
    let alphas: &[f64] = if coarse { &[1.6] } else { &[1.0, 1.6, 1.8] };
    let mut rules = Vec::new();
    for rho in rhos {
        for &alpha in alphas {
            for &interval in intervals {
                rules.push(Balancing {
                    rho: rho * scale,
                    alpha,
                    interval,
                    threshold,
                    reach,
                });
            }
        }
    }
    rules
}

fn add_balancing(
    table: &mut Column<'_>,
    bench: &Bench<'_>,
    base: &[f64],
    name: &str,
    rules: &[Balancing],
    rounds: &[Pool<f32>],
) {
    let counts = |rule: &Balancing, p: &Pool<f32>| bench.balanced(base, rule, p);
    if let Some((rule, _)) = best(rules, rounds, table.config.cap, Score::blend, counts) {
        let words = format!(
            "ρ0 = {}, α = {}, every {}",
            short(rule.rho),
            short(rule.alpha),
            rule.interval
        );
        table.add(name, false, words, &bench.balanced(base, &rule, table.test));
    }
}

/// A few instances, more, all.
fn rounds(pool: &Pool<f32>, config: &Config) -> Vec<Pool<f32>> {
    let few = if config.coarse { 24 } else { 60 };
    vec![pool.head(few), pool.head(300), pool.clone()]
}

fn train(
    program: &Program<f64>,
    knobs: &Knobset,
    pool: &Pool<f64>,
    config: &Config,
    number: usize,
    interrupt: &Interrupt,
) -> Result<Training, Failure> {
    let options = config.options(bits(config.seed, 100 + number as u64));
    let start = begin(program, knobs, pool, config.cap);
    let training = tune(program, knobs, &start, pool, &options, |_| {
        interrupt.raised()
    })
    .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    go_on_quietly(interrupt)?;
    Ok(training)
}

fn test_counts(bench: &Bench<'_>, knobs: &Knobset, theta: &[f64], test: &Pool<f32>) -> Vec<u32> {
    match knobs.tuned(bench.program, theta) {
        Some(tuned) => iterations(&bench.small, test, tuned.cast().phases(), bench.cap),
        None => vec![bench.cap + 1; test.len()],
    }
}

/// Where phases begin in the comparison with a search.
const THREE_PHASES: [usize; 2] = [16, 48];

/// One knob per kind and stage: by the gradient, and by a search.
fn many(
    plant: &Plant,
    bench: &Bench<'_>,
    jacobi: &[f64],
    pools: &[Pool<f64>],
    config: &Config,
    test: &Pool<f32>,
    interrupt: &Interrupt,
) -> Result<ManyKnobs, Failure> {
    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let knobs = Knobset::each_stage(bench.program, jacobi.to_vec(), &kinds, &THREE_PHASES);
    let mut table = Column {
        config,
        test,
        rows: Vec::new(),
    };
    let mut work = [0.0; 2];
    let names = ["gradient of the stopping time", "search without a gradient"];
    for (s, pool) in pools.iter().enumerate() {
        let training = train(bench.program, &knobs, pool, config, s, interrupt)?;
        table.add(
            names[0],
            true,
            String::new(),
            &test_counts(bench, &knobs, &training.theta, test),
        );
        let options = config.options(bits(config.seed, 200 + s as u64));
        let found = search::search(
            bench.program,
            &knobs,
            &begin(bench.program, &knobs, pool, config.cap),
            &pool.cast(),
            &options,
            config.search_factor * training.work,
            || interrupt.raised(),
        );
        go_on_quietly(interrupt)?;
        let words = format!("{} generations", found.generations);
        table.add(
            names[1],
            false,
            words,
            &test_counts(bench, &knobs, &found.theta, test),
        );
        work[0] += training.work as f64 / 1e6 / pools.len() as f64;
        work[1] += found.work as f64 / 1e6 / pools.len() as f64;
    }
    let [gradient, search] = names.map(|name| table.rows.iter().find(|r| r.name == name).cloned());
    let missing = || Failure::NoAnswer("no training was made".to_owned());
    Ok(ManyKnobs {
        knobs: knobs.knobs().len(),
        gradient: gradient.ok_or_else(missing)?,
        search: search.ok_or_else(missing)?,
        work,
    })
}

/// Mean and largest distance of u at the stop from the exact solution.
fn input_error(
    bench: &Bench<'_>,
    test64: &Pool<f64>,
    test: &Pool<f32>,
    tuned: &Tuned<f32>,
    exact: Phases<'_, f64>,
    count: usize,
) -> (f64, f64) {
    let each = |i: usize| {
        let wanted = solve_exactly(bench.program, test64, i, exact, 1e-8)?;
        let found = solve(&bench.small, test, i, tuned.phases(), bench.cap);
        let pairs = wanted.iter().zip(&found);
        Some(pairs.fold(0.0, |m: f64, (a, &b)| m.max((a - f64::from(b)).abs())))
    };
    let errors: Vec<f64> = (0..count.min(test.len()))
        .into_par_iter()
        .filter_map(each)
        .collect();
    (mean(&errors), errors.iter().copied().fold(0.0, f64::max))
}

/// Closed loop: tuned, and Jacobi with (ρ, α) chosen in closed loop.
fn loops(
    plant: &Plant,
    bench: &Bench<'_>,
    jacobi: &[f64],
    tuned: &Tuned<f32>,
    jacobi_best: Fixed,
    config: &Config,
) -> (Vec<Row>, Vec<(String, super::Trace)>) {
    let (test, training) = (bits(config.seed, LOOPS), bits(config.seed, LOOPS + 1));
    let run = |tuned: &Tuned<f32>, seed: u64, runs: usize| {
        let controller = tuned.controller(&bench.small);
        closed_loop::run(plant, &controller, seed, runs, config.ticks, config.cap)
    };
    let counts = |traces: &[super::Trace]| -> Vec<u32> {
        traces.iter().flat_map(|t| t.iterations.clone()).collect()
    };
    // Around what is best from a cold start.
    let around = [0.4, 0.6, 1.0, 1.6, 2.5];
    let settings = around.iter().flat_map(|f| {
        [1.5, 1.6, 1.8].map(|alpha| Fixed {
            rho: jacobi_best.rho * f,
            alpha,
        })
    });
    let few = config.runs.div_ceil(4);
    let retuned = settings
        .filter_map(|s| {
            let counts = counts(&run(&bench.tuned(jacobi, s)?, training, few));
            Some((Score::of(&counts, config.cap).blend(), s))
        })
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map_or(jacobi_best, |found| found.1);
    let mut rows = Vec::new();
    let mut traces = Vec::new();
    let other = bench.tuned(jacobi, retuned);
    let ways = [
        (Some(tuned), "stopping time", true, String::new()),
        (
            other.as_ref(),
            "Jacobi scaling, retuned in closed loop",
            false,
            in_words(retuned),
        ),
    ];
    for (tuned, name, ours, setting) in ways {
        let Some(tuned) = tuned else { continue };
        let found = run(tuned, test, config.runs);
        rows.push(Row {
            name: name.to_owned(),
            ours,
            setting,
            scores: vec![Score::of(&counts(&found), config.cap)],
        });
        traces.extend(found.into_iter().next().map(|t| (name.to_owned(), t)));
    }
    (rows, traces)
}

/// Other bounds, with the same knobs.
fn bounds(
    plant: &Plant,
    bench: &Bench<'_>,
    tuned: &Tuned<f32>,
    other: &Tuned<f32>,
    config: &Config,
) -> Vec<Row> {
    let choices: &[(&str, &[f64])] = if plant.program.shape.outputs > 0 {
        &[
            ("|u| ≤ 4", &[4.0, 1.0, 1.0]),
            ("|position|, |velocity| ≤ 1.2", &[3.0, 1.2, 1.2]),
        ]
    } else {
        &[("|u| ≤ 0.35", &[0.35; 4]), ("|u| ≤ 0.7", &[0.7; 4])]
    };
    let mut rows = Vec::new();
    for (name, upper) in choices {
        let mut changed = plant.clone();
        changed.program.upper = upper.to_vec();
        changed.program.lower = upper.iter().map(|b| -b).collect();
        let test = changed
            .pool(bits(config.seed, TEST), config.test)
            .cast::<f32>();
        for (tuned, who, ours) in [
            (tuned, "stopping time", true),
            (other, "Jacobi scaling, grid", false),
        ] {
            let counts = iterations(&bench.small, &test, tuned.phases(), config.cap);
            rows.push(Row {
                name: format!("{name}: {who}"),
                ours,
                setting: String::new(),
                scores: vec![Score::of(&counts, config.cap)],
            });
        }
    }
    rows
}

/// Projected gradient with momentum on one axis: a grid, and the gradient from its best point.
pub(super) fn momentum_rows(config: &Config) -> Result<Vec<Row>, Failure> {
    let model = axis_model();
    let program = &model
        .program()
        .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let curvature = momentum::curvature(program);
    let mut table = Column {
        config,
        test: &Pool::of_states(&program.cast(), []),
        rows: Vec::new(),
    };
    let test = model.ticks(program, bits(config.seed, TEST), config.test);
    let steps = [0.5, 0.8, 1.0, 1.2, 1.5].map(|f| f / curvature);
    let betas = [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
    for s in 0..config.seeds {
        let stream = bits(bits(config.seed, TRAINING), s as u64);
        let pool = model.ticks(program, stream, config.pool.min(300));
        let blend = |at: momentum::Setting| {
            Score::of(
                &momentum::counts(program, &pool, at, config.cap),
                config.cap,
            )
            .blend()
        };
        let settings = steps.iter().flat_map(|&a| betas.map(|b| [a, b]));
        let found = settings
            .map(|at| (blend(at), at))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((_, grid)) = found else { continue };
        let mut options = config.options(bits(config.seed, 300 + s as u64));
        options.steps = options.steps.min(100);
        let descended = momentum::descend(program, &pool, grid, &options);
        for (name, ours, at) in [
            ("two-parameter grid", false, grid),
            ("stopping time", true, descended),
        ] {
            let words = format!("a·L = {}, β = {}", short(at[0] * curvature), short(at[1]));
            let counts = momentum::counts(program, &test, at, config.cap);
            table.add(name, ours, words, &counts);
        }
    }
    Ok(table.rows)
}
