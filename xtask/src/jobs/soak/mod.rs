//! Soak: `dst` killed at random moments, on a full disk, with closed pipes, under tiny limits, and sixteen times in one directory.
//!
//! Whatever happens, a file under its final name is the old one or the new one, whole; a training that was killed goes on with
//! `--resume` and ends with the same bits; nothing panics or hangs.

mod faults;
mod kills;
mod writers;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

use self::writers::{WRITERS, Writer};
use crate::cargo::Cargo;

/// Longest run. The commands take a second.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs everything, with this many kills.
pub(crate) fn run(cargo: &Cargo, rounds: u32) -> Result<String, String> {
    cargo.run(&["build", "--release", "--package", "dst-std", "--bin", "dst"])?;
    let folder = cargo.target_folder("soak");
    let _ = fs::remove_dir_all(&folder);
    let bed = Bed {
        program: cargo.target_folder("release/dst"),
        models: cargo.root().join("tests/c/programs"),
        folder,
    };
    let mut failures = Vec::new();
    let references: Vec<Reference> = WRITERS
        .iter()
        .map(|writer| Reference::new(&bed, writer))
        .collect::<Result<_, _>>()?;
    let killed = kills::run(&bed, &references, rounds, &mut failures)?;
    let faults = faults::run(&bed, &references, &mut failures)?;
    for failure in &failures {
        eprintln!("soak: {failure}");
    }
    match failures.len() {
        0 => Ok(format!(
            "{killed} of {rounds} killed at work, {faults} faults"
        )),
        count => Err(format!("{count} failures")),
    }
}

/// A small version for the tests.
pub(crate) fn in_tests(cargo: &Cargo) -> Result<String, String> {
    run(cargo, 16)
}

/// The program, its inputs, and room for what it writes.
struct Bed {
    program: PathBuf,
    models: PathBuf,
    folder: PathBuf,
}

impl Bed {
    /// An empty directory.
    fn place(&self, name: &str) -> Result<PathBuf, String> {
        let place = self.folder.join(name);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        Ok(place)
    }

    /// The arguments of a writer for this directory.
    fn arguments(&self, writer: &Writer, place: &Path) -> Vec<String> {
        let fill = |word: &str| {
            word.replace("OUT", &place.to_string_lossy())
                .replace("PROGRAMS", &self.models.to_string_lossy())
        };
        writer.arguments.split(' ').map(fill).collect()
    }

    fn command(&self, writer: &Writer, place: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(self.arguments(writer, place))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }

    /// The same as a line for a shell, behind other commands.
    fn shell(&self, before: &str, writer: &Writer, place: &Path, after: &str) -> Command {
        let words = self.arguments(writer, place);
        let mut command = Command::new("sh");
        let line = format!("{before} exec \"$0\" \"$@\" {after}");
        command
            .args(["-c", &line])
            .arg(&self.program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        command
    }
}

/// Files of a run that nothing disturbed, and how long it took.
struct Reference {
    writer: &'static Writer,
    place: PathBuf,
    files: Vec<File>,
    duration: Duration,
}

/// A file of a run. Some have times in them: only their end is known then.
struct File {
    name: String,
    content: Vec<u8>,
    repeats: bool,
}

/// Bytes at the end of a file that show that it is whole.
const END: usize = 6;

impl File {
    fn is(&self, content: &[u8]) -> bool {
        match self.repeats {
            true => content == self.content,
            false => {
                let end = |c: &[u8]| c[c.len().saturating_sub(END)..].to_vec();
                !content.is_empty() && end(content) == end(&self.content)
            }
        }
    }
}

impl Reference {
    fn new(bed: &Bed, writer: &'static Writer) -> Result<Self, String> {
        let place = bed.place(&format!("{}-whole", writer.name))?;
        let mut files = Vec::new();
        let mut duration = Duration::ZERO;
        for turn in 0..2 {
            let start = Instant::now();
            let output = wait(&mut bed.command(writer, &place))?;
            duration = start.elapsed();
            if !output.status.success() {
                return Err(format!("dst {}: {}", writer.arguments, words(&output)));
            }
            let found = contents(&place)?;
            files = found
                .into_iter()
                .map(|(name, content)| {
                    let before = files.iter().find(|file: &&File| file.name == name);
                    let repeats = turn == 0 || before.is_some_and(|file| file.content == content);
                    File {
                        name,
                        content,
                        repeats,
                    }
                })
                .collect();
            if turn == 0 && writer.resumes {
                // A finished training is not begun again.
                let _ = fs::remove_dir_all(&place);
                bed.place(&format!("{}-whole", writer.name))?;
            }
        }
        Ok(Self {
            writer,
            place,
            files,
            duration,
        })
    }

