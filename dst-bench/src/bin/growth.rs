//! Growth of cost: time and memory of a gradient against dimension, steps and slots, and throughput against threads, with what theory
//! says beside it. Writes `growth.svg` and the section `growth` of `RESULTS.md`; `cargo xtask growth` starts it.
//!
//! Every point is a process of its own, because a process does not give back the memory that it once had.

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::Parser;
use dst_bench::compare::machine;
use dst_bench::turns::{Side, median};
use dst_bench::{results, sibling};
use dst_core::System;
use dst_core::checkpoint::optimum;
use dst_std::files::write_file;
use dst_std::parallel;
use dst_std::report::{Axis, Plot, Series, Table, panels, short};
use dst_std::validation::{Basis, InstanceSpec};

/// Measures how cost grows.
#[derive(Parser)]
struct Args {
    /// Folder of RESULTS.md and growth.svg.
    #[arg(long)]
    out: PathBuf,
    /// Stops a decade earlier.
    #[arg(long)]
    quick: bool,
}

/// Checkpoint slots where nothing else is said.
const SLOTS: usize = 10;
/// Approximate time T at which the flow of 100 variables has |∇f|² = 1e-2: N steps need h = T/N.
const TIME: f64 = 11.08;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// One measured gradient.
struct Point {
    x: f64,
    steps: usize,
    seconds: Vec<f64>,
    added_mb: f64,
    /// Evaluations and pullbacks, for a length known in advance.
    work: f64,
    /// Memory that the engine asks for.
    asked_mb: f64,
    /// Memory that it would ask for to keep every state with its record.
    all_mb: f64,
}

impl Point {
    fn median(&self) -> f64 {
        median(self.seconds.iter().copied())
    }
}

fn run(args: &Args) -> Result<(), String> {
    std::fs::create_dir_all(&args.out).map_err(|e| format!("{}: {e}", args.out.display()))?;
    let last = if args.quick { 1 } else { 0 };
    let dims = [100, 316, 1000, 3162, 10_000, 31_623, 100_000];
    let by_dim = dims[..dims.len() - 2 * last]
        .iter()
        .map(|&dim| gradient(dim as f64, (dim, 0.1, "1e-3"), SLOTS))
        .collect::<Result<Vec<_>, _>>()?;
    let counts = [100.0, 1e3, 1e4, 1e5, 1e6];
    let by_steps = counts[..counts.len() - last]
        .iter()
        .map(|&steps| gradient(steps, (100, TIME / steps, "1e-2"), SLOTS))
        .collect::<Result<Vec<_>, _>>()?;
    let slots = [2, 3, 5, 10, 20, 50, 100, 1000, 5000];
    let h = if args.quick { 0.06 } else { 0.006 };
    let by_slots = slots
        .iter()
        .map(|&slots| gradient(slots as f64, (1000, h, "1e-3"), slots))
        .collect::<Result<Vec<_>, _>>()?;
    let by_threads = thread_counts()
        .map(throughput)
        .collect::<Result<Vec<_>, _>>()?;

    let plots = [
        time(
            "Time against dimension",
            Axis::log("variables d"),
            &by_dim,
            |p| p.x * p.work,
        ),
        memory(
            "Memory against dimension",
            Axis::log("variables d"),
            &by_dim,
        ),
        time("Time against steps", Axis::log("steps N"), &by_steps, |p| {
            p.work
        }),
        memory("Memory against steps", Axis::log("steps N"), &by_steps),
        time(
            "Time against slots",
            Axis::log("checkpoint slots"),
            &by_slots,
            |p| p.work,
        ),
        memory(
            "Memory against slots",
            Axis::log("checkpoint slots"),
            &by_slots,
        ),
        batch(&by_threads),
    ];
    write_file(
        &args.out.join("growth.svg"),
        panels(&plots, 2).to_svg().as_bytes(),
    )?;

    let what = [
        ("dimension", by_dim.as_slice()),
        ("steps", &by_steps),
        ("slots", &by_slots),
    ];
    let text = section(&what, &by_threads);
    results::put(&args.out.join("RESULTS.md"), "growth", &text)?;
    println!("{text}");
    eprintln!("written: {}", args.out.display());
    if same_bits(&by_threads) {
        Ok(())
    } else {
        Err("the answer of tuning depends on the number of threads".to_owned())
    }
}

