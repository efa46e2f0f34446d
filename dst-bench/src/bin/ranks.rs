//! Growth of a training over the ranks of an MPI job: seconds and bytes per step against their number on this machine, and a projection
//! to more. Writes the section `ranks` of `RESULTS.md`; `cargo xtask growth` starts it.
//!
//! The numbers of ranks are measured by turns. The projection divides the work of one rank and adds the messages, which are counted: in
//! a segment, the sum of the gradients goes from rank to rank and back down a tree.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::Parser;
use dst_bench::compare::machine;
use dst_bench::results;
use dst_bench::turns::median;
use dst_std::report::{Table, short};
use serde_json::Value;

/// Measures a training step over ranks.
#[derive(Parser)]
struct Args {
    /// Folder of RESULTS.md.
    #[arg(long)]
    out: PathBuf,
    /// The program `dst`, built with the feature mpi.
    #[arg(long)]
    program: PathBuf,
    /// Small problems.
    #[arg(long)]
    quick: bool,
}

/// Numbers of ranks, each with one thread.
const RANKS: [usize; 4] = [1, 2, 3, 4];
/// Turns; in each, every number of ranks has one.
const TURNS: usize = 3;
/// Numbers of ranks of the projection.
const PROJECTED: [usize; 4] = [8, 16, 32, 64];
/// Networks of the projection: name, seconds until a message arrives, bytes per second.
const NETWORKS: [(&str, f64, f64); 2] = [
    ("10 Gbit/s, 30 µs", 30e-6, 1.25e9),
    ("100 Gbit/s, 3 µs", 3e-6, 12.5e9),
];

/// Measurements with one number of ranks.
#[derive(Default)]
struct Point {
    ranks: usize,
    seconds: Vec<f64>,
    /// Bytes sent in a step, by all ranks.
    bytes: f64,
}

impl Point {
    fn median(&self) -> f64 {
        median(self.seconds.iter().copied())
    }
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
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let mut points = RANKS.map(|ranks| Point {
        ranks,
        ..Point::default()
    });
    let mut sizes = [0; 5];
    let mut losses = Vec::new();
    for turn in 1..=TURNS {
        for point in &mut points {
            eprintln!("turn {turn} of {TURNS}: {} ranks", point.ranks);
            let found = step(&args.program, point.ranks, args.quick)?;
            let number = |value: &Value| value.as_f64().ok_or("dst l2o bench prints no number");
            point.seconds.push(number(&found["seconds"][0])?);
            point.bytes = number(&found["bytes_sent"])?;
            for (size, value) in sizes.iter_mut().zip(0..) {
                *size = number(&found["size"][value])? as usize;
            }
            losses.push(found["first_losses"].clone());
        }
    }
    if losses.iter().any(|other| *other != losses[0]) {
        return Err("the losses depend on the number of ranks".to_owned());
    }
    let text = section(&points, sizes);
    results::put(&args.out.join("RESULTS.md"), "ranks", &text)?;
    println!("{text}");
    eprintln!("written: {}", args.out.display());
    Ok(())
}

/// A few training steps.
fn step(program: &Path, ranks: usize, quick: bool) -> Result<Value, String> {
    let mut command = Command::new("mpirun");
    command
        .args([
            "--allow-run-as-root",
            "--oversubscribe",
            "--bind-to",
            "none",
        ])
        .args(["-n", &ranks.to_string()])
        .arg(program)
        .args(["l2o", "bench", "--json", "--quiet", "--threads", "1"])
        .args(["--repeat", "3"]);
    if quick {
        command.args(["--dim", "64", "--batch", "16"]);
    }
    let output = command
        .output()
        .map_err(|e| format!("mpirun does not start: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("dst l2o bench on {ranks} ranks: {}", said.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("dst l2o bench: {e}"))
}

/// Messages one after another in a segment: along the ranks, and down a tree.
fn hops(ranks: usize) -> f64 {
    (ranks - 1) as f64 + f64::from(ranks.next_power_of_two().ilog2())
}

/// Bytes of a message: in a segment every rank but one sends the sum on, and every rank but one receives it back.
fn message(bytes: f64, ranks: usize, segments: usize) -> f64 {
    bytes / (2 * (ranks - 1) * segments) as f64
}

fn section(points: &[Point], [dim, samples, batch, segments, steps]: [usize; 5]) -> String {
    let one = points.first().map_or(1.0, Point::median);
    let mut table = Table::new()
        .right("ranks")
        .right("median s")
        .right("min–max s")
        .right("by one rank")
        .right("kB sent per step");
    for point in points {
        let least = point.seconds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = point.seconds.iter().copied().fold(0.0, f64::max);
        let cells = [
            point.ranks.to_string(),
            short(point.median()),
            format!("{}–{}", short(least), short(most)),
            format!("{:.2}", one / point.median()),
            short(point.bytes / 1e3),
        ];
        table.row(cells.map(Into::into));
    }
    let last = points.iter().max_by_key(|point| point.ranks);
    let size = last.map_or(0.0, |point| message(point.bytes, point.ranks, segments));
    let mut projection = Table::new().right("ranks").right("s of work");
    for (name, ..) in NETWORKS {
        projection = projection
            .right(format!("s of messages, {name}"))
            .right("by one rank");
    }
    for ranks in PROJECTED {
        // The rank with the most problems.
        let work = one * batch.div_ceil(ranks) as f64 / batch as f64;
        let mut cells = vec![ranks.to_string(), short(work)];
        for (_, latency, speed) in NETWORKS {
            let messages = segments as f64 * hops(ranks) * (latency + size / speed);
            cells.push(short(messages));
            cells.push(format!("{:.1}", one / (work + messages)));
        }
        projection.row(cells.into_iter().map(Into::into).collect::<Vec<_>>());
    }
    format!(
        "## Ranks\n\nA training step of RNNprop over the ranks of an MPI job on this machine, one thread each: {batch} problems of \
         {samples} examples in {dim} variables, {segments} segments of {steps} steps. The same losses on every number of ranks.\n\n{}\n\
         In every segment the sum of the gradients, a message of {} kB, goes from rank to rank, so that it has the bits of one process, and \
         back to all down a tree. Projection: the work of one rank, divided, and these messages one after another over a network; not \
         measured.\n\n{}\n{}\n",
        table.to_markdown(),
        short(size / 1e3),
        projection.to_markdown(),
        machine(&[])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_projection_counts_messages() {
        assert_eq!(
            [1, 2, 3, 4, 8, 64].map(hops),
            [0.0, 2.0, 4.0, 5.0, 10.0, 69.0]
        );
        assert_eq!(message(60e3 * 6.0 * 5.0, 4, 5), 60e3);
        let point = |ranks, seconds| Point {
            ranks,
            seconds: vec![seconds],
            bytes: 60e3 * (10 * (ranks - 1)) as f64,
        };
        let text = section(&[point(1, 2.0), point(4, 0.5)], [512, 256, 64, 5, 20]);
        assert!(text.contains("a message of 60 kB"), "{text}");
        assert!(text.contains("\n| 4 |"), "{text}");
    }
}
