//! The results of the control experiment as claims and tables.

use super::figures::figures;
use super::{ControlConfig, ControlResults, Findings, Scored, SolverRow, TickSummary};
use crate::format::{at_most, percent, short};
use crate::report::{Section, Table, Verdict};

/// The section of the report.
pub fn section(config: &ControlConfig, results: &ControlResults) -> Section {
    let mut section = Section::new(super::TITLE);
    section.size = format!(
        "2 plants, {} closed-loop runs of {} ticks, {} cold ticks",
        config.runs, config.ticks, config.cold
    );
    section.paragraph(
        "A model predictive controller solves a quadratic program at every tick, in f32, before a fixed deadline. Two solvers are \
         compared. The dual active set takes one step per change of the set of active bounds. ADMM takes iterations of equal cost; \
         its knobs are a weight for every constraint and a relaxation, which switch at fixed iterations. The knobs are tuned by the \
         gradient of the stopping time (mean and tail), by LAH's loss (squared distance to the solution at the end of a phase, \
         earlier phases frozen) and by an unrolled loss (sum of the logarithms of the residuals). All three start from the best \
         setting of the grid and see ticks of the same streams in batches of the same size. The two other losses take at least as \
         many solver iterations as the tuning by the stopping time; the second table counts them.",
    );
    section.paragraph(
        "The stop test of every solver is calibrated, so that all inputs have the same accuracy. Scores are on fresh closed-loop \
         runs, in which a solver starts from its own last solution, and on fresh cold ticks. A tick that ADMM does not solve counts \
         as 500 iterations. A setting that solves hardly any tick cannot be calibrated; the second table shows its error. An operation \
         is a multiply-add.",
    );
    for findings in results.all() {
        figures(&mut section, findings);
        claims(&mut section, config, findings);
        tables(&mut section, findings);
    }
    section.setting("seed", config.seed);
    section.setting(
        "accuracy, in half widths of the bounds",
        short(config.accuracy),
    );
    section.setting(
        "scored: runs, ticks of a run",
        format!("{}, {}", config.runs, config.ticks),
    );
    section.setting("scored: cold ticks", config.cold);
    section.setting("calibration runs of the active set", config.calibration);
    section.setting(
        "tuning: rounds, steps of Adam, ticks, ticks that decide",
        format!(
            "{}, {}, {}, {}",
            config.rounds, config.steps, config.pool, config.choice
        ),
    );
    section.setting("iterations of the unrolled loss", config.horizon);
    section.setting("confidence of certificates", short(config.confidence));
    section
}

pub(super) fn name(findings: &Findings, what: &str) -> String {
    format!("control-{}-{what}", findings.plant.replace(' ', "-"))
}

/// Mean, p99 and maximum of the operations in words.
fn operations(row: &SolverRow, ticks: &TickSummary) -> String {
    let o = &ticks.operations;
    format!(
        "{}: mean {}, p99 {}, maximum {}",
        row.name,
        short(o.mean.round()),
        short(o.p99),
        short(o.max)
    )
}

/// Mean and p99 of the iterations in words.
fn iterations(row: &SolverRow, ticks: &TickSummary) -> String {
    let c = &ticks.counts;
    format!(
        "{}: mean {}, p99 {}, {} of {} ticks not solved",
        row.name,
        short(c.mean),
        c.p99,
        c.unsolved,
        c.ticks
    )
}

/// Rows that reach the accuracy.
fn scored(rows: &[SolverRow]) -> impl Iterator<Item = (&SolverRow, &Scored)> {
    rows.iter()
        .filter_map(|row| Some((row, row.scored.as_ref()?)))
}

