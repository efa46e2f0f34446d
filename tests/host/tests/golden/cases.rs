//! List of cases: crossings, modes, slots and precisions over models with known answers, then methods, losses,
//! windows, forward runs and adaptation.

use dst_models::{Decay, Figure1, Logistic, Quadratic, Rosenbrock};
use dst_tests::Steps;

use crate::book::{Book, Line};
use crate::engine::{
    Adam, Adapted, Constant, Crossing, Derived, Driven, Euler, Exponential, GradientFlow,
    HeavyBall, Heun, Loss, Map, Nesterov, Objective, Ola, Optimality, Preconditioned, Projected,
    Request, Rk4, Scalar, Spiral, Standing, SymplecticEuler, System, adapt, admm, decrease,
    forward, momentum, solve, tuner,
};
use crate::flows::{DRIVEN, FIGURE_1, flows, random};
use crate::modes::{Ask, Real, every_crossing, every_mode, lit, one_mode};
use crate::program::{Program, SWITCHES};

/// All cases.
pub(crate) fn all(book: &mut Book) {
    in_precision::<f64>(book);
    in_precision::<f32>(book);
    random(book);
}

fn in_precision<S: Real>(book: &mut Book) {
    flows::<S>(book);
    methods::<S>(book);
    losses::<S>(book);
    windows::<S>(book);
    theta_only::<S>(book);
    edges::<S>(book);
    forwards::<S>(book);
    adaptations::<S>(book);
    maps::<S>(book);
}

fn bowl<S: Scalar>() -> Quadratic<S, 2> {
    Quadratic {
        lambda: lit([1.0, 3.0]),
        coupling: S::from_f64(0.2),
    }
}

/// Each criterion with its crossings.
const CRITERIA: [(&str, Optimality, &[Crossing]); 3] = [
    (
        "squared",
        Optimality::ResidualSquared,
        &[Crossing::Interpolated, Crossing::Slope],
    ),
    ("max", Optimality::ResidualMax, &[Crossing::Paper]),
    ("value", Optimality::Value, &[Crossing::Hermite]),
];

/// Method with its classical iteration, h = 1, in every mode.
fn method<S: Real>(
    book: &mut Book,
    name: &str,
    system: &dyn System<S>,
    theta: &[f64],
    x0: &[f64],
    epsilon: f64,
    crossings: &[Crossing],
) {
    let list = |values: &[f64]| values.iter().map(|&v| S::from_f64(v)).collect::<Vec<S>>();
    let (theta, x0, epsilon) = (list(theta), list(x0), S::from_f64(epsilon));
    for &crossing in crossings {
        let name = format!("{}/{name}/{}", S::NAME, crossing.name());
        let request = Request {
            crossing,
            ..Request::PLAIN
        };
        every_mode(book, &name, request, &|request| {
            solve(Euler::new(S::ONE), epsilon, system, &theta, &x0, request)
        });
    }
}

/// Every method on one objective of two variables, from (x, y). `epsilons` are for the criteria in turn.
fn methods_on<S: Real>(
    book: &mut Book,
    name: &str,
    objective: &dyn Objective<S>,
    [x, y]: [f64; 2],
    alpha: f64,
    epsilons: [f64; 3],
) {
    let at = [x, y];
    for ((criterion, optimality, crossings), epsilon) in CRITERIA.into_iter().zip(epsilons) {
        let mut ask = |method_name: &str, system: &dyn System<S>, theta: &[f64], x0: &[f64]| {
            let name = format!("{method_name}/{name}/{criterion}");
            method(book, &name, system, theta, x0, epsilon, crossings);
        };
        let flow = GradientFlow::new(objective, Constant).stop_on(optimality);
        ask("gradient-flow", &flow, &[alpha], &at);
        let preconditioned = Preconditioned::new(objective).stop_on(optimality);
        ask(
            "preconditioned",
            &preconditioned,
            &[alpha, 1.2 * alpha],
            &at,
        );
        let ball = HeavyBall::new(objective).stop_on(optimality);
        ask("heavy-ball", &ball, &[alpha, 0.5], &[x, y, 0.0, 0.0]);
        let nesterov = Nesterov::new(objective).stop_on(optimality);
        ask("nesterov", &nesterov, &[alpha, 0.4], &[x, y, x, y]);
        let adam = Adam::new(objective).stop_on(optimality);
        let start = [x, y, 0.0, 0.0, 0.0, 0.0];
        ask("adam", &adam, &[0.05, 0.8, 0.95], &start);
    }
}

