//! Checkpoints of a training. A training that goes on makes a step, and its checkpoint is read again.

use dst_std::l2o::{Architecture, Family, Recipe, Session, TrainingPlan};

use crate::tensors::file;

/// A plan so small that a step takes a millisecond.
fn plan() -> TrainingPlan {
    let recipe = Recipe {
        family: Family::new(4, 2),
        batch: 1,
        segments: 1,
        steps: 2,
        ..Recipe::paper(Architecture::RnnProp)
    };
    TrainingPlan {
        recipe,
        seed: 1,
        steps: 4,
        validate_every: 2,
        validation_problems: 1,
    }
}

pub(crate) fn run(bytes: &[u8]) {
    let Some(file) = file(bytes) else {
        return;
    };
    let Ok(mut session) = Session::resume(plan(), &file) else {
        return;
    };
    if !session.is_finished() && session.step().is_err() {
        return;
    }
    let written = session.checkpoint().expect("what was read can be written");
    if let Err(reason) = Session::resume(plan(), &written) {
        panic!("its own checkpoint {reason}");
    }
}
