//! `Interpolated` is the exact gradient of N*: it must agree with differences of N*, and adjoint with tangent.

use dst_core::methods::{
    Adam, Constant, Decrease, Exponential, GradientFlow, HeavyBall, Nesterov, Preconditioned,
    Projected,
};
use dst_core::system::Derived;
use dst_core::{
    Crossing, Euler, HeapMemory, Heun, Integrator, Map, Mode, Objective, Optimality, Plan,
    Progress, Reading, Rk4, Seeds, SymplecticEuler, System,
};
use dst_models::{Close, Figure1, Logistic, Pendulum, Rosenbrock};
use dst_tests::{BOWL, Steps, answer, differences, total};

/// Compares N* with differences for every crossing, and adjoint with tangent, with few and many slots.
#[track_caller]
fn check<I: Integrator<f64>, Y: System<f64>>(
    name: &str,
    plan: Plan<f64, I>,
    system: &Y,
    theta: &[f64],
    x0: &[f64],
) {
    let h = plan_step(plan);
    let exact = answer(plan.mode(Mode::Adjoint), system, theta, x0, 5);
    let (d_theta, d_x0) = differences(plan, system, theta, x0, 1e-5);
    println!(
        "{name}: N = {}, dN*/dtheta = {:?}",
        exact.steps, exact.theta
    );
    let scale = |v: &[f64]| 1e-9 * v.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let steps = |v: &[f64]| v.iter().map(|v| v / h).collect::<Vec<_>>();
    let close = |v: &[f64]| Close {
        rtol: 1e-6,
        atol: scale(v),
    };
    close(&d_theta).assert(
        &format!("{name}: dN*/dtheta"),
        &steps(&exact.theta),
        &d_theta,
    );
    close(&d_x0).assert(&format!("{name}: dN*/dx0"), &steps(&exact.x0), &d_x0);
    for crossing in Crossing::ALL {
        let plan = plan.crossing(crossing);
        let adjoint = answer(plan.mode(Mode::Adjoint), system, theta, x0, 5);
        for slots in [1, 3, theta.len() + x0.len()] {
            let tangent = answer(plan.mode(Mode::Tangent), system, theta, x0, slots);
            let same = |v: &[f64]| Close {
                rtol: 1e-12,
                atol: 1e-4 * scale(v),
            };
            same(&adjoint.theta).assert(
                &format!("{name}: {crossing:?} by theta"),
                &adjoint.theta,
                &tangent.theta,
            );
            same(&adjoint.x0).assert(
                &format!("{name}: {crossing:?} by x0"),
                &adjoint.x0,
                &tangent.x0,
            );
            assert_eq!((adjoint.steps, adjoint.time), (tangent.steps, tangent.time));
            Close::relative(1e-12).assert("by epsilon", &[adjoint.epsilon], &[tangent.epsilon]);
        }
    }
}

fn plan_step<I: Integrator<f64>>(plan: Plan<f64, I>) -> f64 {
    plan.integrator().step_size()
}

const X3: [f64; 3] = [1.0, -0.7, 0.4];

/// Starting point with zeros for the rest of the state.
fn padded(x: &[f64], states: usize) -> Vec<f64> {
    let mut z = x.to_vec();
    z.resize(states, 0.0);
    z
}

#[test]
fn formulas_in_every_integrator() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    check(
        "Figure 1, Euler",
        Euler::new(0.05).until(1e-3),
        &flow,
        &[0.3],
        &[1.0, 0.9],
    );
    check(
        "Figure 1, Heun",
        Heun::new(0.05).until(1e-3),
        &flow,
        &[0.3],
        &[1.0, 0.9],
    );
    check(
        "Figure 1, RK4",
        Rk4::new(0.05).until(1e-3),
        &flow,
        &[0.3],
        &[1.0, 0.9],
    );
    let pendulum = Derived::<_, 2, 2>::new(Pendulum);
    check(
        "pendulum, symplectic",
        SymplecticEuler::new(0.05).until(0.1),
        &pendulum,
        &[2.0, 0.3],
        &[1.2, 0.1],
    );
    check(
        "pendulum, RK4",
        Rk4::new(0.05).until(0.1),
        &pendulum,
        &[2.0, 0.3],
        &[1.2, 0.1],
    );
}

