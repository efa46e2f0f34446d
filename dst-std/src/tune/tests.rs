use super::*;
use crate::parallel;

fn outcome(config: &TuningConfig, problem: &TuningProblem) -> TuningOutcome {
    tune(config, problem, &Progress::hidden()).unwrap()
}

fn quadratic() -> TuningProblem {
    TuningProblem::built_in(ProblemKind::Quadratic, 0.0, 1).unwrap()
}

/// A small data set, with enough regularisation that every method stops.
fn small(kind: ProblemKind) -> TuningProblem {
    let shape = crate::data::Shape {
        rows: 200,
        features: 24,
        groups: 4,
    };
    TuningProblem::on_data(kind, "small", crate::data::synthetic(shape, 5), 1.0).unwrap()
}

/// An absolute tolerance of 1e-4, at which known optima are close to the best.
fn strict(method: TunedMethod) -> TuningConfig {
    TuningConfig {
        tolerance: 1e-4,
        absolute: true,
        ..TuningConfig::new(method)
    }
}

/// The mean held-out N with given hyperparameters: what tuning from there begins with.
fn held_out_with(method: TunedMethod, alpha: f64, beta: Option<f64>) -> f64 {
    let config = TuningConfig {
        alpha: Some(alpha),
        beta,
        rounds: 0,
        hops: 0,
        ..strict(method)
    };
    outcome(&config, &quadratic()).before.held_out.mean
}

/// On a quadratic with eigenvalues from μ to L the best values are known, as the tolerance goes to zero.
#[test]
fn known_optimum() {
    let (mu, l) = (0.1_f64, 10.0_f64);
    let (low, high) = (mu.sqrt(), l.sqrt());
    let beta = ((high - low) / (high + low)).powi(2);
    for (method, name, alpha, beta) in [
        (TunedMethod::Gd, "2/(L + μ)", 2.0 / (l + mu), None),
        (
            TunedMethod::HeavyBall,
            "Polyak",
            4.0 / (high + low).powi(2),
            Some(beta),
        ),
        (
            TunedMethod::Nesterov,
            "Nesterov",
            4.0 / (3.0 * l + mu),
            Some((301_f64.sqrt() - 2.0) / (301_f64.sqrt() + 2.0)),
        ),
    ] {
        let known = held_out_with(method, alpha, beta);
        let found = outcome(&strict(method), &quadratic());
        let (before, tuned) = (found.before.held_out.mean, found.tuned.held_out.mean);
        println!("{method:?}: {before} to {tuned}, known {known}");
        let row = found.known.iter().find(|row| row.name == name).unwrap();
        assert!((row.held_out.mean - known).abs() < 1e-6 * known, "{row:?}");
        assert!(tuned < 1.02 * known, "{method:?}: {tuned} against {known}");
        assert!(tuned < 0.75 * before, "{method:?}: {before} to {tuned}");
        // No polynomial of the extreme eigenvalues alone does better than Chebyshev's in the worst case.
        let chebyshev = found.known.iter().find(|row| row.name == "Chebyshev");
        let chebyshev = &chebyshev.unwrap().held_out;
        assert!(
            chebyshev.reached == 1.0 && chebyshev.mean < known,
            "{chebyshev:?}"
        );
    }
}

/// From (1/L, 0.9) a descent of the mean alone ends at the edge of stability with 1824 iterations.
#[test]
fn the_edge_of_stability_is_no_trap() {
    let problem = TuningProblem::of_size(ProblemKind::Rosenbrock, 50, 1).unwrap();
    let config = TuningConfig {
        max_steps: 20_000,
        ..strict(TunedMethod::Nesterov)
    };
    let found = outcome(&config, &problem);
    let median = found.tuned.held_out.median.unwrap();
    println!("{} evaluations: {median}", found.tuned.work.total());
    assert_eq!(found.before.theta, [1.0 / 1400.0, 0.9]);
    assert!(found.before.held_out.median.unwrap() > 1500);
    assert!(median <= 430, "{median}");
    assert_eq!(found.tuned.held_out.reached, 1.0);
}

/// The result hardly depends on the first values.
#[test]
fn the_initial_values_hardly_matter() {
    let medians: Vec<usize> = [
        (0.1, 0.9),
        (0.02, 0.5),
        (0.3, 0.2),
        (0.05, 0.99),
        (5.0, 0.7),
    ]
    .iter()
    .map(|&(alpha, beta)| {
        let config = TuningConfig {
            alpha: Some(alpha),
            beta: Some(beta),
            ..strict(TunedMethod::HeavyBall)
        };
        outcome(&config, &quadratic())
            .tuned
            .held_out
            .median
            .unwrap()
    })
    .collect();
    println!("{medians:?}");
    let (least, most) = (medians.iter().min().unwrap(), medians.iter().max().unwrap());
    assert!(*most as f64 <= 1.1 * *least as f64, "{medians:?}");
}

