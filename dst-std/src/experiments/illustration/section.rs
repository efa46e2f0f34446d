//! The results of the illustration as claims and figures.

use super::{Curve, ErrorLine, IllustrationConfig, IllustrationResults, Path, tables};
use crate::experiments::common::list;
use crate::format::short;
use crate::report::{Axis, Plot, Section, Series, Verdict, panels};

/// The section of the report.
pub fn section(config: &IllustrationConfig, results: &IllustrationResults) -> Section {
    let mut section = Section::new(super::TITLE);
    let (intervals, sizes) = (config.curve_intervals, config.order_divisions + 1);
    section.size = format!(
        "2 variables, {} values of θ, {sizes} step sizes",
        intervals + 1
    );
    section.paragraph(
        "The problem of the paper's Figure 1: f = 0.5·x1² + 2·x2², x' = −diag(1, θ)·∇f from (1, 1), stopped when \
         J = ‖∇f‖² reaches ε. The flow has a closed form, so both the stopping time T and its derivative dT/dθ are known to \
         rounding, and everything computed from discrete steps can be held against them.",
    );
    section.paragraph(
        "N is the number of steps until J ≤ ε; N·h is the discrete counterpart of T. N itself jumps, and yet its gradient \
         in the sense of the paper is a good slope for the smooth T, as the tangents show.",
    );
    claims(&mut section, config, results);
    let figure_1 = [
        paths_plot(config, &results.paths),
        curves_plot(config, &results.curves),
    ];
    section.figure(
        "illustration-figure-1",
        format!(
            "Figure 1 of the paper. Left: lines show the flow until T, markers the steps of Euler's method with h = {} until N; thin grey: \
             contours of f; dashed: the level set J = {}, where both stop. Right: smooth curves show T, staircases N·h with h = {}; thick: \
             tangents with the slope that the paper's formula computes from the discrete steps alone.",
            short(config.path_step),
            short(config.path_epsilon),
            short(config.curve_step)
        ),
        panels(&figure_1, 2),
    );
    section.figure(
        "illustration-errors",
        format!(
            "Error of dT/dθ against the closed form at θ = {}, ε = {}; grey lines fall with orders 1, 2 and 3.",
            short(config.problem.theta),
            short(config.problem.epsilon)
        ),
        errors_plot(&results.errors),
    );
    section.table(
        "illustration-twelve-ways",
        format!(
            "dT/dθ in twelve ways at θ = {}, h = {}, ε = {} (exact: T = {}, dT/dθ = {})",
            short(results.comparison.theta),
            short(results.comparison.step),
            short(results.comparison.epsilon),
            short(results.comparison.exact.time),
            short(results.comparison.exact.time_gradient)
        ),
        tables::twelve_ways(&results.comparison),
    );
    section.data(
        "illustration-times",
        "The curves of Figure 1, right",
        tables::curves(&results.curves),
    );
    section.data(
        "illustration-tangents",
        "The tangents of Figure 1, right",
        tables::tangents(&results.curves),
    );
    section.data(
        "illustration-paths",
        "The paths of Figure 1, left",
        tables::paths(&results.paths),
    );
    section.data(
        "illustration-errors",
        "The errors against h",
        tables::errors(&results.errors),
    );
    settings(&mut section, config);
    section
}

fn settings(section: &mut Section, config: &IllustrationConfig) {
    let problem = config.problem;
    section.setting(
        "table: θ, h, ε",
        list(&[problem.theta, problem.step, problem.epsilon]),
    );
    section.setting("table: checkpoint slots", problem.slots);
    section.setting("Figure 1, left: θ", list(&config.path_thetas));
    section.setting(
        "Figure 1, left: h, ε",
        list(&[config.path_step, config.path_epsilon]),
    );
    section.setting("Figure 1, right: ε", list(&config.curve_epsilons));
    section.setting(
        "Figure 1, right: θ from, to",
        list(&[config.curve_from, config.curve_to]),
    );
    section.setting("Figure 1, right: intervals", config.curve_intervals);
    section.setting("Figure 1, right: h", short(config.curve_step));
    section.setting("Figure 1, right: tangents at θ", list(&config.tangents));
    section.setting("errors: longest h", short(config.order_step));
    section.setting("errors: divisions by √2", config.order_divisions);
    section.setting("random numbers", "none");
}

