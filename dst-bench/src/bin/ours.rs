//! Our side of a comparison: gets ready, then runs once for every line of its input. See `turns`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};
use dst_bench::turns::{Answer, median, resident_mb, serve};
use dst_core::adapt::{AdamOla, OlaConfig};
use dst_core::qp::Bounds;
use dst_core::solve::DEFAULT_MAX_STEPS;
use dst_core::{Crossing, Objective};
use dst_std::data::{Shape, synthetic};
use dst_std::l2o::{Architecture, Family, Recipe, Trainer};
use dst_std::ode::{Options, event_gradient};
use dst_std::parallel;
use dst_std::problems::{Margins, SmoothSvm};
use dst_std::progress::Progress;
use dst_std::qp::{ParametricProgram, Prepared};
use dst_std::tune::{ProblemKind, TunedMethod, TuningConfig, TuningProblem, tune};
use dst_std::validation::{Basis, GradientRun, Instance, InstanceSpec, IntegratorName, Slots};

/// Our side of a comparison.
#[derive(Parser)]
struct Cli {
    /// Threads; all cores by default.
    #[arg(long, global = true)]
    threads: Option<usize>,
    #[command(subcommand)]
    question: Question,
}

#[derive(Subcommand)]
enum Question {
    /// The gradient of a number of steps.
    Steps {
        #[command(flatten)]
        problem: Validation,
        /// h
        #[arg(long, default_value_t = 0.1)]
        step: f64,
        /// States kept; all with their records by default.
        #[arg(long)]
        slots: Option<usize>,
    },
    /// The gradient of the continuous stopping time, by the adaptive solver.
    Event {
        #[command(flatten)]
        problem: Validation,
        #[arg(long, default_value_t = 1e-7)]
        rtol: f64,
    },
    /// Iterations of Adam-OLA on the smooth SVM.
    Ola {
        /// a1a or w3a
        #[arg(long)]
        data: String,
        #[arg(long, default_value_t = 500)]
        iterations: usize,
    },
    /// Training steps of L2O-RNNprop.
    L2o {
        /// Problems.
        #[arg(long)]
        batch: usize,
        /// Variables; half as many examples.
        #[arg(long)]
        dim: usize,
    },
    /// Solves of a parametric quadratic program.
    Qp {
        /// Samples of the program.
        #[arg(long)]
        problem: PathBuf,
        /// Passes over all instances in one run, of which the median is taken.
        #[arg(long)]
        passes: usize,
        /// Discards the set before every solve.
        #[arg(long)]
        cold: bool,
        /// File for the solutions.
        #[arg(long)]
        gradient: Option<PathBuf>,
    },
    /// Tuning heavy ball on a quadratic, many starts side by side.
    Tune,
}

/// The validation problem.
#[derive(Args)]
struct Validation {
    #[arg(long)]
    dim: usize,
    #[arg(long, default_value = "haar")]
    basis: Basis,
    /// ε
    #[arg(long, default_value_t = 1e-3)]
    eps: f64,
    /// File for the gradient.
    #[arg(long)]
    gradient: Option<PathBuf>,
}

