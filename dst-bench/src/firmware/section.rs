//! Tables of the comparison on the chip.

use std::fmt::Write;

use dst_std::report::Table;

use super::runs::{Run, Spread, Ticks};
use super::words::{FAVOURS, WORDS};

/// Cases with all settings, and the errors of u0 (99th percentile) that ours promises, cold and in the loop.
pub(super) const PLANTS: [(&str, &str, f64); 2] = [
    ("quadrotor", "Quadrotor", 1e-5),
    ("safety_filter", "Safety filter", 1e-4),
];
/// The core of all tables but one.
pub(super) const CHIP: &str = "Cortex-M4F";
/// Ours at most this much of DAQP's instructions; the mean of the safety filter's loop is allowed more.
const SHARE: f64 = 0.6;
const SHARE_OF_THE_LOOP: f64 = 0.8;

/// The section of the results.
pub fn section(all: &[Run], versions: &str) -> String {
    let (runs, others): (Vec<Run>, Vec<Run>) =
        all.iter().cloned().partition(|run| run.chip == CHIP);
    let runs = runs.as_slice();
    let mut out = format!("## On the chip\n\n{WORDS}\n");
    for (case, title, promised) in PLANTS {
        let _ = write!(out, "\n### {title}\n\n{}", table(runs, case).to_markdown());
        let _ = write!(out, "\n{}\n", verdict(runs, case, promised));
    }
    if !others.is_empty() {
        let _ = write!(
            out,
            "\n### Other cores\n\nBoth plants with the settings that are best on the Cortex-M4F. An RV32IMAC has no floating-point unit. TinyMPC is not \
             built for it: Debian has no C++ library for that core.\n\n{}\n{}\n",
            other_cores(&others).to_markdown(),
            shares(&others)
        );
    }
    if runs.iter().any(|run| plant(&run.case).is_none()) {
        let _ = write!(
            out,
            "\n### Longer horizons and more active bounds\n\nThe quadrotor with other horizons, and random programs of 40 variables with bounds, \
             condition number 100, of which a share is active. 200 cold ticks, four loops of 25. TinyMPC has the ρ that is best for nine stages.\n\n{}\n{}\n",
            further(runs).to_markdown(),
            behind(runs)
        );
    }
    let _ = write!(out, "\n{FAVOURS}\n\nVersions: {versions}.\n");
    out
}

fn other_cores(runs: &[Run]) -> Table {
    let mut table = Table::new()
        .left("core, plant")
        .left("system")
        .right("cold")
        .right("loop")
        .right("error of u0, p99: cold; loop")
        .right("flash")
        .right("RAM")
        .right("unsolved");
    let mut last = String::new();
    for run in runs {
        let (unsolved, ticks) = run.unsolved();
        let place = place(run);
        let name = match place == last {
            true => String::new(),
            false => place.clone(),
        };
        last = place;
        let cells = [
            name,
            run.system.clone(),
            counts(run.cold),
            counts(run.warm),
            format!("{}; {}", error(run.cold), error(run.warm)),
            kilobytes(run.flash),
            kilobytes(run.ram),
            unsolved_of(unsolved, ticks),
        ];
        table.row(cells.into_iter().map(Into::into));
    }
    table
}

/// Core and plant of a run.
fn place(run: &Run) -> String {
    let title = plant(&run.case).unwrap_or(&run.case).to_lowercase();
    format!("{}, {title}", run.chip)
}

/// Ours by the least of the others, on each core.
fn shares(runs: &[Run]) -> String {
    let mut text = String::new();
    for mine in runs.iter().filter(|run| run.system == "dst") {
        for (kind, part) in kinds() {
            let beside = |r: &&Run| r.chip == mine.chip && r.case == mine.case && r.system != "dst";
            let others = runs.iter().filter(beside);
            let best = least(others.filter_map(|r| Some(part(r)?.instructions)));
            let (Some(mine_here), Some(best)) = (part(mine), best) else {
                continue;
            };
            let by = mine_here.instructions.by(best);
            let _ = writeln!(
                text,
                "- {}, {kind}: ours by the least of the others {:.2} / {:.2} / {:.2}.",
                place(mine),
                by.mean,
                by.p99,
                by.max
            );
        }
    }
    text.trim_end().to_owned()
}

/// Title of one of the two plants.
fn plant(case: &str) -> Option<&'static str> {
    let mut plants = PLANTS.iter();
    plants.find(|p| p.0 == case).map(|p| p.1)
}

fn table(runs: &[Run], case: &str) -> Table {
    let mut table = Table::new()
        .left("system")
        .left("setting")
        .right("cold")
        .right("loop")
        .right("iterations, cold")
        .right("error of u0, p99: cold; loop")
        .right("flash")
        .right("RAM")
        .right("stack")
        .right("unsolved");
    for run in runs.iter().filter(|run| run.case == case) {
        let (unsolved, ticks) = run.unsolved();
        let cells = [
            run.system.clone(),
            format!("{}: {}", run.role, run.setting),
            counts(run.cold),
            counts(run.warm),
            run.cold.map_or(String::new(), |t| iterations(t.iterations)),
            format!("{}; {}", error(run.cold), error(run.warm)),
            kilobytes(run.flash),
            kilobytes(run.ram),
            if run.stack > 0 {
                format!("{} B", run.stack)
            } else {
                String::new()
            },
            unsolved_of(unsolved, ticks),
        ];
        table.row(cells.into_iter().map(Into::into));
    }
    table
}

