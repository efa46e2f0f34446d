//! The log of the firmware: decoded, and compared with the one that is committed.

use std::path::Path;

use defmt_decoder::{DecodeError, Table};

/// Fails if the decoded log is not the expected one. `DST_BLESS=1` writes it instead.
pub(crate) fn check(program: &Path, frames: &[u8], expected: &Path) -> Result<(), String> {
    let found = decode(program, frames)?;
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
fn decode(program: &Path, frames: &[u8]) -> Result<String, String> {
    let complain = |e: &dyn std::fmt::Display| format!("{}: {e}", program.display());
    let bytes = std::fs::read(program).map_err(|e| complain(&e))?;
    let table = Table::parse(&bytes)
        .map_err(|e| complain(&e))?
        .ok_or_else(|| complain(&"no .defmt section"))?;
    let mut decoder = table.new_stream_decoder();
    decoder.received(frames);
    let mut text = String::new();
    loop {
        match decoder.decode() {
            Ok(frame) => {
                let level = frame.level().map_or("-", |level| level.as_str());
                text.push_str(&format!("{level:<5} {}\n", frame.display_message()));
            }
            Err(DecodeError::UnexpectedEof) => return Ok(text),
            Err(DecodeError::Malformed) => return Err(complain(&"a malformed frame")),
        }
    }
}
