use super::*;
use crate::parallel;

fn outcome(config: &Config, problem: &Problem) -> Outcome {
    tune(config, problem, &Progress::hidden()).unwrap()
}

fn quadratic() -> Problem {
    Problem::built_in(Kind::Quadratic, 0.0, 1).unwrap()
}

/// A small data set, with enough regularisation that every method stops.
fn small(kind: Kind) -> Problem {
    let shape = crate::data::Shape {
        rows: 200,
        features: 24,
        groups: 4,
    };
    Problem::on_data(kind, "small", crate::data::synthetic(shape, 5), 1.0).unwrap()
}

/// The mean held-out N with given hyperparameters: what tuning from there begins with.
fn held_out_with(method: Method, alpha: f64, beta: Option<f64>) -> f64 {
    let config = Config {
        alpha: Some(alpha),
        beta,
        rounds: 0,
        ..Config::new(method)
    };
    outcome(&config, &quadratic()).before.held_out.mean
}

/// On a quadratic with eigenvalues from μ to L the best values are known, as the tolerance goes to zero.
#[test]
fn known_optimum() {
    let (mu, l) = (0.1_f64, 10.0_f64);
    let (low, high) = (mu.sqrt(), l.sqrt());
    let beta = ((high - low) / (high + low)).powi(2);
    for (method, alpha, beta) in [
        (Method::Gd, 2.0 / (l + mu), None),
        (Method::HeavyBall, 4.0 / (high + low).powi(2), Some(beta)),
    ] {
        let known = held_out_with(method, alpha, beta);
        let found = outcome(&Config::new(method), &quadratic());
        let (before, tuned) = (found.before.held_out.mean, found.tuned.held_out.mean);
        println!("{method:?}: {before} to {tuned}, known {known}");
        assert!(tuned < 1.15 * known, "{method:?}: {tuned} against {known}");
        assert!(tuned < 0.6 * before, "{method:?}: {before} to {tuned}");
    }
}

/// Every method gets quicker on starts that it was not tuned on, and the grid spends the same.
#[test]
fn held_out_starts_gain() {
    for kind in [Kind::Logistic, Kind::Svm] {
        let problem = small(kind);
        for method in Method::ALL {
            let config = Config {
                tolerance: 1e-3,
                starts: 8,
                held_out: 16,
                ..Config::new(method)
            };
            let found = outcome(&config, &problem);
            let (before, tuned) = (&found.before.held_out, &found.tuned.held_out);
            println!(
                "{kind:?} {method:?}: {:?} to {:?}, grid {:?}",
                before.median,
                tuned.median,
                found.grid.as_ref().map(|grid| grid.held_out.median)
            );
            assert_eq!(tuned.reached, 1.0, "{kind:?} {method:?}: {tuned:?}");
            assert!(
                tuned.mean < 0.9 * before.mean,
                "{kind:?} {method:?}: {} to {}",
                before.mean,
                tuned.mean
            );
            let grid = found.grid.unwrap();
            // One evaluation of all starts may go over the budget, no more.
            let over = grid.work.total() as i64 - found.tuned.work.total() as i64;
            assert!(
                (0..=(config.starts * (config.max_steps + 1)) as i64).contains(&over),
                "{over}"
            );
            assert!(
                found
                    .rounds
                    .windows(2)
                    .all(|r| r[1].training <= r[0].training)
            );
        }
    }
}

/// Runs that diverge, with and without overflow, and runs that are much too slow, are brought to stop.
#[test]
fn hopeless_starts_are_tuned() {
    for (method, alpha, beta) in [
        (Method::Gd, 0.25, None),
        (Method::Gd, 1e6, None),
        (Method::Gd, 1e-4, None),
        (Method::HeavyBall, 50.0, Some(0.99)),
        (Method::HeavyBall, 1e-3, Some(0.5)),
        (Method::Preconditioned, 1.0, None),
    ] {
        let config = Config {
            alpha: Some(alpha),
            beta,
            starts: 8,
            held_out: 16,
            ..Config::new(method)
        };
        let found = outcome(&config, &quadratic());
        let (before, tuned) = (&found.before.held_out, &found.tuned.held_out);
        assert_eq!(before.reached, 0.0, "{method:?} {alpha}");
        assert_eq!(tuned.reached, 1.0, "{method:?} {alpha}: {tuned:?}");
        assert!(tuned.median.unwrap() < 800, "{method:?} {alpha}: {tuned:?}");
    }
}

#[test]
fn threads_change_no_bit() {
    let problem = small(Kind::Logistic);
    let config = Config {
        tolerance: 1e-3,
        rounds: 4,
        starts: 5,
        held_out: 7,
        ..Config::new(Method::Nesterov)
    };
    let with = |count| parallel::with(count, || outcome(&config, &problem)).unwrap();
    let one = with(1);
    assert!(one.tuned.training.mean < one.before.training.mean);
    for count in [2, 3] {
        assert_eq!(with(count), one, "{count} threads");
    }
}

#[test]
fn an_interrupt_before_anything_is_known() {
    let config = Config::new(Method::Gd);
    let hidden = Progress::hidden();
    hidden.interrupt().raise();
    // Before anything is known there is nothing to keep.
    assert_eq!(
        tune(&config, &quadratic(), &hidden),
        Err(Failure::Interrupted)
    );
}

#[test]
fn what_has_no_answer_says_why() {
    let refused = |config: &Config| {
        let result = tune(config, &quadratic(), &Progress::hidden());
        match result {
            Err(Failure::NoAnswer(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    };
    let config = Config::new(Method::Gd);
    let loose = refused(&Config {
        tolerance: 1e3,
        ..config.clone()
    });
    assert!(loose.contains("lower --tolerance"), "{loose}");
    let short = refused(&Config {
        max_steps: 3,
        ..config
    });
    assert!(short.contains("raise --max-steps"), "{short}");
}

#[test]
fn the_picture_is_whole() {
    let config = Config {
        rounds: 3,
        ..Config::new(Method::Gd)
    };
    let svg = picture(&outcome(&config, &quadratic()));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for words in ["held-out starts, median", "grid search", "before", "tuned"] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}
