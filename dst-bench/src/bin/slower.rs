//! Regressions: the hot paths of this build against the baseline file, counted in instructions, or against the build of an
//! earlier commit, counted and timed by turns. `cargo xtask bench` starts it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use dst_bench::hot::{self, HotPath};
use dst_bench::turns::{Side, median};
use dst_bench::{sibling, valgrind};
use dst_std::files::write_file;
use dst_std::report::Table;

/// Turns of each path.
const TURNS: usize = 15;
/// More instructions than this, and it is slower; they do not vary from run to run.
const LIMIT: f64 = 1.02;

/// Says what got slower.
#[derive(Parser)]
struct Args {
    /// Instructions of each hot path, one per line.
    #[arg(long)]
    baseline: PathBuf,
    /// The program `hot` of an earlier commit.
    #[arg(long)]
    old: Option<PathBuf>,
    /// Write the baseline anew.
    #[arg(long)]
    write: bool,
    /// For what the sides complain about.
    #[arg(long)]
    log: PathBuf,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    valgrind::ensure()?;
    let new = sibling("hot")?;
    let mut now = Vec::new();
    for path in hot::ALL {
        eprintln!("counting {}", path.name);
        now.push(instructions(&new, path)?);
    }
    if args.write {
        let lines = hot::ALL
            .iter()
            .zip(&now)
            .map(|(path, n)| format!("{} {n:.0}\n", path.name));
        let text: String = lines.collect();
        return write_file(&args.baseline, text.as_bytes());
    }
    match &args.old {
        None => against_baseline(&args.baseline, &now),
        Some(old) => against_build(old, &new, &now, &args.log),
    }
}

/// Instructions of one piece of work: a run with two pieces more, less one without, so that start-up does not count.
fn instructions(program: &Path, path: &HotPath) -> Result<f64, String> {
    let count = |times: &str| {
        let counted = valgrind::count(program, &[path.name, "--times", times])?;
        Ok::<f64, String>(counted.instructions as f64)
    };
    Ok(0.5 * (count("3")? - count("1")?))
}

fn against_baseline(file: &Path, now: &[f64]) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|e| {
        format!(
            "{}: {e}; write it with: cargo xtask bench --write",
            file.display()
        )
    })?;
    let known = |name: &str| -> Option<f64> {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|line| line.0 == name)?.1.trim().parse().ok()
    };
    let mut table = Table::new()
        .left("hot path")
        .right("baseline")
        .right("now")
        .right("ratio")
        .left("");
    for (path, &now) in hot::ALL.iter().zip(now) {
        let then = known(path.name).unwrap_or(f64::NAN);
        let cells = [
            path.name.to_owned(),
            format!("{then:.0}"),
            format!("{now:.0}"),
            format!("{:.3}", now / then),
            verdict(now / then).to_owned(),
        ];
        table.row(cells.map(Into::into));
    }
    println!(
        "instructions of one piece of work, on one thread\n\n{}",
        table.to_text()
    );
    Ok(())
}

fn against_build(old: &Path, new: &Path, now: &[f64], log: &Path) -> Result<(), String> {
    let mut table = Table::new()
        .left("hot path")
        .right("instructions then")
        .right("now")
        .right("ratio")
        .right("time now by then")
        .left("");
    for (path, &now) in hot::ALL.iter().zip(now) {
        eprintln!("timing {}", path.name);
        let cells = match beside(path, old, new, log) {
            Ok((then, time)) => [
                format!("{then:.0}"),
                format!("{now:.0}"),
                format!("{:.3}", now / then),
                format!("{time:.3}"),
                verdict(now / then).to_owned(),
            ],
            // The path may be younger than that commit.
            Err(reason) => ["".into(), format!("{now:.0}"), "".into(), "".into(), reason],
        };
        table.row(
            std::iter::once(path.name.to_owned())
                .chain(cells)
                .map(Into::into),
        );
    }
    println!(
        "one piece of work, on one thread; times are medians of {TURNS} turns\n\n{}",
        table.to_text()
    );
    Ok(())
}

/// Instructions of the old build, and the ratio of the times.
fn beside(path: &HotPath, old: &Path, new: &Path, log: &Path) -> Result<(f64, f64), String> {
    let start = |program: &Path| {
        let mut command = Command::new(program);
        command.arg(path.name);
        Side::start(command, log)
    };
    let mut then = start(old)?;
    let mut now = start(new)?;
    for _ in 0..TURNS {
        then.turn()?;
        now.turn()?;
    }
    let ratios = now.seconds.iter().zip(&then.seconds).map(|(a, b)| a / b);
    Ok((instructions(old, path)?, median(ratios)))
}

fn verdict(ratio: f64) -> &'static str {
    if ratio > LIMIT {
        "slower"
    } else if ratio < 1.0 / LIMIT {
        "faster"
    } else {
        ""
    }
}
