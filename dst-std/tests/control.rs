//! From a plant to a tuned controller: gradients against differences, the same bits everywhere, and fewer iterations.

use dst_core::mpc::AdmmTick;
use dst_std::control::plants::{Plant, quadrotor, safety_filter};
use dst_std::control::{
    Knobset, Pool, Score, Tuned, TuningOptions, differentiate, export, initial_theta, iterations,
    objective, tune,
};
use dst_std::parallel;
use dst_std::progress::Progress;

fn plants() -> [Plant; 2] {
    [safety_filter(), quadrotor().unwrap()]
}

fn knobs(plant: &Plant, switches: &[usize]) -> Knobset {
    let kinds: Vec<usize> = plant.kinds.iter().map(|k| k.1).collect();
    let base = plant.program.jacobi().unwrap();
    Knobset::levels_and_slopes(&plant.program, base, &kinds, switches)
}

/// N\* and its gradient by θ.
fn stopping(
    plant: &Plant,
    set: &Knobset,
    theta: &[f64],
    pool: &Pool<f64>,
    i: usize,
    cap: u32,
) -> (f64, Vec<f64>) {
    let tuned = set.tuned(&plant.program, theta).unwrap();
    let found = differentiate(&plant.program, pool, i, tuned.phases(), cap).unwrap();
    let mut gradient = vec![0.0; theta.len()];
    set.knobs()
        .pull(&tuned.params, &found.gradient, &mut gradient);
    (found.iterations, gradient)
}

fn check_differences(plant: &Plant, pool: &Pool<f64>, cap: u32, reached: bool) {
    let set = knobs(plant, &[6, 14]);
    let theta: Vec<f64> = set
        .start(1.5, 1.6)
        .iter()
        .enumerate()
        .map(|(j, t)| t + 0.05 * (j as f64).sin())
        .collect();
    let mut compared = 0;
    for i in 0..pool.len() {
        let (steps, exact) = stopping(plant, &set, &theta, pool, i, cap);
        if (steps <= f64::from(cap)) != reached || steps < 5.0 {
            continue;
        }
        let largest = exact.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        for j in 0..theta.len() {
            let at = |d: f64| {
                let mut moved = theta.clone();
                moved[j] += d;
                stopping(plant, &set, &moved, pool, i, cap).0
            };
            let central = |h: f64| (at(h) - at(-h)) / (2.0 * h);
            // Rounding is amplified over eighty iterations, so h cannot be small; two of them make up for its error.
            let difference = (4.0 * central(2e-5) - central(4e-5)) / 3.0;
            assert!(
                (difference - exact[j]).abs() <= 1e-5 * largest.max(1.0),
                "{} {i}, knob {j}: {difference} {}",
                plant.name,
                exact[j]
            );
        }
        compared += 1;
    }
    assert!(
        compared > 0,
        "{}: nothing to compare at cap {cap}",
        plant.name
    );
}

#[test]
fn the_gradient_is_that_of_differences() {
    for plant in plants() {
        check_differences(&plant, &plant.pool(11, 8), 500, true);
    }
}

/// Starts of a warm loop: the same instances, begun from z and y that are not zero.
#[test]
fn a_warm_start_is_part_of_the_gradient_and_of_the_count() {
    for plant in plants() {
        let pool = plant.pool(11, 8);
        let width = plant.program.shape.states();
        let starts: Vec<f64> = (0..8 * width).map(|i| (i as f64).sin()).collect();
        assert_eq!(pool.clone().with_starts(starts[1..].to_vec()), None);
        let warm = pool.clone().with_starts(starts).unwrap();
        assert_eq!(warm.start(3)[0], (3.0 * width as f64).sin());
        assert_eq!(warm.subset(&[3]).start(0), warm.start(3));
        assert!(pool.start(3).is_empty());
        check_differences(&plant, &warm, 500, true);
        let set = knobs(&plant, &[]);
        let theta = set.start(1.0, 1.6);
        let tuned = set.tuned(&plant.program, &theta).unwrap();
        let counts = iterations(&plant.program, &warm, tuned.phases(), 500);
        assert_ne!(
            counts,
            iterations(&plant.program, &pool, tuned.phases(), 500)
        );
        for (i, &count) in counts.iter().enumerate() {
            let (stop, _) = stopping(&plant, &set, &theta, &warm, i, 500);
            assert!((stop - f64::from(count)).abs() <= 1.0, "{stop} {count}");
        }
    }
}

