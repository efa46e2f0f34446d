//! Summary, warnings and files of a tuned program.

use std::fmt::Write;

use super::measured::Measured;
use super::score::Score;
use super::{ProgramTuning, SolverChoice, TunedProgram};
use crate::Failure;
use crate::family::certificate;
use crate::format::{at_most, percent, short};
use crate::qp::parametric::ParametricProgram;
use crate::qp::summary::{Baseline, ErrorOfInputs, Instructions, Late, Summary};
use crate::qp::{cost, source};

/// Summary, warnings and files.
#[allow(clippy::too_many_arguments)]
pub(super) fn finish(
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
            at_most(bound),
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
        at_most(bound),
        percent(options.confidence),
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
