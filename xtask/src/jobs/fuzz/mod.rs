//! Fuzzing with libFuzzer: inputs that reach new code are kept, changed, and tried again.
//!
//! The targets are in `tests/fuzz`. A crash, a failed check, an input that takes more than [`SECONDS`] or more memory than
//! [`MEGABYTES`] ends a run; its input is made smaller and named in the error. It then becomes a file in `tests/fuzz/corpus`, which
//! every run tries first.

mod build;
mod session;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use self::session::{Found, Session};
use crate::cargo::Cargo;

/// Longest time of an input. The program itself is five times as fast as this build of it.
const SECONDS: u32 = 5;
/// Most memory of a run, and of one allocation.
const MEGABYTES: [u32; 2] = [1024, 128];
/// Seconds of a target in the tests.
const IN_TESTS: Duration = Duration::from_secs(10);
/// Seconds for making an input smaller.
const SMALLER: Duration = Duration::from_secs(30);

/// A program for libFuzzer.
pub(crate) struct Target {
    pub(crate) name: &'static str,
    sources: &'static [&'static str],
    /// Longest input, in bytes.
    longest: u32,
}

const fn reader(name: &'static str, longest: u32) -> Target {
    Target {
        name,
        sources: &["reader.c"],
        longest,
    }
}

/// All of them, and the number of bytes that an input may have.
pub(crate) const TARGETS: [Target; 7] = [
    reader("libsvm", 4096),
    reader("weights", 4096),
    reader("model", 2048),
    reader("problem", 2048),
    reader("checkpoint", 2048),
    Target {
        name: "calls",
        sources: &["calls.c"],
        longest: 1024,
    },
    Target {
        name: "controller",
        sources: &["controller.c", "controller_admm.c"],
        longest: 512,
    },
];

/// Ten seconds of every target, from the committed inputs.
pub(crate) fn in_tests(cargo: &Cargo) -> Result<String, String> {
    let targets: Vec<&Target> = TARGETS.iter().collect();
    let programs = build::programs(cargo, &targets)?;
    let corpus = cargo.target_folder("fuzz/fresh");
    let mut executions = 0;
    for target in targets {
        let fresh = corpus.join(target.name);
        // What another run has found would take the seconds of this one.
        let _ = fs::remove_dir_all(&fresh);
        executions += fuzz(cargo, target, &programs, &fresh, IN_TESTS)?.executions;
    }
    Ok(format!("{} targets, {executions} inputs", TARGETS.len()))
}

/// One target, or all, for this long each; inputs that are found are kept in the target folder, for the next time.
pub(crate) fn run(cargo: &Cargo, name: Option<&str>, minutes: f64) -> Result<(), String> {
    let duration = Duration::try_from_secs_f64(minutes * 60.0)
        .map_err(|_| format!("--minutes {minutes}: give a positive number"))?;
    let chosen = TARGETS
        .iter()
        .filter(|target| name.is_none_or(|n| n == target.name));
    let targets: Vec<&Target> = chosen.collect();
    let programs = build::programs(cargo, &targets)?;
    let one = |target: &Target| {
        let corpus = cargo.target_folder("fuzz/found").join(target.name);
        let found = fuzz(cargo, target, &programs, &corpus, duration);
        match &found {
            Ok(found) => println!("{:<10} {found}", target.name),
            Err(reason) => eprintln!("{reason}"),
        }
        found.is_ok()
    };
    // A processor each: whoever has ended takes the next target.
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !one(target) {
                        failed
                            .lock()
                            .unwrap_or_else(PoisonError::into_inner)
                            .push(target.name);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("found a fault: {}", failed.join(", "))),
    }
}

/// Runs one input, as a debugger would.
pub(crate) fn replay(cargo: &Cargo, name: &str, input: &Path) -> Result<(), String> {
    let input = fs::canonicalize(input).map_err(|e| format!("{}: {e}", input.display()))?;
    let targets: Vec<&Target> = TARGETS
        .iter()
        .filter(|target| target.name == name)
        .collect();
    let programs = build::programs(cargo, &targets)?;
    let mut command = Command::new(programs.join(name));
    crate::cargo::succeed(command.args(limits()).arg(input))
}

fn limits() -> [String; 3] {
    [
        format!("-timeout={SECONDS}"),
        format!("-rss_limit_mb={}", MEGABYTES[0]),
        format!("-malloc_limit_mb={}", MEGABYTES[1]),
    ]
}

fn fuzz(
    cargo: &Cargo,
    target: &Target,
    programs: &Path,
    corpus: &Path,
    duration: Duration,
) -> Result<Found, String> {
    let seeds = cargo.root().join("tests/fuzz/corpus").join(target.name);
    let faults = cargo.target_folder("fuzz/faults");
    for folder in [corpus, &faults] {
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let program = programs.join(target.name);
    let mut command = Command::new(&program);
    command
        .args(limits())
        .arg(format!("-max_len={}", target.longest))
        .arg(format!("-max_total_time={}", duration.as_secs().max(1)))
        .arg(format!(
            "-artifact_prefix={}/{}-",
            faults.display(),
            target.name
        ))
        // Sequences of calls and ticks say little while they are short.
        .args(["-len_control=0", "-print_final_stats=1"])
        .args([corpus, &seeds]);
    let session = Session::watch(&mut command, target.name, duration)?;
    let Some(fault) = session.fault else {
        return Ok(session.found);
    };
    let smallest = smaller(&program, &fault)?;
    Err(format!(
        "{}: {} after {}; see it with: cargo xtask fuzz {} --input {}",
        target.name,
        session.reason,
        session.found,
        target.name,
        smallest.display()
    ))
}

/// Makes the input of a fault smaller, where that is quick; returns the smallest.
fn smaller(program: &Path, fault: &Path) -> Result<PathBuf, String> {
    let name = fault.file_name().unwrap_or_default().to_string_lossy();
    let small = fault.with_file_name(format!("small-{name}"));
    let mut command = Command::new(program);
    command
        .args(limits())
        .arg("-minimize_crash=1")
        .arg(format!("-max_total_time={}", SMALLER.as_secs()))
        .arg(format!("-exact_artifact_path={}", small.display()))
        .arg(fault);
    // It ends with an error if nothing is smaller, and when the time is over.
    command
        .output()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    Ok(match small.is_file() {
        true => small,
        false => fault.to_owned(),
    })
}
