//! Locks that keep two processes from writing the same set of files.
//!
//! A lock is advisory and ends with its process, however that ends. Where the file system has no locks, there is none to wait for.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::transient;
use crate::parallel::ranks;

/// Lock of a file or of a directory, until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: Option<File>,
    /// The lock file, to be removed at the end.
    path: Option<PathBuf>,
}

/// Use of a locked directory.
#[cfg(feature = "cli")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// Single files with names of their own.
    Shared,
    /// A set of files that belong together.
    Alone,
}

impl Lock {
    /// The lock of a rank that writes nothing.
    const NOTHING: Self = Self {
        file: None,
        path: None,
    };

    /// Takes the lock that this file stands for, and removes the file at the end; `None` if another process has it. A file with
    /// content is somebody's, and refused.
    pub(crate) fn of_file(path: &Path) -> io::Result<Option<Self>> {
        if !ranks::is_first() {
            return Ok(Some(Self::NOTHING));
        }
        loop {
            let mut files = transient();
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(true).truncate(false);
            let file = file.open(path)?;
            let found = file.metadata()?;
            if !found.is_file() || found.len() > 0 {
                return Err(io::Error::new(
                    ErrorKind::AlreadyExists,
                    "it is no lock of a training; choose another name",
                ));
            }
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Ok(()) | Err(TryLockError::Error(_)) => {}
            }
            // The process that had it may have removed the file in between: then the lock is that of a file without a name.
            if is_at(&file, path) {
                files.push(path.to_owned());
                return Ok(Some(Self {
                    file: Some(file),
                    path: Some(path.to_owned()),
                }));
            }
        }
    }

    /// Takes the lock of a directory; `None` if another process uses it in a way that excludes this one.
    #[cfg(feature = "cli")]
    pub(crate) fn of_directory(path: &Path, how: Use) -> Option<Self> {
        if !ranks::is_first() {
            return Some(Self::NOTHING);
        }
        // Some systems open no directories: no lock.
        let file = File::open(path).ok();
        let taken = file.as_ref().map(|file| match how {
            Use::Shared => file.try_lock_shared(),
            Use::Alone => file.try_lock(),
        });
        match taken {
            Some(Err(TryLockError::WouldBlock)) => None,
            _ => Some(Self { file, path: None }),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let mut files = transient();
            files.retain(|file| file != path);
            // Removed while it is locked: no other process has it.
            let _ = fs::remove_file(path);
        }
        drop(self.file.take());
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(found)) => (held.dev(), held.ino()) == (found.dev(), found.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}
