//! One knob per kind and stage, in three phases: by the gradient, and by a search that may spend several times the work.

use super::rows::Rows;
use super::study::train;
use super::{ControlConfig, Failure, ManyKnobs};
use crate::control::baselines::Baselines;
use crate::control::plants::Plant;
use crate::control::{Knobset, Pool, Stream, initial_theta, tune_without_gradient};
use crate::progress::Progress;

/// Iterations at which the second and the third phase begin.
const THREE_PHASES: [usize; 2] = [16, 48];

/// Both methods, for every training.
pub(super) fn many_knobs(
    plant: &Plant,
    bench: &Baselines<'_>,
    jacobi: &[f64],
    pools: &[[Pool<f64>; 2]],
    config: &ControlConfig,
    test: &Pool<f32>,
    progress: &Progress,
) -> Result<ManyKnobs, Failure> {
    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let knobs = Knobset::each_stage(bench.program, jacobi.to_vec(), &kinds, &THREE_PHASES);
    let mut table = Rows::new(config, test);
    let mut work = [0.0; 2];
    let names = ["gradient of the stopping time", "search without a gradient"];
    for (s, ticks) in pools.iter().enumerate() {
        let training = train(bench.program, &knobs, ticks, &config.training(s), progress)?;
        table.add(
            names[0],
            true,
            String::new(),
            &bench.counts(&knobs, &training.theta, test),
        );
        let options = config.options(Stream::Search(s));
        let found = tune_without_gradient(
            bench.program,
            &knobs,
            &initial_theta(bench.program, &knobs, &ticks[0], config.cap),
            ticks.each_ref(),
            &options,
            config.search_factor * training.work,
            progress,
        );
        progress.check()?;
        let words = format!("{} generations", found.generations);
        table.add(
            names[1],
            false,
            words,
            &bench.counts(&knobs, &found.theta, test),
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
