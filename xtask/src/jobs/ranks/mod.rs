//! `dst` over several ranks: the same bits as one process without MPI.
//!
//! The program is built with the feature `mpi` and without it. What it writes and prints is compared byte by byte: a training on 1 to 4
//! ranks with 1 and 2 threads each; the commands that divide instances; a training whose ranks are killed at random moments and that
//! goes on with another number of ranks; jobs that are interrupted; and, where namespaces may be made, ranks on two hosts.

mod commands;
mod hosts;
mod interrupts;
mod kills;
mod processes;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::cargo::{Cargo, answer};
use crate::toolchain::{Tool, ensure};

/// Packages that the build and the runs need. The library of clang has another place in every version of its package: the folder that all of
/// them have.
const TOOLS: [Tool; 3] = [
    Tool::new("mpicc", "libopenmpi-dev"),
    Tool::new("mpirun", "openmpi-bin"),
    Tool::new("/usr/share/doc/libclang-dev", "libclang-dev"),
];
/// Longest run. The commands take seconds.
const PATIENCE: Duration = Duration::from_secs(180);
/// Ranks that are killed.
pub(crate) const KILLS: u32 = 20;
/// Ranks and threads of each.
const SHAPES: [[usize; 2]; 8] = [
    [1, 1],
    [1, 2],
    [2, 1],
    [2, 2],
    [3, 1],
    [3, 2],
    [4, 1],
    [4, 2],
];
/// A training in which everything has a part: several segments, a penalty after some steps, validations, more ranks than divide the
/// batch.
const TRAINING: &str = "l2o train --dim 12 --samples 16 --batch 5 --segments 2 --segment-steps 6 --validate-every 3 \
     --loss log --penalty guarded --warm-up 3 --quiet";

/// Its steps.
const STEPS: &str = "--steps 8";

/// Does everything, with this many kills.
pub(crate) fn run(cargo: &Cargo, rounds: u32) -> Result<String, String> {
    ensure(&TOOLS)?;
    let folder = cargo.target_folder("ranks");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    lint(cargo)?;
    let with = program(cargo)?;
    // The other jobs, too, take the program without the feature from its place.
    let without = build(cargo, &[], "dst")?;
    let bed = Bed {
        with,
        without,
        models: cargo.root().join("tests/c/programs"),
        folder,
    };
    refusal(&bed)?;
    other_data(&bed)?;
    let reference = bed.training(&Job::Without(1), "reference")?;
    let compared = shapes(&bed, &reference)?;
    let commands = commands::run(&bed)?;
    let long = kills::reference(&bed)?;
    let interrupted = interrupts::run(&bed, &long)?;
    let killed = kills::run(&bed, &long, rounds)?;
    let hosts = hosts::run(&bed, &reference)?;
    Ok(format!(
        "{compared} trainings and {commands} commands with the same bits, {killed}, {interrupted} interrupted, two hosts: {hosts}"
    ))
}

/// The program with the feature; installs what its build needs.
pub(crate) fn program(cargo: &Cargo) -> Result<PathBuf, String> {
    ensure(&TOOLS)?;
    build(cargo, &["--features", "mpi"], "dst-mpi")
}

/// Builds the program and keeps a copy under this name, since builds with other features take its place.
fn build(cargo: &Cargo, features: &[&str], name: &str) -> Result<PathBuf, String> {
    let base = ["build", "--release", "--package", "dst-std", "--bin", "dst"];
    cargo.run(&[base.as_slice(), features].concat())?;
    let folder = cargo.target_folder("ranks");
    let (from, to) = (cargo.target_folder("release/dst"), folder.join(name));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::copy(&from, &to))
        .map_err(|e| format!("{}: {e}", to.display()))?;
    Ok(to)
}

/// Lints of what only the feature compiles.
fn lint(cargo: &Cargo) -> Result<(), String> {
    cargo.component("clippy", "clippy")?;
    // As it is built: the generator of its bindings is compiled once.
    cargo.run(&[
        "clippy",
        "--release",
        "--package",
        "dst-mpi",
        "--features",
        "mpi",
        "--",
        "-D",
        "warnings",
    ])
}

