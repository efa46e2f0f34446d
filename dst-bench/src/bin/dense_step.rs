//! Cost of a step with a large dense matrix: times one Euler step of the validation problem against one reading of
//! the stored half of its matrix, by turns in one run.
//!
//! `cargo run --release -p dst-bench --bin dense_step -- --dim 10000`

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use dst_bench::turns::median;
use dst_core::{Euler, HeapMemory};
use dst_std::linalg::symmetric::Symmetric;
use dst_std::parallel;
use dst_std::validation::{Basis, Instance, InstanceSpec, Matrix};

#[derive(Parser)]
struct Args {
    /// Dimension.
    #[arg(long, default_value_t = 10_000)]
    dim: usize,
    /// Turns.
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    turns: u32,
    /// Fail if a step takes longer than this many readings.
    #[arg(long, value_name = "RATIO")]
    check: Option<f64>,
}

/// Steps of one turn.
const STEPS: usize = 5;

fn main() -> ExitCode {
    let args = Args::parse();
    match measure(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<(), String> {
    let problem = InstanceSpec {
        dim: args.dim,
        basis: Basis::Reflections(8),
        dense: true,
        seed: 1,
    };
    let instance = problem.build()?;
    let bytes = Symmetric::bytes(args.dim).unwrap_or(usize::MAX) as f64;
    println!(
        "d = {}: half of the matrix is {:.0} MB",
        args.dim,
        bytes / 1e6
    );
    for count in [1, 2] {
        let (reading, step, ratio) = parallel::with(count, || by_turns(&instance, args.turns))??;
        println!(
            "{count} threads: reading {:.2} ms ({:.1} GB/s), step {:.2} ms, ratio {ratio:.3} (medians of {} turns)",
            1e3 * reading,
            1e-9 * bytes / reading,
            1e3 * step,
            args.turns
        );
        if args.check.is_some_and(|limit| ratio > limit) {
            return Err(format!(
                "a step takes {ratio:.3} readings on {count} threads"
            ));
        }
    }
    Ok(())
}

/// Medians of the time of a reading, of a step, and of their ratio.
fn by_turns(instance: &Instance, turns: u32) -> Result<(f64, f64, f64), String> {
    let Instance { system, theta, x0 } = instance;
    let Matrix::Dense(q) = &system.operator else {
        return Err("the matrix is not dense".to_owned());
    };
    let plan = Euler::new(1e-3).until(1e-300).at_most(STEPS);
    let mut memory = HeapMemory::new(&plan, system, 0);
    let mut rows = [Vec::new(), Vec::new(), Vec::new()];
    for turn in 0..=turns {
        let started = Instant::now();
        black_box(q.sum());
        let reading = started.elapsed().as_secs_f64();
        let started = Instant::now();
        let problem = plan.on(system, theta, x0).map_err(|e| e.to_string())?;
        problem.start(&mut memory).map_err(|e| e.to_string())?;
        problem.complete(&mut memory).map_err(|e| e.to_string())?;
        // A run looks once more than it steps.
        let step = started.elapsed().as_secs_f64() / (STEPS + 1) as f64;
        // The first turn warms up.
        if turn > 0 {
            for (row, value) in rows.iter_mut().zip([reading, step, step / reading]) {
                row.push(value);
            }
        }
    }
    let [reading, step, ratio] = rows.map(median);
    Ok((reading, step, ratio))
}
