//! A small version of the experiment, whole: every row is there, and the order that the study claims shows already.

use super::*;

fn small() -> ControlConfig {
    ControlConfig {
        pool: 80,
        fresh: 200,
        test: 120,
        steps: 40,
        batch: 12,
        hard: 4,
        search_factor: 2,
        runs: 3,
        ticks: 25,
        exact: 4,
        ..ControlConfig::new(5, true)
    }
}

#[test]
fn a_small_version_has_every_row_and_its_order() {
    let config = small();
    let results = run(&config, &Progress::hidden()).unwrap();
    for findings in results.all() {
        let names: Vec<&str> = findings.rows.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names.len(), 12, "{names:?}");
        for row in &findings.rows {
            assert_eq!(
                row.scores.len(),
                if row.name == "published ρ" {
                    1
                } else {
                    config.trainings
                }
            );
            for score in &row.scores {
                let ordered =
                    1.0 <= score.mean && score.mean <= score.max && score.p99 <= score.max;
                assert!(ordered && score.max <= f64::from(config.cap), "{row:?}");
            }
        }
        let row = |name: &str| findings.rows.iter().find(|r| r.name == name).unwrap();
        let published = row("published ρ").average(|s| s.mean);
        let tuned = row("stopping time, 5 phases");
        assert!(
            tuned.average(|s| s.mean) < 0.5 * published,
            "{tuned:?} {published}"
        );
        assert!(
            findings.same_count_in_f64 > 80.0,
            "{}",
            findings.same_count_in_f64
        );
        assert!(findings.input_error.iter().all(|e| e.0 > 0.0 && e.1 < 0.2));
        assert_eq!(findings.counts[0].1.len(), config.test);
        assert_eq!(findings.traces[0].1.iterations.len(), config.ticks);
        assert!(findings.many_knobs.work[1] >= findings.many_knobs.work[0]);
    }
    let filter = &results.safety_filter;
    let jacobi = filter
        .rows
        .iter()
        .find(|r| r.name.starts_with("Jacobi scaling"))
        .unwrap();
    assert!(
        filter.tuned.mean < jacobi.average(|s| s.mean),
        "{:?} {jacobi:?}",
        filter.tuned
    );
    // Where a grid is as good.
    let [grid, ours] = results.momentum.as_slice() else {
        panic!("{:?}", results.momentum)
    };
    assert!(
        ours.average(Score::blend) < 1.2 * grid.average(Score::blend),
        "{grid:?} {ours:?}"
    );
    let section = section(&config, &results);
    assert_eq!(
        (
            section.claims.len(),
            section.figures.len(),
            section.tables.len()
        ),
        (10, 8, 9)
    );
}

#[test]
fn an_interrupt_ends_it() {
    let progress = Progress::hidden();
    progress.interrupt().raise();
    let ended = run(&small(), &progress);
    assert_eq!(ended.unwrap_err(), Failure::Interrupted);
}
