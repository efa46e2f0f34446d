//! Knobs of an ADMM controller in a file of their own, and the source text that is written from them without tuning.

use serde::{Deserialize, Serialize};

use super::knobset::Knobset;
use super::plants::Plant;
use super::program::Program;
use super::source::{identifier, texts};
use super::tuned::Tuned;
use crate::Failure;

/// Stored form of the knobs of a controller.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) note: String,
    pub(super) switches: Vec<usize>,
    pub(super) theta: Vec<f64>,
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
