//! Files that are written completely or not at all.
//!
//! A file is written under a temporary name in its own directory, flushed to disk, and renamed. A reader sees the old file or the
//! new one, never half of one, and a full disk leaves nothing behind under the final name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Distinguishes temporary files of one process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Writes a file, or leaves things as they were.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no file name"))?;
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}-{number}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&temporary)?;
    let written = fill(file, content).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Consumes the file, so that it is closed before it is renamed.
fn fill(mut file: File, content: &[u8]) -> io::Result<()> {
    file.write_all(content)?;
    // A disk may only say here that it is full.
    file.sync_all()
}

/// Writes a file, whole or not at all. The error says which file, and why.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), String> {
    write_whole(path, content).map_err(|error| refusal(path, &error))
}

/// Checks that a file can be written, without leaving one behind. The error is that of [`write_file`].
pub fn try_to_write(path: &Path) -> Result<(), String> {
    let tried = if path.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        probe(path.parent().unwrap_or(Path::new("")))
    };
    tried.map_err(|error| refusal(path, &error))
}

/// Creates a file in this directory and removes it.
pub(crate) fn probe(directory: &Path) -> io::Result<()> {
    let file = directory.join(format!(".probe-{}", std::process::id()));
    write_whole(&file, b"x")?;
    fs::remove_file(&file)
}

fn refusal(path: &Path, error: &io::Error) -> String {
    format!("'{}' cannot be written: {}", path.display(), reason(error))
}

/// The message of the operating system, without its number.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}
