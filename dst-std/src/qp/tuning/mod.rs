//! `dst qp tune`: a solver for a parametric program, its budget from the even instances, its certificate from the odd ones.

mod finish;
mod measured;
mod score;

use self::finish::finish;
use self::measured::{Measured, exact_solutions, measure};
use self::score::{score_admm, score_set};
use super::admm_family::{AdmmFamily, Setting};
use super::parametric::ParametricProgram;
use super::prepared::Prepared;
use super::source;
use super::summary::{Baseline, Counts, Summary};
use crate::Failure;
use crate::progress::Progress;

/// Solver of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SolverChoice {
    /// The one with fewer multiply-adds on the tuning instances.
    Auto,
    /// The dual active set.
    ActiveSet,
    /// ADMM, tuned by its stopping time.
    Admm,
}

impl SolverChoice {
    /// All choices.
    pub const ALL: [Self; 3] = [Self::Auto, Self::ActiveSet, Self::Admm];

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::ActiveSet => "active-set",
            Self::Admm => "admm",
        }
    }
}

/// Options of [`tune_program`].
#[derive(Clone, Copy, Debug)]
pub struct ProgramTuning {
    /// Largest error of a variable.
    pub accuracy: f64,
    /// Share of late instances that is asked for.
    pub late: f64,
    /// Confidence of the certificate.
    pub confidence: f64,
    /// Solver.
    pub solver: SolverChoice,
    /// Steps or iterations per solve; from the tuning instances if none.
    pub budget: Option<u32>,
    /// True for a coarser grid and fewer steps of the tuning.
    pub quick: bool,
    /// Seed of the tuning.
    pub seed: u64,
}

/// Solver for a parametric program, with its numbers and files.
#[derive(Clone, Debug)]
pub struct TunedProgram {
    /// Numbers of the certificate.
    pub summary: Summary,
    /// True if the solver computes in double precision.
    pub double: bool,
    /// Rows that the set has room for; 0 for ADMM.
    pub capacity: usize,
    /// Name and content of every exported file.
    pub files: Vec<(String, String)>,
}

/// Tunes on the even instances and scores on the odd ones. `name` is that of the exported files.
pub fn tune_program(
    program: &ParametricProgram,
    name: &str,
    options: &ProgramTuning,
    progress: &Progress,
) -> Result<TunedProgram, Failure> {
    let no = Failure::NoAnswer;
    let mut warnings = Vec::new();
    let task = progress.task("exact solutions", program.len());
    let prepared = Prepared::new(program, 0.0).map_err(no)?;
    let exact = exact_solutions(program, &prepared, &mut warnings)?;
    task.advance(program.len());
    drop(task);
    let of = |parity: usize| -> Vec<usize> {
        let solvable = |i: &usize| i % 2 == parity && exact[*i].is_some();
        (0..program.len()).filter(solvable).collect()
    };
    let (even, odd) = (of(0), of(1));
    if even.is_empty() || odd.is_empty() {
        return Err(Failure::NoAnswer(
            "has no instance with a solution to tune on, or none to score; give more instances, or wider bounds".to_owned(),
        ));
    }
    progress.check()?;
    let set = measure(
        program,
        prepared,
        &exact,
        &even,
        options.accuracy,
        &mut warnings,
    )?;
    let cap = if options.quick { 1000 } else { 4000 };
    let admm = AdmmFamily::new(program, &exact, options.accuracy, cap);
    let scale = &set.prepared.scale;
    let mut baselines = Vec::new();
    let osqp = admm.osqp_defaults(&even, progress);
    let best = admm.best_of_grid(scale, &even, options.quick, progress);
    progress.check()?;
    let steps = if options.quick { 15 } else { 60 };
    let tuned = best.as_ref().and_then(|(setting, fixed)| {
        admm.tuned(
            scale,
            (setting, *fixed),
            &even,
            (steps, options.seed),
            progress,
        )
    });
    progress.check()?;
    // Settings beside the chosen one, each counted on the held-out instances.
    let held_out = |setting: &Setting, warm: bool| admm.counts(setting, &odd, warm, progress);
    let chosen = choose(&set, &admm, tuned.as_ref(), &even, options, progress)?;
    let rivals = [
        ("ADMM tuned by its stopping time".to_owned(), tuned.as_ref()),
        (
            match &best {
                Some((_, fixed)) => format!("ADMM, Jacobi and grid ({})", fixed.words()),
                None => "ADMM, Jacobi and grid".to_owned(),
            },
            best.as_ref().map(|b| &b.0),
        ),
        (
            "ADMM, OSQP's defaults (ρ = 0.1, α = 1.6)".to_owned(),
            osqp.as_ref(),
        ),
    ];
    for (k, (name, setting)) in rivals.into_iter().enumerate() {
        if chosen == SolverChoice::Admm && k == 0 {
            continue;
        }
        let counts = match setting {
            Some(setting) => held_out(setting, false).iter().map(|c| c.0).collect(),
            None => vec![cap + 1; odd.len()],
        };
        baselines.push(Baseline {
            name,
            looped: None,
            cold: None,
            held_out: Some(Counts::of(&counts, cap)),
        });
    }
    progress.check()?;
    let score = if chosen == SolverChoice::Admm {
        let setting = tuned.ok_or_else(|| {
            no(
                "has no ADMM that reaches the accuracy within its cap; take --solver active-set"
                    .to_owned(),
            )
        })?;
        score_admm(&admm, &setting, [&even, &odd], options, progress, cap)
            .map(|score| (score, source::admm(&admm, &setting)))
    } else {
        score_set(program, &set, &exact, &odd, options).map(|score| (score, String::new()))
    };
    let (score, admm_module) = score?;
    if chosen == SolverChoice::Admm {
        baselines.insert(
            0,
            Baseline {
                name: "active set".to_owned(),
                looped: None,
                cold: None,
                held_out: Some(score_set(program, &set, &exact, &odd, options)?.held_out),
            },
        );
    }
    progress.check()?;
    finish(
        program,
        name,
        options,
        &set,
        chosen,
        &score,
        baselines,
        warnings,
        &admm_module,
    )
}

/// The solver asked for, or the one with fewer multiply-adds in the mean and at worst.
fn choose(
    set: &Measured,
    admm: &AdmmFamily<'_>,
    tuned: Option<&Setting>,
    even: &[usize],
    options: &ProgramTuning,
    progress: &Progress,
) -> Result<SolverChoice, Failure> {
    if options.solver != SolverChoice::Auto {
        return Ok(options.solver);
    }
    let Some(tuned) = tuned.filter(|t| t.tolerance.is_some()) else {
        return Ok(SolverChoice::ActiveSet);
    };
    let cost = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        mean + values.iter().copied().fold(0.0, f64::max)
    };
    let counts = admm.counts(tuned, even, false, progress);
    progress.check()?;
    let theirs: Vec<f64> = counts
        .iter()
        .map(|c| f64::from(c.0) * admm.operations() as f64)
        .collect();
    let ours: Vec<f64> = set.tuning[0].iter().map(|s| s.operations as f64).collect();
    Ok(if cost(&theirs) < cost(&ours) {
        SolverChoice::Admm
    } else {
        SolverChoice::ActiveSet
    })
}
