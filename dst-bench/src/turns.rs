//! Taking turns: the sides of a comparison are processes that all stand ready, and each runs once when it is its turn.
//!
//! A machine that others use too is now faster, now slower. Side by side within a second, all are slowed alike, and the ratios of one
//! turn stay what they are. A side says its answer in one line of JSON, then a line with its seconds for every line it is
//! sent, and at the end of its input how much memory it took. `peers/turns.py` is the same for Python.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use dst_std::machine;
use serde::{Deserialize, Serialize};

/// Threads of the side before may still be spinning in wait of work.
const REST: Duration = Duration::from_millis(30);

/// Answer of a side; the numbers that are present depend on the question.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Answer {
    /// Versions of the software that computed it.
    pub version: String,
    /// N, or another count that must be equal.
    pub steps: Option<usize>,
    /// T
    pub time: Option<f64>,
    /// f
    pub value: Option<f64>,
    /// In memory with the problem made and nothing run.
    pub before_mb: f64,
    /// Seconds that the run measured itself; they take the place of those of the whole run.
    #[serde(skip)]
    pub seconds: Option<f64>,
    /// Reason why there is no answer.
    pub failed: Option<String>,
}

/// Last message of a side.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub struct Farewell {
    /// The most it had in memory.
    pub peak_mb: f64,
}

/// A side, seen from the one who calls the turns.
#[derive(Debug)]
pub struct Side {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    /// Answer of the first run.
    pub answer: Answer,
    /// Seconds of every turn.
    pub seconds: Vec<f64>,
}

impl Side {
    /// Starts it and waits for its answer; what it complains about goes to the file.
    pub fn start(mut command: Command, complaints: &Path) -> Result<Self, String> {
        let name = command.get_program().to_string_lossy().into_owned();
        let log = File::create(complaints).map_err(|e| format!("{}: {e}", complaints.display()))?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .map_err(|e| format!("{name} does not start: {e}"))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name} has no pipes"));
        };
        let mut side = Self {
            child,
            input: Some(input),
            output: BufReader::new(output),
            answer: Answer::default(),
            seconds: Vec::new(),
        };
        side.answer = side.hear().map_err(|e| {
            let said = std::fs::read_to_string(complaints).unwrap_or_default();
            format!("{name}: {}", said.lines().last().unwrap_or(&e))
        })?;
        match side.answer.failed.take() {
            Some(reason) => Err(reason),
            None => Ok(side),
        }
    }

    /// One run.
    pub fn turn(&mut self) -> Result<f64, String> {
        std::thread::sleep(REST);
        let input = self.input.as_mut().ok_or("the side has ended")?;
        writeln!(input)
            .and_then(|()| input.flush())
            .map_err(|e| format!("the side has ended: {e}"))?;
        let seconds = self.hear()?;
        self.seconds.push(seconds);
        Ok(seconds)
    }

    /// Lets it go.
    pub fn end(mut self) -> Result<Farewell, String> {
        drop(self.input.take());
        let farewell = self.hear()?;
        self.child.wait().map_err(|e| e.to_string())?;
        Ok(farewell)
    }

    fn hear<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, String> {
        let mut line = String::new();
        self.output
            .read_line(&mut line)
            .map_err(|e| e.to_string())?;
        if line.is_empty() {
            return Err("the side ended without a word".to_owned());
        }
        serde_json::from_str(&line).map_err(|e| format!("'{}': {e}", line.trim()))
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // Without input it ends by itself; one that hangs in a run does not see that.
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Serves as a side: `run` makes one run and gives the answer with the gradient, which goes to the file.
pub fn serve<R>(
    before_mb: f64,
    gradient_file: Option<&Path>,
    mut run: R,
) -> Result<(), Box<dyn std::error::Error>>
where
    R: FnMut() -> Result<(Answer, Vec<f64>), String>,
{
    let (answer, gradient) = run()?;
    if let Some(path) = gradient_file {
        let bytes: Vec<u8> = gradient.iter().flat_map(|g| g.to_le_bytes()).collect();
        dst_std::files::write_file(path, &bytes)?;
    }
    let mut out = std::io::stdout().lock();
    let version = format!("dst {}", env!("CARGO_PKG_VERSION"));
    let answer = Answer {
        version,
        before_mb,
        ..answer
    };
    writeln!(out, "{}", serde_json::to_string(&answer)?)?;
    for line in std::io::stdin().lines() {
        line?;
        let start = Instant::now();
        let (answer, _) = run()?;
        let whole = start.elapsed().as_secs_f64();
        writeln!(out, "{}", answer.seconds.unwrap_or(whole))?;
    }
    let peak_mb = megabytes(machine::peak_memory());
    writeln!(out, "{}", serde_json::to_string(&Farewell { peak_mb })?)?;
    Ok(())
}

/// In memory now, for [`serve`], which counts the peak from here on: making the problem may have taken more.
pub fn resident_mb() -> f64 {
    // Where the system does not forget the old peak, it counts.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    megabytes(machine::resident_memory())
}

fn megabytes(bytes: Option<u64>) -> f64 {
    bytes.map_or(0.0, |bytes| bytes as f64 / 1e6)
}

/// The numbers of a gradient file.
pub fn read_gradient(path: &Path) -> Result<Vec<f64>, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (numbers, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(format!("{} is cut short", path.display()));
    }
    Ok(numbers.iter().map(|&b| f64::from_le_bytes(b)).collect())
}

/// The middle one, or between the two in the middle.
pub fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    let at = |i: usize| sorted.get(i).copied().unwrap_or(f64::NAN);
    0.5 * (at(last / 2) + at(last - last / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median([]).is_nan());
    }

    /// A side of three lines of shell.
    fn shell(script: &str) -> Result<Side, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let name = format!("dst-turns-{}-{}", std::process::id(), script.len());
        let file = std::env::temp_dir().join(name);
        let side = Side::start(command, &file);
        let _ = std::fs::remove_file(file);
        side
    }

    #[test]
    fn a_side_answers_takes_turns_and_says_farewell() {
        let script = r#"echo '{"steps": 7}'; while read -r line; do echo 0.25; done; echo '{"peak_mb": 3.5}'"#;
        let mut side = shell(script).unwrap();
        assert_eq!(side.answer.steps, Some(7));
        assert_eq!((side.turn(), side.turn()), (Ok(0.25), Ok(0.25)));
        assert_eq!(side.seconds, [0.25, 0.25]);
        assert_eq!(side.end().unwrap().peak_mb, 3.5);
    }

    #[test]
    fn a_side_that_fails_says_why() {
        let reason = shell(r#"echo '{"failed": "no luck"}'"#).unwrap_err();
        assert_eq!(reason, "no luck");
        let reason = shell("echo 'no such module' >&2; exit 1").unwrap_err();
        assert_eq!(reason, "sh: no such module");
        let mut side = shell("echo '{}'; read -r line; exit 1").unwrap();
        assert!(side.turn().is_err());
    }
}
