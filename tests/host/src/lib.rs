//! Shared by the host tests: N* as a plain function of θ and x0, and its derivative by differences.

mod formulas;
pub mod interior_point;
pub mod programs;
mod random;
mod steps;

pub use formulas::random_formulas;
pub use random::RandomSystem;
pub use steps::{Falls, Steps};

use dst_core::solve::Gradient;
use dst_core::system::Criterion;
use dst_core::{
    Bar, Crossing, Direction, Error, HeapMemory, Integrator, Mode, Plan, Point, Progress, Reading,
    Sensitivity, System,
};
use dst_models::Quadratic;

/// Quadratic with coupled variables.
pub const BOWL: Quadratic<f64, 3> = Quadratic {
    lambda: [1.0, 3.0, 0.6],
    coupling: 0.2,
};

/// Criterion J = Σxᵢ⁴, which no ready-made method has.
#[derive(Clone, Copy, Debug)]
pub struct FourthPowers;

impl Criterion<f64> for FourthPowers {
    fn value(&self, at: Point<'_, f64>) -> f64 {
        at.x.iter().map(|x| x.powi(4)).sum()
    }
    fn pullback(&self, at: Point<'_, f64>, seed: f64, bar: Bar<'_, f64>) {
        for (bar, x) in bar.x.iter_mut().zip(at.x) {
            *bar += seed * 4.0 * x.powi(3);
        }
    }
    fn pushforward(&self, at: Point<'_, f64>, along: Direction<'_, f64>) -> f64 {
        let pairs = at.x.iter().zip(along.x);
        pairs.map(|(x, dx)| 4.0 * x.powi(3) * dx).sum()
    }
}

/// Gradient, copied out of its memory.
#[derive(Clone, Debug, PartialEq)]
pub struct StopGradient {
    /// N
    pub steps: usize,
    /// Interpolated N*.
    pub steps_star: f64,
    /// T
    pub time: f64,
    /// ∂T/∂θ
    pub theta: Vec<f64>,
    /// ∂T/∂x0
    pub x0: Vec<f64>,
    /// ∂T/∂ε
    pub epsilon: f64,
}

impl From<Sensitivity<'_, f64>> for StopGradient {
    fn from(s: Sensitivity<'_, f64>) -> Self {
        Self {
            steps: s.steps,
            steps_star: s.stop.steps,
            time: s.stop.time,
            theta: s.time_gradient().to_vec(),
            x0: s.time_gradient_x0().to_vec(),
            epsilon: s.time_gradient_epsilon(),
        }
    }
}

/// Whole computation with memory on the heap.
///
/// # Panics
/// If there is no gradient.
#[track_caller]
pub fn answer<I: Integrator<f64>, Y: System<f64>>(
    plan: Plan<f64, I>,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    slots: usize,
) -> StopGradient {
    let mut memory = HeapMemory::new(&plan, system, slots);
    plan.sensitivity(system, theta, x0, &mut memory)
        .unwrap()
        .into()
}

/// Memory on the heap, with or without room for the records of the steps.
pub fn heap<I: Integrator<f64>, Y: System<f64>>(
    plan: &Plan<f64, I>,
    system: &Y,
    slots: usize,
    records: bool,
) -> HeapMemory<f64> {
    if records {
        HeapMemory::with_records(plan, system, slots)
    } else {
        HeapMemory::new(plan, system, slots)
    }
}

/// Repeats a call until the differentiation is done.
///
/// # Errors
/// Returns those of the call.
pub fn until_done(mut call: impl FnMut() -> Result<Progress, Error>) -> Result<(), Error> {
    while let Progress::Running { .. } = call()? {}
    Ok(())
}

/// N and the bits of a gradient: θ, x0, state.
pub fn bits_of(g: Gradient<'_, f64>) -> (usize, Vec<u64>) {
    let numbers = g.theta.iter().chain(g.x0).chain(g.state);
    (g.steps, numbers.map(|v| v.to_bits()).collect())
}

/// Sums over a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total {
    /// Σ w_k f(x_k)
    pub loss: f64,
    /// Interpolated N*; NaN if the run did not stop.
    pub steps_star: f64,
}

/// Sums the losses of a run and interpolates its first passage, independently of the engine's arithmetic.
///
/// # Panics
/// If the run fails.
#[track_caller]
pub fn total<I: Integrator<f64>, Y: System<f64>>(
    (integrator, epsilon): (I, f64),
    limit: usize,
    system: &Y,
    (theta, x0): (&[f64], &[f64]),
    weight: impl Fn(usize) -> f64,
) -> Total {
    let plan = Plan::new(integrator, epsilon).at_most(limit);
    let mut memory = HeapMemory::new(&plan, system, 0);
    let problem = plan.on(system, theta, x0).unwrap();
    let (mut loss, mut previous, mut steps_star) = (0.0, f64::NAN, f64::NAN);
    problem.start(&mut memory).unwrap();
    let see = |step: usize, reading: Reading<f64>| {
        loss += weight(step) * reading.loss;
        let now = reading.criterion;
        if now <= epsilon {
            steps_star = step as f64 - 1.0 + (previous - epsilon) / (previous - now);
        }
        previous = now;
    };
    problem.watch(&mut memory, usize::MAX, see).unwrap();
    Total { loss, steps_star }
}

/// Differences of N* in every entry of θ and x0: central, extrapolated once, error O(δ⁴).
#[track_caller]
pub fn differences<I: Integrator<f64>, Y: System<f64>>(
    plan: Plan<f64, I>,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
    delta: f64,
) -> (Vec<f64>, Vec<f64>) {
    let plan = plan.crossing(Crossing::Interpolated).mode(Mode::Adjoint);
    let reference = answer(plan, system, theta, x0, 4).steps;
    let n_star = |theta: &[f64], x0: &[f64]| {
        let answer = answer(plan, system, theta, x0, 4);
        assert_eq!(
            answer.steps, reference,
            "N changes within the differences: choose another epsilon"
        );
        answer.steps_star
    };
    let by_entry = |vector: &[f64], f: &dyn Fn(&[f64]) -> f64| {
        (0..vector.len())
            .map(|i| {
                let slope = |d: f64| {
                    let (mut up, mut down) = (vector.to_vec(), vector.to_vec());
                    up[i] += d;
                    down[i] -= d;
                    (f(&up) - f(&down)) / (up[i] - down[i])
                };
                let d = delta * (1.0 + vector[i].abs());
                (4.0 * slope(0.5 * d) - slope(d)) / 3.0
            })
            .collect()
    };
    (
        by_entry(theta, &|t| n_star(t, x0)),
        by_entry(x0, &|x| n_star(theta, x)),
    )
}
