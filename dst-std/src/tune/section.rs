//! The figure of a tuning: N along the rounds, and N on held-out starts before and after.

use super::{Counts, TuningOutcome};
use crate::report::{Axis, Plot, Series, panels};

/// Returns an SVG document with two panels.
pub fn picture(outcome: &TuningOutcome) -> String {
    panels(&[rounds(outcome), held_out(outcome)], 2).to_svg()
}

/// Plots N along the rounds.
fn rounds(outcome: &TuningOutcome) -> Plot {
    let limit = outcome.max_steps as f64;
    let training = outcome.rounds.iter().map(|r| (r.round as f64, r.training));
    let mut plot = Plot::new(format!(
        "{} on {}: iterations along the way",
        outcome.method, outcome.problem
    ))
    .x(Axis::linear("round"))
    .y(Axis::log("N"))
    .line(Series::new("training starts, mean", training).markers());
    for (name, counts) in others(outcome) {
        if let Some(median) = counts.median {
            plot = plot.horizontal(format!("{name}, held-out median"), median as f64);
        }
    }
    if outcome.rounds.iter().any(|r| r.training >= limit) {
        plot = plot.horizontal("limit; above it, extrapolated", limit);
    }
    plot
}

/// Plots N on the held-out starts, in ascending order.
fn held_out(outcome: &TuningOutcome) -> Plot {
    let limit = outcome.max_steps as f64;
    let sorted = |counts: &Counts| {
        let mut steps: Vec<f64> = counts
            .steps
            .iter()
            .map(|n| n.map_or(limit, |n| n as f64))
            .collect();
        steps.sort_by(f64::total_cmp);
        let share = |(i, n)| (100.0 * (i as f64 + 1.0) / counts.steps.len() as f64, n);
        steps.into_iter().enumerate().map(share).collect::<Vec<_>>()
    };
    let mut plot = Plot::new("Held-out starts, the quickest first")
        .x(Axis::linear("% of starts").range(0.0, 100.0))
        .y(Axis::log("N"))
        .line(Series::new("tuned", sorted(&outcome.tuned.held_out)).markers())
        .line(Series::new("before", sorted(&outcome.before.held_out)).markers());
    for (name, counts) in others(outcome) {
        plot = plot.line(Series::new(name, sorted(counts)).dashed());
    }
    if outcome.before.held_out.reached < 1.0 || outcome.tuned.held_out.reached < 1.0 {
        plot = plot.horizontal("limit", limit);
    }
    plot
}

/// Returns the held-out counts of CMA-ES, of the grid search and of the known optima.
fn others(outcome: &TuningOutcome) -> impl Iterator<Item = (&'static str, &Counts)> {
    let cmaes = outcome
        .cmaes
        .iter()
        .map(|found| ("CMA-ES", &found.held_out));
    let grid = outcome.grid.iter();
    let grid = grid.map(|found| ("grid search", &found.held_out));
    let known = outcome.known.iter().map(|k| (k.name, &k.held_out));
    cmaes.chain(grid).chain(known)
}
