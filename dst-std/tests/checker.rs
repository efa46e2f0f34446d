//! The systems of this crate pass the checker of derivatives.

use dst_core::methods::{Adam, Constant, GradientFlow, HeavyBall, Nesterov, Preconditioned};
use dst_core::solve::check::{Entry, Function};
use dst_core::{
    Bar, Dims, Euler, HeapMemory, Integrator, Map, Objective, Plan, Point, Reading, Scalar, Seed,
    System,
};
use dst_std::data::{Shape, synthetic};
use dst_std::l2o::{Architecture, Family, Feed, NetworkScratch, Optimiser, Task};
use dst_std::learned::diagonal::{Diagonal, parameters};
use dst_std::linalg::Real;
use dst_std::problems::{Form, Logistic, Margins, Rosenbrock, SmoothSvm, quadratic};

/// Fails with the sentence of the mismatch; one derivative in ten may be undecided, because of kinks.
#[track_caller]
fn passes<S: Scalar, I: Integrator<S>>(
    name: &str,
    plan: Plan<S, I>,
    system: &dyn System<S>,
    theta: &[S],
    x0: &[S],
) {
    let mut memory = HeapMemory::new(&plan, system, 0);
    match plan.check(system, theta, x0, &mut memory) {
        Ok(checked) => {
            println!("{name}: {checked}");
            assert!(
                checked.undecided * 10 <= checked.compared,
                "{name}: {checked}"
            );
            assert!(checked.points >= 3, "{name}: {checked}");
        }
        Err(wrong) => panic!("{name}: {wrong}"),
    }
}

fn euler(h: f64) -> Plan<f64, Euler<f64>> {
    Euler::new(h).until(-1.0)
}

/// Different entries of either sign.
fn vector(dim: usize) -> Vec<f64> {
    (0..dim)
        .map(|i| 0.4 * (1.7 * i as f64 + 0.3).sin())
        .collect()
}

/// Every method on an objective.
fn methods(name: &str, objective: &(impl Objective<f64> + Clone), step: f64, x: &[f64]) {
    let dim = x.len();
    let of = |method: &str| format!("{name}, {method}");
    let padded = |blocks: usize| {
        let mut state = x.to_vec();
        state.resize(blocks * dim, 0.0);
        state
    };
    let flow = GradientFlow::new(objective, Constant);
    passes(&of("gradient flow"), euler(step), &flow, &[1.1], x);
    let steps: Vec<f64> = (0..dim).map(|i| step * (1.0 + 0.1 * i as f64)).collect();
    let diagonal = Preconditioned::new(objective);
    passes(&of("preconditioned"), euler(1.0), &diagonal, &steps, x);
    let heavy_ball = HeavyBall::new(objective);
    passes(
        &of("heavy ball"),
        euler(1.0),
        &heavy_ball,
        &[step, 0.7],
        &padded(2),
    );
    let twice = [x, x].concat();
    let nesterov = Nesterov::new(objective);
    passes(&of("Nesterov"), euler(1.0), &nesterov, &[step, 0.7], &twice);
    let adam = Adam::new(objective);
    passes(
        &of("Adam"),
        euler(1.0),
        &adam,
        &[0.01, 0.9, 0.99],
        &padded(3),
    );
}

#[test]
fn linear_models_with_every_method() {
    let shape = Shape {
        rows: 60,
        features: 12,
        groups: 4,
    };
    let margins = || Margins::new(synthetic(shape, 5)).unwrap();
    let logistic = Logistic::new(margins(), 0.1);
    let x = vector(Objective::<f64>::dim(&logistic));
    methods("logistic", &logistic, 0.01, &x);
    methods("squared hinge", &SmoothSvm::new(margins(), 0.1), 0.005, &x);
}

#[test]
fn other_objectives() {
    methods(
        "Rosenbrock",
        &Rosenbrock { dim: 5 },
        1e-4,
        &[-1.2, 1.0, 0.3, 0.7, -0.4],
    );
    let operator = quadratic::reflected(9, 3, 4);
    methods("quadratic form", &Form(operator), 0.01, &vector(9));
}

#[test]
fn learned_preconditioner() {
    for dim in [3, 40] {
        let system = Diagonal {
            operator: quadratic::reflected(dim, 2, 8),
        };
        let name = format!("diagonal preconditioner of {dim}");
        passes(
            &name,
            euler(0.01),
            &system,
            &parameters(dim, 6),
            &vector(dim),
        );
    }
}

fn learned<T: Real>(model: Architecture) {
    let mut task: Task<T> = Task::new(Family::new(5, 8));
    task.draw(3, 1);
    let theta: Vec<T> = model.initial(7, |_| 1.0 / 30.0_f64.sqrt());
    let mut scratch = NetworkScratch::new(5, 4);
    let optimiser = Optimiser::new(model, &task, Feed::Full, &mut scratch);
    let mut state = vec![T::ZERO; optimiser.dims().states];
    let x0: Vec<T> = vector(5).into_iter().map(T::from_f64).collect();
    optimiser.start(&x0, &mut state);
    // A run begins with the largest number, in which f would be lost.
    *state.last_mut().unwrap() = T::from_f64(3.0);
    let plan = Map.until(-T::MAX);
    let name = format!("{} with {} bytes", model.title(), size_of::<T>());
    passes(&name, plan, &optimiser, &theta, &state);
}

#[test]
fn learned_optimisers() {
    for model in [Architecture::Dm, Architecture::RnnProp] {
        learned::<f64>(model);
        learned::<f32>(model);
    }
}

/// The learned preconditioner with a mistake in one row of its parameters.
struct Spoiled<Y>(Y);

impl<Y: System<f64>> System<f64> for Spoiled<Y> {
    fn dims(&self) -> Dims {
        self.0.dims()
    }
    fn rate(
        &self,
        at: Point<'_, f64>,
        rate: &mut [f64],
        tape: &mut [f64],
        scratch: &mut [f64],
    ) -> Reading<f64> {
        self.0.rate(at, rate, tape, scratch)
    }
    fn pullback(
        &self,
        at: Point<'_, f64>,
        tape: &[f64],
        seed: Seed<'_, f64>,
        bar: Bar<'_, f64>,
        scratch: &mut [f64],
    ) {
        let before = bar.theta[123];
        self.0
            .pullback(at, tape, seed, Bar::new(bar.theta, bar.x), scratch);
        bar.theta[123] = before - (bar.theta[123] - before);
    }
}

/// One of 400 parameters has the wrong sign.
#[test]
fn one_wrong_parameter_of_many_is_found() {
    let system = Spoiled(Diagonal {
        operator: quadratic::reflected(40, 2, 8),
    });
    let plan = euler(0.01);
    let mut memory = HeapMemory::new(&plan, &system, 0);
    let wrong = plan.check(&system, &parameters(40, 6), &vector(40), &mut memory);
    let mismatch = wrong.unwrap_err().mismatch().unwrap();
    assert_eq!(mismatch.function, Function::Pullback);
    assert_eq!(mismatch.entry, Some(Entry::Theta(123)), "{mismatch}");
    assert!(mismatch.to_string().ends_with("(wrong sign)"), "{mismatch}");
}
