//! Counts the instructions that one step takes in dst-core and in a loop written by hand.

use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use dst_bench::valgrind::{Counted, count, ensure};
use dst_bench::{Problem, SystemName, by_hand, sibling};

/// Steps of the shorter run; the longer one makes twice as many.
const STEPS: usize = 20_000;
/// Limit of `--check` on Rosenbrock.
const LIMIT: f64 = 1.10;

/// Counts the instructions that one step takes in dst-core and in a loop written by hand.
#[derive(Parser)]
struct Args {
    /// Exit with 1 if the engine takes more than 1.10 times the instructions on Rosenbrock.
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    match measure(&Args::parse()) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn measure(args: &Args) -> Result<ExitCode, String> {
    ensure()?;
    let program = sibling("steps")?;
    println!("instructions per Euler step, counted by callgrind");
    println!(
        "{:<12} {:>8} {:>8} {:>7}",
        "system", "engine", "hand", "ratio"
    );
    let mut code = ExitCode::SUCCESS;
    for system in [SystemName::Rosenbrock, SystemName::Quadratic] {
        let (engine, hand) = per_step(&program, system)?;
        let ratio = engine / hand;
        println!(
            "{:<12} {engine:>8.2} {hand:>8.2} {ratio:>7.3}",
            system.name()
        );
        if args.check && system == SystemName::Rosenbrock && ratio > LIMIT {
            eprintln!("error: the ratio on Rosenbrock is {ratio:.3}, more than {LIMIT:.2}");
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Instructions per step by the engine and by hand.
fn per_step(program: &Path, system: SystemName) -> Result<(f64, f64), String> {
    let mut totals = [[0u64; 2]; 2];
    for (length, steps) in [STEPS, 2 * STEPS].into_iter().enumerate() {
        // `{:?}` prints the shortest decimal that reads back as the same bits.
        let eps = format!("{:?}", tolerance(system, steps)?);
        let run = |case| {
            let arguments = ["--case", case, "--system", system.name(), "--eps", &eps];
            count(program, &arguments)
        };
        let (engine, hand) = (run("engine")?, run("hand")?);
        same_end(system, steps, &engine, &hand)?;
        totals[0][length] = engine.instructions;
        totals[1][length] = hand.instructions;
    }
    let [engine, hand] = totals.map(|[n, twice]| (twice as f64 - n as f64) / STEPS as f64);
    Ok((engine, hand))
}

/// J at this step, which as a tolerance stops the run there: J falls all the way.
fn tolerance(system: SystemName, steps: usize) -> Result<f64, String> {
    let problem = Problem {
        max_steps: steps,
        ..system.problem(0.0)
    };
    by_hand(system, problem)
        .map(|end| end.criterion)
        .ok_or_else(|| format!("{} left the finite numbers", system.name()))
}

/// Both must have stopped at the step meant, with the same bits.
fn same_end(
    system: SystemName,
    steps: usize,
    engine: &Counted,
    hand: &Counted,
) -> Result<(), String> {
    let stopped = engine.stdout.split(' ').next();
    if engine.stdout == hand.stdout && stopped == Some(steps.to_string().as_str()) {
        return Ok(());
    }
    Err(format!(
        "{}: meant to stop at step {steps}, the engine ended at '{}' and the loop by hand at '{}'",
        system.name(),
        engine.stdout,
        hand.stdout
    ))
}
