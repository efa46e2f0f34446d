//! A run of libFuzzer: its progress, its counts, its fault.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_secs(15);

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Inputs tried.
    pub(super) executions: u64,
    /// Places in the code that were reached.
    coverage: u64,
    /// Inputs that were kept.
    kept: u64,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            executions,
            coverage,
            kept,
        } = self;
        write!(
            f,
            "{executions:>9} inputs, {coverage:>5} places reached, {kept:>4} inputs kept"
        )
    }
}

impl Found {
    /// Takes the counts from a line such as `#1234 NEW cov: 56 ft: 78 corp: 9/1Kb …`.
    fn read(&mut self, line: &str) {
        let Some(rest) = line.strip_prefix('#') else {
            return;
        };
        let mut words = rest.split_whitespace();
        if let Some(executions) = words.next().and_then(|word| word.parse().ok()) {
            self.executions = executions;
        }
        while let Some(word) = words.next() {
            let count = match word {
                "cov:" => &mut self.coverage,
                "corp:" => &mut self.kept,
                _ => continue,
            };
            let number = words.next().and_then(|word| word.split('/').next());
            if let Some(number) = number.and_then(|text| text.parse().ok()) {
                *count = number;
            }
        }
    }
}

/// A run that has ended.
pub(super) struct Session {
    pub(super) found: Found,
    /// Input that ended it.
    pub(super) fault: Option<PathBuf>,
    /// The first words on that.
    pub(super) reason: String,
}

impl Session {
    /// Runs the program to its end and says how it gets on.
    pub(super) fn watch(
        command: &mut Command,
        name: &str,
        duration: Duration,
    ) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("{name}: {e}");
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let output = child.stderr.take().ok_or("no output")?;
        let (start, mut spoken) = (Instant::now(), Instant::now());
        let mut session = Self {
            found: Found::default(),
            fault: None,
            reason: String::new(),
        };
        let mut last = String::new();
        for line in BufReader::new(output).split(b'\n') {
            let line = line.map_err(failed)?;
            let line = String::from_utf8_lossy(&line);
            session.found.read(&line);
            if let Some(path) = line.split_once("Test unit written to ") {
                session.fault = Some(PathBuf::from(path.1.trim()));
            }
            let speaks = line.contains("ERROR: ") || line.contains("panicked at");
            if speaks && session.reason.is_empty() {
                session.reason = line.trim().to_owned();
            }
            if spoken.elapsed() >= PROGRESS {
                spoken = Instant::now();
                let left = duration.saturating_sub(start.elapsed()).as_secs();
                eprintln!("{name:<10} {}, {left} s left", session.found);
            }
            if !line.trim().is_empty() {
                last = line.into_owned();
            }
        }
        let status = child.wait().map_err(failed)?;
        match session.fault {
            None if !status.success() => Err(format!("{name}: {status}: {last}")),
            _ => Ok(session),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Found;

    #[test]
    fn counts_of_a_line() {
        let mut found = Found::default();
        found.read(
            "#22133\tDONE   cov: 615 ft: 3350 corp: 594/3696b lim: 17 exec/s: 713 rss: 175Mb",
        );
        let expected = Found {
            executions: 22133,
            coverage: 615,
            kept: 594,
        };
        assert_eq!(found, expected);
        found.read("INFO: Loaded 1 modules");
        assert_eq!(found, expected);
    }
}
