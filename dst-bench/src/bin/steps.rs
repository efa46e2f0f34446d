//! Makes one run and prints where it ended: what `overhead` runs under callgrind.

use std::process::ExitCode;

use clap::Parser;
use dst_bench::{Case, SystemName, by_hand, engine};

/// Makes one run and prints N and the bits of x_N.
#[derive(Parser)]
struct Args {
    /// Loop that makes the steps.
    #[arg(long)]
    case: Case,
    /// System that is stepped.
    #[arg(long)]
    system: SystemName,
    /// The run stops at the first J ≤ EPS.
    #[arg(long)]
    eps: f64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let problem = args.system.problem(args.eps);
    let outcome = match args.case {
        Case::Engine => engine(args.system, problem).map_err(|e| e.to_string()),
        Case::Hand => by_hand(args.system, problem).ok_or("a value is not finite".to_owned()),
    };
    match outcome {
        Ok(end) => {
            let [x, y] = end.state.map(f64::to_bits);
            println!("{} {x:016x} {y:016x}", end.steps);
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
