//! Learning to optimise: gradients against differences and against PyTorch, training, sessions.

#[path = "../../../tests/host/tests/golden/book.rs"]
mod book;
mod golden;
mod gradients;
mod same_bits;
mod sessions;
mod torch;
mod training;

use dst_std::l2o::{Architecture, Family, Task};
use dst_std::linalg::Real;

/// A problem of this size.
fn task<T: Real>(dim: usize, samples: usize) -> Task<T> {
    let mut task = Task::new(Family::new(dim, samples));
    task.draw(3, 1);
    task
}

/// As the reference scripts draw them: all within ±1/√30.
fn weights<T: Real>(model: Architecture, stream: u64) -> Vec<T> {
    model.initial(stream, |_| 1.0 / 30.0_f64.sqrt())
}

/// Weights of an RNNprop that descends along the sign of the momentum, with a little of everything else: a network whose runs
/// come to an honest stop without training.
fn descending() -> Vec<f32> {
    let model = Architecture::RnnProp;
    let mut theta: Vec<f32> = model.initial(41, |tensor| 0.02 * tensor.spread);
    let tensors = model.tensors();
    let mut set = |name: &str, index: usize, value: f32| {
        let tensor = tensors.iter().find(|tensor| tensor.name == name).unwrap();
        theta[tensor.place(index)] = value;
    };
    // Unit 0 alone is at work: in ELU, then straight through both layers (i and o open, f shut).
    set("inp.weight", 1, 3.0);
    for (input, bias) in [
        ("rnn.weight_ih_l0", "rnn.bias_ih_l0"),
        ("rnn.weight_ih_l1", "rnn.bias_ih_l1"),
    ] {
        set(input, 60 * 30, 3.0);
        for (gate, value) in [(0, 4.0), (1, -4.0), (3, 4.0)] {
            set(bias, gate * 30, value);
        }
    }
    set("out.weight", 0, 3.0);
    theta
}

/// ‖a − b‖/‖b‖
fn distance(a: &[f64], b: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    let size = norm(&mut b.iter().copied());
    norm(&mut a.iter().zip(b).map(|(a, b)| a - b)) / size.max(f64::MIN_POSITIVE)
}
