//! The sweep over dimension, tolerance and step size.

use dst_core::Crossing;
use serde::Serialize;

use crate::experiments::{Context, Failure, common};
use crate::parallel::ranks::{self, try_large_instances};
use crate::parallel::{piece, try_instances};
use crate::progress::Counter;
use crate::validation::{
    Basis, GradientRun, Instance, InstanceSpec, IntegratorName, Slots, TRUTH_RTOL, USUAL_RTOL,
    relative_error, truth,
};

/// All that the experiment depends on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidationConfig {
    /// The instances.
    pub problems: Vec<InstanceSpec>,
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
    /// The step limit of a run.
    pub max_steps: usize,
    /// An instance that is also run with its matrix formed.
    pub formed: Option<InstanceSpec>,
}

impl ValidationConfig {
    /// The paper's sweep, or a small part of it.
    pub fn new(quick: bool, seed: u64) -> Self {
        let problem = |dim, basis| InstanceSpec {
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
            formed: Some(InstanceSpec {
                dense: true,
                ..formed
            }),
        }
    }
}

/// All that the experiment finds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidationResults {
    /// One for each instance and ε.
    pub cases: Vec<Case>,
    /// The instance with its matrix formed.
    pub formed: Option<Formed>,
    /// The reason why that could not be done, if it could not.
    pub not_formed: Option<String>,
    /// True if it was cut short.
    pub interrupted: bool,
}

/// One instance with one ε.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Case {
    /// The instance.
    pub problem: InstanceSpec,
    /// ε
    pub epsilon: f64,
    /// T of the adaptive solver.
    pub time: f64,
    /// Evaluations of a forward solve at the usual tolerance, and at the tight one.
    pub ode_evaluations: (usize, usize),
    /// Twelve: integrators by crossings.
    pub lines: Vec<ErrorCurve>,
}

/// One integrator with one crossing.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ErrorCurve {
    /// The integrator.
    pub method: IntegratorName,
    /// The crossing.
    #[serde(serialize_with = "crate::validation::serialize_crossing")]
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
    /// Relative error of the gradient with respect to θ.
    pub error: f64,
    /// Evaluations of the forward run over those of the adaptive solver.
    pub nfe_ratio: f64,
}

piece!(Point {
    step,
    steps,
    error,
    nfe_ratio
});

/// The same gradient by the structured and by the formed matrix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Formed {
    /// The instance.
    pub problem: InstanceSpec,
    /// N of the structured matrix, and of the formed one.
    pub steps: (usize, usize),
    /// Between the two gradients.
    pub difference: f64,
    /// Bytes of the stored half.
    pub bytes: usize,
}

