//! The validation problem: against other systems, finite differences and itself.

use dst_core::checkpoint::optimum;
use dst_core::{Crossing, Euler, HeapMemory, Mode};
use dst_std::experiments::Context;
use dst_std::experiments::validation::{ValidationConfig, run};
use dst_std::parallel;
use dst_std::progress::Progress;
use dst_std::random::normals;
use dst_std::validation::{
    Answer, Basis, GradientRun, Instance, InstanceSpec, IntegratorName, Slots, norm,
    relative_error, truth,
};

fn problem(dim: usize, basis: Basis) -> InstanceSpec {
    InstanceSpec {
        dim,
        basis,
        dense: false,
        seed: 1,
    }
}

fn paper(step: f64, epsilon: f64) -> GradientRun {
    GradientRun {
        method: IntegratorName::Euler,
        crossing: Crossing::Paper,
        step,
        epsilon,
        slots: Slots::All,
        max_steps: 100_000,
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// N, the norm of ∂T/∂θ and its products with three random vectors, as JAX computes them (64-bit, hand-written adjoint).
#[test]
fn the_gradient_is_that_of_jax() {
    let cases = [
        (
            100,
            0.1,
            1e-3,
            208,
            2.065584082496492,
            [-0.8724467880498858, 3.0625165551467326, 0.1270326815557833],
        ),
        (
            100,
            0.01,
            1e-5,
            3859,
            4.275948041513627,
            [1.3687602469207667, 6.987766669408659, -2.5777718085769923],
        ),
        (
            1000,
            0.1,
            1e-3,
            308,
            1.3386486940276956,
            [0.7631377066655077, -3.261428941639378, 0.9086209333235061],
        ),
    ];
    for (dim, step, epsilon, steps, size, products) in cases {
        let instance = problem(dim, Basis::Haar).build().unwrap();
        let answer = paper(step, epsilon).answer(&instance).unwrap();
        assert_eq!(answer.steps, steps, "d = {dim}, h = {step}");
        let bound = 1e-9 * size;
        assert!(
            (norm(&answer.theta) - size).abs() < bound,
            "d = {dim}: {} {size}",
            norm(&answer.theta)
        );
        for (seed, product) in (77..).zip(products) {
            let direction = normals(seed, answer.theta.len());
            let ours = dot(&answer.theta, &direction);
            // A difference of relative size 1e-9 in the gradient, as it would show in a random direction.
            assert!(
                (ours - product).abs() < bound,
                "d = {dim}, h = {step}: {ours} {product}"
            );
        }
    }
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    for basis in [Basis::Haar, Basis::Reflections(3)] {
        let instance = problem(37, basis).build().unwrap();
        let Instance { system, theta, x0 } = &instance;
        let plan = Euler::new(0.05)
            .until(1e-2)
            .crossing(Crossing::Interpolated)
            .mode(Mode::Adjoint);
        let mut memory = HeapMemory::new(&plan, system, 7);
        let found = plan.sensitivity(system, theta, x0, &mut memory).unwrap();
        let (by_theta, by_x0) = (
            found.time_gradient().to_vec(),
            found.time_gradient_x0().to_vec(),
        );
        let mut time = |theta: &[f64], x0: &[f64]| {
            plan.sensitivity(system, theta, x0, &mut memory)
                .unwrap()
                .stop
                .time
        };
        let moved = |v: &[f64], d: &[f64], by: f64| -> Vec<f64> {
            v.iter().zip(d).map(|(v, d)| v + by * d).collect()
        };
        for seed in 0..3 {
            let (d_theta, d_x0) = (normals(seed, theta.len()), normals(50 + seed, x0.len()));
            let by = 1e-6;
            let quotient = |plus: f64, minus: f64| (plus - minus) / (2.0 * by);
            let numeric = quotient(
                time(&moved(theta, &d_theta, by), x0),
                time(&moved(theta, &d_theta, -by), x0),
            );
            let exact = dot(&by_theta, &d_theta);
            assert!(
                (numeric - exact).abs() < 1e-6 * exact.abs().max(1.0),
                "θ, {basis}: {numeric} {exact}"
            );
            let numeric = quotient(
                time(theta, &moved(x0, &d_x0, by)),
                time(theta, &moved(x0, &d_x0, -by)),
            );
            let exact = dot(&by_x0, &d_x0);
            assert!(
                (numeric - exact).abs() < 1e-6 * exact.abs().max(1.0),
                "x0, {basis}: {numeric} {exact}"
            );
        }
    }
}

fn bits(answer: &Answer) -> Vec<u64> {
    answer
        .theta
        .iter()
        .chain(&answer.x0)
        .map(|v| v.to_bits())
        .collect()
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    // Large enough that every kind of work is cut into several pieces.
    for problem in [
        problem(20_000, Basis::Reflections(2)),
        problem(600, Basis::Haar),
    ] {
        let instance = problem.build().unwrap();
        let run = paper(0.1, 1.0);
        let with = |count| parallel::with(count, || bits(&run.answer(&instance).unwrap())).unwrap();
        let one = with(1);
        assert!(one == with(2) && one == with(3), "{problem:?}");
    }
}

#[test]
fn a_basis_has_the_same_bits_on_any_number_of_threads() {
    let x = |count| {
        let instance =
            parallel::with(count, || problem(300, Basis::Haar).build().unwrap()).unwrap();
        bits(&paper(0.1, 1.0).answer(&instance).unwrap())
    };
    assert!(x(1) == x(3));
}

#[test]
fn ten_slots_are_ten_states_with_their_records_and_the_same_bits() {
    let instance = problem(50, Basis::Reflections(8)).build().unwrap();
    let all = paper(0.02, 1e-3).answer(&instance).unwrap();
    for slots in [1, 10, 100] {
        let few = GradientRun {
            slots: Slots::Number(slots),
            ..paper(0.02, 1e-3)
        }
        .answer(&instance)
        .unwrap();
        // A state and its Qx.
        assert_eq!(few.kept_bytes, slots * 2 * 50 * 8);
        assert!(
            bits(&few) == bits(&all) && few.steps == all.steps,
            "{slots} slots"
        );
        assert!(few.rates > all.rates);
        // Without records, every step is evaluated once more before it is pulled back.
        let without = optimum(few.steps, slots) + few.steps;
        let spared = if slots == 1 { 1 } else { few.steps / 2 };
        assert!(
            few.rates + spared <= without,
            "{slots} slots: {} evaluations, {without} without records",
            few.rates
        );
    }
    assert_eq!((all.rates, all.pullbacks), (all.steps + 1, all.steps + 1));
}

#[test]
fn the_formed_matrix_gives_the_same_gradient() {
    let structured = problem(203, Basis::Reflections(8));
    let formed = InstanceSpec {
        dense: true,
        ..structured
    };
    let answer =
        |problem: InstanceSpec| paper(0.05, 1e-3).answer(&problem.build().unwrap()).unwrap();
    let (structured, formed) = (answer(structured), answer(formed));
    assert_eq!(structured.steps, formed.steps);
    let difference = relative_error(&structured.theta, &formed.theta);
    assert!(difference < 1e-12, "{difference:e}");
}

/// T as diffrax finds it, and the distances of Definition 3 from the truth that another program saw.
#[test]
fn the_truth_is_that_of_other_solvers() {
    let instance = problem(100, Basis::Haar).build().unwrap();
    let truth = truth(&instance, 1e-3, (1e-9, 1e-7), 50).unwrap();
    let time = truth.exact.event.time;
    assert!((time - 20.8448).abs() < 5e-5, "{time}");
    for (step, seen) in [
        (0.1, 4.71e-2),
        (0.05, 1.76e-2),
        (0.02, 6.48e-3),
        (0.01, 3.16e-3),
    ] {
        let answer = paper(step, 1e-3).answer(&instance).unwrap();
        let error = relative_error(&answer.theta, &truth.exact.theta);
        assert!(
            (error / seen - 1.0).abs() < 0.01,
            "h = {step}: {error:e} instead of {seen:e}"
        );
    }
}

/// A small sweep: the orders that the page claims.
#[test]
fn the_orders_in_h() {
    let context = Context {
        quick: true,
        seed: 1,
        threads: 2,
        progress: Progress::hidden(),
    };
    let config = ValidationConfig {
        problems: vec![problem(100, Basis::Haar)],
        epsilons: vec![1e-3, 1e-4],
        formed: None,
        ..ValidationConfig::new(true, 1)
    };
    let results = run(&config, &context).unwrap();
    assert_eq!(results.cases.len(), 2);
    for case in &results.cases {
        assert_eq!(case.lines.len(), 12);
        for line in &case.lines {
            let (low, high) = match (line.method, line.crossing) {
                (IntegratorName::Euler, _) | (_, Crossing::Paper) => (0.8, 1.2),
                (IntegratorName::Heun, Crossing::Slope | Crossing::Hermite) => (1.8, 2.4),
                (IntegratorName::Rk4, Crossing::Hermite) => (2.8, 5.0),
                // The interpolation error within the last step, which comes and goes with the place of the crossing.
                (_, Crossing::Interpolated) | (IntegratorName::Rk4, Crossing::Slope) => continue,
            };
            assert!(
                (low..=high).contains(&line.order),
                "{:?} {:?}, ε = {}: order {}",
                line.method,
                line.crossing,
                case.epsilon,
                line.order
            );
        }
    }
}

#[test]
fn an_interrupted_sweep_keeps_what_is_finished() {
    let progress = Progress::hidden();
    progress.interrupt().raise();
    let context = Context {
        quick: true,
        seed: 1,
        threads: 1,
        progress,
    };
    let results = run(&ValidationConfig::new(true, 1), &context).unwrap();
    assert!(results.interrupted && results.cases.is_empty() && results.formed.is_none());
}