fn claims(section: &mut Section, config: &IllustrationConfig, results: &IllustrationResults) {
    // Does N·h tend to T? With half of the step the gap should halve.
    let gap = |h: f64, steps: fn(&super::CurvePoint) -> Option<usize>| {
        let points = results.curves.iter().flat_map(|curve| &curve.points);
        let gaps = points.filter_map(|p| Some((steps(p)? as f64 * h - p.time?).abs()));
        gaps.fold(0.0, f64::max)
    };
    let h = config.curve_step;
    let (whole, half) = (gap(h, |p| p.steps), gap(0.5 * h, |p| p.half_steps));
    section
        .claim(
            "The discrete stopping time N·h tends to the continuous T as h falls.",
            format!(
                "largest |N·h − T| over all θ and ε: {} with h = {}, {} with h = {}",
                short(whole),
                short(h),
                short(half),
                short(0.5 * h)
            ),
            Verdict::of(whole / half > 1.6),
            format!(
                "with half of the step, {} of the gap remains",
                share(half / whole)
            ),
        )
        .changed_by("a largest gap |N·h − T| that falls by a factor above 1.6 when h is halved");
    let order = |integrator: &str, crossing: &str| {
        let mut lines = results.errors.iter();
        let found = lines.find(|l| l.integrator == integrator && l.crossing == crossing);
        found.map_or(f64::NAN, |line| line.order)
    };
    let paper = order("Euler", "Paper");
    section.claim(
        "Theorem 2: the gradient from the discrete steps tends to that of the continuous stopping time, linearly in h.",
        format!("Euler with the crossing Paper: order {paper:.2} (slope of the error against h)"),
        Verdict::of((0.8..1.3).contains(&paper)),
        "measured against the closed form",
    ).changed_by("a fitted order between 0.8 and 1.3");
    let worst = results.curves.iter().flat_map(|curve| {
        let scale = curve.tangents.iter().map(|t| t.exact_gradient.abs());
        let scale = scale.fold(0.0, f64::max);
        let errors = curve.tangents.iter();
        errors.map(move |t| (t.gradient - t.exact_gradient).abs() / scale)
    });
    let worst = worst.fold(0.0, f64::max);
    section.claim(
        "The computed gradients are the slopes of T(θ).",
        format!(
            "the slope of the worst tangent is off by {} of the steepest slope of its curve",
            share(worst)
        ),
        if worst < 0.1 {
            Verdict::Holds
        } else if worst < 0.3 {
            Verdict::Partly
        } else {
            Verdict::DoesNotHold
        },
        format!("with the coarse h = {} of the figure", short(h)),
    ).changed_by("a smaller h in the figure; tangents within 10 % of the steepest slope count as a success");
    let (slope, hermite) = (order("Heun", "Slope"), order("RK4", "Hermite"));
    let held = [slope > 1.8, hermite > 2.8];
    section.claim(
        "More accurate crossing formulas (ours) raise the order to 2 with Heun and to 3 with RK4.",
        format!("Heun with Slope: order {slope:.2}; RK4 with Hermite: order {hermite:.2}"),
        Verdict::of_all(held),
        "same steps, another formula at the last one",
    ).changed_by("fitted orders above 1.8 and 2.8");
}

fn share(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * ratio)
}

/// An ellipse a·x₁² + b·x₂² = level.
fn ellipse(a: f64, b: f64, level: f64) -> impl Iterator<Item = (f64, f64)> {
    (0..=240).map(move |i| {
        let angle = std::f64::consts::TAU * f64::from(i) / 240.0;
        (
            (level / a).sqrt() * libm::cos(angle),
            (level / b).sqrt() * libm::sin(angle),
        )
    })
}

