//! The directory of a report.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::section::Section;
use crate::files::{Lock, Use, probe, reason, try_to_write, write_file};
use crate::parallel::ranks;

/// A directory for results, known to be writable, and locked.
#[derive(Debug)]
pub struct OutDir {
    path: PathBuf,
    /// Before the lock: removed while it is held.
    _made: Made,
    _lock: Lock,
    written: Mutex<Vec<String>>,
}

impl OutDir {
    /// Makes the directory if it is not there and tries it, so that hours of work do not end in a refusal. The files that go there
    /// belong together: another process that writes to the same directory is refused until this value is dropped. A directory that
    /// is still empty then, and was not there before, is removed. The error is one sentence.
    pub fn create(path: impl Into<PathBuf>) -> Result<Self, String> {
        Self::locked(path.into(), Use::Alone)
    }

    /// The same for files with names of their own, which others may write at the same time.
    pub fn shared(path: impl Into<PathBuf>) -> Result<Self, String> {
        Self::locked(path.into(), Use::Shared)
    }

    fn locked(path: PathBuf, how: Use) -> Result<Self, String> {
        let refused = |error: io::Error| refused(&path, &error);
        let mut made = Made(Vec::new());
        if ranks::is_first() {
            let missing = path.ancestors().take_while(|folder| !folder.exists());
            made.0.extend(missing.map(Path::to_owned));
            fs::create_dir_all(&path).map_err(refused)?;
        }
        probe(&path).map_err(refused)?;
        let lock = Lock::of_directory(&path, how).ok_or_else(|| {
            format!(
                "the directory '{}' is in use by another dst; choose another with --out",
                path.display()
            )
        })?;
        Ok(Self {
            path,
            _made: made,
            _lock: lock,
            written: Mutex::new(Vec::new()),
        })
    }

    /// Checks that a file of this name can be written. The error is one sentence.
    pub fn try_to_write(&self, name: &str) -> Result<(), String> {
        try_to_write(&self.path.join(name))
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

    /// Writes files that belong together: none of them if one cannot be written. The error is one sentence.
    pub fn write_all(&self, files: &[(String, String)]) -> Result<Vec<PathBuf>, String> {
        for (name, _) in files {
            self.try_to_write(name)?;
        }
        let files = files.iter();
        files
            .map(|(name, content)| self.write(name, content))
            .collect()
    }

    /// Writes the files of a section. The error is one sentence.
    pub fn write_section(&self, section: &Section) -> Result<Vec<PathBuf>, String> {
        self.write_all(&section.files().collect::<Vec<_>>())
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

/// Directories that were not there before, the innermost first; those that are empty at the end are removed.
#[derive(Debug)]
struct Made(Vec<PathBuf>);

impl Drop for Made {
    fn drop(&mut self) {
        for folder in &self.0 {
            // It fails, as it must, for one that is not empty.
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

fn refused(path: &Path, error: &io::Error) -> String {
    let reason = match error.kind() {
        // Said by the system of a file in its place.
        ErrorKind::AlreadyExists => "it is a file".to_owned(),
        _ => reason(error),
    };
    format!(
        "the directory '{}' cannot be written: {reason}; choose another with --out",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

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
            assert_eq!(error.contains("it is a file"), path == file, "{error}");
        }
        assert_eq!(scratch.names(), ["file"]);
    }

    #[test]
    fn a_directory_without_a_result_is_removed() {
        let scratch = Scratch::new("no-result");
        let kept = scratch.0.join("kept");
        fs::create_dir(&kept).unwrap();
        drop(OutDir::create(&kept).unwrap());
        let out = OutDir::create(scratch.0.join("new/folder")).unwrap();
        let error = out.try_to_write(&"x".repeat(256)).unwrap_err();
        assert!(error.ends_with("file name too long"), "{error}");
        drop(out);
        assert_eq!(scratch.names(), ["kept"]);
        let out = OutDir::create(scratch.0.join("new/folder")).unwrap();
        out.write("one.csv", "1").unwrap();
        drop(out);
        assert_eq!(scratch.names(), ["kept", "new"]);
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
        let allowed = fs::File::create(inner.join("try")).is_ok();
        let created = OutDir::create(&inner);
        assert_eq!(created.is_ok(), allowed, "{created:?}");
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).unwrap();
    }
}
