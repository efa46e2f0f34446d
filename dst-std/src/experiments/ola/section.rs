//! The figures and tables of the experiment.

use super::OlaConfig;
use super::claims::{claims, outcome};
use crate::experiments::common::list;
use crate::format::short;
use crate::ola::{IterationCost, OlaComparison, SvmComparison};
use crate::report::{Axis, Cell, Plot, Section, Series, Table, panels};

/// Curves of the figure of gaps, with their colours; grey ones are context.
const CURVES: [(&str, Option<usize>); 10] = [
    ("GD", None),
    ("HB", None),
    ("NAG", None),
    ("NAG-SC", None),
    ("Adagrad", None),
    ("Adam", Some(6)),
    ("Adam-HD", Some(4)),
    ("Adam-OLA", Some(0)),
    ("G-OLA", Some(2)),
    ("N-OLA", Some(1)),
];

/// Gaps outside this range are drawn at its edge: below is rounding, above is divergence.
const LOWEST: f64 = 1e-10;
const HIGHEST: f64 = 1e5;

/// Returns the report of the experiment.
pub fn section(config: &OlaConfig, results: &OlaComparison) -> Section {
    let mut section = Section::new(super::TITLE);
    section.size = format!(
        "{}; at most {} iterations",
        config.datasets.join(", "),
        config.limits.iterations
    );
    let all = &results.comparisons;
    claims(&mut section, all);
    paragraphs(&mut section, all);
    section.paragraph(times(&results.costs));
    section.figure(
        "ola-gap",
        "f − f* against iterations, each method with its best setting. Grey: GD, HB, NAG, NAG-SC, Adagrad.",
        panels(&all.iter().map(gap_plot).collect::<Vec<_>>(), 2),
    );
    section.figure(
        "ola-sensitivity",
        "The final gap against the initial learning rate α₀. Adam-HD with its best rate for each α₀. Runs at the upper edge diverged.",
        panels(&all.iter().map(sensitivity_plot).collect::<Vec<_>>(), 2),
    );
    section.table(
        "ola-iterations",
        "Iterations to ‖∇f‖_∞ < tolerance with the best setting, or the gap f − f* at the end.",
        best_table(all),
    );
    section.table(
        "ola-rates",
        "The same for every α₀ of the grid. * left the finite numbers or ended above f(x0).",
        rates_table(all),
    );
    section.table(
        "ola-cost",
        "The cost of an iteration. A product is one with Z or its transpose; the Hessian-vector products of N-OLA visit only the rows below the margin.",
        cost_table(&results.costs),
    );
    section.table("ola-problems", "The problems.", problem_table(all));
    section.data("ola-runs", "Every run.", runs_table(all));
    section.data(
        "ola-gap-curves",
        "The curves of the figure.",
        curves_table(all),
    );
    settings(&mut section, config);
    section
}

fn paragraphs(section: &mut Section, all: &[SvmComparison]) {
    section.paragraph(
        "f(w) = ½ Σ max(0, 1 − z·w)² over the examples, z = y·(x, −1). Iterations count tests of the gradient, the last \
         included. The best setting of a method is the one with the fewest iterations, else the lowest f.",
    );
    section.paragraph(
        "Adam-OLA is Algorithm 2 of the paper, unchanged, with the parameters of its Table 1. Its sensitivity S = \
         ∇f(x₊)·d/(f(x₊) − f(x)) has no bound: near the minimum along d the denominator vanishes and α − ηS jumps anywhere, also \
         below zero. G-OLA uses the dimensionless α·S on a logarithmic scale and clips it. N-OLA sets the sensitivities to α, β₁ and a \
         momentum to zero by one Newton step. It is a preconditioned nonlinear conjugate gradient method with two Hessian-vector \
         products per iteration.",
    );
    let made_up: Vec<&str> = all
        .iter()
        .filter(|c| c.synthetic)
        .map(|c| c.name.as_str())
        .collect();
    if !made_up.is_empty() {
        section.paragraph(format!(
            "No files for {}: synthetic sets of the same shape were used instead. Set DST_DATA to the folder with the \
             LIBSVM files.",
            made_up.join(", ")
        ));
    }
}