fn methods<S: Real>(book: &mut Book) {
    methods_on::<S>(book, "bowl", &bowl(), [1.0, -0.7], 0.1, [1e-3, 3e-2, 1e-3]);
    let rosenbrock = Rosenbrock { c: S::ONE };
    let epsilons = [1e-2, 1e-1, 1e-2];
    methods_on::<S>(book, "rosenbrock", &rosenbrock, [0.4, 0.5], 0.06, epsilons);
    let logistic = Logistic::<S, 2, 4>::sample();
    let epsilons = [1e-2, 1e-1, 2.5];
    methods_on::<S>(book, "logistic", &logistic, [1.0, -0.7], 0.3, epsilons);
    // A schedule that depends on time, and a box in which both kinds of bounds are active.
    let (lower, upper) = (lit::<S, 2>([0.2, -1.0]), lit::<S, 2>([2.0, 2.0]));
    for ((criterion, optimality, crossings), [scheduled, boxed]) in
        CRITERIA
            .into_iter()
            .zip([[1e-3, 1e-5], [3e-2, 1e-3], [1e-3, 0.03]])
    {
        let start = S::from_f64(0.5);
        let system = GradientFlow::new(bowl::<S>(), Exponential { start }).stop_on(optimality);
        let (name, at) = (format!("scheduled/bowl/{criterion}"), [1.0, -0.7]);
        method(
            book,
            &name,
            &system,
            &[0.25, 0.02],
            &at,
            scheduled,
            crossings,
        );
        let system = Projected::new(bowl::<S>(), &lower, &upper).stop_on(optimality);
        let name = format!("projected/bowl/{criterion}");
        method(book, &name, &system, &[0.1], &[1.5, 1.0], boxed, crossings);
    }
}

/// Weights of a running loss and of the time: everywhere, growing, at two steps only; with and without a stop.
const LOSSES: [(&str, Loss); 4] = [
    (
        "even",
        Loss {
            weight: |_| 0.5,
            time: 0.0,
        },
    ),
    (
        "growing-with-time",
        Loss {
            weight: |k| 0.5 + 0.1 * k as f64,
            time: 0.3,
        },
    ),
    (
        "two-steps",
        Loss {
            weight: |k| match k {
                4 => -1.5,
                12 => 2.0,
                _ => 0.0,
            },
            time: 0.0,
        },
    ),
    (
        "two-steps-with-time",
        Loss {
            weight: |k| match k {
                0 => 0.7,
                5 => 2.0,
                _ => 0.0,
            },
            time: -2.0,
        },
    ),
];

