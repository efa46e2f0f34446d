//! Results on standard output, which may be closed at any time.

use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

use serde::Serialize;

use super::CommandError;
use super::printable::{Form, Printable};
use crate::parallel::ranks;
use crate::report::Claim;

/// Prints a result as one JSON object or as text.
pub(super) fn print<T: Serialize>(
    json: bool,
    value: &T,
    human: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), CommandError> {
    if !ranks::is_first() {
        return Ok(());
    }
    let mut out = Printable {
        to: io::BufWriter::new(io::stdout().lock()),
        form: if json { Form::Json } else { Form::Lines },
    };
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
            ErrorKind::BrokenPipe => CommandError::ReaderGone,
            _ => CommandError::NoAnswer(format!("the output cannot be written: {error}")),
        })
}

/// Prints every claim with its verdict, its measurement and the reason.
pub(super) fn claims(to: &mut dyn Write, claims: &[Claim]) -> io::Result<()> {
    claims.iter().try_for_each(|claim| {
        writeln!(to, "{:<14} {}", claim.verdict.words(), claim.text)?;
        writeln!(to, "{:<14} {}; {}", "", claim.measured, claim.why)
    })
}

/// Prints the names of the files that were written.
pub(super) fn written(to: &mut dyn Write, files: &[PathBuf]) -> io::Result<()> {
    files
        .iter()
        .try_for_each(|file| writeln!(to, "written: {}", file.display()))
}
