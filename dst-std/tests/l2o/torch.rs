//! A training step against PyTorch: losses and gradients of `peers/torch_reference.py`, and the first step at the paper's size.

use dst_std::l2o::{Architecture, Family, Feed, Loss, Penalty, Recipe, Trainer};
use dst_std::linalg::Real;
use dst_std::parallel;
use serde_json::Value;

use crate::weights;

const REFERENCE: &str = include_str!("peers/torch_reference.json");

/// Errors of a case: of the losses, relative; of the gradient, relative to the norm of its tensor.
fn errors<T: Real>(case: &Value) -> (f64, f64) {
    let text = |key: &str| case[key].as_str().unwrap();
    let (model, stream) = match text("model") {
        "dm" => (Architecture::Dm, 2003),
        _ => (Architecture::RnnProp, 2001),
    };
    let recipe = Recipe {
        model,
        feed: match text("feed") {
            "full" => Feed::Full,
            _ => Feed::Detached,
        },
        loss: Loss::Mean,
        penalty: match text("penalty") {
            "literal" => Penalty::Literal { weight: 1.0 },
            _ => Penalty::None,
        },
        family: Family::new(40, 24),
        batch: 4,
        segments: case["segments"].as_u64().unwrap() as usize,
        steps: 6,
        rate: 1e-3,
    };
    let mut trainer = Trainer::<T>::new(recipe, weights(model, stream));
    trainer.draw(7);
    let report = trainer.step(0).unwrap();
    let numbers = |list: &Value| -> Vec<f64> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_f64().unwrap())
            .collect()
    };
    let losses = numbers(&case["losses"]);
    assert_eq!(report.losses.len(), losses.len());
    let pairs = report.losses.iter().zip(&losses);
    let loss = pairs.map(|(a, b)| (a - b).abs() / b).fold(0.0, f64::max);
    let mut stops = numbers(&case["stops"]);
    stops.retain(|&stop| stop > 0.0);
    assert_eq!((report.stops, report.flat), (stops.len(), 0));
    if !stops.is_empty() {
        let mean = stops.iter().sum::<f64>() / stops.len() as f64;
        assert!((report.mean_stop - mean).abs() < 1e-12);
    }
    let mut worst = 0.0_f64;
    let tensors = case["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), model.tensors().len());
    for (ours, theirs) in model.tensors().iter().zip(tensors) {
        assert_eq!(theirs["name"], ours.name);
        let entry = |index: usize| trainer.gradient()[ours.place(index)].to_f64();
        let norm = theirs["norm"].as_f64().unwrap();
        let square: f64 = (0..ours.len())
            .map(|index| entry(index) * entry(index))
            .sum();
        worst = worst.max((square.sqrt() - norm).abs() / norm);
        for pair in theirs["entries"].as_array().unwrap() {
            let value = pair[1].as_f64().unwrap();
            let index = pair[0].as_u64().unwrap() as usize;
            worst = worst.max((entry(index) - value).abs() / norm);
        }
    }
    (loss, worst)
}

fn against<T: Real>(most_in_loss: f64, most: impl Fn(&Value) -> f64) {
    let reference: Value = serde_json::from_str(REFERENCE).unwrap();
    let cases = reference["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 16);
    for case in cases {
        let (loss, gradient) = errors::<T>(case);
        let name = ["model", "feed", "penalty", "segments"]
            .map(|key| case[key].to_string())
            .join(" ");
        println!("{name}: losses {loss:.1e}, gradient {gradient:.1e}");
        let most = most(case);
        assert!(
            loss <= most_in_loss && gradient <= most,
            "{name}: {loss:e} {gradient:e}"
        );
    }
}

#[test]
fn gradients_in_double_precision() {
    against::<f64>(1e-13, |_| 1e-9);
}

/// The penalty divides by a difference of differences of f, which multiplies what rounding does to f: there PyTorch's own
/// error in single precision is the measure.
#[test]
fn gradients_in_single_precision() {
    against::<f32>(1e-6, |case| match case["penalty"].as_str() {
        Some("none") => 1e-4,
        _ => f64::max(1e-4, 8.0 * case["single"].as_f64().unwrap()),
    });
}

/// 64 problems of 512 variables and 256 examples, five segments of 20 steps.
#[test]
fn the_first_step_at_full_size() {
    let recipe = Recipe {
        rate: 1e-3,
        ..Recipe::paper(Architecture::RnnProp)
    };
    let losses = parallel::with(parallel::available(), || {
        let mut trainer = Trainer::<f32>::new(recipe, weights(Architecture::RnnProp, 2001));
        trainer.draw(0);
        trainer.step(0).unwrap().losses.clone()
    });
    let losses = losses.unwrap();
    println!("{losses:?}");
    let torch = [0.1401804, 0.1366170, 0.1128334, 0.0811681, 0.0523104];
    assert_eq!(losses.len(), torch.len());
    for (ours, theirs) in losses.iter().zip(torch) {
        assert!((ours - theirs).abs() <= 1e-5, "{losses:?}");
    }
}