/// Both programs, and room for what they write.
struct Bed {
    with: PathBuf,
    without: PathBuf,
    models: PathBuf,
    folder: PathBuf,
}

/// Way to start the program.
enum Job {
    /// One process of the program without the feature, with this many threads.
    Without(usize),
    /// Ranks, and threads of each.
    Ranks([usize; 2]),
}

impl Job {
    fn words(&self) -> String {
        match self {
            Self::Without(threads) => format!("without MPI, {threads} threads"),
            Self::Ranks([ranks, threads]) => format!("{ranks} ranks, {threads} threads"),
        }
    }
}

/// `mpirun` on this machine; ranks, programs and their arguments follow.
fn starter() -> Command {
    let mut command = Command::new("mpirun");
    command
        .args(["--allow-run-as-root", "--oversubscribe"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A command of `mpirun` with this many ranks on this machine; the program and its arguments follow.
fn mpirun(ranks: usize) -> Command {
    let mut command = starter();
    command.args(["-n", &ranks.to_string()]);
    command
}

impl Bed {
    /// An empty directory.
    fn place(&self, name: &str) -> Result<PathBuf, String> {
        let place = self.folder.join(name);
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
        Ok(place)
    }

    /// A command line; OUT stands for a directory, PROGRAMS for that of the programs in C, MODEL for the file of a model.
    fn command(&self, job: &Job, line: &str, place: &Path) -> Command {
        let (mut command, threads) = match job {
            Job::Without(threads) => {
                let mut command = Command::new(&self.without);
                command
                    .stdin(Stdio::null())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::piped());
                (command, threads)
            }
            Job::Ranks([ranks, threads]) => {
                let mut command = mpirun(*ranks);
                command.arg(&self.with);
                (command, threads)
            }
        };
        let fill = |word: &str| {
            word.replace("OUT", &place.to_string_lossy())
                .replace("PROGRAMS", &self.models.to_string_lossy())
                .replace("MODEL", &self.folder.join("model.json").to_string_lossy())
        };
        command.args(line.split(' ').map(fill));
        command.args(["--threads", &threads.to_string()]);
        command
    }

    /// Output of a command line that succeeds.
    fn done(&self, job: &Job, line: &str, place: &Path) -> Result<String, String> {
        let output = wait(&mut self.command(job, line, place))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("dst {line} ({}): {}", job.words(), words(&output))),
        }
    }

    /// Files of the training.
    fn training(&self, job: &Job, name: &str) -> Result<Files, String> {
        let place = self.place(name)?;
        let line = format!("{TRAINING} {STEPS} --out OUT/net.safetensors");
        self.done(job, &line, &place)?;
        files(&place)
    }
}

/// Names and contents.
type Files = Vec<(String, Vec<u8>)>;

/// The files of a directory.
fn files(place: &Path) -> Result<Files, String> {
    let failed = |e: std::io::Error| format!("{}: {e}", place.display());
    let mut found = Vec::new();
    for entry in fs::read_dir(place).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        found.push((name.into_owned(), fs::read(&path).map_err(failed)?));
    }
    found.sort();
    Ok(found)
}

/// Fails with the names of the files that differ.
fn same(expected: &Files, found: &Files, what: &str) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    let names = |files: &Files| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    let (had, has) = (names(expected), names(found));
    if had != has {
        return Err(format!("{what}: the files are {has:?}, not {had:?}"));
    }
    let differ = expected.iter().zip(found).filter(|(a, b)| a != b);
    let differ: Vec<&str> = differ.map(|(a, _)| a.0.as_str()).collect();
    Err(format!("{what}: other bits in {}", differ.join(", ")))
}

