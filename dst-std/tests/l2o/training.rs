//! A training step: threads, penalties.

use dst_std::l2o::{
    Architecture, Family, Feed, Loss, NetworkScratch, Optimiser, Penalty, Recipe, StepReport, Task,
    Trainer,
};
use dst_std::parallel;

use crate::gradients::slope;
use crate::{descending, distance, weights};

/// Problems that [`descending`] solves within the run.
pub(crate) fn small(model: Architecture, penalty: Penalty) -> Recipe {
    Recipe {
        model,
        feed: Feed::Detached,
        loss: Loss::Mean,
        penalty,
        family: Family::new(40, 6),
        batch: 5,
        segments: 2,
        steps: 12,
        rate: 1e-3,
    }
}

pub(crate) const TARGET: Penalty = Penalty::Target {
    level: 0.1,
    from: 1,
};

/// Two training steps: the weights, and the reports.
fn two_steps(recipe: Recipe, theta: &[f32], count: usize) -> (Vec<u32>, Vec<StepReport>) {
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
            trainer
                .theta()
                .iter()
                .map(|theta| theta.to_bits())
                .collect(),
            reports,
        )
    };
    parallel::with(count, steps).unwrap()
}

#[test]
fn a_trainer_may_move_to_more_threads() {
    let recipe = small(Architecture::RnnProp, Penalty::None);
    let theta: Vec<f32> = weights(Architecture::RnnProp, 3);
    let mut trainer = parallel::with(1, || Trainer::new(recipe, theta)).unwrap();
    let done = parallel::with(3, || {
        trainer.draw(1);
        trainer.step(0).is_ok()
    });
    assert_eq!(done, Ok(true));
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for model in Architecture::ALL {
        for feed in [Feed::Detached, Feed::Full] {
            // The last one has more examples than variables, and so a minimum that the level stands above.
            for (penalty, samples) in [
                (Penalty::None, 6),
                (Penalty::Literal { weight: 1.0 }, 6),
                (Penalty::Guarded { from: 0 }, 6),
                (Penalty::Carried { from: 0 }, 6),
                (TARGET, 6),
                (TARGET, 100),
            ] {
                let recipe = Recipe {
                    feed,
                    family: Family::new(40, samples),
                    ..small(model, penalty)
                };
                let theta = match model {
                    Architecture::Dm => weights(model, 3),
                    Architecture::RnnProp => descending(),
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
fn first(penalty: Penalty, number: usize) -> (Vec<f64>, StepReport) {
    let recipe = Recipe {
        segments: 1,
        steps: 24,
        ..small(Architecture::RnnProp, penalty)
    };
    let mut trainer =
        Trainer::<f64>::new(recipe, descending().into_iter().map(f64::from).collect());
    trainer.draw(0);
    let report = trainer.step(number).unwrap().clone();
    (trainer.gradient().to_vec(), report)
}

/// With no stop because f rises, the guarded penalty has the direction of the literal one, with the length of the loss.
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

/// The same stops as the guarded one, another direction, the same length.
#[test]
fn the_carried_penalty_has_its_own_direction() {
    let (plain, _) = first(Penalty::None, 0);
    let (guarded, theirs) = first(Penalty::Guarded { from: 0 }, 0);
    let (carried, ours) = first(Penalty::Carried { from: 0 }, 0);
    assert_eq!(
        (ours.stops, ours.mean_stop),
        (theirs.stops, theirs.mean_stop)
    );
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    let extra = |v: &[f64]| -> Vec<f64> { v.iter().zip(&plain).map(|(a, b)| a - b).collect() };
    let (guarded, carried) = (extra(&guarded), extra(&carried));
    for extra in [&guarded, &carried] {
        let ratio = norm(extra) / norm(&plain);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }
    let apart = distance(&carried, &guarded);
    println!("{apart}");
    assert!(apart > 0.01, "{apart}");
}

/// The mean of ln f, above inf f where there is a minimum: its gradient against differences of the loss that is reported.
#[test]
fn the_logarithm_of_f() {
    for (model, samples) in [
        (Architecture::RnnProp, 6),
        (Architecture::RnnProp, 100),
        (Architecture::Dm, 6),
    ] {
        let recipe = Recipe {
            loss: Loss::Log,
            feed: Feed::Full,
            family: Family::new(40, samples),
            segments: 1,
            steps: 5,
            ..small(model, Penalty::None)
        };
        let at = |theta: &[f64]| {
            let mut trainer = Trainer::<f64>::new(recipe, theta.to_vec());
            trainer.draw(0);
            let loss: f64 = trainer.step(0).unwrap().losses.iter().sum();
            (loss, trainer)
        };
        let theta: Vec<f64> = match model {
            Architecture::Dm => weights(model, 3),
            Architecture::RnnProp => descending().into_iter().map(f64::from).collect(),
        };
        let (loss, trainer) = at(&theta);
        assert!(loss.is_finite() && loss < 0.0, "{loss}");
        let gradient = trainer.gradient();
        let largest = gradient.iter().fold(0.0_f64, |most, g| most.max(g.abs()));
        for tensor in model.tensors() {
            for index in [0, tensor.len() / 2] {
                let place = tensor.place(index);
                let difference = slope(&theta, place, |theta| at(theta).0);
                let error = (gradient[place] - difference).abs() / largest;
                assert!(
                    error < 1e-6,
                    "{} {}: {:e} against {difference:e}, largest {largest:e}",
                    model.name(),
                    tensor.name,
                    gradient[place]
                );
            }
        }
    }
}

/// The target penalty puts weight on f at the stop alone, above inf f where there is a minimum, and has the length of the loss.
#[test]
fn the_target_penalty_counts_from_the_infimum() {
    let family = Family::new(40, 400);
    let of = |level: f64| {
        let recipe = Recipe {
            family,
            segments: 1,
            steps: 40,
            ..small(Architecture::RnnProp, Penalty::Target { level, from: 0 })
        };
        let theta = descending().into_iter().map(f64::from).collect();
        let mut trainer = Trainer::<f64>::new(recipe, theta);
        trainer.draw(0);
        let report = trainer.step(0).unwrap().clone();
        (trainer.gradient().to_vec(), report)
    };
    let (high, low) = (of(0.2), of(0.1));
    println!("{:?}\n{:?}", high.1, low.1);
    // No f comes near these levels: it is the distance to the least f that does.
    assert!(low.1.last > 0.1, "{}", low.1.last);
    assert_eq!((high.1.stops, low.1.stops), (5, 5));
    assert!(high.1.mean_stop < low.1.mean_stop && low.1.mean_stop < 40.0);
    let (nothing, none) = of(1e-12);
    assert_eq!(none.stops, 0);
    // Twice the length of the loss at the most, as both parts have the same.
    let norm = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
    for (gradient, _) in [&high, &low] {
        let extra: Vec<f64> = gradient.iter().zip(&nothing).map(|(a, b)| a - b).collect();
        let ratio = norm(&extra) / norm(&nothing);
        assert!((ratio - 1.0).abs() < 1e-9, "{ratio}");
    }
}

#[test]
#[should_panic(expected = "a scratch for the variables of the objective")]
fn a_scratch_of_another_size() {
    let task = Task::<f32>::new(Family::new(100, 2));
    let mut scratch = NetworkScratch::new(40, 3);
    let _ = Optimiser::new(Architecture::Dm, &task, Feed::Detached, &mut scratch);
}
