//! A small version of the experiment, whole: every row is there, and the order that the study claims shows already.

use super::*;

fn small() -> ControlConfig {
    ControlConfig {
        runs: 4,
        ticks: 30,
        cold: 40,
        calibration: 8,
        steps: 20,
        pool: 40,
        choice: 40,
        ..ControlConfig::new(5, true)
    }
}

#[test]
fn a_small_version_has_every_row_and_its_order() {
    let config = small();
    let results = run(&config, &Progress::hidden()).unwrap();
    for findings in results.all() {
        let names: Vec<&str> = findings.rows.iter().map(|r| r.name).collect();
        assert_eq!(names.len(), 6, "{names:?}");
        let set = findings.rows[0].scored.as_ref().unwrap();
        assert_eq!(set.looped.counts.unsolved, 0);
        assert_eq!(set.looped.each.len(), config.runs * config.ticks);
        assert!(set.input_error.max <= config.accuracy, "{set:?}");
        let mut compared = 0;
        for row in &findings.rows[1..] {
            let Some(score) = &row.scored else { continue };
            compared += 1;
            for (ours, theirs) in [(&set.looped, &score.looped), (&set.cold, &score.cold)] {
                let (ours, theirs) = (&ours.operations, &theirs.operations);
                assert!(ours.mean < theirs.mean, "{}: {ours:?} {theirs:?}", row.name);
                assert!(theirs.mean <= theirs.max && theirs.p99 <= theirs.max);
            }
        }
        assert!(compared >= 2, "{names:?}");
        assert!(findings.certificate.runs >= 300);
        assert_eq!(findings.traces[0].counts.len(), config.ticks);
    }
    let section = section(&config, &results);
    let found = (
        section.claims.len(),
        section.figures.len(),
        section.tables.len(),
    );
    assert_eq!(found, (12, 6, 6));
}

#[test]
fn an_interrupt_ends_it() {
    let progress = Progress::hidden();
    progress.interrupt().raise();
    let ended = run(&small(), &progress);
    assert_eq!(ended.unwrap_err(), Failure::Interrupted);
}