#[test]
fn maps() {
    let flow = Derived::<_, 2, 1>::new(Steps {
        flow: Figure1,
        h: 0.05,
    });
    check("Figure 1, map", Map.until(1e-3), &flow, &[0.3], &[1.0, 0.9]);
    let pendulum = Derived::<_, 2, 2>::new(Steps {
        flow: Pendulum,
        h: 0.05,
    });
    check(
        "pendulum, map",
        Map.until(0.1),
        &pendulum,
        &[2.0, 0.3],
        &[1.2, 0.1],
    );
}

#[test]
fn gradient_flow_with_a_schedule() {
    let system = GradientFlow::new(Rosenbrock { c: 5.0 }, Exponential { start: 0.2 });
    check(
        "schedule, Euler",
        Euler::new(0.02).until(1e-2).from_time(0.2),
        &system,
        &[1.1, 0.05],
        &[-0.3, 0.8],
    );
    check(
        "schedule, Heun",
        Heun::new(0.02).until(1e-2).from_time(0.2),
        &system,
        &[1.1, 0.05],
        &[-0.3, 0.8],
    );
    let constant = GradientFlow::new(Logistic::<f64, 3, 8>::sample(), Constant);
    check(
        "logistic, RK4",
        Rk4::new(0.3).until(1e-4),
        &constant,
        &[0.7],
        &X3,
    );
}

#[test]
fn preconditioned() {
    let system = Preconditioned::new(Logistic::<f64, 3, 8>::sample());
    check(
        "preconditioned",
        Euler::new(1.0).until(1e-5),
        &system,
        &[0.5, 0.8, 0.3],
        &X3,
    );
    let by_value = Preconditioned::new(BOWL).stop_on(Optimality::Value);
    check(
        "preconditioned by value",
        Euler::new(1.0).until(1e-4),
        &by_value,
        &[0.5, 0.2, 0.4],
        &X3,
    );
}

#[test]
fn heavy_ball() {
    let system = HeavyBall::new(BOWL);
    check(
        "heavy ball",
        Euler::new(1.0).until(1.2e-5),
        &system,
        &[0.2, 0.6],
        &padded(&X3, 6),
    );
    let by_max = HeavyBall::new(Rosenbrock { c: 3.0 }).stop_on(Optimality::ResidualMax);
    check(
        "heavy ball by max",
        Euler::new(1.0).until(1e-1),
        &by_max,
        &[0.01, 0.7],
        &padded(&[-0.5, 0.9], 4),
    );
}

#[test]
fn nesterov() {
    let system = Nesterov::new(Logistic::<f64, 3, 8>::sample());
    check(
        "Nesterov",
        Euler::new(1.0).until(1e-6),
        &system,
        &[0.4, 0.5],
        &[X3, X3].concat(),
    );
}

#[test]
fn adam() {
    let system = Adam::new(BOWL).stop_on(Optimality::Value);
    check(
        "Adam by value",
        Euler::new(1.0).until(2e-3),
        &system,
        &[0.05, 0.9, 0.99],
        &padded(&X3, 9),
    );
    let system = Adam::new(Rosenbrock { c: 5.0 });
    check(
        "Adam",
        Euler::new(1.0).until(3e-2),
        &system,
        &[0.02, 0.85, 0.97],
        &padded(&[-0.5, 0.9], 6),
    );
}

#[test]
fn projected_gradient() {
    // The first variable ends on its bound, where ∇f does not vanish.
    let system = Projected::new(BOWL, &[0.4, -2.0, -2.0], &[2.0, 2.0]);
    check(
        "projected",
        Euler::new(1.0).until(1e-7),
        &system,
        &[0.2],
        &X3,
    );
    let by_max = system.stop_on(Optimality::ResidualMax);
    check(
        "projected by max",
        Euler::new(1.0).until(1e-5),
        &by_max,
        &[0.2],
        &X3,
    );
}

