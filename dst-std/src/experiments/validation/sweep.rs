//! The sweep over dimension, tolerance and step size.

use dst_core::Crossing;
use rayon::prelude::*;
use serde::Serialize;

use super::{Basis, Method, Problem, Run, Slots, TRUTH_RTOL, USUAL_RTOL, relative_error, truth};
use crate::experiments::{Context, Failure};
use crate::report::Task;

/// All that the experiment depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    /// The instances.
    pub problems: Vec<Problem>,
    /// ε
    pub epsilons: Vec<f64>,
    /// h, the longest first.
    pub steps: Vec<f64>,
    /// Slopes are fitted over steps up to this one: longer ones are too coarse for the asymptotics.
    pub fit_from: f64,
    /// Tolerance of the truth, relative; the absolute one is a hundredth of it.
    pub truth_rtol: f64,
    /// The same at which the evaluations of the adaptive solver are counted.
    pub usual_rtol: f64,
    /// Bytes of trajectory that a gradient may keep.
    pub kept_bytes: usize,
    /// Runs are given up after so many steps.
    pub max_steps: usize,
    /// An instance that is also run with its matrix formed.
    pub formed: Option<Problem>,
}

impl Config {
    /// The paper's sweep, or a small part of it.
    pub fn new(quick: bool, seed: u64) -> Self {
        let problem = |dim, basis| Problem {
            dim,
            basis,
            dense: false,
            seed,
        };
        let reflections = Basis::Reflections(8);
        let mut problems = vec![
            problem(100, Basis::Haar),
            problem(1000, if quick { reflections } else { Basis::Haar }),
        ];
        let (mut epsilons, mut steps) = (vec![1e-3], vec![0.1, 0.05, 0.035, 0.025, 0.018, 0.0125]);
        let mut formed = problem(1000, reflections);
        if !quick {
            problems.push(problem(10_000, reflections));
            epsilons.extend([1e-4, 1e-5]);
            steps.extend([0.009, 0.00625, 0.0045]);
            formed.dim = 10_000;
        }
        Self {
            problems,
            epsilons,
            steps,
            fit_from: 0.05,
            truth_rtol: TRUTH_RTOL,
            usual_rtol: USUAL_RTOL,
            kept_bytes: 1 << 30,
            max_steps: 1_000_000,
            formed: Some(Problem {
                dense: true,
                ..formed
            }),
        }
    }
}

/// All that the experiment finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Results {
    /// One for each instance and ε.
    pub cases: Vec<Case>,
    /// The instance with its matrix formed.
    pub formed: Option<Formed>,
    /// Was it cut short?
    pub interrupted: bool,
}

/// One instance with one ε.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// The instance.
    pub problem: Problem,
    /// ε
    pub epsilon: f64,
    /// T of the adaptive solver.
    pub time: f64,
    /// Evaluations of a forward solve at the usual tolerance, and at the tight one.
    pub ode_evaluations: (usize, usize),
    /// Twelve: integrators by crossings.
    pub lines: Vec<Line>,
}

/// One integrator with one crossing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// The integrator.
    pub method: Method,
    /// The crossing.
    #[serde(serialize_with = "super::gradient::serialize_crossing")]
    pub crossing: Crossing,
    /// By h.
    pub points: Vec<Point>,
    /// The slope of the error in the logarithms, over the shorter steps.
    pub order: f64,
}

/// One gradient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// h
    pub step: f64,
    /// N
    pub steps: usize,
    /// Of the gradient with respect to θ.
    pub error: f64,
    /// Evaluations of the forward run over those of the adaptive solver.
    pub nfe_ratio: f64,
}

/// The same gradient by the structured and by the formed matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Formed {
    /// The instance.
    pub problem: Problem,
    /// N of the structured matrix, and of the formed one.
    pub steps: (usize, usize),
    /// Between the two gradients.
    pub difference: f64,
    /// Bytes of the stored half.
    pub bytes: usize,
}

/// Runs everything; what is finished when the user interrupts is kept.
pub fn run(config: &Config, context: &Context) -> Result<Results, Failure> {
    let mut results = Results {
        cases: Vec::new(),
        formed: None,
        interrupted: false,
    };
    for &problem in &config.problems {
        let name = format!("validation, d = {}", problem.dim);
        // Parts in proportion to the work: short steps take long.
        let parts: usize = config.steps.iter().map(|&h| weight(h)).sum();
        let task = context
            .progress
            .task(name, config.epsilons.len() * 12 * parts);
        let instance = problem.build().map_err(Failure::NoAnswer)?;
        for &epsilon in &config.epsilons {
            if context.interrupted() {
                results.interrupted = true;
                return Ok(results);
            }
            match case(config, problem, &instance, epsilon, context, &task)? {
                Some(case) => results.cases.push(case),
                None => results.interrupted = true,
            }
        }
    }
    if let Some(problem) = config.formed.filter(|_| !context.interrupted()) {
        results.formed = Some(formed(config, problem)?);
    }
    Ok(results)
}