fn further(runs: &[Run]) -> Table {
    let mut table = Table::new()
        .left("case")
        .left("system")
        .right("cold")
        .right("loop")
        .right("error of u0, p99")
        .right("flash")
        .right("RAM")
        .right("unsolved");
    let mut last = "";
    for run in runs.iter().filter(|run| plant(&run.case).is_none()) {
        let (unsolved, ticks) = run.unsolved();
        let name = match run.case == last {
            true => String::new(),
            false => case_name(&run.case),
        };
        last = &run.case;
        let cells = [
            name,
            run.system.clone(),
            counts(run.cold),
            counts(run.warm),
            error(run.cold),
            kilobytes(run.flash),
            kilobytes(run.ram),
            unsolved_of(unsolved, ticks),
        ];
        table.row(cells.into_iter().map(Into::into));
    }
    table
}

/// Ours by DAQP's best, and by the best of all others, in C and in Rust.
fn verdict(runs: &[Run], case: &str, promised: f64) -> String {
    let mine = runs.iter().filter(|r| r.case == case && r.system == "dst");
    let both = mine.flat_map(|run| kinds().map(|kind| (run, kind)));
    let mut lines = Vec::new();
    for (ours, (kind, part)) in both {
        let Some(mine) = part(ours) else { continue };
        let language = if ours.setting.contains("Rust") {
            "Rust"
        } else {
            "C"
        };
        let others = |system: &'static str| {
            let of_case = runs.iter().filter(move |r| r.case == case);
            let chosen = of_case
                .filter(move |r| r.system != "dst" && (system.is_empty() || r.system == system));
            chosen.filter_map(|r| Some(part(r)?.instructions))
        };
        let Some(daqp) = least(others("DAQP")) else {
            continue;
        };
        let ratio = mine.instructions.by(daqp);
        let share = match (case, kind) {
            ("safety_filter", "loop") => SHARE_OF_THE_LOOP,
            _ => SHARE,
        };
        let holds = ratio.mean <= share && ratio.p99 <= SHARE && ratio.max <= SHARE;
        let ahead = least(others("")).is_some_and(|best| {
            let by = mine.instructions.by(best);
            by.mean < 1.0 && by.p99 < 1.0 && by.max < 1.0
        });
        lines.push(format!(
            "- Ours in {language} by DAQP's, {kind}: {:.2} / {:.2} / {:.2}; at most {share} / {SHARE} / {SHARE} {}. Ahead of every other system: \
             {}. Error of u0 (99th percentile) {:.1e}, at most {promised:e} {}.",
            ratio.mean,
            ratio.p99,
            ratio.max,
            if holds { "holds" } else { "does not hold" },
            if ahead { "yes" } else { "no" },
            mine.error.p99,
            if mine.error.p99 <= promised {
                "holds"
            } else {
                "does not hold"
            },
        ));
    }
    if lines.is_empty() {
        return "Ours was not run.".to_owned();
    }
    lines.join("\n")
}

/// Further cases in which another system takes less than ours: instructions on average, flash, RAM.
fn behind(runs: &[Run]) -> String {
    type Amount = fn(&Run) -> Option<f64>;
    let amounts: [(&str, Amount); 4] = [
        ("Cold, fewer instructions on average", |r| {
            Some(r.cold?.instructions.mean)
        }),
        ("In the loop, fewer instructions on average", |r| {
            Some(r.warm?.instructions.mean)
        }),
        ("Less flash", |r| (r.flash > 0).then_some(r.flash as f64)),
        ("Less RAM", |r| (r.ram > 0).then_some(r.ram as f64)),
    ];
    let mut text = String::new();
    for (what, amount) in amounts {
        let mut found: Vec<String> = Vec::new();
        for run in runs
            .iter()
            .filter(|r| plant(&r.case).is_none() && r.system != "dst")
        {
            let mine = ours(runs, &run.case).and_then(amount);
            if let (Some(mine), Some(other)) = (mine, amount(run))
                && other < mine
            {
                let name = case_name(&run.case);
                found.push(format!(
                    "{} on {name} (ours {:.1} times)",
                    run.system,
                    mine / other
                ));
            }
        }
        let found = if found.is_empty() {
            "none".to_owned()
        } else {
            found.join("; ")
        };
        let _ = writeln!(text, "{what} than ours: {found}.");
    }
    text.trim_end().to_owned()
}

/// Name of a further case.
fn case_name(case: &str) -> String {
    match case.split_once('_') {
        Some(("horizon", stages)) => format!("quadrotor, {stages} moves"),
        Some(("random", share)) => format!("random, {share} % active"),
        _ => case.to_owned(),
    }
}