/// A place where ticks come from: its name, and its part of a score.
type Place = (&'static str, fn(&Scored) -> &TickSummary);

const PLACES: [Place; 2] = [("warm loop", |s| &s.looped), ("cold start", |s| &s.cold)];

fn claims(section: &mut Section, config: &ControlConfig, findings: &Findings) {
    let plant = findings.plant;
    let (Some((set, set_score)), admm) = (scored(&findings.rows).next(), findings.rows.get(1..))
    else {
        return;
    };
    let admm = admm.unwrap_or_default();
    for (place, part) in PLACES {
        let ours = part(set_score);
        let others: Vec<_> = scored(admm)
            .map(|(row, score)| (row, part(score)))
            .collect();
        let best = others
            .iter()
            .min_by(|a, b| a.1.operations.mean.total_cmp(&b.1.operations.mean));
        let wins = others.iter().flat_map(|(_, ticks)| {
            let (a, b) = (&ours.operations, &ticks.operations);
            [a.mean < b.mean, a.p99 < b.p99, a.max < b.max]
        });
        section
            .claim(
                format!("{plant}, {place}: the active set needs fewer operations than every setting of ADMM."),
                match best {
                    Some((row, ticks)) => format!("{}; {}", operations(set, ours), operations(row, ticks)),
                    None => operations(set, ours),
                },
                Verdict::of_all(wins.collect::<Vec<_>>()),
                "the setting of ADMM with the smallest mean is shown; all are compared by mean, p99 and maximum",
            )
            .changed_by("a program with many more variables or active bounds");
    }
    let find = |part: &str| scored(admm).find(|(row, _)| row.name.contains(part));
    for (other, change) in [
        (
            "Jacobi grid",
            "more ticks and steps for the tuning; the tuning starts from the grid's setting",
        ),
        ("LAH", "more ticks and steps for the tuning"),
        ("unrolled", "more ticks and steps for the tuning"),
    ] {
        let mut wins = Vec::new();
        let mut measured = "one of the two does not reach the accuracy".to_owned();
        if let (Some((a, x)), Some((b, y))) = (find("stopping time"), find(other)) {
            let (p, q) = (&x.looped.counts, &y.looped.counts);
            wins = vec![p.mean < q.mean, p.p99 < q.p99];
            measured = format!("{}; {}", iterations(a, &x.looped), iterations(b, &y.looped));
        }
        let rival = match other {
            "Jacobi grid" => "Jacobi scaling with a grid".to_owned(),
            "LAH" => "tuning by LAH's loss".to_owned(),
            _ => "tuning by an unrolled loss".to_owned(),
        };
        section
            .claim(
                format!("{plant}, warm loop: tuning ADMM by its stopping time beats {rival}."),
                measured,
                Verdict::of_all(wins),
                "iterations on fresh ticks of the closed loop, by mean and p99",
            )
            .changed_by(change);
    }
    let found = findings.certificate;
    section
        .claim(
            format!("{plant}: the budget of the active set holds on fresh runs, and its inputs are accurate to {}.", short(config.accuracy)),
            format!(
                "budget {} steps; {} of {} runs late, {} with a less accurate input; P(late run) ≤ {} with {} % confidence",
                found.budget, found.late_runs, found.runs, found.inaccurate_runs, at_most(found.bound), percent(config.confidence)
            ),
            Verdict::of_all([found.late_runs == 0, found.inaccurate_runs == 0]),
            "the budget was fixed before the runs; another distribution of starts and another plant are not covered",
        )
        .changed_by("a larger budget, which the export tries by itself");
}

fn tables(section: &mut Section, findings: &Findings) {
    let plant = findings.plant;
    let mut table = Table::new()
        .left("solver")
        .left("ticks")
        .right("mean count")
        .right("p99")
        .right("maximum")
        .right("not solved")
        .right("mean operations")
        .right("p99")
        .right("maximum");
    for row in &findings.rows {
        let Some(score) = &row.scored else {
            let mut cells = vec![row.name.into(), "does not reach the accuracy".into()];
            cells.extend((0..7).map(|_| "".into()));
            table.row(cells);
            continue;
        };
        for (place, part) in PLACES {
            let (c, o) = (&part(score).counts, &part(score).operations);
            table.row(vec![
                row.name.into(),
                place.into(),
                short(c.mean).into(),
                (c.p99 as usize).into(),
                (c.max as usize).into(),
                c.unsolved.into(),
                short(o.mean.round()).into(),
                short(o.p99).into(),
                short(o.max).into(),
            ]);
        }
    }
    section.table(
        name(findings, "ticks"),
        format!("{plant}: steps or iterations, and operations, of fresh ticks at equal accuracy"),
        table,
    );
    let mut table = Table::new()
        .left("solver")
        .right("error of an input, p99")
        .right("largest")
        .right("budget")
        .right("late runs")
        .right("P(late run) ≤")
        .right("iterations of the tuning");
    for (row, score) in scored(&findings.rows) {
        table.row(vec![
            row.name.into(),
            short(score.input_error.p99).into(),
            short(score.input_error.max).into(),
            (score.budget as usize).into(),
            score.late_runs.into(),
            short(score.late_bound).into(),
            row.training.into(),
        ]);
    }
    section.table(
        name(findings, "certificates"),
        format!("{plant}: accuracy and certificate of every solver on the scored runs; budgets are from calibration runs"),
        table,
    );
    let mut table = Table::new()
        .left("solver")
        .right("tick")
        .right("count")
        .right("operations");
    for (row, score) in scored(&findings.rows) {
        for (i, &(count, operations)) in score.looped.each.iter().enumerate() {
            table.row(vec![
                row.name.into(),
                i.into(),
                (count as usize).into(),
                operations.into(),
            ]);
        }
    }
    section.data(
        name(findings, "counts"),
        format!("{plant}: every tick of the closed loops"),
        table,
    );
}