/// Returns the times per iteration as text: they differ from run to run, so they are not in the files.
pub fn times(costs: &[IterationCost]) -> String {
    let of_set = |costs: &[IterationCost]| {
        let times = costs
            .iter()
            .map(|c| format!("{} {:.0}", c.method, c.microseconds));
        let times: Vec<String> = times.collect();
        let name = costs.first().map_or("", |cost| cost.dataset.as_str());
        format!("{name}: {}", times.join(", "))
    };
    let sets: Vec<String> = costs
        .chunk_by(|a, b| a.dataset == b.dataset)
        .map(of_set)
        .collect();
    format!(
        "Microseconds per iteration on this machine, one run after the other. {}.",
        sets.join("; ")
    )
}

fn title(comparison: &SvmComparison) -> String {
    let made_up = if comparison.synthetic {
        " (synthetic)"
    } else {
        ""
    };
    format!("{}{made_up}", comparison.name)
}

fn gap_plot(c: &SvmComparison) -> Plot {
    let mut plot = Plot::new(title(c))
        .x(Axis::linear("iteration"))
        .y(Axis::log("f − f*").range(LOWEST, 2.0 * c.gap(c.f0)));
    for (name, colour) in CURVES {
        if let Some(run) = c.best(name) {
            // More points than this are not visible.
            let stride = run.trace.len().div_ceil(300).max(1);
            let points = run.trace.iter().enumerate().step_by(stride);
            let series = Series::new(name, points.map(|(k, &f)| (k as f64, c.gap(f))));
            plot = plot.line(match colour {
                Some(colour) => series.colour(colour),
                None => series.grey().thin(),
            });
        }
    }
    plot
}