fn losses<S: Real>(book: &mut Book) {
    let (theta, x0) = (lit::<S, 1>(FIGURE_1.theta), lit::<S, 2>(FIGURE_1.x0));
    let h = S::from_f64(FIGURE_1.h);
    let figure = Derived::<_, 2, 1>::new(Figure1);
    let steps = Derived::<_, 2, 1>::new(Steps {
        flow: Figure1,
        h: FIGURE_1.h,
    });
    let (driven_theta, driven_x0) = (lit::<S, 2>(DRIVEN.theta), lit::<S, 2>(DRIVEN.x0));
    let driven = Derived::<_, 2, 2>::new(Driven);
    let ball = HeavyBall::new(bowl::<S>());
    let (ball_theta, ball_x0) = (lit::<S, 2>([0.1, 0.5]), lit::<S, 4>([1.0, -0.7, 0.0, 0.0]));
    let adam = Adam::new(Rosenbrock { c: S::ONE });
    let adam_theta = lit::<S, 3>([0.05, 0.8, 0.95]);
    let adam_x0 = lit::<S, 6>([0.4, 0.5, 0.0, 0.0, 0.0, 0.0]);
    let [tenth, hundredth, thousandth, nothing] = lit::<S, 4>([0.1, 0.01, 1e-3, -1e6]);
    for (name, loss) in LOSSES {
        let mut ask = |what: &str, request: Request, ask: Ask<'_, S>| {
            let name = format!("{}/loss/{name}/{what}", S::NAME);
            every_mode(book, &name, request, ask);
        };
        let request = Request {
            loss: Some(loss),
            ..Request::PLAIN
        };
        ask("euler/figure-1", request, &|r| {
            solve(Euler::new(h), hundredth, &figure, &theta, &x0, r)
        });
        ask("rk4/figure-1", request, &|r| {
            solve(Rk4::new(h), hundredth, &figure, &theta, &x0, r)
        });
        ask("map/figure-1", request, &|r| {
            solve(Map, hundredth, &steps, &theta, &x0, r)
        });
        let later = Request {
            t0: DRIVEN.t0,
            crossing: Crossing::Hermite,
            ..request
        };
        ask("symplectic/driven", later, &|r| {
            let integrator = SymplecticEuler::new(S::from_f64(DRIVEN.h));
            let epsilon = S::from_f64(DRIVEN.epsilon);
            solve(integrator, epsilon, &driven, &driven_theta, &driven_x0, r)
        });
        ask("heun/driven", later, &|r| {
            let integrator = Heun::new(S::from_f64(DRIVEN.h));
            let epsilon = S::from_f64(DRIVEN.epsilon);
            solve(integrator, epsilon, &driven, &driven_theta, &driven_x0, r)
        });
        ask("heavy-ball/bowl", request, &|r| {
            let euler = Euler::new(S::ONE);
            solve(euler, thousandth, &ball, &ball_theta, &ball_x0, r)
        });
        ask("adam/rosenbrock", request, &|r| {
            solve(Euler::new(S::ONE), tenth, &adam, &adam_theta, &adam_x0, r)
        });
        // Without a stop there is a gradient if time has no weight, and otherwise an error.
        let limited = Request {
            max_steps: 23,
            ..request
        };
        ask("euler/figure-1/limit", limited, &|r| {
            solve(Euler::new(h), nothing, &figure, &theta, &x0, r)
        });
        ask("map/figure-1/limit", limited, &|r| {
            solve(Map, nothing, &steps, &theta, &x0, r)
        });
    }
}

/// Truncated sweeps, of the stopping time and with a loss.
fn windows<S: Real>(book: &mut Book) {
    let (theta, x0) = (lit::<S, 1>(FIGURE_1.theta), lit::<S, 2>(FIGURE_1.x0));
    let (h, epsilon) = (S::from_f64(FIGURE_1.h), S::from_f64(FIGURE_1.epsilon));
    let figure = Derived::<_, 2, 1>::new(Figure1);
    let steps = Derived::<_, 2, 1>::new(Steps {
        flow: Figure1,
        h: FIGURE_1.h,
    });
    let adam = Adam::new(Rosenbrock { c: S::ONE });
    let adam_theta = lit::<S, 3>([0.05, 0.8, 0.95]);
    let adam_x0 = lit::<S, 6>([0.4, 0.5, 0.0, 0.0, 0.0, 0.0]);
    for window in [0, 1, 5] {
        for (kind, loss) in [("time", None), ("loss", Some(LOSSES[1].1))] {
            let request = Request {
                window: Some(window),
                loss,
                ..Request::PLAIN
            };
            let mut ask = |what: &str, request: Request, ask: Ask<'_, S>| {
                let name = format!("{}/window-{window}/{kind}/{what}", S::NAME);
                one_mode(book, &name, request, ask);
            };
            ask("euler/figure-1", request, &|r| {
                solve(Euler::new(h), epsilon, &figure, &theta, &x0, r)
            });
            let hermite = Request {
                crossing: Crossing::Hermite,
                ..request
            };
            ask("rk4/figure-1", hermite, &|r| {
                solve(Rk4::new(h), epsilon, &figure, &theta, &x0, r)
            });
            ask("map/figure-1", request, &|r| {
                solve(Map, epsilon, &steps, &theta, &x0, r)
            });
            ask("adam/rosenbrock", request, &|r| {
                let (euler, epsilon) = (Euler::new(S::ONE), S::from_f64(0.1));
                solve(euler, epsilon, &adam, &adam_theta, &adam_x0, r)
            });
        }
    }
}

