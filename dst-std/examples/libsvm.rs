//! Tuning on your LIBSVM file: `cargo run --release --example libsvm -- my-file.txt`. Without a file, on sixteen flowers.
//!
//! Prints:
//! ```text
//! flowers-logistic (16 × 3)
//! textbook: step 0.0082, momentum 0.900: 1566 iterations on held-out starts
//! tuned: step 0.0191, momentum 0.984: 111 iterations on held-out starts
//! ```
use std::process::ExitCode;

use dst_std::data::{read_libsvm, read_libsvm_file};
use dst_std::progress::Progress;
use dst_std::tune::{ProblemKind, TunedMethod, TuningConfig, TuningProblem, tune};

/// A label, then index:value pairs; here length and width of a petal in cm, of two kinds of iris.
const FLOWERS: &str = "\
+1 1:4.7 2:1.4\n+1 1:4.5 2:1.5\n+1 1:4.9 2:1.5\n+1 1:4.0 2:1.3\n+1 1:4.6 2:1.5\n+1 1:4.5 2:1.3\n+1 1:4.7 2:1.6\n+1 1:3.3 2:1.0
-1 1:6.0 2:2.5\n-1 1:5.1 2:1.9\n-1 1:5.9 2:2.1\n-1 1:5.6 2:1.8\n-1 1:5.8 2:2.2\n-1 1:6.6 2:2.1\n-1 1:4.5 2:1.7\n-1 1:6.3 2:1.8\n";

fn main() -> ExitCode {
    match run(std::env::args().nth(1).as_deref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(file: Option<&str>) -> Result<(), String> {
    let examples = match file {
        Some(path) => read_libsvm_file(path.as_ref()),
        None => read_libsvm(FLOWERS.as_bytes(), "flowers"),
    }
    .map_err(|e| e.to_string())?; // names the line and column of what cannot be read
    let name = file.unwrap_or("flowers");
    let problem = TuningProblem::on_data(ProblemKind::Logistic, name, examples, 1e-3)?;
    println!("{} ({})", problem.name, problem.size);

    // Until max |∇f| is a hundredth of that at the start, at most 2000 iterations; 16 starting points to tune on and 32 held-out ones.
    let config = TuningConfig::new(TunedMethod::HeavyBall);
    let found = tune(&config, &problem, &Progress::hidden()).map_err(|e| e.to_string())?;
    for (what, setting) in [("textbook", &found.before), ("tuned", &found.tuned)] {
        let median = match setting.held_out.median {
            Some(steps) => steps.to_string(),
            None => format!("more than {}", found.max_steps),
        };
        println!(
            "{what}: step {:.4}, momentum {:.3}: {median} iterations on held-out starts",
            setting.theta[0], setting.theta[1]
        );
    }
    Ok(())
}
