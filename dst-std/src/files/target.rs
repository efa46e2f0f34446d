//! The place that an output path names: behind symbolic links, with its kind.

use std::ffi::OsStr;
use std::fs::{self, FileType, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf, is_separator};

/// Place of an output.
#[derive(Debug)]
pub(super) enum Target {
    /// A regular file, present or not.
    File {
        path: PathBuf,
        present: Option<Metadata>,
    },
    /// A pipe, a character device or an open descriptor.
    Stream(PathBuf),
    /// Standard output of this process, under whatever name. Opened by that name, a file would be written over from its beginning.
    Stdout,
    /// Standard error of this process.
    Stderr,
}

/// More links than this are a circle.
const MOST_LINKS: usize = 40;

/// Finds the place. A path that cannot be written to is refused with a reason.
pub(super) fn target(path: &Path) -> io::Result<Target> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let name = path.file_name();
        let name = name.ok_or_else(|| refused("it is no name of a file"))?;
        // The name of a directory, whether there is one or not.
        let last = path.as_os_str().as_encoded_bytes().last();
        if last.is_some_and(|&byte| is_separator(byte.into())) {
            return Err(ErrorKind::IsADirectory.into());
        }
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => fs::canonicalize(parent)?,
            _ => fs::canonicalize(".")?,
        };
        let place = folder.join(name);
        if is_descriptors(&folder) {
            return Ok(descriptor(name, place));
        }
        let found = match fs::symlink_metadata(&place) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Target::File {
                    path: place,
                    present: None,
                });
            }
            Err(error) => return Err(error),
        };
        if !found.is_symlink() {
            return of_kind(place, found);
        }
        path = folder.join(fs::read_link(&place)?);
    }
    Err(refused("its symbolic links form a circle"))
}

/// True for the directory of the open descriptors of this process.
fn is_descriptors(folder: &Path) -> bool {
    let listed = |path: &str| fs::canonicalize(path).is_ok_and(|listed| listed == folder);
    cfg!(unix) && (listed("/proc/self/fd") || listed("/dev/fd"))
}

fn descriptor(name: &OsStr, place: PathBuf) -> Target {
    match name.to_str() {
        Some("1") => Target::Stdout,
        Some("2") => Target::Stderr,
        _ => Target::Stream(place),
    }
}

fn of_kind(path: PathBuf, found: Metadata) -> io::Result<Target> {
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    if !found.is_file() {
        return stream(path, found.file_type());
    }
    // The superuser could write to it, but it is protected on purpose.
    if found.permissions().readonly() {
        return Err(refused("it is read-only"));
    }
    // Renaming would replace even a file of another user.
    OpenOptions::new().write(true).open(&path)?;
    Ok(Target::File {
        path,
        present: Some(found),
    })
}

#[cfg(unix)]
fn stream(path: PathBuf, kind: FileType) -> io::Result<Target> {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() || kind.is_char_device() {
        Ok(Target::Stream(path))
    } else if kind.is_block_device() {
        Err(refused("it is a block device"))
    } else {
        Err(refused("it is a socket"))
    }
}

#[cfg(not(unix))]
fn stream(path: PathBuf, _: FileType) -> io::Result<Target> {
    Ok(Target::Stream(path))
}

fn refused(reason: &'static str) -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, reason)
}