impl Validation {
    fn build(&self) -> Result<Instance, String> {
        let problem = InstanceSpec {
            dim: self.dim,
            basis: self.basis,
            dense: false,
            seed: 1,
        };
        problem.build()
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let count = cli.threads.unwrap_or_else(parallel::available);
    let done = parallel::with(count, || {
        match &cli.question {
            Question::Steps {
                problem,
                step,
                slots,
            } => steps(problem, *step, *slots),
            Question::Event { problem, rtol } => event(problem, *rtol),
            Question::Ola { data, iterations } => ola(data, *iterations),
            Question::L2o { batch, dim } => l2o(*batch, *dim),
            Question::Qp {
                problem,
                passes,
                cold,
                gradient,
            } => qp(problem, *passes, *cold, gradient.as_deref()),
            Question::Tune => tuning(),
        }
        .map_err(|e| e.to_string())
    });
    match done.flatten() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

type Done = Result<(), Box<dyn std::error::Error>>;

fn steps(problem: &Validation, step: f64, slots: Option<usize>) -> Done {
    let instance = problem.build()?;
    let before = resident_mb();
    let run = GradientRun {
        method: IntegratorName::Euler,
        crossing: Crossing::Paper,
        step,
        epsilon: problem.eps,
        slots: slots.map_or(Slots::All, Slots::Number),
        max_steps: 10 * DEFAULT_MAX_STEPS,
    };
    let mut prepared = run.prepare(&instance, &Progress::hidden())?;
    serve(before, problem.gradient.as_deref(), || {
        let found = (prepared.repeat)()?;
        let answer = Answer {
            steps: Some(found.steps),
            ..Answer::default()
        };
        Ok((answer, found.theta))
    })
}

fn event(problem: &Validation, rtol: f64) -> Done {
    let Instance { system, theta, x0 } = problem.build()?;
    let before = resident_mb();
    let options = Options {
        rtol,
        atol: 0.01 * rtol,
        ..Options::default()
    };
    serve(before, problem.gradient.as_deref(), || {
        let found = event_gradient(&system, &theta, &x0, 0.0, problem.eps, &options)
            .map_err(|e| e.to_string())?;
        let answer = Answer {
            time: Some(found.event.time),
            ..Answer::default()
        };
        Ok((answer, found.theta))
    })
}

fn ola(data: &str, iterations: usize) -> Done {
    let shape = match data {
        "a1a" => Shape::A1A,
        "w3a" => Shape::W3A,
        other => return Err(format!("--data must be a1a or w3a, got '{other}'").into()),
    };
    let svm = SmoothSvm::new(Margins::new(synthetic(shape, 7001))?, 1e-2);
    let before = resident_mb();
    let x0 = vec![0.0; svm.dim()];
    let mut memory = vec![0.0; AdamOla::memory_len(&svm)];
    let mut config = OlaConfig::new(1e-2, 1e-5, 1e-5);
    // The other side has no tolerance.
    config.tolerance = 0.0;
    serve(before, None, || {
        let mut ola =
            AdamOla::new(config, &svm, &x0, &mut memory).map_err(|error| error.to_string())?;
        ola.advance(iterations).map_err(|error| error.to_string())?;
        let answer = Answer {
            steps: Some(ola.adaptations()),
            value: Some(ola.value()),
            ..Answer::default()
        };
        Ok((answer, Vec::new()))
    })
}

fn l2o(batch: usize, dim: usize) -> Done {
    let recipe = Recipe {
        batch,
        family: Family::new(dim, dim / 2),
        rate: 1e-3,
        ..Recipe::paper(Architecture::RnnProp)
    };
    let before = resident_mb();
    let theta = recipe.model.initial(2001, |_| 1.0 / 30_f64.sqrt());
    let mut trainer = Trainer::<f32>::new(recipe, theta);
    trainer.draw(0);
    serve(before, None, || {
        let report = trainer.step(0).map_err(|error| error.to_string())?;
        let answer = Answer {
            value: Some(report.losses.iter().sum()),
            ..Answer::default()
        };
        Ok((answer, Vec::new()))
    })
}

fn qp(problem: &Path, passes: usize, cold: bool, file: Option<&Path>) -> Done {
    let program = ParametricProgram::read(problem)?;
    let prepared = Prepared::new(&program, 0.0)?;
    let mut buffers = prepared.buffers(prepared.full_capacity());
    let mut memory = buffers.memory().map_err(|error| error.to_string())?;
    let dense = prepared.dense();
    let before = resident_mb();
    serve(before, file, || {
        let mut means = Vec::with_capacity(passes);
        let mut solutions = Vec::new();
        for _ in 0..passes {
            solutions.clear();
            let mut seconds = 0.0;
            for i in 0..program.len() {
                let instance = program.instance(i);
                let bounds = Bounds {
                    lower: instance.lower,
                    upper: instance.upper,
                };
                if cold {
                    memory.reset();
                }
                let start = Instant::now();
                let outcome = dense.solve(&mut memory, instance.linear, bounds, usize::MAX);
                seconds += start.elapsed().as_secs_f64();
                let status = outcome.map_err(|error| error.to_string())?.status;
                if !status.is_solved() {
                    return Err(format!("instance {i}: {status:?}"));
                }
                solutions.extend(memory.variables());
            }
            means.push(seconds / program.len() as f64);
        }
        let answer = Answer {
            seconds: Some(median(means)),
            ..Answer::default()
        };
        Ok((answer, solutions))
    })
}

fn tuning() -> Done {
    let problem = TuningProblem::built_in(ProblemKind::Quadratic, 0.0, 1)?;
    let config = TuningConfig {
        rounds: 10,
        ..TuningConfig::new(TunedMethod::HeavyBall)
    };
    let before = resident_mb();
    serve(before, None, || {
        let found =
            tune(&config, &problem, &Progress::hidden()).map_err(|error| error.to_string())?;
        let answer = Answer {
            value: Some(found.tuned.training.mean),
            ..Answer::default()
        };
        Ok((answer, Vec::new()))
    })
}