/// Every method gets quicker on starts that it was not tuned on, and the grid spends the same.
#[test]
fn held_out_starts_gain() {
    for kind in [ProblemKind::Logistic, ProblemKind::Svm] {
        let problem = small(kind);
        for method in TunedMethod::ALL {
            let config = TuningConfig {
                tolerance: 1e-3,
                absolute: true,
                starts: 8,
                held_out: 16,
                hops: 2,
                ..TuningConfig::new(method)
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
            // A generation of CMA-ES, and the choice between slower candidates, may go over the budget.
            for spent in [found.grid.unwrap().work, found.cmaes.unwrap().work] {
                let (spent, ours) = (spent.total() as f64, found.tuned.work.total() as f64);
                assert!(spent > 0.8 * ours, "{spent} {ours}");
            }
            assert!(
                found
                    .rounds
                    .windows(2)
                    .all(|r| r[1].training <= r[0].training)
            );
        }
    }
}

#[test]
fn runs_that_diverge_or_crawl_are_tuned_until_they_stop() {
    for (method, alpha, beta) in [
        (TunedMethod::Gd, 0.25, None),
        (TunedMethod::Gd, 1e6, None),
        (TunedMethod::Gd, 1e-4, None),
        (TunedMethod::HeavyBall, 50.0, Some(0.99)),
        (TunedMethod::HeavyBall, 1e-3, Some(0.5)),
        (TunedMethod::Preconditioned, 1.0, None),
    ] {
        let config = TuningConfig {
            alpha: Some(alpha),
            beta,
            starts: 8,
            held_out: 16,
            ..strict(method)
        };
        let found = outcome(&config, &quadratic());
        let (before, tuned) = (&found.before.held_out, &found.tuned.held_out);
        assert_eq!(before.reached, 0.0, "{method:?} {alpha}");
        assert_eq!(tuned.reached, 1.0, "{method:?} {alpha}: {tuned:?}");
        assert!(tuned.median.unwrap() < 800, "{method:?} {alpha}: {tuned:?}");
    }
}

#[test]
fn the_outcome_has_the_same_bits_with_any_threads() {
    let problem = small(ProblemKind::Logistic);
    let config = TuningConfig {
        tolerance: 1e-3,
        absolute: true,
        rounds: 4,
        starts: 5,
        held_out: 7,
        ..TuningConfig::new(TunedMethod::Nesterov)
    };
    let with = |count| parallel::with(count, || outcome(&config, &problem)).unwrap();
    let one = with(1);
    assert!(one.tuned.training.mean < one.before.training.mean);
    for count in [2, 3] {
        assert_eq!(with(count), one, "{count} threads");
    }
}

#[test]
fn an_interrupt_before_the_first_result_is_a_failure() {
    let config = TuningConfig::new(TunedMethod::Gd);
    let hidden = Progress::hidden();
    hidden.interrupt().raise();
    assert_eq!(
        tune(&config, &quadratic(), &hidden),
        Err(Failure::Interrupted)
    );
}

#[test]
fn a_failure_names_the_option_to_change() {
    let refused = |config: &TuningConfig| {
        let result = tune(config, &quadratic(), &Progress::hidden());
        match result {
            Err(Failure::NoAnswer(sentence)) => sentence,
            other => panic!("{other:?}"),
        }
    };
    let config = strict(TunedMethod::Gd);
    let loose = refused(&TuningConfig {
        tolerance: 1e3,
        ..config.clone()
    });
    assert!(loose.contains("lower --tolerance"), "{loose}");
    let short = refused(&TuningConfig {
        max_steps: 3,
        ..config
    });
    assert!(short.contains("raise --max-steps"), "{short}");
}

#[test]
fn the_figure_is_complete() {
    let config = TuningConfig {
        rounds: 3,
        ..TuningConfig::new(TunedMethod::Gd)
    };
    let svg = picture(&outcome(&config, &quadratic()));
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    for words in [
        "CMA-ES, held-out median",
        "grid search",
        "before",
        "tuned",
        "Chebyshev",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

/// A relative tolerance has the same meaning for a problem in other units.
#[test]
fn a_relative_tolerance_depends_on_the_start() {
    let first = |criterion| {
        let config = TuningConfig {
            criterion,
            rounds: 0,
            descents: 1,
            ..TuningConfig::new(TunedMethod::HeavyBall)
        };
        outcome(&config, &quadratic())
    };
    for criterion in Criterion::ALL {
        let found = first(criterion);
        assert_eq!((found.tolerance, found.absolute), (1e-2, false));
        let residual = found.before.held_out.residual;
        // The starts are standard normal: max |∇f| is at most about 40, ‖∇f‖ 60, f 500; and the stop is at a hundredth.
        assert!(
            residual > 1e-3 && residual < 6.0,
            "{criterion:?}: {residual}"
        );
    }
}