/// Parts of the progress that a run with step h takes.
fn weight(h: f64) -> usize {
    (1.0 / h) as usize
}

/// All gradients of one instance and one ε; `None` if interrupted.
fn case(
    config: &Config,
    problem: Problem,
    instance: &super::Instance,
    epsilon: f64,
    context: &Context,
    task: &Task,
) -> Result<Option<Case>, Failure> {
    let truth = truth(instance, epsilon, config.truth_rtol, config.usual_rtol)
        .map_err(|error| Failure::NoAnswer(format!("the adaptive solver: {error}")))?;
    let point =
        |(method, crossing, step): (Method, Crossing, f64)| -> Result<Option<Point>, Failure> {
            if context.interrupted() {
                return Ok(None);
            }
            let expected = (truth.exact.event.time / step).ceil().max(1.0) as usize;
            let run = Run {
                method,
                crossing,
                step,
                epsilon,
                slots: affordable(config, instance, method, expected),
                max_steps: config.max_steps,
            };
            let answer = run.answer(instance).map_err(Failure::NoAnswer)?;
            task.advance(weight(step));
            Ok(Some(Point {
                step,
                steps: answer.steps,
                error: relative_error(&answer.theta, &truth.exact.theta),
                nfe_ratio: (answer.steps * method.stages()) as f64 / truth.evaluations as f64,
            }))
        };
    let lines: Vec<(Method, Crossing)> = Method::ALL
        .into_iter()
        .flat_map(|method| Crossing::ALL.map(|crossing| (method, crossing)))
        .collect();
    let jobs: Vec<(Method, Crossing, f64)> = lines
        .iter()
        .flat_map(|&(method, crossing)| config.steps.iter().map(move |&h| (method, crossing, h)))
        .collect();
    // Small systems one per thread; large ones one after the other, each on all threads: their memory adds up.
    let points: Result<Vec<Option<Point>>, Failure> = if problem.dim <= 1000 {
        jobs.into_par_iter().with_max_len(1).map(point).collect()
    } else {
        jobs.into_iter().map(point).collect()
    };
    let Some(points) = points?.into_iter().collect::<Option<Vec<Point>>>() else {
        return Ok(None);
    };
    let lines = lines
        .into_iter()
        .zip(points.chunks(config.steps.len()))
        .map(|((method, crossing), points)| Line {
            method,
            crossing,
            points: points.to_vec(),
            order: order(points, config.fit_from),
        })
        .collect();
    Ok(Some(Case {
        problem,
        epsilon,
        time: truth.exact.event.time,
        ode_evaluations: (truth.evaluations, truth.exact.evaluations.forward),
        lines,
    }))
}

/// Everything, if the memory that is allowed suffices; otherwise as many states as it holds.
fn affordable(config: &Config, instance: &super::Instance, method: Method, steps: usize) -> Slots {
    let state = size_of::<f64>() * instance.x0.len();
    // A record has two vectors for each stage, less the first state.
    let with_record = 2 * method.stages() * state;
    if steps.saturating_mul(with_record) <= config.kept_bytes {
        Slots::All
    } else {
        Slots::Number((config.kept_bytes / state).max(2))
    }
}

/// The least-squares slope of log error against log h, over the steps up to `fit_from`.
pub(super) fn order(points: &[Point], fit_from: f64) -> f64 {
    let logs: Vec<(f64, f64)> = points
        .iter()
        .filter(|p| p.step <= fit_from * (1.0 + 1e-12) && p.error > 0.0)
        .map(|p| (p.step.ln(), p.error.ln()))
        .collect();
    let n = logs.len() as f64;
    let mean = |f: fn(&(f64, f64)) -> f64| logs.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let variance: f64 = logs.iter().map(|p| (p.0 - x) * (p.0 - x)).sum();
    covariance / variance
}

fn formed(config: &Config, problem: Problem) -> Result<Formed, Failure> {
    let run = Run {
        method: Method::Euler,
        crossing: Crossing::Paper,
        step: config.steps.iter().copied().fold(0.0, f64::max),
        epsilon: config.epsilons.iter().copied().fold(0.0, f64::max),
        slots: Slots::All,
        max_steps: config.max_steps,
    };
    let answer = |dense| {
        let instance = Problem { dense, ..problem }.build()?;
        run.answer(&instance)
    };
    let structured = answer(false).map_err(Failure::NoAnswer)?;
    let formed = answer(true).map_err(Failure::NoAnswer)?;
    Ok(Formed {
        problem,
        steps: (structured.steps, formed.steps),
        difference: relative_error(&structured.theta, &formed.theta),
        bytes: crate::linalg::symmetric::Symmetric::bytes(problem.dim).unwrap_or(usize::MAX),
    })
}