fn theta_only<S: Real>(book: &mut Book) {
    let (theta, x0) = (lit::<S, 1>(FIGURE_1.theta), lit::<S, 2>(FIGURE_1.x0));
    let (h, epsilon) = (S::from_f64(FIGURE_1.h), S::from_f64(FIGURE_1.epsilon));
    let figure = Derived::<_, 2, 1>::new(Figure1);
    let request = Request {
        theta_only: true,
        ..Request::PLAIN
    };
    let name = |what: &str| format!("{}/theta-only/{what}", S::NAME);
    every_crossing(book, &name("euler/figure-1"), request, &|r| {
        solve(Euler::new(h), epsilon, &figure, &theta, &x0, r)
    });
    every_mode(book, &name("rk4/figure-1"), request, &|r| {
        solve(Rk4::new(h), epsilon, &figure, &theta, &x0, r)
    });
    let ball = HeavyBall::new(bowl::<S>());
    every_mode(book, &name("heavy-ball/bowl"), request, &|r| {
        let (theta, x0) = (lit([0.1, 0.5]), lit([1.0, -0.7, 0.0, 0.0]));
        let epsilon = S::from_f64(1e-3);
        solve(Euler::new(S::ONE), epsilon, &ball, &theta, &x0, r)
    });
}

/// Runs that have no gradient.
fn edges<S: Real>(book: &mut Book) {
    let figure = Derived::<_, 2, 1>::new(Figure1);
    let theta = lit::<S, 1>(FIGURE_1.theta);
    let (h, epsilon) = (S::from_f64(FIGURE_1.h), S::from_f64(FIGURE_1.epsilon));
    let name = |what: &str| format!("{}/edge/{what}", S::NAME);
    let limited = Request {
        max_steps: 10,
        ..Request::PLAIN
    };
    let x0 = lit([1.0, 1.0]);
    every_mode(book, &name("not-stopped"), limited, &|r| {
        solve(Euler::new(h), epsilon, &figure, &theta, &x0, r)
    });
    let x0 = lit([1e-3, 1e-3]);
    every_mode(book, &name("stopped-at-start"), limited, &|r| {
        solve(Euler::new(h), epsilon, &figure, &theta, &x0, r)
    });
    // J falls by a few units in the last place per step.
    let decay = Derived::<_, 1, 1>::new(Decay);
    let few = S::EPSILON * S::from_f64(4.0);
    every_mode(book, &name("flat"), Request::PLAIN, &|r| {
        let epsilon = S::ONE - few * S::from_f64(3.0);
        solve(Euler::new(few), epsilon, &decay, &[S::ONE], &[S::ONE], r)
    });
    // The limit is exactly the step of the stop.
    let x0 = lit([1.0, 1.0]);
    let found = solve(
        Euler::new(h),
        epsilon,
        &figure,
        &theta,
        &x0,
        &Request::PLAIN,
    );
    let exact = Request {
        max_steps: found.map_or(0, |answer| answer.steps),
        ..Request::PLAIN
    };
    every_mode(book, &name("stopped-at-the-limit"), exact, &|r| {
        solve(Euler::new(h), epsilon, &figure, &theta, &x0, r)
    });
}

/// State of a run after every budget, one line each.
fn standings<S: Real>(book: &mut Book, name: &str, seen: Result<Vec<Standing<S>>, String>) {
    let seen = match seen {
        Ok(seen) => seen,
        Err(error) => return book.add(Line::new(name).word("error", &error)),
    };
    for (i, now) in seen.iter().enumerate() {
        let line = Line::new(format!("{name}/{i}"))
            .word("status", &now.status)
            .word("k", &now.steps)
            .numbers("t", &[now.time])
            .numbers("J", &[now.criterion, now.previous, now.best_criterion])
            .numbers("x", &now.state)
            .numbers("best", &now.best);
        book.add(line);
    }
}