fn ours(arguments: &[String]) -> Result<Side, String> {
    let mut command = Command::new(sibling("ours")?);
    command.args(arguments);
    let log = std::env::temp_dir().join(format!("dst-growth-{}.log", std::process::id()));
    let side = Side::start(command, &log);
    let _ = std::fs::remove_file(log);
    side
}

/// Runs and gradients of the validation problem with reflections, for these d, h and ε.
fn gradient(x: f64, (dim, h, eps): (usize, f64, &str), slots: usize) -> Result<Point, String> {
    eprintln!("d = {dim}, h = {h:.1e}, {slots} slots");
    let words = format!("steps --basis hh8 --dim {dim} --step {h:e} --eps {eps} --slots {slots}");
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let mut side = ours(&words)?;
    let turns = (5.0 / side.turn()?).clamp(0.0, 8.0) as usize;
    for _ in 0..turns {
        side.turn()?;
    }
    let steps = side.answer.steps.ok_or("there is no N")?;
    let (seconds, before) = (side.seconds.clone(), side.answer.before_mb);
    let added_mb = side.end()?.peak_mb - before;
    let problem = InstanceSpec {
        dim,
        basis: Basis::Reflections(8),
        dense: false,
        seed: 1,
    };
    let dims = problem.build()?.system.dims();
    let used = slots.min(steps);
    let megabytes = |slots: usize, records: bool| {
        let entries = dims.rows_len(1) + dims.params_len() + dims.slots_len(1, slots, records);
        (size_of::<f64>() * entries) as f64 / 1e6
    };
    Ok(Point {
        x,
        steps,
        seconds,
        added_mb,
        // Backwards, every step is pulled back, with the record that was kept or that its evaluation has left.
        work: (optimum(steps, used) + steps) as f64,
        asked_mb: megabytes(used, true),
        all_mb: megabytes(steps, true),
    })
}

/// 1, 2, 4, … and all.
fn thread_counts() -> impl Iterator<Item = usize> {
    let all = parallel::available();
    let powers = std::iter::successors(Some(1), |n| Some(2 * n));
    powers.take_while(move |&n| n < all).chain([all])
}

/// Seconds that tuning takes on this many threads; its answer must not depend on their number.
struct Batch {
    threads: usize,
    seconds: Vec<f64>,
    answer: f64,
}

fn throughput(threads: usize) -> Result<Batch, String> {
    eprintln!("tuning on {threads} threads");
    let mut side = ours(&["tune".into(), "--threads".into(), threads.to_string()])?;
    for _ in 0..5 {
        side.turn()?;
    }
    let answer = side.answer.value.ok_or("tuning has no answer")?;
    let seconds = side.seconds.clone();
    side.end()?;
    Ok(Batch {
        threads,
        seconds,
        answer,
    })
}

fn same_bits(batches: &[Batch]) -> bool {
    let bits = |batch: &Batch| batch.answer.to_bits();
    batches
        .windows(2)
        .all(|pair| bits(&pair[0]) == bits(&pair[1]))
}

/// A plot of times, with what theory says, scaled by the median of the ratios.
fn time(title: &str, x: Axis, points: &[Point], theory: impl Fn(&Point) -> f64) -> Plot {
    let scale = median(points.iter().map(|p| p.median() / theory(p)));
    Plot::new(title)
        .x(x)
        .y(Axis::log("seconds"))
        .line(Series::new("measured", points.iter().map(|p| (p.x, p.median()))).markers())
        .line(
            Series::new(
                "work, scaled",
                points.iter().map(|p| (p.x, scale * theory(p))),
            )
            .grey()
            .dashed(),
        )
}