    /// True for the files of a whole run.
    fn has_all(&self, place: &Path) -> Result<bool, String> {
        let found = contents(place)?;
        Ok(self.files.iter().all(|file| {
            found
                .iter()
                .any(|(name, content)| *name == file.name && file.is(content))
        }))
    }

    /// Names of files that are neither whole nor as `old`; temporary files are left out.
    fn halves(&self, place: &Path, old: &[(String, Vec<u8>)]) -> Result<Vec<String>, String> {
        let found = contents(place)?;
        let fits = |name: &str, content: &[u8]| {
            let whole = self.files.iter().find(|file| file.name == name);
            whole.is_some_and(|file| file.is(content))
                || old.iter().any(|(n, c)| n == name && c == content)
        };
        // The files of a training differ from one of its checkpoints to the next.
        let part_of_training = |name: &str, content: &[u8]| {
            self.writer.resumes
                && match Path::new(name).extension().and_then(OsStr::to_str) {
                    Some("csv") => content.ends_with(b"\n"),
                    // Of a killed training: it locks nothing.
                    Some("lock") => content.is_empty(),
                    _ => whole_tensors(content),
                }
        };
        Ok(found
            .into_iter()
            .filter(|(name, content)| !part_of_training(name, content) && !fits(name, content))
            .map(|(name, content)| format!("{name} ({} bytes)", content.len()))
            .collect())
    }
}

/// True if a file of safetensors ends where its header says.
fn whole_tensors(content: &[u8]) -> bool {
    let Some((length, rest)) = content.split_first_chunk() else {
        return false;
    };
    let length = u64::from_le_bytes(*length) as usize;
    let header = rest.get(..length).map(serde_json::from_slice);
    let Some(Ok(serde_json::Value::Object(tensors))) = header else {
        return false;
    };
    let ends = tensors.values().map(|tensor| &tensor["data_offsets"][1]);
    let end = ends.filter_map(serde_json::Value::as_u64).max();
    end == Some((rest.len() - length) as u64)
}

/// The files of a directory and their content, without hidden ones.
fn contents(place: &Path) -> Result<Vec<(String, Vec<u8>)>, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", place.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(place).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_file() && !name.starts_with('.') {
            let content = fs::read(&path).map_err(failed)?;
            found.push((name.into_owned(), content));
        }
    }
    found.sort();
    Ok(found)
}

/// Runs to the end, but not longer than [`PATIENCE`].
fn wait(command: &mut Command) -> Result<Output, String> {
    let failed = |e: std::io::Error| e.to_string();
    let mut child = command.spawn().map_err(failed)?;
    let start = Instant::now();
    while child.try_wait().map_err(failed)?.is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().map_err(failed)?;
            let _ = child.wait();
            return Err(format!(
                "{command:?}: no end after {} s",
                PATIENCE.as_secs()
            ));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().map_err(failed)
}

/// Status and message of a run.
fn words(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, errors.trim())
}

/// True if the program ended as it may: with a result, with a refusal, or by the signal of a limit.
fn ended_well(status: ExitStatus, signals: &[i32]) -> bool {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0..=2), _) => true,
        (_, Some(signal)) => signals.contains(&signal),
        _ => false,
    }
}