fn forwards<S: Real>(book: &mut Book) {
    let name = |what: &str| format!("{}/forward/{what}", S::NAME);
    let (theta, x0) = (lit::<S, 1>([0.1]), lit::<S, 2>([1.0, 0.5]));
    let spiral = Derived::<_, 2, 1>::new(Spiral);
    let steps = Derived::<_, 2, 1>::new(Steps {
        flow: Spiral,
        h: 0.3,
    });
    let (h, never) = (S::from_f64(0.3), S::from_f64(-1.0));
    let limited = Request {
        max_steps: 60,
        t0: 0.5,
        ..Request::PLAIN
    };
    let run = |portion| {
        [
            forward(
                Euler::new(h),
                never,
                &spiral,
                &theta,
                &x0,
                &limited,
                portion,
            ),
            forward(Rk4::new(h), never, &spiral, &theta, &x0, &limited, portion),
            forward(Map, never, &steps, &theta, &x0, &limited, portion),
        ]
    };
    for (what, seen) in ["euler", "rk4", "map"].iter().zip(run(9)) {
        standings(book, &name(&format!("{what}/spiral")), seen);
    }
    // The end does not depend on the budgets.
    for (i, cut) in run(9).into_iter().enumerate() {
        for portion in [1, 7, usize::MAX] {
            let last = |seen: &Result<Vec<Standing<S>>, String>| {
                format!("{:?}", seen.as_ref().map(|seen| seen.last().cloned()))
            };
            if last(&cut) != last(&run(portion)[i]) {
                book.fault(format!("{}: portions of {portion}", name("spiral")));
            }
        }
    }
    let figure = Derived::<_, 2, 1>::new(Figure1);
    let (h, epsilon) = (S::from_f64(FIGURE_1.h), S::from_f64(FIGURE_1.epsilon));
    let (theta, x0) = (lit::<S, 1>(FIGURE_1.theta), lit::<S, 2>(FIGURE_1.x0));
    let seen = forward(
        Heun::new(h),
        epsilon,
        &figure,
        &theta,
        &x0,
        &Request::PLAIN,
        16,
    );
    standings(book, &name("heun/figure-1"), seen);
    let ball = HeavyBall::new(bowl::<S>());
    let (theta, x0) = (lit::<S, 2>([0.3, 0.8]), lit::<S, 4>([1.0, -0.7, 0.0, 0.0]));
    let epsilon = S::from_f64(1e-5);
    let euler = Euler::new(S::ONE);
    let seen = forward(euler, epsilon, &ball, &theta, &x0, &Request::PLAIN, 16);
    standings(book, &name("heavy-ball/bowl"), seen);
}

/// Name, objective, starting point, and (α, η, triggering descent).
type Adaptable<'a, S> = (&'a str, &'a dyn Objective<S>, &'a [S], [f64; 3]);

fn adaptations<S: Real>(book: &mut Book) {
    let three = Quadratic::<S, 3> {
        lambda: lit([1.0, 3.0, 0.6]),
        coupling: S::from_f64(0.2),
    };
    let rosenbrock = Rosenbrock {
        c: S::from_f64(10.0),
    };
    let logistic = Logistic::<S, 3, 8>::sample();
    let x3 = lit::<S, 3>([1.0, -0.7, 0.4]);
    let x2 = lit::<S, 2>([-0.5, 0.9]);
    let problems: [Adaptable<'_, S>; 3] = [
        ("bowl", &three, &x3, [0.01, 1e-3, 1e-3]),
        ("rosenbrock", &rosenbrock, &x2, [0.005, 1e-5, 1e-3]),
        ("logistic", &logistic, &x3, [0.01, 1e-4, 1e-4]),
    ];
    for (problem, objective, x0, [alpha, eta, descent]) in problems {
        let windowed = |window| Ola::Windowed {
            eta,
            descent,
            window,
        };
        for (name, ola) in [
            ("adam-ola", Ola::Adam { eta, descent }),
            ("g-ola", Ola::Guarded),
            ("n-ola", Ola::Newton),
            ("windowed-1", windowed(1)),
            ("windowed-5", windowed(5)),
            ("windowed-all", windowed(usize::MAX)),
        ] {
            let name = format!("{}/adapt/{name}/{problem}", S::NAME);
            match adapt(ola, objective, alpha, x0, &[1, 1, 3, 5, 10, 20]) {
                Err(error) => book.add(Line::new(name).word("error", &error)),
                Ok(seen) => trace(book, &name, &seen),
            }
        }
    }
}

fn trace<S: Real>(book: &mut Book, name: &str, seen: &[Adapted<S>]) {
    for (i, now) in seen.iter().enumerate() {
        let mut line = Line::new(format!("{name}/{i}"))
            .word("iterations", &now.iterations)
            .word("adaptations", &now.adaptations)
            .numbers("alpha", &now.alpha_f[..1])
            .numbers("f", &now.alpha_f[1..])
            .numbers("x", &now.state);
        if let Some(sensitivity) = now.sensitivity {
            line = line.numbers("sensitivity", &[sensitivity]);
        }
        book.add(line);
    }
}

