//! The controllers of the experiment as source text, or that of a model of one's own.
//!
//! What is exported is training number 0 of the experiment under the same seed, so the same seed gives the same text.

use super::{Config, Failure, plants};
use crate::control::export::{RUNTIME, files, identifier, single};
use crate::control::{Model, Pool, Program, Score, Stream, iterations, recipe};
use crate::format::short;
use crate::progress::Progress;

/// Files and a word about each controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Name and content.
    pub files: Vec<(String, String)>,
    /// How good they are.
    pub notes: Vec<String>,
}

/// Tunes the two plants, or a model of one's own with its name, and writes them.
pub fn controllers(model: Option<(&str, &Model)>, seed: u64, quick: bool) -> Result<Made, Failure> {
    let (name, content) = RUNTIME;
    let mut made = Made {
        files: vec![(name.to_owned(), content.to_owned())],
        notes: Vec::new(),
    };
    let config = Config::new(seed, quick);
    let streams = [Stream::Pool(0), Stream::Fresh(0)].map(|s| s.of(seed));
    let sizes = [config.pool, config.fresh];
    match model {
        Some((name, model)) => {
            let program = model
                .program()
                .map_err(|e| Failure::NoAnswer(e.to_string()))?;
            let kinds: Vec<usize> = std::iter::once(program.shape.inputs)
                .chain(std::iter::repeat_n(1, program.shape.outputs))
                .collect();
            let pools = [0, 1].map(|k| model.ticks(&program, streams[k], sizes[k]));
            one(
                &mut made,
                name,
                &program,
                &kinds,
                &pools,
                &config,
                &model.plant(),
            )?;
        }
        None => {
            for plant in plants()? {
                let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
                let pools = [0, 1].map(|k| plant.pool(streams[k], sizes[k]));
                let matrices = (plant.a.clone(), plant.b.clone());
                one(
                    &mut made,
                    plant.name,
                    &plant.program,
                    &kinds,
                    &pools,
                    &config,
                    &matrices,
                )?;
            }
        }
    }
    Ok(made)
}

fn one(
    made: &mut Made,
    name: &str,
    program: &Program<f64>,
    kinds: &[usize],
    [pool, fresh]: &[Pool<f64>; 2],
    config: &Config,
    plant: &(Vec<f64>, Vec<f64>),
) -> Result<(), Failure> {
    let name = &identifier(name);
    let options = config.training(0);
    let ticks = [pool, fresh];
    let (knobs, training) = recipe(
        program,
        kinds,
        &config.switches,
        ticks,
        &options,
        &Progress::hidden(),
    )
    .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let tuned = single(program, &knobs, &training.theta)?;
    let counts = iterations(&program.cast(), &pool.cast(), tuned.phases(), options.cap);
    let score = Score::of(&counts, options.cap);
    let note = format!(
        "{name}: mean {}, p99 {}, maximum {} iterations on the pool from a cold start",
        short(score.mean),
        short(score.p99),
        short(score.max)
    );
    made.files
        .extend(files(name, program, &knobs, &training.theta, plant, &note)?);
    made.notes.push(note);
    Ok(())
}