/// The training on every number of ranks and threads; returns how many were compared.
fn shapes(bed: &Bed, reference: &Files) -> Result<usize, String> {
    if !reference.iter().any(|(name, _)| name == "net.safetensors") {
        return Err("the training writes no weights".to_owned());
    }
    let threads = bed.training(&Job::Without(2), "threads")?;
    same(reference, &threads, "without MPI, 2 threads")?;
    // A test that sees nothing would pass: another seed must give other bits.
    let place = bed.place("other")?;
    let line = format!("{TRAINING} {STEPS} --seed 2 --out OUT/net.safetensors");
    bed.done(&Job::Ranks([2, 1]), &line, &place)?;
    if same(reference, &files(&place)?, "").is_ok() {
        return Err("another seed gives the same bits: the test sees nothing".to_owned());
    }
    for shape in SHAPES {
        let job = Job::Ranks(shape);
        eprintln!("ranks: {}", job.words());
        same(reference, &bed.training(&job, "shape")?, &job.words())?;
    }
    Ok(SHAPES.len() + 1)
}

/// The program without the feature refuses more than one rank, with one sentence.
fn refusal(bed: &Bed) -> Result<(), String> {
    let place = bed.place("refused")?;
    let line = format!(
        "{TRAINING} {STEPS} --out {}",
        place.join("net.safetensors").display()
    );
    let mut command = mpirun(2);
    command.arg(&bed.without).args(line.split(' '));
    let output = wait(&mut command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    let sentences = said.matches("built without the feature mpi").count();
    match (output.status.success(), sentences, files(&place)?.len()) {
        (false, 1, 0) => Ok(()),
        _ => Err(format!("2 ranks without the feature: {}", words(&output))),
    }
}

/// Two ranks with other data of the same name are refused: their results would be those of neither.
fn other_data(bed: &Bed) -> Result<(), String> {
    let place = bed.place("data")?;
    let folders = ["0.5", "0.25"].map(|value| (place.join(value), value));
    for (folder, value) in &folders {
        fs::create_dir(folder)
            .and_then(|()| fs::write(folder.join("own"), format!("+1 1:1 2:{value}\n-1 1:1\n")))
            .map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let of_one = |folder: &Path, command: &mut Command| {
        let data = format!("DST_DATA={}", folder.display());
        let line = "tune --problem logistic --data own --method gd --starts 2 --held-out 2 --quiet";
        command.args(["-n", "1", "env", &data]).arg(&bed.with);
        command.args(line.split(' ')).arg("--out").arg(&place);
    };
    let mut command = starter();
    of_one(&folders[0].0, &mut command);
    of_one(&folders[1].0, command.arg(":"));
    let output = wait(&mut command)?;
    let said = String::from_utf8_lossy(&output.stderr);
    match (
        output.status.success(),
        said.contains("the data set 'own' differs"),
    ) {
        (false, true) => Ok(()),
        _ => Err(format!("2 ranks with other data: {}", words(&output))),
    }
}

/// Runs to the end, but not longer than [`PATIENCE`].
fn wait(command: &mut Command) -> Result<Output, String> {
    let child = command.spawn().map_err(|e| {
        let program = command.get_program().display();
        format!("{program} does not start: {e}")
    })?;
    finished(child, PATIENCE).map_err(|e| format!("{command:?}: {e}"))
}

/// Waits for the end of a process, which is killed after this time.
fn finished(mut child: Child, patience: Duration) -> Result<Output, String> {
    let failed = |e: std::io::Error| e.to_string();
    // Read while it runs: a full pipe would stop it.
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let reading = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            bytes
        })
    };
    let stdout = reading(out.take().map(|pipe| Box::new(pipe) as _));
    let stderr = reading(err.take().map(|pipe| Box::new(pipe) as _));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if start.elapsed() > patience {
            child.kill().map_err(failed)?;
            let _ = child.wait();
            return Err(format!("no end after {} s", patience.as_secs()));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let bytes = |thread: std::thread::JoinHandle<Vec<u8>>| thread.join().unwrap_or_default();
    Ok(Output {
        status,
        stdout: bytes(stdout),
        stderr: bytes(stderr),
    })
}

/// Status and message of a run.
fn words(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    format!("{}: {}", output.status, errors.trim())
}

/// Runs a command of the system.
fn system(line: &str) -> Result<String, String> {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().unwrap_or_default());
    answer(command.args(words))
}
