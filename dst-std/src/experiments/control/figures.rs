//! The figures of the control experiment.

use super::section::name;
use super::{Findings, TickSummary};
use crate::report::{Axis, Plot, Section, Series, panels};

/// Points of a curve; more are not seen.
const POINTS: usize = 300;

/// Adds all figures of a plant; the first opens the section.
pub(super) fn figures(section: &mut Section, findings: &Findings) {
    let plant = findings.plant;
    section.figure(
        name(findings, "deadline"),
        format!("{plant}: share of the ticks of the closed loop that take more operations than a deadline allows"),
        deadline(findings),
    );
    section.figure(
        name(findings, "histogram"),
        format!("{plant}: steps or iterations, and operations, of the ticks of the closed loop"),
        panels(&histograms(findings), 2),
    );
    section.figure(
        name(findings, "loop"),
        format!(
            "{plant}: one run in closed loop, warm-started; solid: first state, dashed: first input"
        ),
        panels(&traces(findings), 2),
    );
}

/// The share of ticks that take more than k operations, against k. A line ends where the last tick is done.
fn deadline(findings: &Findings) -> Plot {
    let mut plot = Plot::new(format!("{}: ticks that miss a deadline", findings.plant))
        .size(640.0, 300.0)
        .x(Axis::log("deadline, operations"))
        .y(Axis::log("share of ticks"))
        .legend_right();
    for (i, row) in findings.rows.iter().enumerate() {
        let Some(score) = &row.scored else { continue };
        let series = Series::new(row.name, shares(&score.looped)).stairs();
        plot = plot.line(if i == 5 { series.grey() } else { series });
    }
    plot
}

fn shares(ticks: &TickSummary) -> Vec<(f64, f64)> {
    let mut sorted: Vec<usize> = ticks.each.iter().map(|e| e.1).collect();
    sorted.sort_unstable();
    let n = sorted.len();
    let stride = n.div_ceil(POINTS).max(1);
    // The tail in full, the rest thinned out.
    let kept = |i: &usize| i.is_multiple_of(stride) || *i + POINTS / 3 > n;
    let points = (0..n).filter(kept);
    points
        .map(|i| (sorted[i].max(1) as f64, (n - i) as f64 / n as f64))
        .collect()
}

fn histograms(findings: &Findings) -> Vec<Plot> {
    let rows = findings.rows.iter().take(2);
    rows.filter_map(|row| Some((row, row.scored.as_ref()?)))
        .flat_map(|(row, score)| {
            let each = &score.looped.each;
            let counts: Vec<f64> = each.iter().map(|e| f64::from(e.0)).collect();
            let operations = |unit: f64| each.iter().map(|e| e.1 as f64 / unit).collect();
            // Panels with the same label share their axis, so the two solvers have labels of their own.
            let (count, cost, values): (_, _, Vec<f64>) = match row.name {
                "active set" => ("steps", "operations", operations(1.0)),
                _ => ("iterations", "thousand operations", operations(1e3)),
            };
            let width = |values: &[f64]| {
                let least = values.iter().copied().fold(f64::INFINITY, f64::min);
                values.iter().copied().fold(0.0, f64::max) - least
            };
            let bins = (width(&counts) as usize).clamp(1, 50);
            [(count, counts, bins), (cost, values, 50)].map(|(what, values, bins)| {
                Plot::new(row.name)
                    .size(300.0, 200.0)
                    .x(Axis::linear(what))
                    .y(Axis::linear("ticks"))
                    .histogram("", &values, bins)
            })
        })
        .collect()
}

fn traces(findings: &Findings) -> Vec<Plot> {
    let line = |values: &[f64]| {
        let points = values.iter().enumerate();
        Series::new("", points.map(|(k, &v)| (k as f64, v)))
    };
    let plots = findings.traces.iter().flat_map(|trace| {
        let counts: Vec<f64> = trace.counts.iter().map(|&c| f64::from(c)).collect();
        [
            Plot::new(trace.name)
                .size(300.0, 180.0)
                .x(Axis::linear("tick"))
                .y(Axis::linear("state, input"))
                .line(line(&trace.state))
                .line(line(&trace.input).dashed()),
            Plot::new(trace.name)
                .size(300.0, 180.0)
                .x(Axis::linear("tick"))
                .y(Axis::linear("steps or iterations"))
                .line(line(&counts).stairs()),
        ]
    });
    plots.collect()
}
