//! Number of evaluations, counted in the system.

use dst_core::checkpoint::{advances, optimum};
use dst_core::methods::{Adam, HeavyBall, Preconditioned, Projected};
use dst_core::system::Derived;
use dst_core::{Crossing, Euler, HeapMemory, Integrator, Mode, Plan, Reading, Rk4, Seeds, System};
use dst_models::{Countdown, Counted, CountedObjective, Counts, Figure1};
use dst_tests::{BOWL, heap};

#[allow(clippy::too_many_arguments)] // all of them vary
/// Runs and returns (N, gradients forward, gradients backward, Hessian products backward).
fn measure<I: Integrator<f64>, Y: System<f64>>(
    plan: Plan<f64, I>,
    system: &Y,
    counts: &Counts,
    theta: &[f64],
    x0: &[f64],
    slots: usize,
    records: bool,
    crossing: Crossing,
) -> (usize, usize, usize, usize) {
    let mut memory = heap(&plan, system, slots, records);
    let before = (counts.rate.get(), counts.pullback.get());
    let problem = plan.on(system, theta, x0).unwrap();
    problem.start(&mut memory).unwrap();
    let steps = problem.complete(&mut memory).unwrap().iterate().steps;
    let forward = counts.rate.get() - before.0;
    assert_eq!(
        counts.pullback.get(),
        before.1,
        "no product in the forward run"
    );
    let seeds = Seeds::stop(crossing);
    problem.adjoint(&mut memory, seeds, usize::MAX).unwrap();
    let g = problem.gradient(&memory).unwrap();
    let backward = (
        counts.rate.get() - before.0 - forward,
        counts.pullback.get() - before.1,
    );
    assert_eq!(
        g.evaluations.rate,
        forward + backward.0,
        "the engine's own count"
    );
    assert_eq!(g.evaluations.pullback, backward.1, "the engine's own count");
    (steps, forward, backward.0, backward.1)
}

