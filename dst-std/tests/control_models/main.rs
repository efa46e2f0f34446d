//! Model files: refusals, what a file may say, and closed loops of the dual active set in single and double precision.

mod closed_loops;
mod refusals;

use std::path::PathBuf;

use dst_std::control::Model;

/// Path of a model of this folder's neighbour `models`.
fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    folder.join(format!("{name}.json"))
}

fn model(name: &str) -> Model {
    Model::read(&path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}
