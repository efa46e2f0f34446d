//! Results of the host, and their comparison with those of the firmware.

use std::process::Output;

use crate::cargo::{Cargo, answer};

/// The lines of the host.
pub(crate) struct Reference {
    checks: Vec<String>,
    smallest: Vec<u32>,
    /// Results of the safety filter, then of the quadrotor.
    pub(crate) ticks: Vec<u32>,
    /// Results of the descents of 4 and of 14 parameters.
    pub(crate) descents: Vec<u32>,
    /// Digests of a formula: plain, by dual numbers, by the trace.
    pub(crate) formula: Vec<u32>,
}

/// Results of the smallest program, in the order of `dst_models::smallest::Report`.
pub(crate) struct Report {
    words: Vec<u32>,
    pub(crate) steps: u64,
    pub(crate) stack: u64,
    pub(crate) workspace: u64,
}

/// Failure, N, evaluations, T and the gradients; stack and workspace follow.
const RESULTS: usize = 11;

impl Report {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]))
            .collect();
        let &[_, steps, .., stack, workspace] = words.as_slice() else {
            return Err(format!("the smallest program reports {bytes:?}"));
        };
        Ok(Self {
            words,
            steps: steps.into(),
            stack: stack.into(),
            workspace: workspace.into(),
        })
    }
}

impl Reference {
    /// Runs the same checks here. In a process of its own: xtask must work when the engine does not compile.
    pub(crate) fn of_this_machine(cargo: &Cargo) -> Result<Self, String> {
        let mut reference = cargo.command();
        reference
            .args(["run", "--quiet", "--release", "--package", "dst-models"])
            .args(["--example", "reference"]);
        let text = answer(&mut reference)?;
        let mut checks: Vec<String> = text.lines().map(str::to_owned).collect();
        let smallest = checks.pop().unwrap_or_default();
        let smallest = hex(smallest.strip_prefix("smallest ").unwrap_or_default())?;
        let mut ticks = Vec::new();
        for line in checks.iter().filter_map(|line| line.strip_prefix("ticks ")) {
            ticks.extend(hex(line.split_once(' ').unwrap_or_default().1)?);
        }
        let all = |prefix: &str| -> Result<Vec<u32>, String> {
            let lines = checks.iter().filter_map(|line| line.strip_prefix(prefix));
            Ok(lines.map(hex).collect::<Result<Vec<_>, _>>()?.concat())
        };
        let (descents, formula) = (all("descent ")?, all("formula ")?);
        Ok(Self {
            checks,
            smallest,
            ticks,
            descents,
            formula,
        })
    }

    /// Results of the controllers, as programs in C print them.
    pub(crate) fn tick_lines(&self) -> Vec<String> {
        let lines = self.checks.iter().filter(|l| l.starts_with("ticks "));
        lines.cloned().collect()
    }

    /// Compares the checks of one scalar line by line; returns their number and the stack they took.
    pub(crate) fn compare_suite(
        &self,
        scalar: &str,
        output: &Output,
    ) -> Result<(usize, u64), String> {
        let text = String::from_utf8_lossy(&output.stdout);
        let lines: Vec<&str> = text.lines().collect();
        let failed: Vec<&str> = lines
            .iter()
            .copied()
            .filter(|line| line.contains("FAIL"))
            .collect();
        if !output.status.success() || !failed.is_empty() {
            let said = if failed.is_empty() {
                lines.iter().rev().take(3).rev().copied().collect()
            } else {
                failed
            };
            return Err(format!(
                "the suite ends with {}: {} {}",
                output.status,
                said.join("; "),
                String::from_utf8_lossy(&output.stderr).trim()
            ));
        }
        let part = format!(" {scalar} ");
        let checks = self.checks.iter().filter(|line| line.contains(&part));
        let (mut count, mut different) = (0, Vec::new());
        for (i, host) in checks.enumerate() {
            count += 1;
            match lines.get(i) {
                Some(line) if line == host => {}
                line => different.push(format!(
                    "host:   {host}\ntarget: {}",
                    line.unwrap_or(&"nothing")
                )),
            }
        }
        if !different.is_empty() {
            return Err(format!(
                "{} of {} checks differ from the host's:\n{}",
                different.len(),
                count,
                different.join("\n")
            ));
        }
        let stack = lines.iter().find_map(|line| line.strip_prefix("stack "));
        let stack = stack.and_then(|bytes| bytes.parse().ok());
        if count == 0 {
            return Err(format!("the host has no checks in {scalar}"));
        }
        Ok((count, stack.ok_or("the suite does not tell its stack")?))
    }

    /// The smallest run must find the same.
    pub(crate) fn compare_smallest(&self, report: &Report) -> Result<(), String> {
        let (host, target) = (self.smallest.get(..RESULTS), report.words.get(..RESULTS));
        if host.is_some() && host == target && host.is_some_and(|words| words[0] == 0) {
            return Ok(());
        }
        Err(format!(
            "the smallest run: host {host:x?}, target {target:x?}"
        ))
    }
}

/// Words in hexadecimal.
fn hex(text: &str) -> Result<Vec<u32>, String> {
    text.split_whitespace()
        .map(|word| u32::from_str_radix(word, 16).map_err(|e| format!("{text}: {e}")))
        .collect()
}