/// Our controller in C: the others are in C, too.
fn ours<'a>(runs: &'a [Run], case: &str) -> Option<&'a Run> {
    let mut mine = runs.iter().filter(|r| r.case == case && r.system == "dst");
    mine.find(|r| !r.setting.contains("Rust"))
}

/// A part of the ticks of a run.
pub(super) type Part = fn(&Run) -> Option<Ticks>;

/// Cold ticks and ticks of the loops.
pub(super) fn kinds() -> [(&'static str, Part); 2] {
    [("cold", |run| run.cold), ("loop", |run| run.warm)]
}

/// The least of each number.
fn least(spreads: impl Iterator<Item = Spread>) -> Option<Spread> {
    spreads.reduce(|a, b| Spread {
        mean: a.mean.min(b.mean),
        p99: a.p99.min(b.p99),
        max: a.max.min(b.max),
    })
}

fn counts(ticks: Option<Ticks>) -> String {
    let all = |s: Spread| [s.mean, s.p99, s.max].map(thousands).join(" / ");
    ticks.map_or(String::new(), |t| all(t.instructions))
}

fn iterations(s: Spread) -> String {
    format!("{:.1} / {:.0} / {:.0}", s.mean, s.p99, s.max)
}

fn error(ticks: Option<Ticks>) -> String {
    ticks.map_or(String::new(), |t| format!("{:.0e}", t.error.p99))
}

fn unsolved_of(unsolved: usize, ticks: usize) -> String {
    match ticks {
        0 => "not run to the end".to_owned(),
        _ => format!("{unsolved} of {ticks}"),
    }
}

fn kilobytes(bytes: u64) -> String {
    if bytes == 0 {
        return String::new();
    }
    format!("{:.1} kB", bytes as f64 / 1000.0)
}

/// A count with two or three digits: 950, 6.4k, 43k, 1.3M.
fn thousands(count: f64) -> String {
    let (value, unit) = match count {
        c if c < 1e3 => return format!("{c:.0}"),
        c if c < 1e6 => (c / 1e3, "k"),
        c => (c / 1e6, "M"),
    };
    let digits = usize::from(value < 10.0);
    format!("{value:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::{Run, Spread, Ticks, section, thousands};

    fn run(system: &str, mean: f64) -> Run {
        let spread = |mean: f64| Spread {
            mean,
            p99: 2.0 * mean,
            max: 3.0 * mean,
        };
        let ticks = Ticks {
            count: 10,
            instructions: spread(mean),
            iterations: spread(1.0),
            error: spread(1e-6),
            unsolved: 0,
        };
        Run {
            chip: super::CHIP.to_owned(),
            case: "quadrotor".to_owned(),
            system: system.to_owned(),
            role: "default".to_owned(),
            setting: "x".to_owned(),
            few: false,
            flash: 1500,
            ram: 100,
            stack: 10,
            cold: Some(ticks),
            warm: None,
        }
    }

    #[test]
    fn the_section_says_whether_ours_is_ahead() {
        let ahead = section(&[run("dst", 5000.0), run("DAQP", 10_000.0)], "v");
        assert!(
            ahead.contains("0.50 / 0.50 / 0.50; at most 0.6 / 0.6 / 0.6 holds"),
            "{ahead}"
        );
        assert!(
            ahead.contains("Ahead of every other system: yes"),
            "{ahead}"
        );
        let behind = section(&[run("dst", 5000.0), run("DAQP", 4000.0)], "v");
        assert!(
            behind.contains("does not hold. Ahead of every other system: no"),
            "{behind}"
        );
    }

    #[test]
    fn other_cores_have_a_table_of_their_own() {
        let other = |system: &str, mean: f64| Run {
            chip: "RV32IMAC".to_owned(),
            ..run(system, mean)
        };
        let text = section(
            &[run("dst", 5e3), other("dst", 5e4), other("DAQP", 1e5)],
            "v",
        );
        let line = "RV32IMAC, quadrotor, cold: ours by the least of the others 0.50 / 0.50 / 0.50.";
        assert!(text.contains(line), "{text}");
        assert_eq!(text.matches("50k / 100k / 150k").count(), 1, "{text}");
    }

    #[test]
    fn the_section_says_where_ours_takes_more() {
        let longer = |system: &str, mean: f64, flash: u64| Run {
            case: "horizon_30".to_owned(),
            flash,
            ..run(system, mean)
        };
        let text = section(
            &[longer("dst", 5000.0, 3000), longer("DAQP", 4000.0, 6000)],
            "v",
        );
        assert!(
            text.contains("Cold, fewer instructions on average than ours: DAQP on quadrotor, 30 moves (ours 1.2 times)"),
            "{text}"
        );
        assert!(text.contains("Less flash than ours: none"), "{text}");
    }

    #[test]
    fn counts_are_short() {
        let texts = [950.0, 6405.0, 43_150.0, 1_279_000.0].map(thousands);
        assert_eq!(texts, ["950", "6.4k", "43k", "1.3M"]);
    }
}
