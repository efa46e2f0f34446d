//! The results of the control experiment as claims, tables and figures.

use super::{ControlConfig, ControlResults, Findings, MethodRow};
use crate::control::{CHOICE, Score};
use crate::format::short;
use crate::report::{Axis, Cell, Plot, Section, Series, Table, Verdict, panels};

/// The bounds that the study set for itself: mean, p99 and maximum; `None` where it makes no promise.
const PROMISED: [(f64, f64, Option<f64>); 2] = [(45.0, 60.0, Some(175.0)), (20.5, 50.0, None)];

/// A number of a score.
type Part = fn(&Score) -> f64;

/// The section of the report.
pub fn section(config: &ControlConfig, results: &ControlResults) -> Section {
    let mut section = Section::new(super::TITLE);
    let trainings = match config.trainings {
        1 => "1 training".to_owned(),
        trainings => format!("{trainings} trainings"),
    };
    section.size = format!("2 plants, {trainings}, {} held-out ticks", config.test);
    section.paragraph(
        "A model predictive controller solves a quadratic program at every tick, here by ADMM in f32, before a fixed deadline. Its knobs are a \
         weight R for every constraint and a relaxation α. They switch at fixed iterations, so that no tick factorises a matrix. The knobs \
         are tuned by descending the gradient of the stopping time, mean and tail, on a pool of ticks. Further ticks choose among the \
         settings. About 0.5 % of ticks reach the last phase; it is trained on the slowest ticks of a large pool, which also chooses among \
         repeated trainings. All baselines are tuned on the same pool and chosen by the same further ticks; they have no last phase and \
         therefore no use for the large pool. All scores are on held-out ticks. The held-out set was drawn again after the score of an \
         earlier recipe on the previous set was known.",
    );
    section.paragraph(
        "Simpler methods are as good in two cases. For projected gradient with momentum, a grid over its two parameters does as well as the \
         gradient. With a few knobs, a search without gradients reaches the same result with more work. The gradient is ahead with many \
         knobs, and in the tail.",
    );
    for (findings, promised) in results.all().into_iter().zip(PROMISED) {
        claims(&mut section, config, findings, promised);
        tables(&mut section, findings);
        figures(&mut section, findings);
    }
    let rows: Vec<&MethodRow> = results.momentum.iter().collect();
    section.table(
        "control-momentum",
        "One axis, projected gradient with momentum: a grid over its two parameters beside the gradient of the stopping time",
        score_table(&rows),
    );
    section.setting("seed", config.seed);
    section.setting("trainings", config.trainings);
    section.setting("pool, ticks", config.pool);
    section.setting("further ticks that decide", config.fresh.min(CHOICE));
    section.setting(
        "ticks whose slowest train the last phase, and that decide between trainings",
        config.fresh,
    );
    section.setting("test, ticks", config.test);
    section.setting("cap on iterations", config.cap);
    section.setting("phases begin at", format!("{:?}", config.switches));
    section.setting(
        "Adam: steps, batch, hard",
        format!("{}, {}, {}", config.steps, config.batch, config.hard),
    );
    section.setting("trainings per pool, of which one is kept", config.restarts);
    section.setting("weight of the tail", short(config.tail));
    section.setting(
        "closed loop: runs, ticks",
        format!("{}, {}", config.runs, config.ticks),
    );
    section
}

fn name(findings: &Findings, what: &str) -> String {
    format!("control-{}-{what}", findings.plant.replace(' ', "-"))
}

fn spread(row: &MethodRow, part: fn(&Score) -> f64) -> String {
    let texts: Vec<String> = row.scores.iter().map(|s| short(part(s))).collect();
    let same = texts.windows(2).all(|pair| pair[0] == pair[1]);
    if same {
        texts.first().cloned().unwrap_or_default()
    } else {
        texts.join(", ")
    }
}

/// The row of the phases, by the gradient.
fn ours(findings: &Findings) -> Option<&MethodRow> {
    findings.rows.iter().rfind(|row| row.ours)
}

