//! The results of the validation as claims, figures and tables.

use dst_core::Crossing;

use super::sweep::{Case, ErrorCurve, Formed, Point, ValidationConfig, ValidationResults};
use crate::experiments::common::list;
use crate::format::short;
use crate::machine;
use crate::report::{Axis, Plot, Section, Series, Table, Verdict, panels};
use crate::validation::{InstanceSpec, IntegratorName};

/// The pairs worth a line in a figure, with the order in h to be expected of each.
const DRAWN: [(IntegratorName, Crossing, f64); 4] = [
    (IntegratorName::Euler, Crossing::Paper, 1.0),
    (IntegratorName::Euler, Crossing::Interpolated, 1.0),
    (IntegratorName::Heun, Crossing::Slope, 2.0),
    (IntegratorName::Rk4, Crossing::Hermite, 3.0),
];

/// The section of the report.
pub fn section(config: &ValidationConfig, results: &ValidationResults) -> Section {
    let mut section = Section::new(super::TITLE);
    let mut dims: Vec<String> = (config.problems.iter())
        .map(|problem| problem.dim.to_string())
        .collect();
    dims.dedup();
    section.size = format!("d = {}; {} step sizes", dims.join(", "), config.steps.len());
    section.interrupted = results.interrupted;
    section.paragraph(
        "f = ½xᵀQx with a random Q of condition number 100; x' = −p(θ, x, t)·∇f, where p is a small network of its own for every \
         coordinate, ten parameters each; stopped when J = ‖∇f‖² reaches ε. The gradient of the discrete stopping time with respect \
         to all parameters is compared with that of the continuous one, which an adaptive Dormand–Prince solver \
         finds to a tight tolerance, with the event located and differentiated through the accepted steps. The error is \
         the paper's: ‖∇N − ∇T‖/(‖∇N‖ + ‖∇T‖).",
    );
    section.paragraph(
        "The paper's formula (Definition 3) is of first order in h with any integrator, as is the exact gradient of the interpolated \
         stopping time. A second-order integrator with the slope of J at the crossing is of second order, RK4 with a cubic \
         through the last step of third. The error of the first-order formulas also depends on where within the last step J \
         crosses ε, hence the zigzag; slopes are fitted through many step sizes.",
    );
    if results.cases.is_empty() {
        return section;
    }
    claims(&mut section, config, results);
    figures(&mut section, results);
    section.table(
        "validation-orders",
        "Fitted order of the error in h, for every integrator and crossing",
        orders(results),
    );
    section.table(
        "validation-evaluations",
        "Evaluations of A: by the adaptive solver at the usual and the tight tolerance, by Euler's method, and the h at which both cost the same",
        evaluations(results),
    );
    section.data(
        "validation-errors",
        "Every gradient of the sweep",
        errors(results),
    );
    settings(&mut section, config);
    section
}

fn label(problem: &InstanceSpec) -> String {
    format!("d = {} ({})", problem.dim, problem.basis)
}

fn line(case: &Case, method: IntegratorName, crossing: Crossing) -> Option<&ErrorCurve> {
    let wanted = |line: &&ErrorCurve| line.method == method && line.crossing == crossing;
    case.lines.iter().find(wanted)
}

/// The least and the greatest; NaN if there is none, or one is NaN.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let wider = |(low, high): (f64, f64), v: f64| {
        if low.is_nan() || v.is_nan() {
            (f64::NAN, f64::NAN)
        } else {
            (low.min(v), high.max(v))
        }
    };
    values
        .map(|v| (v, v))
        .reduce(|so_far, (v, _)| wider(so_far, v))
        .unwrap_or((f64::NAN, f64::NAN))
}

/// The orders of these lines in all cases; a case without the line counts as NaN.
fn order_range(results: &ValidationResults, lines: &[(IntegratorName, Crossing)]) -> (f64, f64) {
    let cases = results.cases.iter();
    range(cases.flat_map(|case| {
        let order = |&(method, crossing): &(IntegratorName, Crossing)| {
            line(case, method, crossing).map_or(f64::NAN, |line| line.order)
        };
        lines.iter().map(order).collect::<Vec<_>>()
    }))
}

/// "1.03", or "0.98 to 1.07".
fn span((low, high): (f64, f64)) -> String {
    let (low, high) = (format!("{low:.2}"), format!("{high:.2}"));
    if low == high {
        low
    } else {
        format!("{low} to {high}")
    }
}

