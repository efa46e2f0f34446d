//! Tables and the picture.

use std::fmt::Write;

use dst_std::parallel;
use dst_std::report::{Axis, Plot, Series, Table, panels};

use super::cases::{Comparison, Contestant, Question};
use super::contest::{Contest, Line, Measured, plain};
use crate::turns::median;

/// A comparison as a section of the results.
pub fn section(comparison: Comparison, contests: &[Contest]) -> String {
    let mut table = Table::new()
        .left("case")
        .left("system")
        .right("median")
        .right("min–max")
        .right("by dst's")
        .right("memory added")
        .right("answer differs by");
    for contest in contests {
        let name = match (comparison, contest.steps) {
            (Comparison::Steps, Some(steps)) => format!("{} (N = {steps})", contest.case.name),
            _ => contest.case.name.clone(),
        };
        for (i, Line { by, result }) in contest.lines.iter().enumerate() {
            let mut cells = vec![if i == 0 { name.clone() } else { String::new() }];
            cells.push(by.name().to_owned());
            match result {
                Ok(measured) => cells.extend(numbers(measured, i == 0)),
                Err(reason) => cells.push(format!("failed: {reason}")),
            }
            table.row(cells.into_iter().map(Into::into));
        }
    }
    let (title, words) = comparison.words();
    let turns = contests.iter().map(|c| match c.lines.first() {
        Some(Line { result: Ok(m), .. }) => m.seconds.len(),
        _ => 0,
    });
    let turns: Vec<String> = turns.map(|n| n.to_string()).collect();
    format!(
        "## {title}\n\n{words}\n\n{}\n{} Turns per case: {}. {}\n",
        table.to_markdown(),
        "Ratios are medians over the turns of one case, in which every system runs once. Memory is what the run and its gradient added \
         to the process.",
        turns.join(", "),
        machine(contests)
    )
}

fn numbers(measured: &Measured, ours: bool) -> Vec<String> {
    let least = measured
        .seconds
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    let most = measured.seconds.iter().copied().fold(0.0, f64::max);
    let ratio = format!("{:.2}", measured.ratio);
    vec![
        seconds(median(measured.seconds.iter().copied())),
        format!("{}–{}", seconds(least), seconds(most)),
        if ours { "1".to_owned() } else { ratio },
        format!("{:.1} MB", added(measured)),
        if ours {
            String::new()
        } else {
            format!("{:.0e}", measured.difference)
        },
    ]
}

/// In a unit of its size.
fn seconds(value: f64) -> String {
    let (scaled, unit) = if value < 1e-4 {
        (1e6 * value, "µs")
    } else if value < 0.1 {
        (1e3 * value, "ms")
    } else {
        (value, "s")
    };
    let digits = (2.0 - scaled.log10().floor()).clamp(0.0, 3.0) as usize;
    format!("{scaled:.digits$} {unit}")
}

/// The machine and the versions.
pub fn machine(contests: &[Contest]) -> String {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("an unknown processor", |rest| {
            rest.trim_start_matches([' ', '\t', ':'])
        });
    let mut versions: Vec<&str> = Vec::new();
    let measured = contests
        .iter()
        .flat_map(|c| &c.lines)
        .filter_map(|l| l.result.as_ref().ok());
    for version in measured.flat_map(|m| m.version.split(", ")) {
        if !versions.contains(&version) {
            versions.push(version);
        }
    }
    let mut out = format!("Machine: {model}, {} threads.", parallel::available());
    // Others at work on the machine widen the spread, and threads that wait for each other suffer most.
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    if let Some(load) = load.split(' ').nth(1) {
        let _ = write!(out, " Load over five minutes at the end: {load}.");
    }
    if !versions.is_empty() {
        let _ = write!(out, " Versions: {}.", versions.join(", "));
    }
    out
}

/// Time by ours and memory, for all cases of the gradient of a number of steps.
pub fn picture(contests: &[Contest]) -> String {
    let names: Vec<String> = contests
        .iter()
        .map(|contest| match (contest.case.question, contest.steps) {
            (Question::Steps { dim, .. }, Some(steps)) => format!("{dim} × {steps}"),
            _ => contest.case.name.clone(),
        })
        .collect();
    let mut who: Vec<Contestant> = Vec::new();
    for line in contests.iter().flat_map(|contest| &contest.lines) {
        // Another number of threads is in the table only.
        if !who.contains(&line.by) && line.by != Contestant::OursAlone {
            who.push(line.by);
        }
    }
    let plot = |title: &str, label: &str, value: &dyn Fn(&Measured) -> f64| {
        let mut plot = Plot::new(title)
            .x(Axis::names("variables × steps", &names))
            .y(Axis::log(label))
            .size(90.0 * names.len().max(3) as f64, 240.0);
        for (i, by) in who.iter().enumerate() {
            let points = contests.iter().enumerate().filter_map(|(case, contest)| {
                let line = contest.lines.iter().find(|line| line.by == *by)?;
                Some((case as f64, value(line.result.as_ref().ok()?)))
            });
            let series = Series::new(plain(by.name()), points);
            plot = plot.line(series.colour(i).only_markers());
        }
        plot
    };
    let time = plot(
        "Run and gradient of a stopping time: time by dst's",
        "ratio",
        &|m| m.ratio,
    );
    let memory = plot("The same: memory added", "MB", &added);
    panels(&[time, memory], 1).to_svg()
}

/// Memory that the run and its gradient added to the process, in MB; resolution is one page.
fn added(measured: &Measured) -> f64 {
    let (before, peak) = measured.memory_mb;
    (peak - before).max(0.1)
}
