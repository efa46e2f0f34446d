//! Active set on the tuning instances: exact solutions, then precision, tolerance and capacity.

use crate::Failure;
use crate::format::short;
use crate::qp::admm_family::error_of;
use crate::qp::kkt::KktResiduals;
use crate::qp::parametric::ParametricProgram;
use crate::qp::prepared::{Prepared, Solved, Start};

/// Largest residual of the optimality conditions at which a solution counts as exact.
const EXACT: f64 = 1e-9;
/// Rows that the memory has beyond the largest set of the tuning instances.
const SPARE_ROWS: usize = 4;
/// Steps of the active set that are allowed while it is measured.
const UNLIMITED: usize = 100_000;

/// Active set with its knobs, measured.
pub(super) struct Measured {
    pub(super) prepared: Prepared<f64>,
    pub(super) double: bool,
    pub(super) capacity: usize,
    pub(super) tolerance: f64,
    /// Cold and warm solves of the tuning instances.
    pub(super) tuning: [Vec<Solved>; 2],
}

/// Solves all instances in double precision and checks the conditions of optimality.
pub(super) fn exact_solutions(
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
pub(super) fn measure(
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
pub(super) fn solve(
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