fn sensitivity_plot(c: &SvmComparison) -> Plot {
    let mut plot = Plot::new(title(c))
        .x(Axis::log("α₀"))
        .y(Axis::log("f − f* at the end").range(LOWEST, HIGHEST));
    let names = c.methods().into_iter();
    let names = names.filter(|name| {
        name.starts_with("Adam") || name.contains("OLA") || name.starts_with("window")
    });
    for name in names {
        let colour = CURVES
            .iter()
            .find(|(n, _)| *n == name)
            .and_then(|(_, colour)| *colour);
        let mut points: Vec<(f64, f64)> = Vec::new();
        for run in c.of(&name) {
            let at_rate = c.of(&name).filter(|other| other.alpha0 == run.alpha0);
            if let Some(best) = at_rate.min_by(|a, b| a.order(b)) {
                points.push((run.alpha0, c.gap(best.f).clamp(LOWEST, HIGHEST)));
            }
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup();
        let series = Series::new(name, points).markers();
        plot = plot.line(match colour {
            Some(colour) => series.colour(colour),
            None => series.colour(5).dashed(),
        });
    }
    plot
}

/// Makes a table with a row per method and a column per data set.
fn best_table(all: &[SvmComparison]) -> Table {
    let mut table = Table::new().left("method");
    for c in all {
        table = table.right(title(c)).left("setting");
    }
    for name in all.first().map(SvmComparison::methods).unwrap_or_default() {
        let mut row: Vec<Cell> = vec![name.as_str().into()];
        for c in all {
            match c.best(&name) {
                Some(run) => {
                    let parameters = run.method.parameters();
                    let comma = if parameters.is_empty() { "" } else { ", " };
                    row.push(outcome(c, run).into());
                    row.push(format!("α = {}{comma}{parameters}", short(run.alpha0)).into());
                }
                None => row.extend(["".into(), "".into()]),
            }
        }
        table.row(row);
    }
    table
}

/// Makes a table with a row per data set and method, and a column per α₀.
fn rates_table(all: &[SvmComparison]) -> Table {
    let mut table = Table::new().left("data").left("method");
    let Some(first) = all.first() else {
        return table;
    };
    let rates: Vec<f64> = first.of("Adam").map(|run| run.alpha0).collect();
    for (i, &rate) in rates.iter().enumerate() {
        let last = i + 1 == rates.len();
        table = table.right(if last { "1/L".to_owned() } else { short(rate) });
    }
    for c in all {
        for name in c
            .methods()
            .into_iter()
            .filter(|name| name.contains("OLA") || name == "Adam" || name.starts_with("window"))
        {
            let cells = c.of(&name).map(|run| outcome(c, run).into());
            let front = [c.name.as_str().into(), name.as_str().into()];
            table.row(front.into_iter().chain(cells));
        }
    }
    table
}

fn cost_table(costs: &[IterationCost]) -> Table {
    let mut table = Table::new()
        .left("data")
        .left("method")
        .right("f and ∇f")
        .right("Hessian-vector")
        .right("products with Z");
    for cost in costs {
        table.row([
            cost.dataset.as_str().into(),
            cost.method.as_str().into(),
            cost.evaluations.into(),
            cost.hessian_products.into(),
            cost.products.into(),
        ]);
    }
    table
}

fn problem_table(all: &[SvmComparison]) -> Table {
    let headers = ["rows", "variables", "nonzeros", "L", "f(x0)", "f*"];
    let table = Table::new().left("data");
    let mut table = headers.into_iter().fold(table, Table::right);
    for c in all {
        let digits =
            |value: f64, decimals: usize| Cell::shown_as(value, format!("{value:.decimals$}"));
        table.row([
            title(c).into(),
            c.rows.into(),
            c.dim.into(),
            c.nonzeros.into(),
            digits(c.lipschitz, 4),
            digits(c.f0, 5),
            digits(c.f_min, 10),
        ]);
    }
    table
}

fn runs_table(all: &[SvmComparison]) -> Table {
    let numbers = [
        "alpha0",
        "iterations",
        "f",
        "gap",
        "grad_inf",
        "alpha_final",
        "adaptations",
        "evaluations",
        "hessian_products",
    ];
    let table = Table::new()
        .left("data")
        .left("method")
        .left("parameters")
        .left("end");
    let mut table = numbers.into_iter().fold(table, Table::right);
    for c in all {
        for run in &c.runs {
            let end = match (run.converged, run.diverged) {
                (true, _) => "converged",
                (_, true) => "diverged",
                _ => "limit",
            };
            table.row([
                c.name.as_str().into(),
                run.method.name().into(),
                run.method.parameters().into(),
                end.into(),
                run.alpha0.into(),
                run.iterations.into(),
                run.f.into(),
                c.gap(run.f).into(),
                run.grad_inf.into(),
                run.alpha_final.into(),
                run.adaptations.into(),
                run.evaluations.into(),
                run.hessian_products.into(),
            ]);
        }
    }
    table
}

fn curves_table(all: &[SvmComparison]) -> Table {
    let mut table = Table::new()
        .left("data")
        .left("method")
        .right("iteration")
        .right("gap");
    for c in all {
        for (name, _) in CURVES {
            let trace = c
                .best(name)
                .map(|run| run.trace.as_slice())
                .unwrap_or_default();
            for (k, &f) in trace.iter().enumerate() {
                table.row([
                    c.name.as_str().into(),
                    name.into(),
                    k.into(),
                    c.gap(f).into(),
                ]);
            }
        }
    }
    table
}

fn settings(section: &mut Section, config: &OlaConfig) {
    section.setting("data sets", config.datasets.join(", "));
    section.setting("tolerance", config.limits.tolerance);
    section.setting("iterations at most", config.limits.iterations);
    section.setting("reg", config.regularisation);
    section.setting("learning rates", format!("{}, 1/L", list(&config.rates)));
    section.setting("HB β", list(&config.momenta));
    section.setting("Adam-HD β", list(&config.hypergradient_rates));
    section.setting("NAG-SC μ", config.strong_convexity);
    section.setting(
        "windows",
        config
            .windows
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", "),
    );
    section.setting("seed of x0 where none is given", config.seed);
}
