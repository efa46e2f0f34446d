//! Tables and the picture of the comparison on the chip, from the runs that `cargo xtask compare --only firmware` counted.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use dst_bench::firmware::{Engine, Run, picture, section};
use dst_bench::results;
use dst_std::files::write_file;

/// Writes the section of RESULTS.md and firmware.svg.
#[derive(Parser)]
struct Args {
    /// Folder with the runs.
    #[arg(long)]
    runs: PathBuf,
    /// Folder with the recorded ticks.
    #[arg(long)]
    cases: PathBuf,
    /// Folder of RESULTS.md and firmware.svg.
    #[arg(long)]
    out: PathBuf,
    /// Names and versions of the other systems.
    #[arg(long)]
    versions: String,
    /// JSON instead of tables on standard output.
    #[arg(long)]
    json: bool,
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
    let runs = Run::all(&args.runs, &args.cases)?;
    if runs.is_empty() {
        return Err(format!("{}: no runs", args.runs.display()));
    }
    let engine = Engine::read(&args.runs.join("engine.txt"))?;
    let mut text = section(&runs, &args.versions);
    if let Some(engine) = &engine {
        text = format!("{text}\n{}", engine.words());
    }
    let file = args.out.join("RESULTS.md");
    results::put(&file, "firmware", &text)?;
    write_file(&args.out.join("firmware.svg"), picture(&runs).as_bytes())?;
    if args.json {
        let all = serde_json::json!({ "runs": runs, "engine": engine });
        println!("{all:#}");
    } else {
        println!("{text}");
    }
    eprintln!("written: {}", file.display());
    Ok(())
}