#[test]
fn one_gradient_forward_one_hessian_product_backward() {
    let counts = Counts::default();
    let objective = || CountedObjective {
        inner: BOWL,
        counts: &counts,
    };
    let x = [1.0, -0.7, 0.4];
    let check = |name: &str, system: &dyn System<f64>, theta: &[f64], x0: &[f64]| {
        let plan = Euler::new(1.0).until(1e-6);
        for crossing in [Crossing::Paper, Crossing::Interpolated] {
            // All records kept: nothing is recomputed.
            let (n, forward, again, products) =
                measure(plan, &system, &counts, theta, x0, 4000, true, crossing);
            assert_eq!(
                (forward, again, products),
                (n + 1, 0, n + 1),
                "{name}, all kept, {crossing:?}, N = {n}"
            );
            // All states kept, without records: one gradient per step except the last, whose record is available.
            let (n, forward, again, products) =
                measure(plan, &system, &counts, theta, x0, 4000, false, crossing);
            assert_eq!(
                (forward, again, products),
                (n + 1, n - 1, n + 1),
                "{name}, states kept, N = {n}"
            );
            // Few slots: one more evaluation per recomputed step.
            let (n, forward, again, products) =
                measure(plan, &system, &counts, theta, x0, 4, false, crossing);
            let extra = optimum(n, 4) - n;
            assert_eq!((forward, products), (n + 1, n + 1), "{name}, 4 slots");
            assert!(
                again >= extra + n - 1,
                "{name}: {again} cannot be less than {}",
                extra + n - 1
            );
            assert!(
                again as f64 <= 1.2 * (extra + n) as f64,
                "{name}: {again} against {extra} + {n}"
            );
        }
        // The higher-order crossings evaluate x_{N−1} once more.
        let (n, _, again, products) = measure(
            plan,
            &system,
            &counts,
            theta,
            x0,
            4000,
            true,
            Crossing::Hermite,
        );
        assert_eq!((again, products), (1, n + 2), "{name}, Hermite");
    };
    check(
        "preconditioned",
        &Preconditioned::new(objective()),
        &[0.5, 0.2, 0.4],
        &x,
    );
    let ball = [1.0, -0.7, 0.4, 0.0, 0.0, 0.0];
    check(
        "heavy ball",
        &HeavyBall::new(objective()),
        &[0.2, 0.6],
        &ball,
    );
    let adam = [1.0, -0.7, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
    check("Adam", &Adam::new(objective()), &[0.05, 0.8, 0.9], &adam);
    check(
        "projected",
        &Projected::new(objective(), &[0.1], &[]),
        &[0.2],
        &x,
    );
}

#[test]
fn a_sum_of_losses_costs_one_product_more() {
    let counts = Counts::default();
    let system = HeavyBall::new(CountedObjective {
        inner: BOWL,
        counts: &counts,
    });
    let plan = Euler::new(1.0).until(1e-6);
    let mut memory = HeapMemory::with_records(&plan, &system, 4000);
    let (theta, x0) = ([0.2, 0.6], [1.0, -0.7, 0.4, 0.0, 0.0, 0.0]);
    let problem = plan.on(&system, &theta, &x0).unwrap();
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    let seeds = Seeds::stop(Crossing::Interpolated) + Seeds::weighted(|_| Reading::loss(0.1));
    problem.adjoint(&mut memory, seeds, usize::MAX).unwrap();
    let g = problem.gradient(&memory).unwrap();
    assert_eq!(
        (counts.rate.get(), counts.pullback.get()),
        (g.steps + 1, g.steps + 2)
    );
}

#[test]
fn auto_mode_chooses_by_evaluation_counts() {
    let counts = Counts::default();
    let system = Counted {
        inner: Derived::<_, 2, 1>::new(Figure1),
        counts: &counts,
    };
    let plan = Euler::new(0.05).until(1e-3);
    let tangent = |plan: Plan<f64, Euler<f64>>, slots: usize| {
        counts.pushforward.set(0);
        let mut memory = HeapMemory::new(&plan, &system, slots);
        plan.sensitivity(&system, &[0.8], &[1.0, 0.9], &mut memory)
            .unwrap();
        counts.pushforward.get() > 0
    };
    // Three inputs in one chunk of four dual directions: 5 for a pullback against 1 + 3·2 for three directions.
    assert!(!tangent(plan, 100));
    // With a single slot, the adjoint recomputes N²/2 steps.
    assert!(tangent(plan, 1));
    // A single direction is cheap.
    assert!(tangent(plan.theta_only(), 100));
    assert!(!tangent(plan.theta_only().mode(Mode::Adjoint), 100));
    assert!(tangent(plan.mode(Mode::Tangent), 100));
}

#[test]
fn tangent_mode_counts() {
    let counts = Counts::default();
    let system = Counted {
        inner: Derived::<_, 2, 1>::new(Figure1),
        counts: &counts,
    };
    let plan = Rk4::new(0.05)
        .until(1e-3)
        .mode(Mode::Tangent)
        .crossing(Crossing::Paper);
    let mut memory = HeapMemory::new(&plan, &system, 2);
    let s = plan
        .sensitivity(&system, &[0.8], &[1.0, 0.9], &mut memory)
        .unwrap();
    let per_pass = 4 * s.steps + 1;
    // The run itself, then two groups for three directions in two slots.
    assert_eq!(counts.rate.get(), 3 * per_pass);
    assert_eq!(counts.pushforward.get(), 3 * per_pass);
    assert_eq!(
        (s.evaluations.rate, s.evaluations.pushforward),
        (3 * per_pass, 3 * per_pass)
    );
}

/// Forward steps of the engine, counted in the system: evaluations minus the one at x_N.
fn executed(n: usize, slots: usize) -> usize {
    let counts = Counts::default();
    let system = Counted {
        inner: Derived::<_, 1, 0>::new(Countdown),
        counts: &counts,
    };
    let plan = Euler::new(1.0).until(0.0).mode(Mode::Adjoint);
    let mut memory = HeapMemory::new(&plan, &system, slots);
    let s = plan
        .sensitivity(&system, &[], &[n as f64 - 0.5], &mut memory)
        .unwrap();
    assert_eq!(s.steps, n);
    // A formula has no tape, so a pullback needs no evaluation: all others are forward steps.
    counts.rate.get() - 1
}

/// Checks mean and largest ratio of the executed steps to the optimum, over every N from 30 to 10⁴.
fn stays_near_the_optimum(slots: usize, mean_bound: f64, max_bound: f64) {
    let (mut sum, mut max, mut worst) = (0.0, 0.0, 0);
    for n in 30..=10_000 {
        let ratio = executed(n, slots) as f64 / optimum(n, slots) as f64;
        assert!(
            ratio >= 1.0,
            "below the optimum at N = {n}, s = {slots}: the count is wrong"
        );
        sum += ratio;
        if ratio > max {
            (max, worst) = (ratio, n);
        }
    }
    let mean = sum / 9971.0;
    println!("s = {slots}: mean {mean:.5}, max {max:.4} at N = {worst}");
    assert!(
        mean <= mean_bound && max <= max_bound,
        "s = {slots}: mean {mean}, max {max} at N = {worst}"
    );
}

#[test]
fn near_the_optimum_for_every_length_with_3_slots() {
    stays_near_the_optimum(3, 1.012, 1.10);
}

#[test]
fn near_the_optimum_for_every_length_with_5_slots() {
    stays_near_the_optimum(5, 1.009, 1.075);
}

#[test]
fn near_the_optimum_for_every_length_with_10_slots() {
    stays_near_the_optimum(10, 1.006, 1.065);
}

#[test]
fn near_the_optimum_for_every_length_with_20_slots() {
    stays_near_the_optimum(20, 1.0025, 1.04);
}

#[test]
fn short_runs_and_few_slots() {
    for slots in 1..=12 {
        for n in 1..=60 {
            let steps = executed(n, slots);
            if n <= slots {
                assert_eq!(steps, n, "everything is kept: N = {n}, s = {slots}");
            }
            if slots == 1 {
                assert_eq!(steps, advances(n, 1) + 1);
            }
            assert!(steps >= optimum(n, slots));
        }
    }
}