fn paths_plot(config: &IllustrationConfig, paths: &[Path]) -> Plot {
    let mut plot = Plot::new("Paths until the stop")
        .size(330.0, 330.0)
        .x(Axis::linear("x1").range(-0.1, 1.1))
        .y(Axis::linear("x2").range(-0.1, 1.1));
    for level in [0.02, 0.1, 0.25, 0.5, 1.0, 1.6, 2.5] {
        plot = plot.line(Series::new("", ellipse(0.5, 2.0, level)).grey().thin());
    }
    let level = format!("J = {}", short(config.path_epsilon));
    plot = plot.line(
        Series::new(level, ellipse(1.0, 16.0, config.path_epsilon))
            .colour(6)
            .dashed(),
    );
    for (i, path) in paths.iter().enumerate() {
        let name = format!("θ = {}", short(path.theta));
        plot = plot
            .line(Series::new(name, path.flow.iter().copied()).colour(i))
            .line(
                Series::new("", path.steps.iter().copied())
                    .colour(i)
                    .only_markers(),
            );
    }
    plot
}

fn curves_plot(config: &IllustrationConfig, curves: &[Curve]) -> Plot {
    let mut plot = Plot::new("Stopping time against the parameter")
        .size(330.0, 330.0)
        .x(Axis::linear("θ"))
        .y(Axis::linear("T and N·h"));
    let times = curves
        .iter()
        .flat_map(|c| c.points.iter().filter_map(|p| p.time));
    let height = times.fold(0.0, f64::max);
    let width = config.curve_to - config.curve_from;
    for (i, curve) in curves.iter().enumerate() {
        let h = config.curve_step;
        let times = curve
            .points
            .iter()
            .map(|p| (p.theta, p.time.unwrap_or(f64::NAN)));
        let steps = curve
            .points
            .iter()
            .map(|p| (p.theta, p.steps.map_or(f64::NAN, |n| n as f64 * h)));
        plot = plot
            .line(Series::new(format!("ε = {}", short(curve.epsilon)), times).colour(i))
            .line(Series::new("", steps).stairs().colour(i).thin());
        for tangent in &curve.tangents {
            // The same length on paper, whatever the slope.
            let slope = tangent.gradient * width / height;
            let reach = 0.06 * width / (1.0 + slope * slope).sqrt();
            let ends =
                [-reach, reach].map(|d| (tangent.theta + d, tangent.time + d * tangent.gradient));
            plot = plot.line(Series::new("", ends).colour(6).thick()).line(
                Series::new("", [(tangent.theta, tangent.time)])
                    .colour(i)
                    .only_markers(),
            );
        }
    }
    plot.line(Series::new("tangents", []).colour(6).thick())
}

fn errors_plot(lines: &[ErrorLine]) -> Plot {
    let mut plot = Plot::new("Error of the gradient")
        .size(380.0, 300.0)
        .x(Axis::log("h"))
        .y(Axis::log("relative error of dT/dθ"));
    // Reference lines start at the coarse end of the first line of their order.
    let mut seen = Vec::new();
    for line in lines {
        if seen.contains(&line.expected) {
            continue;
        }
        seen.push(line.expected);
        let ends = (line.points.first(), line.points.last());
        if let (Some(&(h0, e0)), Some(&(h1, _))) = ends {
            let e1 = e0 * libm::pow(h1 / h0, line.expected);
            plot = plot.line(Series::new("", [(h0, e0), (h1, e1)]).grey().thin().dashed());
        }
    }
    for (i, line) in lines.iter().enumerate() {
        let name = format!(
            "{}, {}: order {:.2}",
            line.integrator, line.crossing, line.order
        );
        plot = plot.line(
            Series::new(name, line.points.iter().copied())
                .colour(i)
                .markers(),
        );
    }
    plot
}
