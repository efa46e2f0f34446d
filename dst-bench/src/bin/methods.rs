//! Counts the instructions of a backward step of every method over an objective against a pullback written by hand.

use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use dst_bench::methods::{Kind, Way, pullbacks};
use dst_bench::valgrind::{count, ensure};

/// Variables.
const DIM: usize = 500;
/// Pullbacks of the shorter run; the longer one makes twice as many.
const TIMES: usize = 20;
/// Limit of `--check`.
const LIMIT: f64 = 1.3;

/// Counts the instructions of a method's pullback against those of one written by hand.
#[derive(Parser)]
struct Args {
    /// Exit with 1 if a pullback takes more than 1.3 times the instructions of one by hand.
    #[arg(long)]
    check: bool,
    /// Evaluate once under the counter: what this program runs itself with.
    #[arg(long, num_args = 3, value_names = ["METHOD", "WAY", "TIMES"], hide = true)]
    run: Option<Vec<String>>,
}

fn main() -> ExitCode {
    match go(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn go(args: &Args) -> Result<bool, String> {
    if let Some([kind, way, times]) = args.run.as_deref() {
        let times = times
            .parse()
            .map_err(|_| format!("not a number: {times}"))?;
        let bars = pullbacks(
            Kind::from_str(kind, true)?,
            Way::from_str(way, true)?,
            DIM,
            times,
        );
        println!("{}", bars.iter().sum::<f64>());
        return Ok(true);
    }
    ensure()?;
    println!("instructions of a pullback per variable, counted by callgrind");
    println!(
        "{:<14} {:>8} {:>8} {:>7}",
        "method", "library", "hand", "ratio"
    );
    let mut holds = true;
    for (_, name) in Kind::ALL {
        let [library, hand] = [instructions(name, "library")?, instructions(name, "hand")?];
        let ratio = library / hand;
        println!("{name:<14} {library:>8.2} {hand:>8.2} {ratio:>7.3}");
        if ratio > LIMIT {
            eprintln!("error: the ratio of {name} is {ratio:.3}, more than {LIMIT:.1}");
            holds = false;
        }
    }
    Ok(holds || !args.check)
}

/// Instructions of one pullback per variable: the difference of two runs, so that start-up does not count.
fn instructions(name: &str, way: &str) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let total = |times: usize| {
        count(&program, &["--run", name, way, &times.to_string()])
            .map(|counted| counted.instructions as f64)
    };
    Ok((total(2 * TIMES)? - total(TIMES)?) / (TIMES * DIM) as f64)
}
