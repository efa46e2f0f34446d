//! One hot path as a side of a comparison with an earlier build (see `turns`), or a fixed number of times, to be counted.

use std::process::ExitCode;

use clap::Parser;
use dst_bench::hot;
use dst_bench::turns::{Answer, resident_mb, serve};
use dst_std::parallel;

/// Runs one hot path.
#[derive(Parser)]
struct Args {
    /// Name of the hot path; without one, all names are listed.
    name: Option<String>,
    /// Number of pieces of work after which the program ends.
    #[arg(long)]
    times: Option<usize>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let Some(name) = args.name else {
        for path in hot::ALL {
            println!("{:<18} {}", path.name, path.what);
        }
        return ExitCode::SUCCESS;
    };
    let Some(path) = hot::ALL.iter().find(|path| path.name == name) else {
        eprintln!("error: there is no hot path '{name}'; `hot` lists them");
        return ExitCode::from(2);
    };
    // One thread: who waits for whom is not what is measured here.
    let done = parallel::with(1, || {
        let mut work = (path.make)();
        let mut repeat = |times: usize| {
            let well = (0..times).all(|_| work());
            well.then_some(())
                .ok_or_else(|| format!("a piece of work of '{name}' failed"))
        };
        match args.times {
            Some(times) => repeat(times),
            None => serve(resident_mb(), None, || {
                repeat(path.times)?;
                Ok((Answer::default(), Vec::new()))
            })
            .map_err(|e| e.to_string()),
        }
    });
    match done.flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}
