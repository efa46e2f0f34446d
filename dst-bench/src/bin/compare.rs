//! Ours beside other systems: asks by turns, compares the answers, writes `RESULTS.md` and the picture. `cargo xtask compare` installs
//! the others and starts this.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use dst_bench::compare::{self, Comparison, Contest, Setup};
use dst_bench::{results, sibling};
use dst_std::files::write_file;

/// Compares dst with other systems on the same questions.
#[derive(Parser)]
struct Args {
    /// Python, with the packages of requirements.txt.
    #[arg(long)]
    python: PathBuf,
    /// The scripts.
    #[arg(long)]
    peers: PathBuf,
    /// Folder of RESULTS.md and compare.svg.
    #[arg(long)]
    out: PathBuf,
    /// For gradients and what the others complain about.
    #[arg(long)]
    scratch: PathBuf,
    /// Folder of lipmwalk.npz and whlipbal.npz; without it, quadratic programs are not compared.
    #[arg(long)]
    programs: Option<PathBuf>,
    /// Fewer and smaller cases.
    #[arg(long)]
    quick: bool,
    /// One comparison only.
    #[arg(long)]
    only: Option<Comparison>,
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(dissent) if dissent.is_empty() => ExitCode::SUCCESS,
        Ok(dissent) => {
            for line in dissent {
                eprintln!("error: the answers differ: {line}");
            }
            ExitCode::FAILURE
        }
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

/// Returns who found another answer.
fn run(args: &Args) -> Result<Vec<String>, String> {
    for folder in [&args.out, &args.scratch] {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let setup = Setup {
        python: args.python.clone(),
        peers: args.peers.clone(),
        ours: sibling("ours")?,
        programs: args.programs.clone().unwrap_or_default(),
        folder: args.scratch.clone(),
        patience: if args.quick { 5.0 } else { 60.0 },
    };
    let mut dissent = Vec::new();
    let chosen = |c: &Comparison| args.only.is_none_or(|only| only == *c);
    for comparison in Comparison::ALL.into_iter().filter(chosen) {
        if comparison == Comparison::Qp && args.programs.is_none() {
            eprintln!("quadratic programs are not compared: there is no folder of their data");
            continue;
        }
        let text = match comparison {
            Comparison::Checkpoints => checkpoints(&setup, &mut dissent)?,
            _ => contests(&setup, comparison, args, &mut dissent)?,
        };
        let file = args.out.join("RESULTS.md");
        results::put(&file, comparison.name(), &text)?;
        println!("{text}");
        eprintln!("written: {}", file.display());
    }
    Ok(dissent)
}

fn contests(
    setup: &Setup,
    comparison: Comparison,
    args: &Args,
    dissent: &mut Vec<String>,
) -> Result<String, String> {
    let mut held = Vec::new();
    for case in comparison.cases(args.quick) {
        let contest = Contest::hold(setup, case)?;
        dissent.extend(
            contest
                .dissenters()
                .map(|line| format!("{} on {}", line.by.name(), contest.case.name)),
        );
        held.push(contest);
    }
    if comparison == Comparison::Steps {
        picture(&args.out, &held)?;
    }
    Ok(compare::section(comparison, &held))
}

fn picture(out: &Path, held: &[Contest]) -> Result<(), String> {
    write_file(&out.join("compare.svg"), compare::picture(held).as_bytes())
}

fn checkpoints(setup: &Setup, dissent: &mut Vec<String>) -> Result<String, String> {
    let (table, version, agree) = compare::checkpoints(setup)?;
    if !agree {
        dissent.push("Revolve's counts are not the optimum that dst-core computes".to_owned());
    }
    let (title, words) = Comparison::Checkpoints.words();
    Ok(format!(
        "## {title}\n\n{words} Version: {version}.\n\n{}",
        table.to_markdown()
    ))
}