fn claims(
    section: &mut Section,
    config: &ControlConfig,
    findings: &Findings,
    (mean, p99, max): (f64, f64, Option<f64>),
) {
    let plant = findings.plant;
    let Some(row) = ours(findings) else { return };
    let [m, p, x, c]: [Part; 4] = [|s| s.mean, |s| s.p99, |s| s.max, |s| s.at_cap];
    let held = [
        row.worst(m) <= mean,
        row.worst(p) <= p99,
        max.is_none_or(|max| row.worst(x) <= max && row.worst(c) == 0.0),
    ];
    let promise = match max {
        Some(max) => format!("mean ≤ {mean}, p99 ≤ {p99}, maximum ≤ {max}, none at the cap"),
        None => format!("mean ≤ {mean} and p99 ≤ {p99} at once"),
    };
    section
        .claim(
            format!("{plant}: {promise}, in every training."),
            format!(
                "{}: mean {}, p99 {}, maximum {} iterations; {} % of ticks at the cap",
                row.name,
                spread(row, m),
                spread(row, p),
                spread(row, x),
                spread(row, c)
            ),
            Verdict::of_all(held),
            format!(
                "{} held-out ticks, one number per training where they differ",
                config.test
            ),
        )
        .changed_by(
            "a larger pool and more trainings per pool, which mainly lower p99 and the maximum",
        );
    let others: Vec<&MethodRow> = findings.rows.iter().filter(|row| !row.ours).collect();
    let least = |part: fn(&Score) -> f64| {
        let values = others.iter().map(|row| row.average(part));
        values.fold(f64::INFINITY, f64::min)
    };
    let holder = |part: fn(&Score) -> f64| {
        let mut rows = others.iter();
        let row = rows.find(|row| row.average(part) == least(part));
        row.map_or("none", |row| row.name.as_str())
    };
    let wins = [
        row.average(m) < least(m),
        row.average(p) < least(p),
        row.average(x) < least(x),
    ];
    section.claim(
        format!(
            "{plant}: better than every baseline tuned on the same ticks, in mean, p99 and maximum."
        ),
        format!(
            "{}: mean {}, p99 {}, maximum {} iterations; least mean of the baselines {} ({}), least p99 {} ({}), least maximum {} ({})",
            row.name,
            short(row.average(m)),
            short(row.average(p)),
            short(row.average(x)),
            short(least(m)),
            holder(m),
            short(least(p)),
            holder(p),
            short(least(x)),
            holder(x)
        ),
        Verdict::of_all(wins),
        "averages over the trainings; the three least values may belong to different baselines",
    ).changed_by("more training steps or more knobs where a baseline has the lower value");
    let many = &findings.many_knobs;
    let [gradient, search] = [&many.gradient, &many.search].map(|r| r.average(Score::blend));
    section.claim(
        format!("{plant}: with {} knobs, a search without gradients has a worse score although it may spend {} times the work.", many.knobs, config.search_factor),
        format!("½ mean + ½ p99: {} {}, {} {} iterations", many.gradient.name, short(gradient), many.search.name, short(search)),
        Verdict::of(gradient < search),
        format!("work: gradient {}, search {} million solver iterations", short(many.work[0]), short(many.work[1])),
    ).changed_by("fewer knobs, where a search needs fewer trials, or a larger budget for it");
    if let [tuned, other] = findings.closed_loop.as_slice() {
        let wins = [
            tuned.average(m) < other.average(m),
            tuned.average(p) < other.average(p),
        ];
        section.claim(
            format!("{plant}: better in closed loop, too, with a warm start."),
            format!(
                "{}: mean {}, p99 {} iterations; {}: mean {}, p99 {}",
                tuned.name,
                short(tuned.average(m)),
                short(tuned.average(p)),
                other.name,
                short(other.average(m)),
                short(other.average(p))
            ),
            Verdict::of_all(wins),
            "the baseline is Jacobi scaling with (ρ, α) chosen in closed loop",
        ).changed_by("training on ticks of the closed loop with warm starts; the training here uses cold starts");
    }
    let [tuned, other] = findings.input_error;
    section.claim(
        format!("{plant}: the input at the stop is as accurate as with Jacobi scaling, so the stop test is not gamed."),
        format!(
            "mean distance of u from the exact solution: stopping time {}, Jacobi scaling {}",
            short(tuned.0),
            short(other.0)
        ),
        Verdict::of(tuned.0 <= 1.2 * other.0),
        format!("largest distance: stopping time {}, Jacobi scaling {}; a factor of 1.2 in the mean is allowed", short(tuned.1), short(other.1)),
    ).changed_by("a smaller tolerance ε_p or ε_d, or a term for the error of u in the training loss");
}

fn score_table(rows: &[&MethodRow]) -> Table {
    let mut table = Table::new()
        .left("knobs")
        .right("mean")
        .right("p99")
        .right("maximum")
        .right("% at the cap")
        .left("setting");
    for row in rows {
        let cell = |part: fn(&Score) -> f64| Cell::from(spread(row, part));
        table.row([
            row.name.as_str().into(),
            cell(|s| s.mean),
            cell(|s| s.p99),
            cell(|s| s.max),
            cell(|s| s.at_cap),
            row.setting.as_str().into(),
        ]);
    }
    table
}

