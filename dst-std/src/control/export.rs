//! The tuned controller as source text: a Rust module of constants for [`dst_core::mpc::Controller`], and a C header for
//! `dst_controller.h`, which is written beside it.
//!
//! What is exported is training number 0 of the experiment under the same seed, so the same seed gives the same text. The knobs go
//! into a file of their own, from which [`again`] writes the same text without tuning.

use serde::{Deserialize, Serialize};

use super::knobset::Knobset;
use super::model::Model;
use super::plants::Plant;
use super::pool::Pool;
use super::program::Program;
use super::recipe::recipe;
use super::score::{Score, iterations};
use super::source::{identifier, texts};
use super::streams::Stream;
use super::tuned::Tuned;
use crate::experiments::Failure;
use crate::experiments::control::{Config, plants};
use crate::report::short;

/// The controller in C: what the headers of constants are for.
pub const RUNTIME: &str = include_str!("dst_controller.h");

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
    let mut made = Made {
        files: vec![("dst_controller.h".to_owned(), RUNTIME.to_owned())],
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
                &identifier(name),
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
                let Plant { a, b, .. } = &plant;
                let plant_matrices = (a.clone(), b.clone());
                one(
                    &mut made,
                    &identifier(plant.name),
                    &plant.program,
                    &kinds,
                    &pools,
                    &config,
                    &plant_matrices,
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
    let options = config.training(0);
    let ticks = [pool, fresh];
    let (knobs, training) = recipe(program, kinds, &config.switches, ticks, &options, |_| false)
        .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let tuned = inverted(program, &knobs, &training.theta)?;
    let counts = iterations(&program.cast(), &pool.cast(), tuned.phases(), options.cap);
    let score = Score::of(&counts, options.cap);
    let note = format!(
        "{name}: mean {}, p99 {}, maximum {} iterations on the pool from a cold start",
        short(score.mean),
        short(score.p99),
        short(score.max)
    );
    let stored = Stored {
        note: note.clone(),
        switches: knobs.switches,
        theta: training.theta,
    };
    let text = serde_json::to_string_pretty(&stored)
        .map_err(|e| Failure::NoAnswer(format!("{name}: {e}")))?;
    made.files
        .extend(texts(name, program, &tuned, plant, &note));
    // Not `name.json`: that may be the model, in the same directory.
    made.files.push((format!("{name}.knobs.json"), text + "\n"));
    made.notes.push(note);
    Ok(())
}

/// What a controller is written from, beside its plant.
#[derive(Serialize, Deserialize)]
struct Stored {
    note: String,
    switches: Vec<usize>,
    theta: Vec<f64>,
}

/// The Rust module and the C header of a plant again, from the knobs that [`controllers`] stored.
pub fn again(plant: &Plant, stored: &str) -> Result<[(String, String); 2], Failure> {
    let stored: Stored = serde_json::from_str(stored)
        .map_err(|e| Failure::NoAnswer(format!("not the knobs of a controller: {e}")))?;
    let program = &plant.program;
    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let base = program
        .jacobi()
        .ok_or_else(|| Failure::NoAnswer("the Hessian is not positive definite".to_owned()))?;
    let knobs = Knobset::each_stage(program, base, &kinds, &stored.switches);
    if stored.theta.len() != knobs.knobs().len() {
        return Err(Failure::NoAnswer(format!(
            "theta must have {} numbers, not {}",
            knobs.knobs().len(),
            stored.theta.len()
        )));
    }
    let tuned = inverted(program, &knobs, &stored.theta)?;
    let matrices = (plant.a.clone(), plant.b.clone());
    let name = identifier(plant.name);
    Ok(texts(&name, program, &tuned, &matrices, &stored.note))
}

fn inverted(program: &Program<f64>, knobs: &Knobset, theta: &[f64]) -> Result<Tuned<f32>, Failure> {
    let tuned = knobs.tuned(program, theta);
    let missing = || Failure::NoAnswer("the tuned weights have no inverse".to_owned());
    let tuned: Tuned<f32> = tuned.ok_or_else(missing)?.cast();
    let numbers = tuned.params.iter().chain(&tuned.inverses);
    if !numbers.clone().all(|v| v.is_finite()) {
        return Err(Failure::NoAnswer(
            "the tuned weights are not finite in single precision; take other units".to_owned(),
        ));
    }
    Ok(tuned)
}