fn claims(section: &mut Section, config: &ValidationConfig, results: &ValidationResults) {
    let cases = results.cases.len();
    let (low, high) = order_range(results, &[(IntegratorName::Euler, Crossing::Paper)]);
    section.claim(
        "Theorem 2: the gradient of the discrete stopping time (Definition 3, Euler) tends to that of the continuous one, linearly in h.",
        format!("Euler with the crossing Paper: order {} over {cases} cases (d, ε)", span((low, high))),
        Verdict::of(low >= 0.8 && high <= 1.2),
        format!("least-squares slope over h ≤ {}; 1.0 ± 0.2 was asked of every case", short(config.fit_from)),
    ).changed_by("fitted orders between 0.8 and 1.2 in every case; a wider range of h makes the fit steadier");
    for (method, crossing, expected) in DRAWN.into_iter().skip(2) {
        let (low, high) = order_range(results, &[(method, crossing)]);
        section.claim(
            format!("{} with the crossing {} is of order {expected} or better.", method.name(), crossing.name()),
            format!("{} with {}: order {} over {cases} cases (d, ε)", method.name(), crossing.name(), span((low, high))),
            Verdict::of(low >= expected - 0.3),
            "this is ours, not the paper's: a better integrator alone does not raise the order; with a more accurate crossing it does",
        ).changed_by("fitted orders no more than 0.3 below the expected one in every case");
    }
    let alone = [IntegratorName::Heun, IntegratorName::Rk4].map(|method| (method, Crossing::Paper));
    let (low, high) = order_range(results, &alone);
    section
        .claim(
            "Definition 3 stays of first order with Heun and RK4.",
            format!(
                "Heun and RK4 with the crossing Paper: order {}",
                span((low, high))
            ),
            Verdict::of(low >= 0.7 && high <= 1.3),
            "the quotient of Definition 3 uses whole steps",
        )
        .changed_by("fitted orders between 0.7 and 1.3 in every case");
    let at = |h: f64| {
        let lines = results
            .cases
            .iter()
            .filter_map(|case| line(case, IntegratorName::Euler, Crossing::Paper));
        range(
            lines
                .filter_map(|l| l.points.iter().find(|p| p.step == h))
                .map(|p| p.nfe_ratio),
        )
    };
    let longest = config.steps.iter().copied().fold(0.0, f64::max);
    let shortest = config.steps.iter().copied().fold(f64::INFINITY, f64::min);
    let (coarse, fine) = (at(longest), at(shortest));
    section.claim(
        "Proposition 1 and the figure of evaluations: the discrete run is cheaper than the adaptive solve.",
        format!(
            "evaluations of A, Euler over adaptive Dormand–Prince: {} at h = {}, {} at h = {}",
            span(coarse),
            short(longest),
            span(fine),
            short(shortest)
        ),
        match (coarse.1 < 1.0, fine.1 < 1.0) {
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Partly,
            (false, _) => Verdict::DoesNotHold,
        },
        "it holds for long steps only: N grows as 1/h, while the adaptive solver does not depend on h",
    ).changed_by("an adaptive solver that needs more evaluations: a tighter tolerance, or a problem with events or kinks");
    if let Some(reason) = &results.not_formed {
        section.paragraph(format!("Not checked with the matrix formed: {reason}."));
    }
    if let Some(Formed {
        problem,
        steps,
        difference,
        bytes,
    }) = results.formed
    {
        section.claim(
            format!(
                "The matrix formed ({}, half of it stored) gives the gradient of the structured one, d = {}.",
                machine::bytes(bytes as f64),
                problem.dim
            ),
            format!("N = {} formed, N = {} structured; relative difference of the gradients {difference:.1e}", steps.0, steps.1),
            Verdict::of(steps.0 == steps.1 && difference < 1e-9),
            "two ways to multiply by one Q",
        ).changed_by("equal N, and a relative difference below 1e-9");
    }
}

fn figures(section: &mut Section, results: &ValidationResults) {
    let mut by_dimension: Vec<&Case> = Vec::new();
    for case in &results.cases {
        if by_dimension.iter().all(|seen| seen.problem != case.problem) {
            by_dimension.push(case);
        }
    }
    let plots: Vec<Plot> = by_dimension.iter().map(|case| error_plot(case)).collect();
    section.figure(
        "validation-error",
        format!(
            "Relative error of the gradient against h, ε = {}; grey lines fall with orders 1, 2 and 3 (Figure 2 of the paper shows Paper with Euler)",
            short(by_dimension[0].epsilon)
        ),
        panels(&plots, plots.len()),
    );
    let of_paper = |title: &str, value: fn(&Point) -> f64, y: &str| {
        let mut plot = Plot::new(title)
            .x(Axis::log("h"))
            .y(Axis::log(y))
            .legend_right();
        for case in &results.cases {
            if let Some(line) = line(case, IntegratorName::Euler, Crossing::Paper) {
                let name = format!("{}, ε = {}", label(&case.problem), short(case.epsilon));
                let points = line.points.iter().map(|p| (p.step, value(p)));
                plot = plot.line(Series::new(name, points).markers());
            }
        }
        plot
    };
    section.figure(
        "validation-paper",
        "Definition 3 with Euler's method: every dimension and tolerance",
        of_paper("Paper with Euler", |p| p.error, "relative error"),
    );
    section.figure(
        "validation-nfe",
        "Evaluations of Euler's method over those of the adaptive solver, which do not depend on h: below the line the discrete run is cheaper",
        of_paper("Evaluations, Euler / adaptive", |p| p.nfe_ratio, "ratio").horizontal("equal", 1.0),
    );
}