fn tables(section: &mut Section, findings: &Findings) {
    let plant = findings.plant;
    let rows: Vec<&MethodRow> = findings.rows.iter().collect();
    section.table(
        name(findings, "iterations"),
        format!("{plant}: iterations on held-out ticks from a cold start, one number per training"),
        score_table(&rows),
    );
    let mut rows: Vec<&MethodRow> = findings.closed_loop.iter().collect();
    rows.extend(&findings.other_bounds);
    section.table(
        name(findings, "robustness"),
        format!("{plant}: closed loop with warm start, then bounds that were not trained on"),
        score_table(&rows),
    );
    let many = &findings.many_knobs;
    section.table(
        name(findings, "many-knobs"),
        format!("{plant}: {} knobs, with and without a gradient", many.knobs),
        score_table(&[&many.gradient, &many.search]),
    );
    let mut counts = Table::new().left("knobs").right("tick").right("iterations");
    for (who, list) in &findings.counts {
        for (i, &c) in list.iter().enumerate() {
            counts.row([who.as_str().into(), i.into(), (c as usize).into()]);
        }
    }
    section.data(
        name(findings, "counts"),
        format!("{plant}: iterations of every tick"),
        counts,
    );
}

/// The share of ticks that take longer than k iterations, against k. A line ends where the last tick is done.
fn deadline(findings: &Findings) -> Plot {
    let shares = |counts: &[u32]| {
        let longest = counts.iter().max().copied().unwrap_or(0);
        let share = |k: u32| {
            let longer = counts.iter().filter(|&&count| count > k).count();
            longer as f64 / counts.len().max(1) as f64
        };
        let points: Vec<_> = (0..longest).map(|k| (f64::from(k), share(k))).collect();
        points
    };
    let mut plot = Plot::new(format!("{}: ticks that miss a deadline", findings.plant))
        .size(560.0, 260.0)
        .x(Axis::linear("deadline, iterations"))
        .y(Axis::log("share of ticks"));
    for (i, (who, counts)) in findings.counts.iter().enumerate() {
        let series = Series::new(who.clone(), shares(counts)).stairs();
        plot = plot.line(if i == 0 { series } else { series.grey() });
    }
    plot
}

fn figures(section: &mut Section, findings: &Findings) {
    let plant = findings.plant;
    section.figure(
        name(findings, "deadline"),
        format!(
            "{plant}: share of the held-out ticks that take more iterations than a deadline allows"
        ),
        deadline(findings),
    );
    let plots: Vec<Plot> = findings
        .counts
        .iter()
        .map(|(who, counts)| {
            // The last bin holds the tail.
            let values: Vec<f64> = counts.iter().map(|&c| f64::from(c.min(200))).collect();
            Plot::new(who.clone())
                .size(300.0, 200.0)
                .x(Axis::linear("iterations").range(0.0, 200.0))
                .y(Axis::linear("ticks"))
                .histogram("", &values, 50)
        })
        .collect();
    section.figure(
        name(findings, "histogram"),
        format!("{plant}: iterations of the held-out ticks; 200 stands for all that take longer"),
        panels(&plots, 2),
    );
    let plots: Vec<Plot> = findings
        .traces
        .iter()
        .flat_map(|(who, trace)| {
            let line = |values: Vec<f64>| {
                let points = values.into_iter().enumerate();
                Series::new("", points.map(|(k, v)| (k as f64, v)))
            };
            let counts = trace.iterations.iter().map(|&c| f64::from(c)).collect();
            [
                Plot::new(format!("{who}: position and input"))
                    .size(300.0, 180.0)
                    .x(Axis::linear("tick"))
                    .y(Axis::linear("position, input"))
                    .line(line(trace.position.clone()))
                    .line(line(trace.input.clone()).dashed()),
                Plot::new(format!("{who}: iterations"))
                    .size(300.0, 180.0)
                    .x(Axis::linear("tick"))
                    .y(Axis::linear("iterations"))
                    .line(line(counts).stairs()),
            ]
        })
        .collect();
    section.figure(
        name(findings, "loop"),
        format!("{plant}: a run in closed loop, warm-started; solid: position, dashed: input"),
        panels(&plots, 2),
    );
    let history = |part: fn(&Score) -> f64| {
        let points: Vec<(f64, f64)> = findings
            .history
            .iter()
            .map(|(step, score)| (*step as f64, part(score)))
            .collect();
        points
    };
    let plot = Plot::new("Training")
        .size(380.0, 220.0)
        .x(Axis::linear("step of Adam"))
        .y(Axis::log("iterations"))
        .line(Series::new("mean", history(|s| s.mean)))
        .line(Series::new("p99", history(|s| s.p99)))
        .line(Series::new("maximum", history(|s| s.max)));
    section.figure(
        name(findings, "training"),
        format!("{plant}: scores on the pool while the chosen controller was trained"),
        plot,
    );
}
