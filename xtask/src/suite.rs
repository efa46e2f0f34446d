//! Runs jobs, all of them whatever happens, and tells at the end how each went.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use crate::cargo::Cargo;
use crate::jobs::{Job, Run};

/// Outcome of a job.
struct Ended {
    name: &'static str,
    seconds: f64,
    /// Its note, or the error.
    result: Result<String, String>,
}

/// Runs jobs, two at a time; exit code 1 if any failed.
///
/// Much of each is work for one processor, and those that stand together may wait for the same lock of cargo. So one worker takes
/// them from the front and the other from the back, until they meet. A job is a process of its own; what it prints is shown when it
/// ends.
pub(crate) fn run(cargo: &Cargo, jobs: &[&Job]) -> ExitCode {
    let logs = cargo.target_folder("jobs");
    if let Err(e) = fs::create_dir_all(&logs) {
        return exit_code(Err(format!("{}: {e}", logs.display())));
    }
    let start = Instant::now();
    let queue: Mutex<VecDeque<&Job>> = Mutex::new(jobs.iter().copied().collect());
    let all = Mutex::new(Vec::new());
    let work = |back: bool| {
        loop {
            let mut left = lock(&queue);
            let next = if back {
                left.pop_back()
            } else {
                left.pop_front()
            };
            drop(left);
            let Some(job) = next else {
                return;
            };
            eprintln!("... {}", job.name);
            let (ended, said) = in_a_process(job, &logs);
            // The lock keeps what two jobs print apart.
            let mut all = lock(&all);
            eprintln!("==> {}\n{said}", job.name);
            all.push(ended);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| work(true));
        work(false);
    });
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    let code = summary(&all);
    eprintln!("{:.0} seconds in all", start.elapsed().as_secs_f64());
    code
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `cargo xtask test --only NAME`; returns how it went, and what it printed.
fn in_a_process(job: &Job, logs: &Path) -> (Ended, String) {
    let path = logs.join(format!("{}.log", job.name.replace(' ', "-")));
    let run = || -> io::Result<_> {
        let log = File::create(&path)?;
        let status = Command::new(std::env::current_exe()?)
            .args(["test", "--only", job.name])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .status()?;
        // Any program may have printed any bytes.
        Ok((
            status,
            String::from_utf8_lossy(&fs::read(&path)?).into_owned(),
        ))
    };
    let start = Instant::now();
    let (result, said) = match run() {
        Ok((status, said)) if status.success() => {
            let last = said.lines().next_back().unwrap_or_default();
            let note = last.strip_prefix(NOTE).unwrap_or_default().to_owned();
            (Ok(note), said)
        }
        Ok((status, said)) => {
            let alone = format!("{status}; alone: cargo xtask test --only '{}'", job.name);
            (Err(alone), said)
        }
        Err(e) => (Err(format!("{}: {e}", path.display())), String::new()),
    };
    let ended = Ended {
        name: job.name,
        seconds: start.elapsed().as_secs_f64(),
        result,
    };
    (ended, said)
}

/// Before the note of a job, in its last line.
const NOTE: &str = "note: ";

/// Runs one job of the list, here.
pub(crate) fn only(cargo: &Cargo, job: &Job) -> ExitCode {
    match job.run.on(cargo) {
        Ok(note) => {
            eprintln!("{NOTE}{note}");
            ExitCode::SUCCESS
        }
        Err(message) => exit_code(Err(message)),
    }
}

/// Runs any work with names, one after the other; what it returns is a note in the summary.
pub(crate) fn each<W>(jobs: impl IntoIterator<Item = (&'static str, W)>) -> ExitCode
where
    W: FnOnce() -> Result<String, String>,
{
    let mut all = Vec::new();
    for (name, work) in jobs {
        eprintln!("==> {name}");
        let start = Instant::now();
        let result = work();
        all.push(Ended {
            name,
            seconds: start.elapsed().as_secs_f64(),
            result,
        });
    }
    summary(&all)
}

/// Says how the jobs went; exit code 1 if any failed.
fn summary(all: &[Ended]) -> ExitCode {
    let width = all.iter().map(|ended| ended.name.len()).max().unwrap_or(0);
    eprintln!("\n{:<width$}  result  seconds", "job");
    for Ended {
        name,
        seconds,
        result,
    } in all
    {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        let note = result.as_deref().unwrap_or_default();
        let line = format!("{name:<width$}  {verdict:<6}  {seconds:>7.1}  {note}");
        eprintln!("{}", line.trim_end());
    }
    let mut code = ExitCode::SUCCESS;
    for ended in all {
        if let Err(message) = &ended.result {
            eprintln!("error: {}: {message}", ended.name);
            code = ExitCode::FAILURE;
        }
    }
    code
}

/// Runs one job that is a subcommand of its own.
pub(crate) fn alone(cargo: &Cargo, run: Run) -> ExitCode {
    exit_code(run(cargo))
}

/// Says what went wrong.
pub(crate) fn exit_code(result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Says what a subcommand has made, on standard output, for scripts.
pub(crate) fn made(result: Result<std::path::PathBuf, String>) -> ExitCode {
    match result {
        Ok(path) => {
            println!("{}", path.display());
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
