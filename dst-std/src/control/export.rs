//! The tuned controller as source text: a Rust module of constants for [`dst_core::mpc::Controller`], and a C header for
//! `dst_controller.h`, which is written beside it.
//!
//! The knobs go into a file of their own, from which [`again`] writes the same text without tuning. The experiment tunes what is
//! exported: [`controllers`](crate::experiments::control::export::controllers).

use serde::{Deserialize, Serialize};

use super::knobset::Knobset;
use super::plants::Plant;
use super::program::Program;
use super::source::texts;
use super::tuned::Tuned;
use crate::Failure;

pub(crate) use super::source::identifier;

/// The controller in C: what the headers of constants are for.
pub(crate) const RUNTIME: (&str, &str) = ("dst_controller.h", include_str!("dst_controller.h"));

/// All files of a controller: the Rust module, the C header, its knobs.
pub(crate) fn files(
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

/// What a controller is written from, beside its plant.
#[derive(Serialize, Deserialize)]
struct Stored {
    note: String,
    switches: Vec<usize>,
    theta: Vec<f64>,
}

/// The Rust module and the C header of a plant again, from the knobs that were stored beside them.
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
    let tuned = single(program, &knobs, &stored.theta)?;
    let matrices = (plant.a.clone(), plant.b.clone());
    let name = identifier(plant.name);
    Ok(texts(&name, program, &tuned, &matrices, &stored.note))
}

/// The parameters as the device gets them.
pub(crate) fn single(
    program: &Program<f64>,
    knobs: &Knobset,
    theta: &[f64],
) -> Result<Tuned<f32>, Failure> {
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