fn error_plot(case: &Case) -> Plot {
    let mut plot = Plot::new(label(&case.problem))
        .x(Axis::log("h"))
        .y(Axis::log("relative error"));
    for (colour, (method, crossing, order)) in DRAWN.into_iter().enumerate() {
        let Some(line) = line(case, method, crossing) else {
            continue;
        };
        let name = format!(
            "{} with {}: {:.2}",
            crossing.name(),
            method.name(),
            line.order
        );
        let points = line.points.iter().map(|p| (p.step, p.error));
        plot = plot.line(Series::new(name, points).markers().colour(colour));
        // A guide of the expected order through the end of the line, once for each order.
        if colour != 1
            && let (Some(first), Some(last)) = (line.points.first(), line.points.last())
        {
            let guide = |h: f64| (h, 0.5 * last.error * libm::pow(h / last.step, order));
            let ends = [guide(first.step), guide(last.step)];
            plot = plot.line(Series::new("", ends).grey().dashed().thin());
        }
    }
    plot
}

fn orders(results: &ValidationResults) -> Table {
    let mut table = Table::new().left("integrator").left("crossing");
    for case in &results.cases {
        table = table.right(format!(
            "{}, ε = {}",
            label(&case.problem),
            short(case.epsilon)
        ));
    }
    for method in IntegratorName::ALL {
        for crossing in Crossing::ALL {
            let found = results.cases.iter().map(|case| {
                let order = line(case, method, crossing).map_or(f64::NAN, |line| line.order);
                crate::report::Cell::shown_as(order, format!("{order:.2}"))
            });
            table.row(
                [method.name().into(), crossing.name().into()]
                    .into_iter()
                    .chain(found),
            );
        }
    }
    table
}

fn evaluations(results: &ValidationResults) -> Table {
    let mut table = Table::new()
        .left("problem")
        .right("ε")
        .right("T")
        .right("adaptive, usual")
        .right("adaptive, tight")
        .right("Euler, longest h")
        .right("Euler, shortest h")
        .right("equal at h");
    for case in &results.cases {
        let Some(line) = line(case, IntegratorName::Euler, Crossing::Paper) else {
            continue;
        };
        let steps = |point: Option<&Point>| point.map_or(0, |p| p.steps);
        table.row([
            label(&case.problem).into(),
            case.epsilon.into(),
            case.time.into(),
            case.ode_evaluations.0.into(),
            case.ode_evaluations.1.into(),
            steps(line.points.first()).into(),
            steps(line.points.last()).into(),
            (case.time / case.ode_evaluations.0 as f64).into(),
        ]);
    }
    table
}

fn errors(results: &ValidationResults) -> Table {
    let mut table = Table::new()
        .right("d")
        .left("basis")
        .right("epsilon")
        .left("integrator")
        .left("crossing")
        .right("h")
        .right("N")
        .right("relative error")
        .right("nfe ratio");
    for case in &results.cases {
        for line in &case.lines {
            for point in &line.points {
                table.row([
                    case.problem.dim.into(),
                    case.problem.basis.to_string().into(),
                    case.epsilon.into(),
                    line.method.name().into(),
                    line.crossing.name().into(),
                    point.step.into(),
                    point.steps.into(),
                    point.error.into(),
                    point.nfe_ratio.into(),
                ]);
            }
        }
    }
    table
}

fn settings(section: &mut Section, config: &ValidationConfig) {
    let problems: Vec<String> = config.problems.iter().map(label).collect();
    section.setting("problems", problems.join(", "));
    section.setting("ε", list(&config.epsilons));
    section.setting("h", list(&config.steps));
    section.setting("slopes fitted over h up to", short(config.fit_from));
    section.setting(
        "truth: rtol, atol",
        list(&[config.truth_rtol, 0.01 * config.truth_rtol]),
    );
    section.setting(
        "evaluations counted at: rtol, atol",
        list(&[config.usual_rtol, 0.01 * config.usual_rtol]),
    );
    section.setting(
        "trajectory kept at the most",
        machine::bytes(config.kept_bytes as f64),
    );
    section.setting("eigenvalues", "0.1 to 10, evenly in log scale");
    section.setting(
        "x0, θ",
        "normal; standard deviation 1, and 0.5 inside the networks, 0.3 at their output",
    );
    let seeds = config.problems.iter().map(|p| p.seed.to_string());
    section.setting(
        "seed",
        seeds
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect::<Vec<_>>()
            .join(", "),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_not_a_number_hold_nothing() {
        assert_eq!(range([2.0, 1.0, 3.0].into_iter()), (1.0, 3.0));
        for values in [
            &[][..],
            &[f64::NAN],
            &[1.0, f64::NAN],
            &[f64::NAN, 1.0],
            &[1.0, f64::NAN, 1.0],
        ] {
            let (low, high) = range(values.iter().copied());
            assert!(low.is_nan() && high.is_nan(), "{values:?}");
        }
    }
}
