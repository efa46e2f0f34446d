use super::*;
use crate::experiments::common::order;
use crate::report::Verdict;

fn results() -> (IllustrationConfig, IllustrationResults) {
    let config = IllustrationConfig::new(FlowProblem::default(), true);
    let results = run(&config, &Progress::hidden()).unwrap();
    (config, results)
}

#[test]
fn paths_follow_the_flow_and_end_at_the_level_set() {
    let (config, results) = results();
    let j = |(x, y): (f64, f64)| x * x + 16.0 * y * y;
    let thetas: Vec<f64> = results.paths.iter().map(|path| path.theta).collect();
    assert_eq!(thetas, [0.1, 0.25, 0.5, 1.0]);
    for path in &results.paths {
        let end = j(*path.flow.last().unwrap());
        assert!((end / config.path_epsilon - 1.0).abs() < 1e-9, "{end}");
        assert!(path.stopped && path.steps[0] == (1.0, 1.0));
        let n = path.steps.len() - 1;
        assert!(
            j(path.steps[n]) <= config.path_epsilon && j(path.steps[n - 1]) > config.path_epsilon
        );
        // x₁ = (1 − h)^k by hand.
        let x1 = 0.8f64.powi(i32::try_from(n).unwrap());
        assert!((path.steps[n].0 / x1 - 1.0).abs() < 1e-12);
    }
}

#[test]
fn discrete_times_are_near_the_continuous_ones() {
    let (config, results) = results();
    for curve in &results.curves {
        assert_eq!(curve.points.len(), config.curve_intervals + 1);
        assert_eq!(curve.tangents.len(), config.tangents.len());
        for p in &curve.points {
            let time = p.time.unwrap();
            let gap = (p.steps.unwrap() as f64 * config.curve_step - time).abs();
            // A step, and the error of Euler's method: rates up to 4θ or 1 are off by h/2 of their square.
            let bound = config.curve_step * (1.0 + time);
            assert!(gap <= bound, "{p:?}, eps {}: {gap}", curve.epsilon);
        }
    }
}

#[test]
fn errors_fall_with_the_expected_orders() {
    let (config, results) = results();
    for line in &results.errors {
        assert_eq!(line.points.len(), config.order_divisions + 1);
        assert!((line.order - line.expected).abs() < 0.2, "{line:?}");
    }
    assert!((order(&[(1.0, 3.0), (2.0, 12.0), (4.0, 48.0)]) - 2.0).abs() < 1e-12);
}

#[test]
fn all_claims_hold_here() {
    let (config, results) = results();
    let section = section(&config, &results);
    assert_eq!(section.claims.len(), 4);
    for claim in &section.claims {
        assert_eq!(claim.verdict, Verdict::Holds, "{claim:?}");
    }
    let mut names: Vec<String> = section.files().map(|(name, _)| name).collect();
    assert!(names.iter().all(|name| name.starts_with("illustration-")));
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn an_interrupt_ends_it() {
    let flag = Progress::hidden();
    flag.interrupt().raise();
    let config = IllustrationConfig::new(FlowProblem::default(), true);
    assert_eq!(run(&config, &flag), Err(Failure::Interrupted));
}

#[test]
fn hopeless_parameters_still_have_figures() {
    // Euler's method with h = 0.2 does not survive this θ; with h = 0.01 it does.
    let problem = FlowProblem {
        theta: 20.0,
        step: 0.01,
        ..FlowProblem::default()
    };
    let config = IllustrationConfig::new(problem, true);
    let results = run(&config, &Progress::hidden()).unwrap();
    let path = results
        .paths
        .iter()
        .find(|path| path.theta == 20.0)
        .unwrap();
    assert!(!path.stopped);
    let section = section(&config, &results);
    for (name, content) in section.files() {
        assert!(!content.contains("NaN"), "{name}");
    }
}
