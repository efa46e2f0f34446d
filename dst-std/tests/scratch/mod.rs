//! A directory for a test, gone when the test is over.

// Every program of tests uses some of it; the unit tests of the library include this file as a private module.
#![allow(dead_code, unreachable_pub)]

use std::fs;
use std::path::PathBuf;

/// The directory.
pub struct Scratch(pub PathBuf);

impl Scratch {
    /// Empty, with a name of its own among all tests that run at the same time.
    pub fn new(name: &str) -> Self {
        let program = env!("CARGO_CRATE_NAME");
        let name = format!("dst-{program}-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Its path.
    pub fn text(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// The names in it, in order.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