/// Runs everything; what is finished when the user interrupts is kept.
pub fn run(config: &ValidationConfig, context: &Context) -> Result<ValidationResults, Failure> {
    let mut results = ValidationResults {
        cases: Vec::new(),
        formed: None,
        not_formed: None,
        interrupted: false,
    };
    for &problem in &config.problems {
        let name = format!("validation, d = {}", problem.dim);
        let parts: usize = jobs(config).into_iter().map(weight).sum();
        let task = context.progress.task(name, config.epsilons.len() * parts);
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
    match config.formed {
        Some(_) if context.interrupted() => results.interrupted = true,
        Some(problem) => match formed(config, problem) {
            Ok(formed) => results.formed = Some(formed),
            // What is finished is worth more than this.
            Err(reason) => results.not_formed = Some(reason),
        },
        None => {}
    }
    Ok(results)
}

/// A gradient to be computed: integrator, crossing and h.
type Job = (IntegratorName, Crossing, f64);

/// Those of one case, line after line.
fn jobs(config: &ValidationConfig) -> Vec<Job> {
    let lines = IntegratorName::ALL
        .into_iter()
        .flat_map(|method| Crossing::ALL.map(|crossing| (method, crossing)));
    lines
        .flat_map(|(method, crossing)| config.steps.iter().map(move |&h| (method, crossing, h)))
        .collect()
}

/// Parts of the progress, in proportion to the work: short steps take long.
fn weight((method, _, h): Job) -> usize {
    method.stages() * (1.0 / h) as usize
}

/// All gradients of one instance and one ε; `None` if interrupted.
fn case(
    config: &ValidationConfig,
    problem: InstanceSpec,
    instance: &Instance,
    epsilon: f64,
    context: &Context,
    task: &Counter,
) -> Result<Option<Case>, Failure> {
    // Small systems one per thread, which share the memory; large ones one after the other, each on all threads.
    let side_by_side = problem.dim <= 1000;
    let share = if side_by_side {
        config.kept_bytes / ranks::on_this_machine() / context.threads.max(1)
    } else {
        config.kept_bytes / ranks::on_this_machine()
    };
    let state_bytes = size_of::<f64>() * instance.x0.len();
    let tolerances = (config.truth_rtol, config.usual_rtol);
    // Its evaluations are reported, and depend on its slots: these do not depend on the ranks.
    let slots = config.kept_bytes / state_bytes;
    let truth = truth(instance, epsilon, tolerances, slots)
        .map_err(|error| Failure::NoAnswer(format!("the adaptive solver: {error}")))?;
    let point = |job: Job| -> Result<Option<Point>, Failure> {
        let (method, crossing, step) = job;
        if context.interrupted() {
            return Ok(None);
        }
        let expected = (truth.exact.event.time / step).ceil().max(1.0) as usize;
        let run = GradientRun {
            method,
            crossing,
            step,
            epsilon,
            slots: affordable(share, state_bytes, method, expected),
            max_steps: config.max_steps,
        };
        let answer = run.answer(instance).map_err(Failure::NoAnswer)?;
        task.advance(weight(job));
        Ok(Some(Point {
            step,
            steps: answer.steps,
            error: relative_error(&answer.theta, &truth.exact.theta),
            nfe_ratio: (answer.steps * method.stages()) as f64 / truth.evaluations as f64,
        }))
    };
    let jobs = jobs(config);
    let points: Result<Vec<Option<Point>>, Failure> = if side_by_side {
        try_instances(jobs.len(), |place| point(jobs[place]))
    } else {
        try_large_instances(jobs.len(), |place| point(jobs[place]))
    };
    let Some(points) = points?.into_iter().collect::<Option<Vec<Point>>>() else {
        return Ok(None);
    };
    let of_lines = jobs
        .chunks(config.steps.len())
        .zip(points.chunks(config.steps.len()));
    let lines = of_lines
        .map(|(jobs, points)| ErrorCurve {
            method: jobs[0].0,
            crossing: jobs[0].1,
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
fn affordable(bytes: usize, state_bytes: usize, method: IntegratorName, steps: usize) -> Slots {
    // A record has two vectors for each stage, less the first state.
    let with_record = 2 * method.stages() * state_bytes;
    if steps.saturating_mul(with_record) <= bytes {
        Slots::All
    } else {
        let slot_bytes = method.vectors_per_slot() * state_bytes;
        Slots::Number((bytes / slot_bytes).max(2))
    }
}

/// The order of the error over the steps up to `fit_from`; NaN if an error is not a positive number, or there are fewer than three.
fn order(points: &[Point], fit_from: f64) -> f64 {
    let fitted = points.iter().filter(|p| p.step <= fit_from * (1.0 + 1e-12));
    let fitted: Vec<(f64, f64)> = fitted.map(|p| (p.step, p.error)).collect();
    if fitted.len() < 3 || fitted.iter().any(|p| !libm::log(p.1).is_finite()) {
        return f64::NAN;
    }
    common::order(&fitted)
}

fn formed(config: &ValidationConfig, problem: InstanceSpec) -> Result<Formed, String> {
    let run = GradientRun {
        method: IntegratorName::Euler,
        crossing: Crossing::Paper,
        step: config.steps.iter().copied().fold(0.0, f64::max),
        epsilon: config.epsilons.iter().copied().fold(0.0, f64::max),
        slots: Slots::All,
        max_steps: config.max_steps,
    };
    let answer = |dense| {
        let instance = InstanceSpec { dense, ..problem }.build()?;
        run.answer(&instance)
    };
    let structured = answer(false)?;
    let formed = answer(true)?;
    Ok(Formed {
        problem,
        steps: (structured.steps, formed.steps),
        difference: relative_error(&structured.theta, &formed.theta),
        bytes: crate::linalg::symmetric::Symmetric::bytes(problem.dim).unwrap_or(usize::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_power_law_is_its_power() {
        let points = |error: fn(f64) -> f64| {
            [0.4, 0.05, 0.03, 0.02].map(|step| Point {
                step,
                steps: 1,
                error: error(step),
                nfe_ratio: 1.0,
            })
        };
        let cubic = order(&points(|h| 7.0 * h * h * h), 0.05);
        assert!((cubic - 3.0).abs() < 1e-12, "{cubic}");
        assert!(order(&points(|_| f64::NAN), 0.05).is_nan());
        assert!(order(&points(|h| if h == 0.03 { 0.0 } else { h }), 0.05).is_nan());
        assert!(
            order(&points(|h| h), 0.03).is_nan(),
            "two points are no fit"
        );
    }
}
