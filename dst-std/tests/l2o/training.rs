//! A training step: threads, penalties.

use dst_std::l2o::{Feed, Model, Penalty, Recipe, Report, Size, Trainer};
use dst_std::linalg::threads;

use crate::{descending, distance, weights};

/// Problems that [`descending`] solves within the run.
pub(crate) fn small(model: Model, penalty: Penalty) -> Recipe {
    Recipe {
        model,
        feed: Feed::Detached,
        penalty,
        size: Size {
            dim: 40,
            samples: 6,
        },
        batch: 5,
        segments: 2,
        steps: 12,
        rate: 1e-3,
    }
}

/// Two training steps: the weights, and the reports.
fn two_steps(recipe: Recipe, theta: &[f32], count: usize) -> (Vec<u32>, Vec<Report>) {
    let steps = || {
        let mut trainer = Trainer::<f32>::new(recipe, theta.to_vec());
        let reports = (0..2).map(|number| {
            trainer.draw(number);
            let mut report = trainer.step(number as usize).unwrap().clone();
            // NaN where nothing stopped, which is not equal to itself.
            if report.stops == 0 {
                report.mean_stop = 0.0;
            }
            report
        });
        let reports = reports.collect();
        (
            trainer.theta.iter().map(|theta| theta.to_bits()).collect(),
            reports,
        )
    };
    threads::with(count, steps).unwrap()
}

#[test]
fn a_trainer_may_move_to_more_threads() {
    let recipe = small(Model::RnnProp, Penalty::None);
    let theta: Vec<f32> = weights(Model::RnnProp, 3);
    let mut trainer = threads::with(1, || Trainer::new(recipe, theta)).unwrap();
    let done = threads::with(3, || {
        trainer.draw(1);
        trainer.step(0).is_ok()
    });
    assert_eq!(done, Ok(true));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for model in Model::ALL {
        for feed in [Feed::Detached, Feed::Full] {
            for penalty in [
                Penalty::None,
                Penalty::Literal { weight: 1.0 },
                Penalty::Guarded { from: 0 },
            ] {
                let recipe = Recipe {
                    feed,
                    ..small(model, penalty)
                };
                let theta = match model {
                    Model::Dm => weights(model, 3),
                    Model::RnnProp => descending(),
                };
                let one = two_steps(recipe, &theta, 1);
                assert!(
                    one.0
                        .iter()
                        .zip(&theta)
                        .any(|(after, before)| *after != before.to_bits())
                );
                for count in [2, 3, 7] {
                    assert!(
                        two_steps(recipe, &theta, count) == one,
                        "{recipe:?}: {count} threads"
                    );
                }
            }
        }
    }
}

/// The first segment's gradient, and what was seen in it.
fn first(penalty: Penalty, number: usize) -> (Vec<f64>, Report) {
    let recipe = Recipe {
        segments: 1,
        steps: 24,
        ..small(Model::RnnProp, penalty)
    };
    let mut trainer =
        Trainer::<f64>::new(recipe, descending().into_iter().map(f64::from).collect());
    trainer.draw(0);
    let report = trainer.step(number).unwrap().clone();
    (trainer.gradient().to_vec(), report)
}

/// Where all stops are honest, the guarded penalty points where the literal one does, with the length of the loss.
#[test]
fn the_guarded_penalty_is_the_literal_one_at_the_length_of_the_loss() {
    let (plain, none) = first(Penalty::None, 0);
    let (literal, theirs) = first(Penalty::Literal { weight: 0.25 }, 0);
    let (guarded, ours) = first(Penalty::Guarded { from: 3 }, 3);
    println!("{none:?}\n{theirs:?}\n{ours:?}");
    assert!(none.last < 1e-3 && none.stops == 0);
    assert!(ours.stops >= 3, "stops are seen");
    assert_eq!(
        (ours.stops, ours.mean_stop),
        (theirs.stops, theirs.mean_stop),
        "and they are honest"
    );
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let penalty: Vec<f64> = literal
        .iter()
        .zip(&plain)
        .map(|(a, b)| (a - b) / 0.25)
        .collect();
    let scale = norm(&plain) / norm(&penalty);
    let expected: Vec<f64> = plain
        .iter()
        .zip(&penalty)
        .map(|(a, b)| a + scale * b)
        .collect();
    let error = distance(&guarded, &expected);
    println!("{error:e}");
    assert!(error < 1e-9, "{error:e}");
    assert!(distance(&guarded, &plain) > 0.5);
    // Before its time it is not there.
    let (early, before) = first(Penalty::Guarded { from: 3 }, 2);
    assert_eq!((early, before.stops), (plain, 0));
}
