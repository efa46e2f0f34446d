//! Runs jobs one after the other, all of them whatever happens, and tells at the end how each went.

use std::process::ExitCode;
use std::time::Instant;

use crate::cargo::Cargo;
use crate::jobs::{Job, Run};

/// Runs all the jobs; exit code 1 if any failed.
pub(crate) fn run<'j>(cargo: &Cargo, jobs: impl IntoIterator<Item = &'j Job>) -> ExitCode {
    let mut results = Vec::new();
    for job in jobs {
        eprintln!("==> {}", job.name);
        let start = Instant::now();
        let result = (job.run)(cargo);
        results.push((job.name, result, start.elapsed().as_secs_f64()));
    }
    let width = results
        .iter()
        .map(|(name, ..)| name.len())
        .max()
        .unwrap_or(0);
    eprintln!("\n{:<width$}  result  seconds", "job");
    for (name, result, seconds) in &results {
        let verdict = if result.is_ok() { "ok" } else { "FAILED" };
        eprintln!("{name:<width$}  {verdict:<6}  {seconds:>7.1}");
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
    match run(cargo) {
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
