//! Files, whole or not at all.
//!
//! A file is written under a temporary name in its own directory, brought to disk, and renamed: whoever looks sees the
//! old file or the new one, never half of one, and a full disk leaves nothing behind under the final name.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::section::Section;

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

/// Could this file be written? Leaves nothing behind. The error is that of [`write_file`].
pub fn try_to_write(path: &Path) -> Result<(), String> {
    let tried = if path.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        probe(path.parent().unwrap_or(Path::new("")))
    };
    tried.map_err(|error| refusal(path, &error))
}

/// Makes a file in this directory and takes it away.
fn probe(directory: &Path) -> io::Result<()> {
    let file = directory.join(format!(".probe-{}", std::process::id()));
    write_whole(&file, b"x")?;
    fs::remove_file(&file)
}

fn refusal(path: &Path, error: &io::Error) -> String {
    format!("'{}' cannot be written: {}", path.display(), reason(error))
}

/// A directory for results, known to be writable.
#[derive(Debug)]
pub struct OutDir {
    path: PathBuf,
    written: Mutex<Vec<String>>,
}

impl OutDir {
    /// Makes the directory if it is not there and tries it, so that hours of work do not end in a refusal.
    /// The error is one sentence.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, String> {
        let path = path.into();
        let refused = |error: io::Error| {
            format!(
                "the directory '{}' cannot be written: {}; choose another with --out",
                path.display(),
                reason(&error)
            )
        };
        fs::create_dir_all(&path).map_err(refused)?;
        probe(&path).map_err(refused)?;
        Ok(Self {
            path,
            written: Mutex::new(Vec::new()),
        })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file, whole or not at all. The error is one sentence.
    pub fn write(&self, name: &str, content: &str) -> Result<PathBuf, String> {
        let path = self.path.join(name);
        write_file(&path, content.as_bytes())?;
        let mut written = self.list();
        if !written.iter().any(|known| known == name) {
            written.push(name.to_owned());
        }
        Ok(path)
    }

    /// Writes the files of a section. The error is one sentence.
    pub fn write_section(&self, section: &Section) -> Result<Vec<PathBuf>, String> {
        let files = section.files();
        files
            .map(|(name, content)| self.write(&name, &content))
            .collect()
    }

    /// The names of the files written so far, in order.
    pub fn written(&self) -> Vec<String> {
        self.list().clone()
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        // A list of names is whole even if a thread died beside it.
        self.written
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What the system says, without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::scratch::Scratch;

    #[test]
    fn files_are_replaced_and_listed() {
        let scratch = Scratch::new("replace");
        let out = OutDir::create(scratch.0.join("a/b")).unwrap();
        assert!(out.written().is_empty());
        out.write("one.csv", "1").unwrap();
        out.write("two.csv", "2").unwrap();
        let path = out.write("one.csv", "3").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "3");
        assert_eq!(out.written(), ["one.csv", "two.csv"]);
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_failed_write_leaves_nothing() {
        let scratch = Scratch::new("failed");
        let out = OutDir::create(&scratch.0).unwrap();
        fs::create_dir(scratch.0.join("taken")).unwrap();
        fs::write(scratch.0.join("taken/x"), "x").unwrap();
        // A directory cannot be replaced by a file: the rename fails, after the writing went well.
        let error = out.write("taken", "text").unwrap_err();
        assert!(error.contains("taken' cannot be written: "), "{error}");
        assert_eq!(scratch.names(), ["taken"]);
        assert!(out.written().is_empty());
        let error = out.write("missing/file", "text").unwrap_err();
        assert!(error.contains("missing"), "{error}");
        assert_eq!(scratch.names(), ["taken"]);
    }

    #[test]
    fn what_is_no_directory_is_refused_before_the_work() {
        let scratch = Scratch::new("refused");
        let file = scratch.0.join("file");
        fs::write(&file, "x").unwrap();
        for path in [file.clone(), file.join("below")] {
            let error = OutDir::create(&path).unwrap_err();
            assert!(error.starts_with("the directory '"), "{error}");
            assert!(error.ends_with("choose another with --out"), "{error}");
        }
        assert_eq!(scratch.names(), ["file"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn read_only_places_are_refused() {
        // Not even the superuser makes files there.
        let error = OutDir::create("/proc/dst-report").unwrap_err();
        assert!(error.contains("'/proc/dst-report'"), "{error}");
        assert!(!error.contains("os error"), "{error}");
        let error = OutDir::create("/proc").unwrap_err();
        assert!(error.contains("cannot be written"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_directory_without_write_permission_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("read-only");
        let inner = scratch.0.join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o555)).unwrap();
        // The superuser may write anyway: then there is nothing to refuse.
        let allowed = File::create(inner.join("try")).is_ok();
        let created = OutDir::create(&inner);
        assert_eq!(created.is_ok(), allowed, "{created:?}");
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
