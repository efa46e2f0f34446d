//! `dst ola`: online adaptation of the learning rate, one run or a comparison of all methods.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use dst_core::Error;
use serde::Serialize;

use super::arguments::{Named, named, names, not_negative, positive, positive_count};
use super::common::General;
use super::{CommandError, output};
use crate::experiments::Context;
use crate::experiments::ola::{self, OlaConfig};
use crate::files::{try_to_write, write_file};
use crate::ola::{
    Algorithm, Limits, OlaComparison, OlaRun, STRONG_CONVEXITY, Setting, SvmProblem, Workload,
    ola_parameters,
};
use crate::parallel;
use crate::report::{OutDir, Section};

/// Adapt the learning rate of Adam while it runs, on the smooth support vector machine.
///
/// With --method: one run. Without: every method with every setting of its grid, as in the paper's Figures 4 and 5, with
/// plots and tables in DIR.
///
/// f(w) = 0.5 sum max(0, 1 - z.w)^2 + reg/2 |w|^2, z = y (x, -1), until max |grad f| < tolerance.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  dst ola                                   all methods on a1a, a2a, a3a, w3a
  dst ola --data a1a --out pictures
  dst ola --data a1a --method adam-ola --alpha0 0.01 --json
  dst ola --data a1a --method adam-ola --alpha0 0.1 --guard log
  dst ola --data my.libsvm --method n-ola --alpha0 1/L --save-weights w.txt

Data: a file in LIBSVM format, or the name of one in the folder DST_DATA; without a file, a1a, a2a, a3a and w3a are
synthetic sets of the same shape. Starting point: --x0, or x0_NAME.txt beside the file, or random of length 1 by --seed.

Adam-OLA is the paper's Algorithm 2, unchanged. It can diverge: alpha - eta*S overshoots where f hardly falls.
--guard log (G-OLA) changes ln alpha by a clipped sensitivity and keeps the best point. n-ola sets the sensitivities to
alpha, beta1 and a momentum to zero by a Newton step. It is a preconditioned nonlinear conjugate gradient method with
two Hessian-vector products per iteration.")]
pub(super) struct Args {
    /// A LIBSVM file, or a1a, a2a, a3a, w3a; all four if not given (with --method: a1a).
    #[arg(long, value_name = "FILE|NAME")]
    data: Option<String>,
    /// One run of this method: gd, hb, nag, nag-sc, adagrad, adam, adam-hd, adam-ola, g-ola or n-ola.
    #[arg(long, value_name = "M", value_parser = named::<AlgorithmName>)]
    method: Option<AlgorithmName>,
    /// File with the starting point, one number per line, the intercept last.
    #[arg(long, value_name = "FILE")]
    x0: Option<PathBuf>,
    /// Write the weights at the end of one run to a file that --x0 reads.
    #[arg(long, value_name = "FILE")]
    save_weights: Option<PathBuf>,
    /// Initial learning rate: a number or 1/L. [default: 0.01; gd, hb, nag, nag-sc: 1/L]
    #[arg(long, value_name = "A", value_parser = rate, allow_hyphen_values = true)]
    alpha0: Option<Rate>,
    /// adam-ola with --guard none: the adaptation rate. [default: the paper's for this data set, else 0.01]
    #[arg(long, value_name = "E", value_parser = not_negative, allow_hyphen_values = true)]
    eta: Option<f64>,
    /// adam-ola with --guard none: the decrease of f that triggers an adaptation. [default: the paper's for this data set, else
    /// 1e-5]
    #[arg(long, value_name = "D", value_parser = not_negative, allow_hyphen_values = true)]
    descent: Option<f64>,
    /// adam-ola: `none` is the paper's algorithm, `log` is G-OLA. [default: none]
    #[arg(long, value_name = "G", value_parser = named::<Guard>)]
    guard: Option<Guard>,
    /// adam-ola: the exact sensitivity through the last W steps instead of the last one.
    #[arg(long, value_name = "W", value_parser = positive_count, allow_hyphen_values = true)]
    window: Option<usize>,
    /// hb: the momentum. [default: 0.9]
    #[arg(long, value_name = "B", value_parser = not_negative, allow_hyphen_values = true)]
    momentum: Option<f64>,
    /// adam-hd: change of alpha per unit of hypergradient. [default: 1e-6]
    #[arg(long, value_name = "R", value_parser = not_negative, allow_hyphen_values = true)]
    rate: Option<f64>,
    /// Weight of the regularisation.
    #[arg(long, value_name = "R", default_value = "0", value_parser = not_negative, allow_hyphen_values = true)]
    reg: f64,
    /// Converged when max |grad f| is below this.
    #[arg(long, value_name = "T", default_value = "1e-4", value_parser = positive, allow_hyphen_values = true)]
    tolerance: f64,
    /// Largest number of iterations.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = positive_count, allow_hyphen_values = true)]
    max_iterations: usize,
    /// Directory for plots and tables; created if missing. [default: report]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    general: General,
}

