//! Robustness: closed loop, bounds that were not trained on, and the error of the inputs at the stop.

use dst_core::qp::Phases;
use rayon::prelude::*;

use super::rows::Rows;
use super::{ControlConfig, MethodRow};
use crate::control::baselines::{Baselines, FixedSetting};
use crate::control::plants::Plant;
use crate::control::{
    LoopTrace, Pool, Score, Stream, Tuned, closed_loops, iterations, solve, solve_exactly,
};

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Mean and largest distance of u at the stop from the exact solution.
pub(super) fn input_error(
    bench: &Baselines<'_>,
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

/// Closed loop: the controllers of all trainings, and Jacobi with (ρ, α) chosen in closed loop. With the first run of each way.
pub(super) fn loops(
    plant: &Plant,
    bench: &Baselines<'_>,
    jacobi: &[f64],
    tuned: &[Tuned<f32>],
    jacobi_best: FixedSetting,
    config: &ControlConfig,
) -> (Vec<MethodRow>, Vec<(String, LoopTrace)>) {
    let [test, training] = [Stream::TestLoops, Stream::TuningLoops].map(|s| s.of(config.seed));
    let run = |tuned: &Tuned<f32>, seed: u64, runs: usize| {
        let controller = tuned.controller(&bench.small);
        closed_loops(plant, &controller, seed, runs, config.ticks, config.cap)
    };
    let counts = |traces: &[LoopTrace]| -> Vec<u32> {
        traces.iter().flat_map(|t| t.iterations.clone()).collect()
    };
    // Around what is best from a cold start.
    let around = [0.4, 0.6, 1.0, 1.6, 2.5];
    let settings = around.iter().flat_map(|f| {
        [1.5, 1.6, 1.8].map(|alpha| FixedSetting {
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
    let other: Vec<Tuned<f32>> = bench.tuned(jacobi, retuned).into_iter().collect();
    let no_test = Pool::of_states(&bench.small, []);
    let mut table = Rows::new(config, &no_test);
    let mut traces = Vec::new();
    let (ours, theirs) = ("stopping time", "Jacobi scaling, retuned in closed loop");
    for (name, is_ours, ways, setting) in [
        (ours, true, tuned, String::new()),
        (theirs, false, &other, retuned.words()),
    ] {
        for (k, tuned) in ways.iter().enumerate() {
            let found = run(tuned, test, config.runs);
            table.add(name, is_ours, setting.clone(), &counts(&found));
            if k == 0 {
                traces.extend(found.into_iter().next().map(|t| (name.to_owned(), t)));
            }
        }
    }
    (table.rows, traces)
}

/// Other bounds, with the knobs of every training, and with those of Jacobi scaling by grid.
pub(super) fn bounds(
    plant: &Plant,
    bench: &Baselines<'_>,
    tuned: &[Tuned<f32>],
    other: &[Tuned<f32>],
    config: &ControlConfig,
) -> Vec<MethodRow> {
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
            .pool(Stream::Test.of(config.seed), config.test)
            .cast::<f32>();
        let mut table = Rows::new(config, &test);
        for (ways, who, ours) in [
            (tuned, "stopping time", true),
            (other, "Jacobi scaling, grid", false),
        ] {
            for tuned in ways {
                let counts = iterations(&bench.small, &test, tuned.phases(), config.cap);
                table.add(&format!("{name}: {who}"), ours, String::new(), &counts);
            }
        }
        rows.extend(table.rows);
    }
    rows
}
