//! Chosen solver on the held-out instances.

use super::ProgramTuning;
use super::measured::{Measured, solve};
use crate::Failure;
use crate::progress::Progress;
use crate::qp::admm_family::{AdmmFamily, Setting, error_of};
use crate::qp::parametric::ParametricProgram;
use crate::qp::prepared::{Solved, Start};
use crate::qp::summary::Counts;

/// Numbers of the chosen solver on the held-out instances.
pub(super) struct Score {
    pub(super) budget: u32,
    pub(super) held_out: Counts,
    pub(super) warm: Counts,
    pub(super) late: usize,
    pub(super) runs: usize,
    pub(super) errors: Vec<f64>,
    pub(super) operations: (f64, f64),
}

/// Budget with a quarter above the largest count of the tuning instances.
fn budget_above(largest: u32) -> u32 {
    largest + largest.div_ceil(4) + 1
}

pub(super) fn score_set(
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

pub(super) fn score_admm(
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