/// Systems that became maps.
fn maps<S: Real>(book: &mut Book) {
    let crossings = [Crossing::Paper, Crossing::Interpolated, Crossing::Hermite];
    let program = Program::example(S::from_f64);
    let knobs = Program::knobs(S::from_f64);
    let boxed = Program::boxed(S::from_f64);
    let name = |what: &str| format!("exempt/{}/{what}", S::NAME);
    for crossing in crossings {
        let request = Request {
            crossing,
            max_steps: 500,
            ..Request::PLAIN
        };
        let crossing = crossing.name();
        one_mode(book, &name(&format!("admm/{crossing}")), request, &|r| {
            admm(&program, &knobs, &SWITCHES, r)
        });
        let momentum_name = name(&format!("momentum/{crossing}"));
        one_mode(book, &momentum_name, request, &|r| {
            momentum(&boxed, &lit([0.21, 0.17]), r)
        });
        let flow = GradientFlow::new(bowl::<S>(), Constant);
        // f at the start is 1.244.
        for (h, theta) in [(1.0, 0.1), (0.5, 0.2), (0.05, 2.0)] {
            let (h, theta, x0) = (S::from_f64(h), lit([theta]), lit([1.0, -0.7, 2.5]));
            let name = name(&format!("decrease/flow/{h:?}/{crossing}"));
            every_mode(book, &name, request, &|r| {
                decrease(flow, h, S::from_f64(1e-2), &theta, &x0, r)
            });
        }
        let ball = HeavyBall::new(bowl::<S>());
        let ball_name = name(&format!("decrease/heavy-ball/{crossing}"));
        every_mode(book, &ball_name, request, &|r| {
            let (theta, x0) = (lit([0.05, 0.5]), lit([1.0, -0.7, 0.0, 0.0, 2.5]));
            decrease(ball, S::ONE, S::from_f64(1e-2), &theta, &x0, r)
        });
    }
    // J itself as a running loss, over a fixed number of iterations, and together with the time.
    for (what, loss) in LOSSES {
        let never = Request {
            loss: Some(loss),
            max_steps: 6,
            ..Request::PLAIN
        };
        let stops = Request {
            max_steps: 500,
            ..never
        };
        // Without a stop, time must have zero weight.
        let limit = (loss.time == 0.0).then_some((never, "limit"));
        for (request, kind) in limit.into_iter().chain([(stops, "stop")]) {
            let name = |solver: &str| name(&format!("{solver}/loss/{what}/{kind}"));
            one_mode(book, &name("admm"), request, &|r| {
                admm(&program, &knobs, &SWITCHES, r)
            });
            one_mode(book, &name("momentum"), request, &|r| {
                momentum(&boxed, &lit([0.21, 0.17]), r)
            });
            every_mode(book, &name("decrease"), request, &|r| {
                let flow = GradientFlow::new(bowl::<S>(), Constant);
                let (theta, x0) = (lit([0.1]), lit([1.0, -0.7, 2.5]));
                decrease(flow, S::ONE, S::from_f64(1e-2), &theta, &x0, r)
            });
        }
    }
    for (what, portion) in [("4", 4), ("at-once", usize::MAX)] {
        let name = name(&format!("tuner/{what}"));
        match tuner(&program, &SWITCHES, 10, portion) {
            Err(error) => book.fault(format!("{name}: {error}")),
            Ok(seen) => {
                for (i, (steps, theta)) in seen.iter().enumerate() {
                    let line = Line::new(format!("{name}/{i}"));
                    book.add(line.numbers("steps", &[*steps]).numbers("theta", theta));
                }
            }
        }
    }
    for window in [1, 5] {
        let request = Request {
            window: Some(window),
            max_steps: 500,
            ..Request::PLAIN
        };
        let name = |solver: &str| name(&format!("{solver}/window-{window}"));
        one_mode(book, &name("admm"), request, &|r| {
            admm(&program, &knobs, &SWITCHES, r)
        });
        one_mode(book, &name("momentum"), request, &|r| {
            momentum(&boxed, &lit([0.21, 0.17]), r)
        });
    }
}
