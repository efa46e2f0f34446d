//! The controllers with an active set that the firmware and the C programs are tested with: source text of the two plants.
//!
//! `DST_BLESS=1 cargo test -p dst-std --test active_set_controllers` writes them again.

use std::path::{Path, PathBuf};

use dst_core::mpc::Tick;
use dst_std::control::plants::{Plant, plants};
use dst_std::control::{Recording, controller_source};

/// Most rows of the active set, and the tolerance, of a plant.
fn setting(plant: &Plant) -> (usize, f32) {
    match plant.name {
        "quadrotor" => (20, 1e-6),
        // The rounding of a state is many times that of an input.
        _ => (10, 0.0),
    }
}

fn file(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    match name.ends_with(".rs") {
        true => root.join("tests/models/src/active_set").join(name),
        false => root.join("tests/c/active_set").join(name),
    }
}

#[test]
fn the_source_text_is_current() {
    for plant in plants().unwrap() {
        let (capacity, tolerance) = setting(&plant);
        let program = plant.active.cast::<f32>();
        let controller = program.controller(capacity, tolerance);
        controller.check().unwrap();
        let single = |values: &[f64]| values.iter().map(|&v| v as f32).collect::<Vec<f32>>();
        let (a, b) = (single(&plant.a), single(&plant.b));
        let name = plant.name.replace(' ', "_");
        let note = format!("The {} of the control experiment, for tests.", plant.name);
        for (name, text) in controller_source(&name, &controller, (&a, &b), &note) {
            let path = file(&name);
            if std::env::var_os("DST_BLESS").is_some() {
                std::fs::write(&path, &text).unwrap();
            }
            let committed = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(committed == text, "{name} differs: run with DST_BLESS=1");
        }
    }
}

/// All recorded ticks are solved by the device's controller, as exactly as the published counts say.
#[test]
fn recorded_ticks_are_solved() {
    for plant in plants().unwrap() {
        let (capacity, tolerance) = setting(&plant);
        let program = plant.active.cast::<f32>();
        let controller = program.controller(capacity, tolerance);
        let mut numbers = vec![0.0; Tick::<f32>::numbers(&controller)];
        let mut words = vec![0; Tick::<f32>::words(&controller)];
        let mut memory = Tick::new(&controller, &mut numbers, &mut words).unwrap();
        let mut errors = Vec::new();
        let (mut steps, mut operations) = (Vec::new(), Vec::new());
        for tick in Recording::PUBLISHED.of(&plant, 1) {
            if tick.cold {
                memory.reset();
            }
            let outcome = controller
                .tick(&mut memory, &tick.p, &tick.extra, 500)
                .unwrap();
            assert!(outcome.status.is_solved(), "{}: {outcome:?}", plant.name);
            assert_eq!(memory.inputs().len(), tick.exact.len(), "{}", plant.name);
            let pairs = memory.inputs().iter().zip(&tick.exact);
            errors.push(pairs.fold(0.0, |m: f64, (&u, e)| m.max((f64::from(u) - e).abs())));
            steps.push(outcome.steps);
            operations.push(outcome.operations);
        }
        errors.sort_by(f64::total_cmp);
        let p99 = errors[errors.len() * 99 / 100];
        let mean = |v: &[usize]| v.iter().sum::<usize>() as f64 / v.len() as f64;
        println!(
            "{}: {} numbers, {} words, error {p99:.1e} (p99) {:.1e} (max), steps {:.2} / {}, operations {:.0} / {}",
            plant.name,
            numbers.len(),
            words.len(),
            errors[errors.len() - 1],
            mean(&steps),
            steps.iter().max().unwrap(),
            mean(&operations),
            operations.iter().max().unwrap()
        );
        let limit = if plant.name == "quadrotor" {
            1e-5
        } else {
            1e-4
        };
        assert!(p99 <= limit, "{}: {p99:e}", plant.name);
    }
}
