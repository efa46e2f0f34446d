//! Flows with known answers under every integrator.

use dst_models::{BouncingBall, Countdown, Decay, Figure1, Pendulum, QuadraticInTime, Shrink};
use dst_tests::{RandomSystem, Steps};

use crate::book::Book;
use crate::engine::{
    Derived, Driven, Euler, Formula, Heun, Integrator, Map, Request, Rk4, SymplecticEuler, System,
    solve,
};
use crate::modes::{Real, every_crossing, lit};

/// Problem: start and end of a run.
#[derive(Clone, Copy)]
pub(crate) struct Problem<const D: usize, const P: usize> {
    pub(crate) h: f64,
    pub(crate) theta: [f64; P],
    pub(crate) x0: [f64; D],
    pub(crate) epsilon: f64,
    pub(crate) t0: f64,
    /// True if the states are positions, then velocities, as the symplectic method requires.
    pub(crate) positions: bool,
}

/// Flow with every integrator that can run it, and its Euler step as a map.
fn flow<S: Real, F, const D: usize, const P: usize>(
    book: &mut Book,
    name: &str,
    flow: F,
    problem: Problem<D, P>,
) where
    F: Formula<D, P> + Copy,
{
    let Problem { h, t0, .. } = problem;
    let system = Derived::<F, D, P>::new(flow);
    let request = Request {
        t0,
        ..Request::PLAIN
    };
    integrators::<S, D, P>(book, name, &system, problem, request);
    let map = Derived::<_, D, P>::new(Steps { flow, h });
    let request = Request {
        t0: (t0 / h).round(),
        ..request
    };
    integrator::<S, _, D, P>(book, "map", name, Map, &map, problem, request);
}

fn integrators<S: Real, const D: usize, const P: usize>(
    book: &mut Book,
    name: &str,
    system: &dyn System<S>,
    problem: Problem<D, P>,
    request: Request,
) {
    let h = S::from_f64(problem.h);
    let euler = Euler::new(h);
    integrator(book, "euler", name, euler, system, problem, request);
    integrator(book, "heun", name, Heun::new(h), system, problem, request);
    integrator(book, "rk4", name, Rk4::new(h), system, problem, request);
    if problem.positions {
        let symplectic = SymplecticEuler::new(h);
        integrator(
            book,
            "symplectic",
            name,
            symplectic,
            system,
            problem,
            request,
        );
    }
}

fn integrator<S: Real, I: Integrator<S>, const D: usize, const P: usize>(
    book: &mut Book,
    integrator_name: &str,
    name: &str,
    integrator: I,
    system: &dyn System<S>,
    problem: Problem<D, P>,
    request: Request,
) {
    let (theta, x0) = (lit::<S, P>(problem.theta), lit::<S, D>(problem.x0));
    let epsilon = S::from_f64(problem.epsilon);
    let name = format!("{}/{integrator_name}/{name}", S::NAME);
    every_crossing(book, &name, request, &|request| {
        solve(integrator, epsilon, system, &theta, &x0, request)
    });
}

pub(crate) const FIGURE_1: Problem<2, 1> = Problem {
    h: 0.05,
    theta: [0.7],
    x0: [1.0, 1.0],
    epsilon: 1e-2,
    t0: 0.0,
    positions: false,
};

pub(crate) const DRIVEN: Problem<2, 2> = Problem {
    h: 0.06,
    theta: [1.1, 0.6],
    x0: [0.9, 0.2],
    epsilon: 0.05,
    t0: 0.3,
    positions: true,
};

pub(crate) fn flows<S: Real>(book: &mut Book) {
    let decay = Problem {
        h: 0.07,
        theta: [1.3],
        x0: [2.0],
        epsilon: 0.1,
        t0: 0.0,
        positions: false,
    };
    flow::<S, _, 1, 1>(book, "decay", Decay, decay);
    let in_time = Problem {
        h: 0.1,
        theta: [0.7],
        x0: [2.0],
        epsilon: 0.3,
        t0: 0.3,
        positions: false,
    };
    flow::<S, _, 1, 1>(book, "quadratic-in-time", QuadraticInTime, in_time);
    let ball = Problem {
        h: 0.02,
        theta: [8.0],
        x0: [1.0, 0.0],
        epsilon: 0.0,
        t0: 0.0,
        positions: true,
    };
    flow::<S, _, 2, 1>(book, "ball", BouncingBall, ball);
    flow::<S, _, 2, 1>(book, "figure-1", Figure1, FIGURE_1);
    let pendulum = Problem {
        h: 0.02,
        theta: [2.0, 0.3],
        x0: [1.2, 0.1],
        epsilon: 0.1,
        t0: 0.0,
        positions: true,
    };
    flow::<S, _, 2, 2>(book, "pendulum", Pendulum, pendulum);
    flow::<S, _, 2, 2>(book, "driven", Driven, DRIVEN);
    let shrink = Problem {
        h: 1.0,
        theta: [0.75],
        x0: [3.0],
        epsilon: 0.07,
        t0: 0.0,
        positions: false,
    };
    let map = Derived::<_, 1, 1>::new(Shrink);
    integrator::<S, _, 1, 1>(book, "map", "shrink", Map, &map, shrink, Request::PLAIN);
    // One step, two, three, and an exact hit after four: J is linear, and θ is empty.
    for (name, x0) in [("1", 0.2), ("2", 0.4), ("3", 0.6), ("4-exactly", 1.0)] {
        let countdown = Problem {
            h: 0.25,
            theta: [],
            x0: [x0],
            epsilon: 0.0,
            t0: 0.0,
            positions: false,
        };
        let system = Derived::<_, 1, 0>::new(Countdown);
        let name = format!("countdown-{name}");
        let euler = Euler::new(S::from_f64(0.25));
        let plain = Request::PLAIN;
        integrator::<S, _, 1, 0>(book, "euler", &name, euler, &system, countdown, plain);
    }
}

/// System with a tape, four states and three parameters.
pub(crate) fn random(book: &mut Book) {
    let numbers = [0.3, -0.8, 0.5, 0.9, -0.2, -0.6, 0.1];
    let system = RandomSystem::new(4, 3, &numbers);
    let problem = Problem {
        h: 0.08,
        theta: [0.4, -0.2, 0.1],
        x0: [1.0, -0.7, 0.4, 0.8],
        epsilon: 1e-3,
        t0: 0.0,
        positions: false,
    };
    integrators::<f64, 4, 3>(book, "random", &system, problem, Request::PLAIN);
    // With springs: positions driven by velocities.
    let mut springs = system;
    springs.matrix[8] = 1.0;
    springs.matrix[13] = 1.2;
    let symplectic = SymplecticEuler::new(problem.h);
    let plain = Request::PLAIN;
    integrator(
        book,
        "symplectic",
        "springs",
        symplectic,
        &springs,
        problem,
        plain,
    );
}
