//! The log of the firmware: decoded, and compared with the one that is committed.

use std::path::Path;

use crate::cargo::{Cargo, answer, bless};

/// Fails if the decoded log is not the expected one. `DST_BLESS=1` writes it instead.
pub(crate) fn check(
    cargo: &Cargo,
    program: &Path,
    frames: &[u8],
    expected: &Path,
) -> Result<(), String> {
    bless(expected, &decode(cargo, program, frames)?)
}

/// A line for each frame: level and message.
fn decode(cargo: &Cargo, program: &Path, frames: &[u8]) -> Result<String, String> {
    let file = program.with_extension("frames");
    std::fs::write(&file, frames).map_err(|e| format!("{}: {e}", file.display()))?;
    answer(cargo.program("xtask-log").arg(program).arg(file))
}
