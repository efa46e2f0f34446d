//! `dst qp tune`: a solver for a parametric program, its budget from the even instances, its certificate from the odd ones.

use std::fmt::Write;

use super::admm_family::{AdmmFamily, Setting, error_of};
use super::cost;
use super::kkt::KktResiduals;
use super::parametric::ParametricProgram;
use super::prepared::{Prepared, Solved, Start};
use super::source;
use super::summary::{Baseline, Counts, ErrorOfInputs, Instructions, Late, Summary};
use crate::Failure;
use crate::family::certificate;
use crate::format::short;
use crate::progress::Progress;

/// Largest residual of the optimality conditions at which a solution counts as exact.
const EXACT: f64 = 1e-9;
/// Rows that the memory has beyond the largest set of the tuning instances.
const SPARE_ROWS: usize = 4;
/// Steps of the active set that are allowed while it is measured.
const UNLIMITED: usize = 100_000;

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

/// Active set with its knobs, measured.
struct Measured {
    prepared: Prepared<f64>,
    double: bool,
    capacity: usize,
    tolerance: f64,
    /// Cold and warm solves of the tuning instances.
    tuning: [Vec<Solved>; 2],
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

/// Numbers of the chosen solver on the held-out instances.
struct Score {
    budget: u32,
    held_out: Counts,
    warm: Counts,
    late: usize,
    runs: usize,
    errors: Vec<f64>,
    operations: (f64, f64),
}

/// Solves all instances in double precision and checks the conditions of optimality.
fn exact_solutions(
    program: &ParametricProgram,
    prepared: &Prepared<f64>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Option<Vec<f64>>>, Failure> {
    let all: Vec<usize> = (0..program.len()).collect();
    let solved = prepared
        .solve_all(
            program,
            &all,
            Start::Cold,
            prepared.full_capacity(),
            UNLIMITED,
        )
        .map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let exact: Vec<Option<Vec<f64>>> = solved
        .into_iter()
        .enumerate()
        .map(|(i, found)| {
            let residuals = KktResiduals::of(program, i, &found.variables, &found.multipliers);
            let good = found.status.is_solved() && residuals.largest() <= EXACT;
            good.then_some(found.variables)
        })
        .collect();
    let missing: Vec<String> = (0..exact.len())
        .filter(|&i| exact[i].is_none())
        .map(|i| i.to_string())
        .collect();
    if !missing.is_empty() {
        let few: Vec<&str> = missing.iter().take(8).map(String::as_str).collect();
        warnings.push(format!(
            "{} of {} instances have no solution that satisfies the conditions of optimality to {EXACT:e}, and are left out: {}{}",
            missing.len(),
            exact.len(),
            few.join(", "),
            if missing.len() > few.len() { ", …" } else { "" }
        ));
    }
    Ok(exact)
}

/// Finds precision, tolerance and capacity on the tuning instances.
fn measure(
    program: &ParametricProgram,
    prepared: Prepared<f64>,
    exact: &[Option<Vec<f64>>],
    even: &[usize],
    accuracy: f64,
    warnings: &mut Vec<String>,
) -> Result<Measured, Failure> {
    let failed = |e: dst_core::Error| Failure::NoAnswer(e.to_string());
    let error = |solves: &[Solved]| {
        let each = even.iter().zip(solves).map(|(&i, found)| match &exact[i] {
            Some(exact) if found.status.is_solved() => {
                error_of(program, i, &found.variables, exact)
            }
            _ => f64::INFINITY,
        });
        each.fold(0.0, f64::max)
    };
    let full = prepared.full_capacity();
    let run = |double: bool, tolerance: f64, capacity: usize| {
        [Start::Cold, Start::Warm].map(|start| {
            solve(
                program, &prepared, double, tolerance, even, start, capacity, UNLIMITED,
            )
            .map_err(failed)
        })
    };
    let both =
        |double: bool, tolerance: f64, capacity: usize| -> Result<[Vec<Solved>; 2], Failure> {
            let [cold, warm] = run(double, tolerance, capacity);
            Ok([cold?, warm?])
        };
    // Single precision if it is accurate enough.
    let single = both(false, 0.0, full)?;
    let least = single.iter().map(|s| error(s)).fold(0.0, f64::max);
    let double = least > accuracy;
    if double {
        warnings.push(format!(
            "single precision reaches an error of {} on the tuning instances, not {}: the solver is in double precision",
            short(least),
            short(accuracy)
        ));
    }
    // A looser tolerance saves steps; the first that is accurate enough.
    let mut tolerance = 0.0;
    for factor in [1.0, 0.1, 0.01] {
        let candidate = (factor * accuracy).min(0.1);
        let solves = both(double, candidate, full)?;
        if solves.iter().all(|s| error(s) <= 0.5 * accuracy) {
            tolerance = candidate;
            break;
        }
    }
    let unbounded = both(double, tolerance, full)?;
    let largest = unbounded
        .iter()
        .flatten()
        .map(Solved::active)
        .max()
        .unwrap_or(0);
    let mut capacity = (largest + SPARE_ROWS).min(full);
    let mut tuning = both(double, tolerance, capacity)?;
    while capacity < full && !tuning.iter().flatten().all(|s| s.status.is_solved()) {
        capacity = (2 * capacity).min(full);
        tuning = both(double, tolerance, capacity)?;
    }
    Ok(Measured {
        prepared,
        double,
        capacity,
        tolerance,
        tuning,
    })
}

/// Solves in either precision; a program that overflows in single precision is never solved there.
#[allow(clippy::too_many_arguments)]
fn solve(
    program: &ParametricProgram,
    prepared: &Prepared<f64>,
    double: bool,
    tolerance: f64,
    chosen: &[usize],
    start: Start,
    capacity: usize,
    budget: usize,
) -> Result<Vec<Solved>, dst_core::Error> {
    if double {
        let prepared = Prepared {
            tolerance,
            ..prepared.clone()
        };
        return prepared.solve_all(program, chosen, start, capacity, budget);
    }
    match prepared.cast::<f32>(tolerance) {
        Some(prepared) => prepared.solve_all(program, chosen, start, capacity, budget),
        None => Ok(vec![Solved::overflow(); chosen.len()]),
    }
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

/// Budget with a quarter above the largest count of the tuning instances.
fn budget_above(largest: u32) -> u32 {
    largest + largest.div_ceil(4) + 1
}

fn score_set(
    program: &ParametricProgram,
    set: &Measured,
    exact: &[Option<Vec<f64>>],
    odd: &[usize],
    options: &ProgramTuning,
) -> Result<Score, Failure> {
    let largest = set
        .tuning
        .iter()
        .flatten()
        .map(|s| s.steps)
        .max()
        .unwrap_or(0);
    let budget = options
        .budget
        .unwrap_or_else(|| budget_above(largest as u32));
    let run = |start, budget| {
        solve(
            program,
            &set.prepared,
            set.double,
            set.tolerance,
            odd,
            start,
            set.capacity,
            budget,
        )
        .map_err(|e| Failure::NoAnswer(e.to_string()))
    };
    let solves = [
        run(Start::Cold, budget as usize)?,
        run(Start::Warm, budget as usize)?,
    ];
    let count = |found: &Solved| match found.status.is_solved() {
        true => found.steps as u32,
        false => budget + 1,
    };
    let [cold, warm] = solves.each_ref().map(|s| {
        let counts: Vec<u32> = s.iter().map(count).collect();
        counts
    });
    let late = cold
        .iter()
        .zip(&warm)
        .filter(|(c, w)| **c > budget || **w > budget)
        .count();
    let errors = solves.iter().flat_map(|solves| {
        odd.iter().zip(solves).filter_map(|(&i, found)| {
            let exact = exact[i].as_ref()?;
            Some(error_of(program, i, &found.variables, exact))
        })
    });
    let operations: Vec<f64> = solves[0].iter().map(|s| s.operations as f64).collect();
    let mean = operations.iter().sum::<f64>() / operations.len() as f64;
    // A step with a full set: a row of the factor, two substitutions, W·λ, and a row taken out.
    let (m, c) = (program.rows as f64, set.capacity as f64);
    let first = (program.variables * (program.variables + program.rows)) as f64;
    let worst = first + f64::from(budget) * (m * c + 3.0 * c * c);
    Ok(Score {
        budget,
        held_out: Counts::of(&cold, budget),
        warm: Counts::of(&warm, budget),
        late,
        runs: odd.len(),
        errors: errors.collect(),
        operations: (mean, worst),
    })
}

fn score_admm(
    admm: &AdmmFamily<'_>,
    setting: &Setting,
    [even, odd]: [&[usize]; 2],
    options: &ProgramTuning,
    progress: &Progress,
    cap: u32,
) -> Result<Score, Failure> {
    let most = |counts: Vec<(u32, f64)>| counts.iter().map(|c| c.0).max().unwrap_or(cap);
    let largest = most(admm.counts(setting, even, false, progress))
        .max(most(admm.counts(setting, even, true, progress)));
    let budget = options
        .budget
        .unwrap_or_else(|| budget_above(largest))
        .min(cap);
    let [cold, warm] = [false, true].map(|warm| admm.counts(setting, odd, warm, progress));
    progress.check()?;
    let late = cold
        .iter()
        .zip(&warm)
        .filter(|(c, w)| c.0 > budget || w.0 > budget)
        .count();
    let counts = |found: &[(u32, f64)]| {
        let counts: Vec<u32> = found.iter().map(|c| c.0).collect();
        Counts::of(&counts, budget)
    };
    let operations = admm.operations() as f64;
    Ok(Score {
        budget,
        held_out: counts(&cold),
        warm: counts(&warm),
        late,
        runs: odd.len(),
        operations: (
            operations * counts(&cold).mean,
            operations * f64::from(budget),
        ),
        errors: cold.iter().chain(&warm).map(|c| c.1).collect(),
    })
}

/// Summary, warnings and files.
#[allow(clippy::too_many_arguments)]
fn finish(
    program: &ParametricProgram,
    name: &str,
    options: &ProgramTuning,
    set: &Measured,
    chosen: SolverChoice,
    score: &Score,
    baselines: Vec<Baseline>,
    mut warnings: Vec<String>,
    admm_module: &str,
) -> Result<TunedProgram, Failure> {
    let bound = certificate::bound(score.runs, score.late, options.confidence)
        .ok_or_else(|| Failure::NoAnswer("--confidence must be between 0 and 1".to_owned()))?;
    if bound > options.late {
        let needed =
            certificate::runs_needed(options.late, options.confidence).unwrap_or(usize::MAX);
        warnings.push(format!(
            "{} held-out instances with {} late ones show a share of late solves of at most {}, not {}; that takes {needed} without a late one",
            score.runs,
            score.late,
            short(bound),
            short(options.late)
        ));
    }
    let errors = ErrorOfInputs::of(&score.errors);
    if errors.max > options.accuracy || errors.max.is_nan() {
        warnings.push(format!(
            "the largest error on the held-out instances is {}, above {}",
            short(errors.max),
            short(options.accuracy)
        ));
    }
    let admm = chosen == SolverChoice::Admm;
    let double = set.double || admm;
    let entries = program.variables + program.rows;
    let (n, m) = (program.variables, program.rows);
    let constants = if admm {
        n * n + n * m + n + m + 1
    } else {
        set.prepared.numbers()
    };
    let width = if double { 8 } else { 4 };
    let ram = if admm {
        width * (3 * (n + m) + 2 * (2 * n + m))
    } else if double {
        set.prepared.buffers(set.capacity).bytes()
    } else {
        set.prepared
            .cast::<f32>(0.0)
            .map_or(0, |p| p.buffers(set.capacity).bytes())
    };
    let steps = score.held_out.mean;
    let estimate = |operations, steps| cost::instructions(entries, operations, steps, double);
    let summary = Summary {
        solver: if admm { "admm" } else { "active set" }.to_owned(),
        budget: score.budget,
        accuracy: options.accuracy,
        late: Late {
            bound,
            confidence: options.confidence,
            runs: score.runs,
            late_runs: score.late,
        },
        looped: None,
        cold: None,
        held_out: Some(score.held_out),
        held_out_warm: Some(score.warm),
        input_error: errors,
        baselines,
        flash: cost::flash(constants, double),
        ram,
        instructions: Instructions {
            mean: estimate(score.operations.0, steps),
            budget: estimate(score.operations.1, f64::from(score.budget)),
        },
        warnings,
    };
    let mut head = format!(
        "{} variables, {} rows; {}, at most {} {} per solve.",
        n,
        m,
        if admm { "ADMM" } else { "dual active set" },
        score.budget,
        if admm { "iterations" } else { "steps" }
    );
    let _ = write!(
        head,
        "\nShare of late solves at most {} with {} % confidence ({} of {} held-out instances were late).\nError on them at most {}. \
         Another distribution of q, l and u is not covered.\nMemory: {} bytes; constants: {} bytes.",
        short(bound),
        short(100.0 * options.confidence),
        score.late,
        score.runs,
        short(errors.max),
        ram,
        constants * width
    );
    let certificate =
        serde_json::to_string_pretty(&summary).map_err(|e| Failure::NoAnswer(e.to_string()))?;
    let mut files = if admm {
        vec![(format!("{name}.rs"), source::with_head(&head, admm_module))]
    } else {
        source::active_set(
            name,
            &head,
            &set.prepared,
            set.double,
            set.capacity,
            set.tolerance,
            score.budget,
        )
        .to_vec()
    };
    files.push((format!("{name}_certificate.json"), certificate + "\n"));
    Ok(TunedProgram {
        summary,
        double,
        capacity: if admm { 0 } else { set.capacity },
        files,
    })
}