#[test]
fn an_extrapolated_stop_has_its_gradient_too() {
    // A cap that comes too early.
    let plant = safety_filter();
    check_differences(&plant, &plant.pool(11, 8), 40, false);
}

#[test]
fn weights_of_mean_and_tail() {
    let counts = [10.0, 20.0, 90.0];
    let (value, weights) = objective(&counts, 0.3);
    assert!((weights.iter().sum::<f64>() - 1.3).abs() < 1e-12);
    assert!(weights[2] > weights[1] && weights[1] > 1.0 / 3.0);
    // Between the mean and the maximum.
    assert!(value > 40.0 && value < 40.0 + 0.3 * 90.0, "{value}");
}

#[test]
fn single_precision_stops_as_double_does() {
    for plant in plants() {
        let set = knobs(&plant, &[]);
        let tuned = set.tuned(&plant.program, &set.start(1.0, 1.6)).unwrap();
        let pool = plant.pool(5, 100);
        let double = iterations(&plant.program, &pool, tuned.phases(), 500);
        let small: Tuned<f32> = tuned.cast();
        let single = iterations(&plant.program.cast(), &pool.cast(), small.phases(), 500);
        let near = double
            .iter()
            .zip(&single)
            .filter(|(a, b)| a.abs_diff(**b) <= 1);
        let near = near.count();
        let [a, b] = [&double, &single].map(|counts| Score::of(counts, 500).mean);
        assert!(
            near >= 95 && (a / b - 1.0).abs() < 0.01,
            "{}: {near} of 100, {a} {b}",
            plant.name
        );
    }
}

fn small_training(plant: &Plant, threads_used: usize) -> (Vec<f64>, Score, Score) {
    let options = TuningOptions {
        steps: 40,
        batch: 12,
        hard: 4,
        ..TuningOptions::default()
    };
    let set = knobs(plant, &[12, 40]);
    let (pool, choice) = (plant.pool(21, 120), plant.pool(23, 200));
    let test = plant.pool(22, 200).cast::<f32>();
    parallel::with(threads_used, || {
        let start = initial_theta(&plant.program, &set, &pool, 500);
        let training = tune(
            &plant.program,
            &set,
            &start,
            [&pool, &choice],
            &options,
            &Progress::hidden(),
        )
        .unwrap();
        let score = |theta: &[f64]| {
            let tuned: Tuned<f32> = set.tuned(&plant.program, theta).unwrap().cast();
            Score::of(
                &iterations(&plant.program.cast(), &test, tuned.phases(), 500),
                500,
            )
        };
        let (before, after) = (score(&start), score(&training.theta));
        (training.theta, before, after)
    })
    .unwrap()
}

#[test]
fn training_cuts_iterations_on_ticks_it_has_not_seen() {
    for plant in plants() {
        let (theta, before, after) = small_training(&plant, 1);
        assert!(
            after.blend() < 0.85 * before.blend() && after.p99 < before.p99,
            "{}: {before:?} {after:?}",
            plant.name
        );
        // The same bits with any number of threads.
        let bits = |theta: &[f64]| theta.iter().map(|t| t.to_bits()).collect::<Vec<_>>();
        assert!(
            bits(&small_training(&plant, 2).0) == bits(&theta),
            "{}",
            plant.name
        );
    }
}

#[test]
fn the_quadrotor_comes_home() {
    let plant = quadrotor().unwrap();
    let set = knobs(&plant, &[]);
    let tuned: Tuned<f32> = set
        .tuned(&plant.program, &set.start(3.0, 1.6))
        .unwrap()
        .cast();
    let program = plant.program.cast::<f32>();
    let controller = tuned.controller(&program);
    controller.check().unwrap();
    let mut memory = vec![0.0; AdmmTick::<f32>::len(controller.shape)];
    let mut tick = AdmmTick::new(controller.shape, &mut memory).unwrap();
    let (x, _) = (plant.draw)(3, 0);
    let mut x: Vec<f32> = x.iter().map(|&x| x as f32).collect();
    for _ in 0..200 {
        let outcome = controller.tick(&mut tick, &x, &[], 500).unwrap();
        assert!(outcome.solved, "{outcome:?}");
        assert!(tick.inputs().iter().all(|u| u.abs() <= 0.5));
        plant.advance(&mut x, tick.inputs());
    }
    assert!(x.iter().all(|x| x.abs() < 0.05), "{x:?}");
}

