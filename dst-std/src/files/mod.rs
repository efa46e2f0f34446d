//! Files: written completely or not at all, read up to a bound, locked while they are in use.
//!
//! A regular file is written under a temporary name in its own directory, flushed to disk, and renamed. A reader sees the old file or
//! the new one, never half of one, and a full disk leaves nothing behind. Symbolic links are followed, and an existing file keeps its
//! mode and, where the system allows it, its owner. Another hard link to it keeps the old content. Pipes, character devices and files
//! that are mount points are written to directly.
//!
//! In an MPI job the first rank writes, and reads for all: other machines need not have the files.

mod lock;
mod read;
mod target;

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) use lock::Lock;
#[cfg(feature = "cli")]
pub(crate) use lock::Use;
pub(crate) use read::{read_at_most, read_text_at_most};
use target::{Target, target};

use crate::parallel::ranks;

/// Name that stands for all checks whether a directory can be written.
pub(crate) const PROBE: &str = "probe";

/// Distinguishes temporary files of one process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Files that must not outlive the process. They are created, renamed and removed under this lock.
static TRANSIENT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn transient() -> MutexGuard<'static, Vec<PathBuf>> {
    // A list of paths is whole even if a thread panicked beside it.
    TRANSIENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the temporary files of this process. No file is completed afterwards: the process is about to end.
#[cfg(feature = "cli")]
pub(crate) fn abandon() {
    let mut files = transient();
    for file in files.drain(..) {
        let _ = fs::remove_file(file);
    }
    std::mem::forget(files);
}

/// Beginning of the names of temporary files for this name. The length does not depend on the name, which may be as long as names can
/// be.
fn prefix(name: &OsStr) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in name.as_encoded_bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!(".dst-{hash:016x}-")
}

/// Temporary file, removed unless it is renamed.
struct Temporary {
    path: PathBuf,
    file: File,
}

impl Temporary {
    /// Creates a file beside `path`. One that is to replace an existing file is private until it has the mode of that file.
    fn beside(path: &Path, private: bool) -> io::Result<Self> {
        let name = path.file_name().unwrap_or_default();
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if private {
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        #[cfg(not(unix))]
        let _ = private;
        let mut files = transient();
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}{}-{number}.tmp", prefix(name), std::process::id());
            let path = path.with_file_name(name);
            match options.open(&path) {
                Ok(file) => {
                    files.push(path.clone());
                    return Ok(Self { path, file });
                }
                // A killed process had the same number.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn fill(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        // A disk may only say here that it is full.
        self.file.sync_all()
    }

    fn rename(self, path: &Path) -> io::Result<()> {
        let mut files = transient();
        fs::rename(&self.path, path)?;
        files.retain(|file| *file != self.path);
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut files = transient();
        let count = files.len();
        files.retain(|file| *file != self.path);
        if files.len() < count {
            // The error that led here is the one to report.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Gives a file the owner, as far as the system allows it, and the mode of another.
fn adopt(file: &File, from: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let _ = fchown(file, None, Some(from.gid()));
        let _ = fchown(file, Some(from.uid()), None);
    }
    file.set_permissions(from.permissions())
}

fn replace(path: &Path, present: Option<&Metadata>, content: &[u8]) -> io::Result<()> {
    let mut temporary = Temporary::beside(path, present.is_some())?;
    temporary.fill(content)?;
    if let Some(present) = present {
        adopt(&temporary.file, present)?;
    }
    match temporary.rename(path) {
        // The file is a mount point: the content is known to fit on this disk, but the file has another.
        Err(error) if error.kind() == ErrorKind::ResourceBusy && present.is_some() => {
            let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
            file.write_all(content)?;
            file.sync_all()
        }
        renamed => renamed,
    }
}

fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    match target(path)? {
        Target::File { path, present } => replace(&path, present.as_ref(), content),
        Target::Stream(path) => {
            let mut file = OpenOptions::new().write(true).open(path)?;
            file.write_all(content)
        }
        Target::Stdout => {
            let mut out = io::stdout().lock();
            out.write_all(content)?;
            out.flush()
        }
        Target::Stderr => io::stderr().write_all(content),
    }
}

/// Writes a file, whole or not at all. The error says which file, and why.
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), String> {
    if !ranks::is_first() {
        return Ok(());
    }
    write_whole(path, content).map_err(|error| refusal(path, &error))
}

/// Checks that a file can be written, without leaving one behind. The error is that of [`write_file`].
pub fn try_to_write(path: &Path) -> Result<(), String> {
    if !ranks::is_first() {
        return Ok(());
    }
    let tried = target(path).and_then(|target| match target {
        Target::File { path, .. } => probe(path.parent().unwrap_or(Path::new(""))),
        // A pipe opens when it has a reader, which may come later; a terminal may be missing.
        Target::Stream(path) if !is_pipe(&path) => {
            OpenOptions::new().write(true).open(path).map(drop)
        }
        Target::Stream(_) | Target::Stdout | Target::Stderr => Ok(()),
    });
    tried.map_err(|error| refusal(path, &error))
}

/// True if a path names something that can keep a writer waiting, such as a pipe without a reader.
#[cfg(feature = "cli")]
pub(crate) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file())
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    true
}

/// Creates a file in this directory and removes it.
pub(crate) fn probe(directory: &Path) -> io::Result<()> {
    if !ranks::is_first() {
        return Ok(());
    }
    Temporary::beside(&directory.join(PROBE), true)?.fill(b"x")
}

/// Removes what killed processes left of this file. Only for files that no other process writes now.
pub(crate) fn remove_left(path: &Path) {
    if !ranks::is_first() {
        return;
    }
    let Ok(Target::File { path, .. }) = target(path) else {
        return;
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let prefix = prefix(name);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&prefix) && name.ends_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The regular file that a path names, behind its symbolic links; the path itself if it names none.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    match target(path) {
        Ok(Target::File { path, .. }) => path,
        _ => path.to_owned(),
    }
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

#[cfg(all(test, unix, feature = "cli"))]
mod tests;