#[test]
fn decrease_of_the_objective() {
    for h in [1.0, 0.5] {
        let system = Decrease::new(GradientFlow::new(BOWL, Constant), h);
        let mut x0 = X3.to_vec();
        x0.push(BOWL.value_gradient(&X3, &mut [0.0; 3], &mut [], &mut []) + 1.0);
        check("decrease", Map.until(1e-5), &system, &[0.2], &x0);
        // J is the decrease of f over the last step.
        let plan = Map.until(1e-5);
        let mut memory = HeapMemory::new(&plan, &system, 0);
        let run = plan.on(&system, &[0.2], &x0).unwrap();
        run.start(&mut memory).unwrap();
        let f = |x: &[f64]| BOWL.value_gradient(x, &mut [0.0; 3], &mut [], &mut []);
        run.advance(&mut memory, 0).unwrap();
        loop {
            let before = f(&run.iterate(&memory).unwrap().state[..3]);
            let status = run.advance(&mut memory, 1).unwrap();
            let i = status.iterate();
            assert!(
                (i.criterion - (before - f(&i.state[..3]))).abs() <= 1e-15,
                "step {}",
                i.steps
            );
            if status.is_reached() {
                break;
            }
        }
    }
}

#[test]
fn losses_and_stopping_time_in_one_sweep() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let (theta, x0, mu) = ([0.8], [1.0, 0.9], 0.3);
    let weight = |k: usize| 1.0 / (1.0 + k as f64);
    let plan = Euler::new(0.05).until(1e-3);
    let stop = Seeds::stop(Crossing::Interpolated).times(mu);
    let seeds = stop + Seeds::weighted(|k| Reading::loss(weight(k)));
    let total = |theta: f64, a: f64, b: f64| {
        let passage = (Euler::new(0.05), 1e-3);
        let found = total(passage, usize::MAX, &flow, (&[theta], &[a, b]), weight);
        found.loss + mu * 0.05 * found.steps_star
    };
    let d = 1e-5;
    let central = |f: &dyn Fn(f64) -> f64| (f(d) - f(-d)) / (2.0 * d);
    let by_theta = central(&|d| total(theta[0] + d, x0[0], x0[1]));
    let by_x0 = [
        central(&|d| total(theta[0], x0[0] + d, x0[1])),
        central(&|d| total(theta[0], x0[0], x0[1] + d)),
    ];
    for mode in [Mode::Adjoint, Mode::Tangent] {
        for slots in [1, 4] {
            let mut memory = HeapMemory::new(&plan, &flow, slots);
            let problem = plan.mode(mode).on(&flow, &theta, &x0).unwrap();
            problem.start(&mut memory).unwrap();
            problem.complete(&mut memory).unwrap();
            let done = problem.differentiate(&mut memory, seeds, usize::MAX);
            assert_eq!(done, Ok(Progress::Done));
            let g = problem.gradient(&memory).unwrap();
            Close::relative(1e-8).assert("by theta", g.theta, &[by_theta]);
            Close::relative(1e-8).assert("by x0", g.x0, &by_x0);
        }
    }
}

#[test]
fn losses_alone_need_no_stop() {
    let flow = Derived::<_, 2, 1>::new(Figure1);
    let (theta, x0) = ([0.8], [1.0, 0.9]);
    let plan = Euler::new(0.05).until(0.0).at_most(30);
    let loss = |theta: f64| {
        let found = total((Euler::new(0.05), 0.0), 30, &flow, (&[theta], &x0), |_| {
            1.0 / 30.0
        });
        assert!(found.steps_star.is_nan());
        found.loss
    };
    let mut memory = HeapMemory::new(&plan, &flow, 3);
    let problem = plan.on(&flow, &theta, &x0).unwrap();
    problem.start(&mut memory).unwrap();
    problem.complete(&mut memory).unwrap();
    let seeds = Seeds::weighted(|_| Reading::loss(1.0 / 30.0));
    problem
        .differentiate(&mut memory, seeds, usize::MAX)
        .unwrap();
    let g = problem.gradient(&memory).unwrap();
    assert!(g.stop.is_none() && g.steps == 30);
    let by_hand: f64 = (0..=30)
        .map(|k| {
            (0.5 * 0.95_f64.powi(2 * k) + 2.0 * 0.81 * (1.0 - 0.2 * 0.8_f64).powi(2 * k)) / 30.0
        })
        .sum();
    Close::relative(1e-13).assert("the sum itself", &[loss(theta[0])], &[by_hand]);
    let d = 1e-5;
    let slope = (loss(theta[0] + d) - loss(theta[0] - d)) / (2.0 * d);
    Close::relative(1e-8).assert("loss alone", g.theta, &[slope]);
}