/// The committed controllers are those that the stored knobs give: no edits by hand, no change of the exporter.
#[test]
fn the_controllers_of_the_firmware_are_an_export() {
    let safety_filter = (
        include_str!("../../tests/c/controllers/safety_filter.knobs.json"),
        include_str!("../../tests/models/src/controllers/safety_filter.rs"),
        include_str!("../../tests/c/controllers/safety_filter.h"),
    );
    let quadrotor = (
        include_str!("../../tests/c/controllers/quadrotor.knobs.json"),
        include_str!("../../tests/models/src/controllers/quadrotor.rs"),
        include_str!("../../tests/c/controllers/quadrotor.h"),
    );
    for (plant, (stored, rust, c)) in plants().iter().zip([safety_filter, quadrotor]) {
        let [(rust_name, in_rust), (c_name, in_c)] = export::regenerate(plant, stored).unwrap();
        if std::env::var_os("DST_BLESS").is_some() {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
            let rust_file = root.join("models/src/controllers").join(rust_name);
            std::fs::write(rust_file, &in_rust).unwrap();
            std::fs::write(root.join("c/controllers").join(c_name), &in_c).unwrap();
        }
        assert!(in_rust == rust, "{}.rs is not what is exported", plant.name);
        assert!(in_c == c, "{}.h is not what is exported", plant.name);
    }
    let refused = |text: &str| {
        export::regenerate(&plants()[0], text)
            .unwrap_err()
            .to_string()
    };
    assert!(refused("{").contains("not the knobs"));
    let short = refused(r#"{"note": "", "switches": [4], "theta": [1.0]}"#);
    assert!(short.contains("must have 56 numbers, not 1"), "{short}");
}

/// The parts of a controller fit together: K is that of R and H, and the bounds are the plant's.
#[test]
fn the_controllers_of_the_firmware_fit_their_plants() {
    use dst_models::controllers as exported;
    for (plant, found) in plants().iter().zip([
        &exported::safety_filter::CONTROLLER,
        &exported::quadrotor::CONTROLLER,
    ]) {
        found.check().unwrap();
        let program = &plant.program;
        assert_eq!((found.shape, found.states), (program.shape, program.states));
        let params: Vec<f64> = found.params.iter().map(|&p| p.into()).collect();
        let inverses = program.inverses(&params).unwrap();
        let scale = inverses.iter().fold(0.0, |m: f64, k| m.max(k.abs()));
        for (ours, theirs) in inverses.iter().zip(found.inverses) {
            assert!(
                (ours - f64::from(*theirs)).abs() < 1e-5 * scale,
                "{}: {ours} {theirs}",
                plant.name
            );
        }
        let same = |ours: &[f64], theirs: &[f32]| {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| *a as f32 == *b)
        };
        assert!(same(&program.outputs, found.outputs) && same(&program.linear, found.linear));
        assert!(same(&program.free, found.free));
        assert!(same(&program.lower, found.lower) && same(&program.upper, found.upper));
        // And they are good: a cold start on ticks that they have not seen.
        let tuned = Tuned {
            params: found.params.to_vec(),
            inverses: found.inverses.to_vec(),
            switches: found.switches.to_vec(),
        };
        let test = plant.pool(987, 500).cast::<f32>();
        let score = Score::of(
            &iterations(&program.cast(), &test, tuned.phases(), 500),
            500,
        );
        let most = if program.shape.outputs > 0 {
            (45.0, 65.0)
        } else {
            (20.5, 50.0)
        };
        assert!(
            score.mean <= most.0 && score.p99 <= most.1 && score.at_cap == 0.0,
            "{}: {score:?}",
            plant.name
        );
    }
}