names! {
    /// An algorithm whose parameters come from other arguments.
    enum AlgorithmName {
        Gd = "gd",
        Hb = "hb",
        Nag = "nag",
        NagSc = "nag-sc",
        Adagrad = "adagrad",
        Adam = "adam",
        AdamHd = "adam-hd",
        AdamOla = "adam-ola",
        GOla = "g-ola",
        NOla = "n-ola",
    }
}

names! {
    /// The protection of Adam-OLA.
    enum Guard {
        None = "none",
        Log = "log",
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Rate {
    Number(f64),
    OverL,
}

fn rate(text: &str) -> Result<Rate, String> {
    if text.eq_ignore_ascii_case("1/L") {
        return Ok(Rate::OverL);
    }
    let number = positive(text).map_err(|_| "must be a positive number or 1/L".to_owned())?;
    Ok(Rate::Number(number))
}

pub(super) fn run(args: &Args) -> Result<(), CommandError> {
    args.check()?;
    match args.method {
        Some(name) => one(args, name),
        None => compare(args),
    }
}

impl Args {
    /// Refuses options that the chosen method does not use.
    fn check(&self) -> Result<(), CommandError> {
        let refuse = |message: String| Err(CommandError::Usage(message));
        let given = [
            ("--x0", self.x0.is_some()),
            ("--alpha0", self.alpha0.is_some()),
            ("--save-weights", self.save_weights.is_some()),
            ("--eta", self.eta.is_some()),
            ("--descent", self.descent.is_some()),
            ("--guard", self.guard.is_some()),
            ("--window", self.window.is_some()),
            ("--momentum", self.momentum.is_some()),
            ("--rate", self.rate.is_some()),
            ("--threads", self.general.parallel.given()),
        ];
        let Some(name) = self.method else {
            let mut given = given.iter().filter(|(option, _)| *option != "--threads");
            return match given.find(|(_, given)| *given) {
                Some((option, _)) => {
                    refuse(format!("{option} is for one run; say which with --method"))
                }
                None => Ok(()),
            };
        };
        let method = name.name();
        let given = given.into_iter().skip(3);
        for (option, given) in given.chain([("--out", self.out.is_some())]) {
            let taken = match option {
                // One run writes no files, on one thread.
                "--out" | "--threads" => false,
                "--momentum" => name == AlgorithmName::Hb,
                "--rate" => name == AlgorithmName::AdamHd,
                _ => name == AlgorithmName::AdamOla,
            };
            if given && !taken {
                return refuse(format!("{option} does not go with --method {method}"));
            }
        }
        if self.guard == Some(Guard::Log) && self.window.is_some() {
            return refuse(
                "--window goes with --guard none: the guarded sensitivity is that of one step"
                    .to_owned(),
            );
        }
        if self.guard == Some(Guard::Log) && (self.eta.is_some() || self.descent.is_some()) {
            return refuse(
                "--eta and --descent go with --guard none: the guarded rule has no such numbers"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn limits(&self) -> Limits {
        Limits {
            tolerance: self.tolerance,
            iterations: self.max_iterations,
        }
    }

    fn setting(&self, name: AlgorithmName, problem: &SvmProblem) -> Setting {
        let l = problem.lipschitz();
        let (eta, descent) = ola_parameters(problem.name());
        let (eta, descent) = (self.eta.unwrap_or(eta), self.descent.unwrap_or(descent));
        let algorithm = match (name, self.guard, self.window) {
            (AlgorithmName::Gd, ..) => Algorithm::Gd,
            (AlgorithmName::Hb, ..) => Algorithm::Hb {
                momentum: self.momentum.unwrap_or(0.9),
            },
            (AlgorithmName::Nag, ..) => Algorithm::Nag,
            (AlgorithmName::NagSc, ..) => Algorithm::nag_sc(problem, STRONG_CONVEXITY),
            (AlgorithmName::Adagrad, ..) => Algorithm::Adagrad,
            (AlgorithmName::Adam, ..) => Algorithm::Adam,
            (AlgorithmName::AdamHd, ..) => Algorithm::AdamHd {
                rate: self.rate.unwrap_or(1e-6),
            },
            (AlgorithmName::AdamOla, Some(Guard::Log), _) | (AlgorithmName::GOla, ..) => {
                Algorithm::GOla
            }
            (AlgorithmName::AdamOla, _, Some(window)) => Algorithm::WindowOla {
                eta,
                descent,
                window,
            },
            (AlgorithmName::AdamOla, ..) => Algorithm::AdamOla { eta, descent },
            (AlgorithmName::NOla, ..) => Algorithm::NOla,
        };
        let over_l = matches!(
            name,
            AlgorithmName::Gd | AlgorithmName::Hb | AlgorithmName::Nag | AlgorithmName::NagSc
        );
        let alpha = match self.alpha0 {
            Some(Rate::Number(alpha)) => alpha,
            Some(Rate::OverL) => 1.0 / l,
            None if over_l => 1.0 / l,
            None => 0.01,
        };
        Setting { algorithm, alpha }
    }
}

/// One run as a JSON object.
#[derive(Debug, Serialize)]
struct Single {
    data: String,
    synthetic: bool,
    rows: usize,
    variables: usize,
    #[serde(flatten)]
    run: OlaRun,
    seconds: f64,
}

fn one(args: &Args, name: AlgorithmName) -> Result<(), CommandError> {
    let data = args.data.as_deref().unwrap_or("a1a");
    let progress = args.general.speech.interruptible()?;
    let loading = progress.phase(format!("loading {data}"));
    let work = Workload {
        runs: 1,
        slots: args.window.map_or(0, |window| {
            let (eta, descent) = (0.0, 0.0);
            Algorithm::WindowOla {
                eta,
                descent,
                window,
            }
            .slots()
        }),
        threads: 1,
    };
    let mut problem = SvmProblem::load(data, args.reg, args.general.seeded.seed, work)?;
    if let Some(path) = &args.x0 {
        problem = problem.starting_from(path)?;
    }
    if let Some(path) = &args.save_weights {
        try_to_write(path).map_err(CommandError::NoAnswer)?;
    }
    drop(loading);
    let setting = args.setting(name, &problem);
    let running = progress.phase(format!("running {}", name.name()));
    let start = Instant::now();
    let run = problem
        .run(setting, args.limits())
        .map_err(|error| match error {
            Error::NonFinite { step: 0 } => CommandError::NoAnswer(format!(
                "f is not finite at the starting point of {}; give another with --x0",
                problem.name()
            )),
            Error::NonFinite { step } => CommandError::NoAnswer(format!(
                "{} left the finite numbers at iteration {step}; scale the data",
                setting.algorithm.name()
            )),
            error => CommandError::NoAnswer(error.to_string()),
        })?;
    let seconds = start.elapsed().as_secs_f64();
    drop(running);
    if let Some(path) = &args.save_weights {
        save(path, &run.weights)?;
    }
    let single = Single {
        seconds,
        data: problem.name().to_owned(),
        synthetic: problem.is_synthetic(),
        rows: problem.svm().margins().rows(),
        variables: problem.x0().len(),
        run,
    };
    output::print(args.general.speech.json, &single, |to| {
        show_one(&single, to)
    })
}

/// Writes one number per line, the intercept last: the format of --x0. Numbers are read back as the same bits.
fn save(path: &Path, weights: &[f64]) -> Result<(), CommandError> {
    if !weights.iter().all(|w| w.is_finite()) {
        return Err(CommandError::NoAnswer(
            "--save-weights: the run left the finite numbers; there are no weights to save"
                .to_owned(),
        ));
    }
    let lines: String = weights.iter().map(|w| format!("{w:e}\n")).collect();
    write_file(path, lines.as_bytes()).map_err(CommandError::NoAnswer)
}

fn show_one(single: &Single, to: &mut dyn Write) -> io::Result<()> {
    let Single { run, .. } = single;
    let made_up = if single.synthetic { ", synthetic" } else { "" };
    let parameters = run.method.parameters();
    let parameters = if parameters.is_empty() {
        parameters
    } else {
        format!(" ({parameters})")
    };
    let end = match (run.converged, run.diverged) {
        (true, _) => format!("converged after {} iterations", run.iterations),
        (_, true) => format!("DIVERGED within {} iterations", run.iterations),
        _ => format!("not converged after {} iterations", run.iterations),
    };
    writeln!(
        to,
        "{}{parameters} on {}{made_up} ({} x {}): {end}",
        run.method.name(),
        single.data,
        single.rows,
        single.variables
    )?;
    writeln!(to, "  f = {}, max |grad f| = {:.2e}", run.f, run.grad_inf)?;
    writeln!(
        to,
        "  alpha {:.4e} -> {:.4e} in {} adaptations",
        run.alpha0, run.alpha_final, run.adaptations
    )?;
    writeln!(
        to,
        "  {} evaluations of f and grad f, {} Hessian-vector products, {:.1} ms",
        run.evaluations,
        run.hessian_products,
        1e3 * single.seconds
    )
}

fn compare(args: &Args) -> Result<(), CommandError> {
    let progress = args.general.speech.interruptible()?;
    let mut config = OlaConfig {
        limits: args.limits(),
        regularisation: args.reg,
        seed: args.general.seeded.seed,
        ..OlaConfig::default()
    };
    if let Some(data) = &args.data {
        config.datasets = vec![data.clone()];
    }
    let loading = progress.phase("loading data");
    let problems = ola::problems(&config, args.general.parallel.threads())?;
    drop(loading);
    let out = args.out.as_deref().unwrap_or(Path::new("report"));
    let out = OutDir::create(out).map_err(CommandError::NoAnswer)?;
    let context = Context {
        quick: false,
        seed: args.general.seeded.seed,
        threads: args.general.parallel.threads(),
        progress,
    };
    let results = parallel::with(context.threads, || ola::run(&config, &problems, &context))
        .map_err(CommandError::NoAnswer)??;
    let section = ola::section(&config, &results);
    let files = out
        .write_section(&section)
        .map_err(CommandError::NoAnswer)?;
    output::print(args.general.speech.json, &results, |to| {
        show_all(&results, &section, &files, to)
    })
}

fn show_all(
    results: &OlaComparison,
    section: &Section,
    files: &[PathBuf],
    to: &mut dyn Write,
) -> io::Result<()> {
    for comparison in results.comparisons.iter().filter(|c| c.synthetic) {
        writeln!(
            to,
            "{}: no file, a synthetic set of the same shape; set DST_DATA",
            comparison.name
        )?;
    }
    for table in section.tables.iter().filter(|table| table.in_page) {
        writeln!(to, "\n{}\n{}", table.caption, table.table.to_text())?;
    }
    writeln!(to, "{}\n", ola::times(&results.costs))?;
    output::claims(to, &section.claims)?;
    writeln!(to)?;
    output::written(to, files)
}
