//! Where results go: standard output, which may be closed at any time.

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::Failure;

/// Prints a result as one JSON object, or the way people read it.
pub(super) fn print<T: Serialize>(
    json: bool,
    value: &T,
    human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = if json {
        serde_json::to_writer_pretty(&mut out, value)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(out))
    } else {
        human(&mut out)
    };
    // The flush is where a full disk or a closed pipe shows; dropping the writer would hide it.
    written
        .and_then(|()| out.flush())
        .map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::NoAnswer(format!("the output cannot be written: {error}")),
        })
}

/// Says which files were written.
pub(super) fn written(to: &mut dyn Write, files: &[PathBuf]) -> io::Result<()> {
    files
        .iter()
        .try_for_each(|file| writeln!(to, "written: {}", file.display()))
}
