//! The log of the firmware: decoded, and compared with the one that is committed.

use std::path::Path;

use crate::cargo::{Cargo, answer};

/// Fails if the decoded log is not the expected one. `DST_BLESS=1` writes it instead.
pub(crate) fn check(
    cargo: &Cargo,
    program: &Path,
    frames: &[u8],
    expected: &Path,
) -> Result<(), String> {
    let found = decode(cargo, program, frames)?;
    if std::env::var_os("DST_BLESS").is_some_and(|v| v == "1") {
        return std::fs::write(expected, found).map_err(|e| format!("{}: {e}", expected.display()));
    }
    let wanted =
        std::fs::read_to_string(expected).map_err(|e| format!("{}: {e}", expected.display()))?;
    if wanted == found {
        return Ok(());
    }
    Err(format!(
        "the log differs from {} (DST_BLESS=1 accepts it):\n{found}",
        expected.display()
    ))
}

/// A line for each frame: level and message.
fn decode(cargo: &Cargo, program: &Path, frames: &[u8]) -> Result<String, String> {
    let file = program.with_extension("frames");
    std::fs::write(&file, frames).map_err(|e| format!("{}: {e}", file.display()))?;
    answer(cargo.program("xtask-log").arg(program).arg(file))
}
