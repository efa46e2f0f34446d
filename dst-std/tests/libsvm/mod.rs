//! The LIBSVM files of the paper, which are not part of the repository.
//!
//! Tests that need them are ignored by `cargo test` and run by the job "data sets" of `cargo xtask test`.

use std::path::{Path, PathBuf};

/// Returns the folder with these files: `DST_DATA`, or the one beside the repository.
///
/// # Panics
/// If a file is missing.
#[track_caller]
pub(crate) fn folder(names: &[&str]) -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/libsvm");
    let folder = std::env::var_os("DST_DATA").map_or(beside, PathBuf::from);
    for name in names {
        let file = folder.join(name);
        assert!(file.is_file(), "no {}; set DST_DATA", file.display());
    }
    folder
}
