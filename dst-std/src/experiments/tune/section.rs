//! The tunings as claims, a table and a figure.

use super::{TuneConfig, TuneResults};
use crate::format::short;
use crate::report::{Axis, Cell, Plot, Section, Series, Table, Verdict, panels};
use crate::tune::{Counts, TunedMethod, TuningOutcome};

/// A median that is at most this many times another one counts as no worse.
const TIE: f64 = 1.03;

/// Returns the section of the report.
pub fn section(config: &TuneConfig, results: &TuneResults) -> Section {
    let mut section = Section::new(super::TITLE);
    section.paragraph(
        "For each problem and method, hyperparameters are tuned by a trust region over the gradients of the stopping times of 16 random \
         starts. 32 other starts choose among the best points. CMA-ES starts at the best of the same initial points. It and a grid \
         spend the same number of gradients and Hessian-vector products. All of them are counted, also those of the choice. The \
         numbers below are medians over 32 held-out starts that are evaluated once.",
    );
    claims(&mut section, results);
    section.figure(
        "tune-medians",
        "Median number of iterations on held-out starts, relative to the textbook values; the pairs are in the order of the table.",
        panels(&[figure(results)], 1),
    );
    section.table(
        "tune-medians",
        "Median number of iterations on held-out starts; in brackets, the largest",
        table(results),
    );
    for problem in &config.problems {
        let size = problem.dim.map_or(String::new(), |dim| format!(" {dim}"));
        let kind = if problem.absolute {
            "absolute"
        } else {
            "of the start"
        };
        section.setting(
            format!("{}{size}: tolerance, limit", problem.kind),
            format!("{} {kind}, {}", short(problem.tolerance), problem.max_steps),
        );
    }
    section.setting("starts to tune, choose, test", "16, 32, 32");
    section.setting("seed", config.seed);
    section.interrupted = results.interrupted;
    section
}

/// Returns the median, or infinity beyond the limit.
fn median(counts: &Counts) -> f64 {
    counts.median.map_or(f64::INFINITY, |n| n as f64)
}

fn other(found: Option<&crate::tune::ScoredValues>) -> f64 {
    found.map_or(f64::NAN, |found| median(&found.held_out))
}

fn name(outcome: &TuningOutcome) -> String {
    format!("{} ({}), {}", outcome.problem, outcome.size, outcome.method)
}

fn claims(section: &mut Section, results: &TuneResults) {
    let preconditioned = TunedMethod::Preconditioned.name();
    let pairs: Vec<&TuningOutcome> = results
        .outcomes
        .iter()
        .filter(|o| o.method != preconditioned)
        .collect();
    let needed = (0.8 * pairs.len() as f64).ceil() as usize;
    let worse = |other_of: fn(&TuningOutcome) -> f64, factor: f64, strict: bool| -> Vec<String> {
        let lost = pairs.iter().filter(|outcome| {
            let (ours, other) = (median(&outcome.tuned.held_out), other_of(outcome));
            !(ours < factor * other || (!strict && ours <= factor * other))
        });
        lost.map(|outcome| name(outcome)).collect()
    };
    let told = |lost: &[String]| match lost {
        [] => "none lost".to_owned(),
        lost => format!("lost: {}", lost.join("; ")),
    };
    let cmaes = worse(|o| other(o.cmaes.as_ref()), TIE, false);
    let grid = worse(|o| other(o.grid.as_ref()), 1.0, true);
    let won = |lost: &[String]| pairs.len() - lost.len();
    section
        .claim(
            "At the same cost, descent of the stopping time is no worse than CMA-ES with two hyperparameters (within 3 %).",
            format!("{} of {} pairs", won(&cmaes), pairs.len()),
            Verdict::of(won(&cmaes) >= needed),
            told(&cmaes),
        )
        .changed_by(format!("at least {needed} pairs"));
    section
        .claim(
            "At the same cost, it is better than a grid.",
            format!("{} of {} pairs", won(&grid), pairs.len()),
            Verdict::of(won(&grid) >= needed),
            told(&grid),
        )
        .changed_by(format!("at least {needed} pairs"));
    let many: Vec<&TuningOutcome> = results
        .outcomes
        .iter()
        .filter(|o| o.method == preconditioned)
        .collect();
    if !many.is_empty() {
        let facts: Vec<String> = many
            .iter()
            .map(|o| {
                format!(
                    "{}: tuned {}, CMA-ES {}",
                    o.problem,
                    median(&o.tuned.held_out),
                    other(o.cmaes.as_ref())
                )
            })
            .collect();
        section
            .claim(
                "With a step size per variable, it is better than CMA-ES.",
                facts.join("; "),
                Verdict::of_all(
                    many.iter()
                        .map(|o| median(&o.tuned.held_out) < other(o.cmaes.as_ref())),
                ),
                "the grid searches one step size for all variables",
            )
            .changed_by("a lower median on every problem");
    }
}

fn table(results: &TuneResults) -> Table {
    let mut table = Table::new()
        .left("problem")
        .left("method")
        .right("textbook")
        .right("tuned")
        .right("CMA-ES")
        .right("grid")
        .left("known optimum")
        .right("evaluations");
    let cell = |counts: Option<&Counts>| match counts {
        None => Cell::from("–"),
        Some(counts) => {
            let shown = |n: Option<usize>| n.map_or("not stopped".to_owned(), |n| n.to_string());
            Cell::shown_as(
                median(counts),
                format!("{} ({})", shown(counts.median), shown(counts.worst)),
            )
        }
    };
    for outcome in &results.outcomes {
        let known: Vec<String> = outcome
            .known
            .iter()
            .map(|k| format!("{} {}", k.name, median(&k.held_out)))
            .collect();
        table.row([
            format!("{} ({})", outcome.problem, outcome.size).into(),
            outcome.method.into(),
            cell(Some(&outcome.before.held_out)),
            cell(Some(&outcome.tuned.held_out)),
            cell(outcome.cmaes.as_ref().map(|found| &found.held_out)),
            cell(outcome.grid.as_ref().map(|found| &found.held_out)),
            known.join(", ").into(),
            outcome.tuned.work.total().into(),
        ]);
    }
    table
}

fn figure(results: &TuneResults) -> Plot {
    let mut plot = Plot::new("Iterations relative to the textbook values")
        .x(Axis::linear("pair of problem and method"))
        .y(Axis::log("N / N of the textbook values"));
    let medians = |o: &TuningOutcome| {
        [
            median(&o.tuned.held_out),
            other(o.cmaes.as_ref()),
            other(o.grid.as_ref()),
        ]
    };
    for (place, name) in ["tuned", "CMA-ES", "grid search"].into_iter().enumerate() {
        let points = results.outcomes.iter().enumerate().filter_map(|(i, o)| {
            // Beyond the limit, the limit.
            let limit = o.max_steps as f64;
            let ratio = medians(o)[place].min(limit) / median(&o.before.held_out).min(limit);
            ratio.is_finite().then_some((i as f64 + 1.0, ratio))
        });
        plot = plot.line(Series::new(name, points).only_markers());
    }
    plot.horizontal("textbook values", 1.0)
}
