//! The tuned controller as source text: a Rust module of constants for [`dst_core::mpc::AdmmController`], and a C header for
//! `dst_controller.h`, which is written beside it.
//!
//! [`controllers`] tunes and writes; the command `dst control export` calls it. The knobs go into a file of their own, from which
//! [`regenerate`] writes the same text without tuning. The same seed gives the same text: that of training number 0 of the control
//! experiment.

use serde::{Deserialize, Serialize};

use super::knobset::Knobset;
use super::model::Model;
use super::plants::{Plant, plants};
use super::pool::Pool;
use super::program::Program;
use super::recipe::{Sizes, recipe};
use super::score::{Score, iterations};
use super::source::{identifier, texts};
use super::streams::Stream;
use super::tuned::Tuned;
use super::tuning::TuningOptions;
use crate::Failure;
use crate::format::short;
use crate::progress::Progress;

/// Name and text of the controller in C, which reads the headers of constants.
pub const RUNTIME: (&str, &str) = ("dst_controller.h", include_str!("dst_controller.h"));

/// Source files of tuned controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// Name and content of every file.
    pub files: Vec<(String, String)>,
    /// One sentence per controller: its iteration counts on the pool.
    pub notes: Vec<String>,
}

/// Tunes a controller for a model, or for each of the two plants if there is none, and writes them as source text. A model comes with the name
/// of its files.
pub fn controllers(
    model: Option<(&str, &Model)>,
    sizes: &Sizes,
    seed: u64,
    progress: &Progress,
) -> Result<Exported, Failure> {
    let (name, content) = RUNTIME;
    let mut exported = Exported {
        files: vec![(name.to_owned(), content.to_owned())],
        notes: Vec::new(),
    };
    let no_answer = |e: super::ModelError| Failure::NoAnswer(e.to_string());
    let streams = [Stream::Pool(0), Stream::Fresh(0)].map(|s| s.of(seed));
    let counts = [sizes.pool, sizes.fresh];
    match model {
        Some((name, model)) => {
            let program = model.program().map_err(no_answer)?;
            let kinds: Vec<usize> = std::iter::once(program.shape.inputs)
                .chain(std::iter::repeat_n(1, program.shape.outputs))
                .collect();
            let pools = [0, 1].map(|k| model.ticks(&program, streams[k], counts[k]));
            let subject = Subject {
                name: identifier(name),
                program: &program,
                kinds: &kinds,
                plant: model.plant(),
            };
            subject.export(&pools, sizes, seed, progress, &mut exported)?;
        }
        None => {
            for plant in plants().map_err(no_answer)? {
                let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
                let pools = [0, 1].map(|k| plant.pool(streams[k], counts[k]));
                let subject = Subject {
                    name: identifier(plant.name),
                    program: &plant.program,
                    kinds: &kinds,
                    plant: (plant.a.clone(), plant.b.clone()),
                };
                subject.export(&pools, sizes, seed, progress, &mut exported)?;
            }
        }
    }
    Ok(exported)
}

/// AdmmController to export.
struct Subject<'a> {
    name: String,
    program: &'a Program<f64>,
    kinds: &'a [usize],
    /// A and B, row by row.
    plant: (Vec<f64>, Vec<f64>),
}

impl Subject<'_> {
    fn export(
        &self,
        [pool, fresh]: &[Pool<f64>; 2],
        sizes: &Sizes,
        seed: u64,
        progress: &Progress,
        to: &mut Exported,
    ) -> Result<(), Failure> {
        let Self {
            name,
            program,
            kinds,
            plant,
        } = self;
        let options = TuningOptions {
            seed: Stream::Batches(0).of(seed),
            ..sizes.options.clone()
        };
        let ticks = [pool, fresh];
        let (knobs, training) = recipe(program, kinds, &sizes.switches, ticks, &options, progress)
            .map_err(|e| Failure::NoAnswer(e.to_string()))?;
        progress.check()?;
        let tuned = single(program, &knobs, &training.theta)?;
        let counts = iterations(&program.cast(), &pool.cast(), tuned.phases(), options.cap);
        let score = Score::of(&counts, options.cap);
        let note = format!(
            "{name}: mean {}, p99 {}, maximum {} iterations on the pool from a cold start",
            short(score.mean),
            short(score.p99),
            short(score.max)
        );
        let theta = &training.theta;
        to.files
            .extend(files(name, program, &knobs, theta, plant, &note)?);
        to.notes.push(note);
        Ok(())
    }
}

/// All files of a controller: the Rust module, the C header, its knobs.
fn files(
    name: &str,
    program: &Program<f64>,
    knobs: &Knobset,
    theta: &[f64],
    plant: &(Vec<f64>, Vec<f64>),
    note: &str,
) -> Result<Vec<(String, String)>, Failure> {
    let tuned = single(program, knobs, theta)?;
    let stored = Stored {
        note: note.to_owned(),
        switches: knobs.switches.clone(),
        theta: theta.to_vec(),
    };
    let text = serde_json::to_string_pretty(&stored)
        .map_err(|e| Failure::NoAnswer(format!("{name}: {e}")))?;
    let mut files = texts(name, program, &tuned, plant, note).to_vec();
    // Not `name.json`: that may be the model, in the same directory.
    files.push((format!("{name}.knobs.json"), text + "\n"));
    Ok(files)
}

/// Stored form of the knobs of a controller.
#[derive(Serialize, Deserialize)]
struct Stored {
    note: String,
    switches: Vec<usize>,
    theta: Vec<f64>,
}

/// Writes the Rust module and the C header of a plant from the knobs that were stored beside them.
pub fn regenerate(plant: &Plant, stored: &str) -> Result<[(String, String); 2], Failure> {
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
    let tuned = single(program, &knobs, &stored.theta)?;
    let matrices = (plant.a.clone(), plant.b.clone());
    let name = identifier(plant.name);
    Ok(texts(&name, program, &tuned, &matrices, &stored.note))
}

/// The parameters as the device gets them.
fn single(program: &Program<f64>, knobs: &Knobset, theta: &[f64]) -> Result<Tuned<f32>, Failure> {
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