/// A plot of memory, with what the engine asks for, and what it would ask for without checkpoints.
fn memory(title: &str, x: Axis, points: &[Point]) -> Plot {
    let floor = 1e-3;
    Plot::new(title)
        .x(x)
        .y(Axis::log("MB"))
        .line(
            Series::new(
                "added to the process",
                points.iter().map(|p| (p.x, p.added_mb.max(floor))),
            )
            .markers(),
        )
        .line(
            Series::new("asked for", points.iter().map(|p| (p.x, p.asked_mb)))
                .grey()
                .dashed(),
        )
        .line(
            Series::new("every state kept", points.iter().map(|p| (p.x, p.all_mb)))
                .grey()
                .dotted(),
        )
}

fn batch(batches: &[Batch]) -> Plot {
    let rate = |b: &Batch| 1.0 / median(b.seconds.iter().copied());
    let one = batches.first().map_or(1.0, rate);
    let points = batches.iter().map(|b| (b.threads as f64, rate(b) / one));
    let ideal = batches.iter().map(|b| (b.threads as f64, b.threads as f64));
    Plot::new("Tuning: throughput against threads")
        .x(Axis::linear("threads"))
        .y(Axis::linear("by that of one thread"))
        .line(Series::new("measured", points).markers())
        .line(
            Series::new("as many times as threads", ideal)
                .grey()
                .dashed(),
        )
}

fn section(what: &[(&str, &[Point])], batches: &[Batch]) -> String {
    let mut table = Table::new()
        .left("against")
        .right("value")
        .right("N")
        .right("median s")
        .right("min–max s")
        .right("ns per unit of work")
        .right("added MB")
        .right("asked for MB");
    for (name, points) in what {
        for point in *points {
            let least = point.seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let most = point.seconds.iter().copied().fold(0.0, f64::max);
            let cells = [
                (*name).to_owned(),
                short(point.x),
                point.steps.to_string(),
                short(point.median()),
                format!("{}–{}", short(least), short(most)),
                short(1e9 * point.median() / point.work),
                format!("{:.2}", point.added_mb),
                format!("{:.2}", point.asked_mb),
            ];
            table.row(cells.map(Into::into));
        }
    }
    let runs = batches.iter().map(|b| {
        let seconds = short(median(b.seconds.iter().copied()));
        format!("{seconds} s on {} threads", b.threads)
    });
    format!(
        "## How cost grows\n\nRun and gradient of the validation problem with eight reflections (`hh8`). Against dimension: \
         ε = 1e-3, h = 0.1, {SLOTS} slots. Against steps: d = 100, ε = 1e-2, {SLOTS} slots, h = T/N. Against slots: d = 1000, \
         ε = 1e-3. A unit of work is an \
         evaluation of A or a pullback, counted as if N were known beforehand.\n\n![growth](growth.svg)\n\n{}\nTuning heavy ball on a \
         quadratic of 100 variables, 16 starts side by side: {}; {}. {}\n",
        table.to_markdown(),
        runs.collect::<Vec<_>>().join(", "),
        if same_bits(batches) {
            "the same bits"
        } else {
            "ANOTHER ANSWER"
        },
        machine(&[])
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_answer_on_another_number_of_threads_is_noticed() {
        let batches = |answers: [f64; 3]| {
            answers.map(|answer| Batch {
                threads: 1,
                seconds: vec![1.0],
                answer,
            })
        };
        let same = batches([0.1, 0.1, 0.1]);
        assert!(same_bits(&same) && section(&[], &same).contains("the same bits"));
        let other = batches([0.1, 0.1, 0.1_f64.next_up()]);
        assert!(!same_bits(&other) && section(&[], &other).contains("ANOTHER ANSWER"));
        assert!(!same_bits(&batches([0.0, -0.0, 0.0])));
    }
}
