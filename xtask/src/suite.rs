//! Runs jobs one after the other, all of them whatever happens, and tells at the end how each went.

use std::fs::{self, File};
use std::io;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use crate::cargo::Cargo;
use crate::jobs::{Job, Run, Work};

/// Runs all the jobs; exit code 1 if any failed.
pub(crate) fn run<'j>(cargo: &Cargo, jobs: impl IntoIterator<Item = &'j Job>) -> ExitCode {
    each(jobs.into_iter().map(|job| {
        let run = move || match job.run {
            Work::Plain(run) => run(cargo).map(|()| String::new()),
            Work::Noted(run) => run(cargo),
        };
        (job.name, run)
    }))
}

/// Runs these jobs, and beside them the others, in a process of their own: much of either is work for one core. What the others print
/// follows at the end.
pub(crate) fn both(cargo: &Cargo, jobs: &[Job], others: &str) -> ExitCode {
    let log = cargo.target_folder(&format!("test{others}.log"));
    let start = || -> io::Result<Child> {
        if let Some(folder) = log.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create(&log)?;
        Command::new(std::env::current_exe()?)
            .args(["test", others])
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
    };
    let failed = |e: io::Error| Err(format!("cargo xtask test {others}: {e}"));
    let mut beside = match start() {
        Ok(beside) => beside,
        Err(e) => return exit_code(failed(e)),
    };
    eprintln!(
        "beside this: cargo xtask test {others}, in {}",
        log.display()
    );
    let code = run(cargo, jobs);
    let status = beside.wait();
    // Bytes of any program are in there.
    let said = fs::read(&log).unwrap_or_default();
    eprintln!(
        "\n==> cargo xtask test {others}\n{}",
        String::from_utf8_lossy(&said)
    );
    match status {
        Ok(status) if status.success() => code,
        Ok(_) => ExitCode::FAILURE,
        Err(e) => exit_code(failed(e)),
    }
}

/// The same for any work with a name; what it returns is a note in the summary.
pub(crate) fn each<W>(jobs: impl IntoIterator<Item = (&'static str, W)>) -> ExitCode
where
    W: FnOnce() -> Result<String, String>,
{
    let mut results = Vec::new();
    for (name, work) in jobs {
        eprintln!("==> {name}");
        let start = Instant::now();
        let result = work();
        results.push((name, result, start.elapsed().as_secs_f64()));
    }
    let width = results
        .iter()
        .map(|(name, ..)| name.len())
        .max()
        .unwrap_or(0);
    eprintln!("\n{:<width$}  result  seconds", "job");
    for (name, result, seconds) in &results {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        let note = result.as_deref().unwrap_or_default();
        let line = format!("{name:<width$}  {verdict:<6}  {seconds:>7.1}  {note}");
        eprintln!("{}", line.trim_end());
    }
    let mut code = ExitCode::SUCCESS;
    for (name, result, _) in results {
        if let Err(message) = result {
            eprintln!("error: {name}: {message}");
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
