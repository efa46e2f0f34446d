//! Counts the instructions of a program with callgrind.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

/// Result of a counted run.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Instructions retired by the whole process.
    pub instructions: u64,
    /// Output of the program.
    pub stdout: String,
}

/// Fails with the name of the package if valgrind cannot be started.
pub fn ensure() -> Result<(), String> {
    if answers() {
        return Ok(());
    }
    Err("valgrind is missing; install it with: apt-get install valgrind".to_owned())
}

fn answers() -> bool {
    Command::new("valgrind")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs the program under callgrind.
pub fn count(program: &Path, arguments: &[&str]) -> Result<Counted, String> {
    let output = Command::new("valgrind")
        // The profile itself is not wanted, only the total that callgrind reports at the end.
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(arguments)
        .output()
        .map_err(|e| match e.kind() {
            ErrorKind::NotFound => "valgrind is missing".to_owned(),
            _ => format!("valgrind does not start: {e}"),
        })?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!(
            "{} failed under valgrind:\n{stderr}",
            program.display()
        ));
    }
    Ok(Counted {
        instructions: collected(&stderr)
            .ok_or_else(|| format!("callgrind reported no instruction count:\n{stderr}"))?,
        stdout: String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    })
}

/// The number in callgrind's line "Collected : 123".
fn collected(report: &str) -> Option<u64> {
    report
        .lines()
        .find_map(|line| line.split_once("Collected :"))
        .and_then(|(_, number)| number.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::collected;

    #[test]
    fn the_total_is_found_in_the_report() {
        let report = "==7== \n==7== Events    : Ir\n==7== Collected : 123456\n";
        assert_eq!(collected(report), Some(123_456));
        assert_eq!(collected("==7== nothing"), None);
    }
}
