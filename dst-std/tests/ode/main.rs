//! Event times and their gradients against closed forms, finite differences, and `dst-core` at small h.

mod refusals;
mod spec;

use dst_core::checkpoint::{Mark, Schedule};
use dst_core::system::{Derived, Number};
use dst_core::{
    Argument, Bar, Cost, Crossing, Dims, Error, Euler, HeapMemory, Mode, Point, Reading, Rk4, Seed,
    System, formula,
};
use dst_models::{
    BouncingBall, Close, Countdown, Counted, Counts, Decay, Figure1, Pendulum, Poison, Poisoned,
    QuadraticInTime, relative_distance,
};
use dst_std::ode::{
    Accepted, Event, EventGradient, OdeError, Options, event_gradient, event_time, trace,
};
use spec::{Basis, Network};

/// As tight as double precision bears.
const TIGHT: Options = Options {
    rtol: 1e-12,
    atol: 1e-14,
    max_steps: 100_000,
    slots: usize::MAX,
    first_step: None,
};

fn with_tolerance(rtol: f64) -> Options {
    Options {
        rtol,
        atol: rtol * 1e-2,
        ..Options::default()
    }
}

/// J(x(T)) is ε, T is where the steps end, and the evaluations are those promised.
#[track_caller]
fn check_event(event: &Event, t0: f64, epsilon: f64, first_guess: usize) {
    // Where ε is zero, J is as exact as the states.
    let start = if epsilon == 0.0 { 10.0 } else { 0.0 };
    let Event { steps, .. } = event;
    let off = (event.criterion - epsilon).abs();
    assert!(
        off <= 1e-13 * epsilon.abs() + 1e-14 * start,
        "|J − ε| = {off:e}"
    );
    assert_eq!(steps.first().map(|s| s.time), Some(t0));
    for pair in steps.windows(2) {
        assert_eq!(pair[0].time + pair[0].length, pair[1].time, "{pair:?}");
    }
    assert_eq!(steps.last().map(|s| s.time + s.length), Some(event.time));
    let tried = steps.len() + event.rejected + event.repeats;
    assert_eq!(
        event.evaluations,
        1 + first_guess + 6 * tried + event.probes
    );
}

#[test]
fn a_countdown_is_exact() {
    let found = event_gradient(
        &Derived::<_, 1, 0>::new(Countdown),
        &[],
        &[3.0],
        0.0,
        0.0,
        &TIGHT,
    )
    .unwrap();
    check_event(&found.event, 0.0, 0.0, 1);
    assert!(
        (found.event.time - 3.0).abs() < 1e-14,
        "{}",
        found.event.time
    );
    assert_eq!((found.x0[0], found.slope, found.epsilon), (1.0, -1.0, -1.0));
    assert_eq!(found.condition.transversality, 1.0);
}

#[test]
fn decay_agrees_with_the_closed_form() {
    let system = Derived::<_, 1, 1>::new(Decay);
    for (theta, x0, epsilon) in [(1.0, 1.0, 1e-3), (0.1, 1.0, 0.5), (7.0, 2.0, 1e-9)] {
        let options = Options {
            atol: 1e-12 * epsilon,
            ..TIGHT
        };
        let found = event_gradient(&system, &[theta], &[x0], 0.0, epsilon, &options).unwrap();
        check_event(&found.event, 0.0, epsilon, 1);
        let (by_theta, by_x0, by_epsilon) = Decay::gradient(theta, x0, epsilon);
        Close::relative(1e-10).assert("T", &[found.event.time], &[Decay::time(theta, x0, epsilon)]);
        let gradient = [found.theta[0], found.x0[0], found.epsilon];
        Close::relative(1e-10).assert("dT", &gradient, &[by_theta, by_x0, by_epsilon]);
    }
}

#[test]
fn a_ball_falls() {
    let system = Derived::<_, 2, 1>::new(BouncingBall);
    for (x0, by_x0) in [
        (1.0, 0.25),
        (3.0, 0.1443375672974064),
        (10.0, 0.07905694150420949),
    ] {
        let found = event_gradient(&system, &[8.0], &[x0, 0.0], 0.0, 0.0, &TIGHT).unwrap();
        check_event(&found.event, 0.0, 0.0, 1);
        let time = (x0 / 4.0_f64).sqrt();
        let got = [found.event.time, found.x0[0], found.theta[0]];
        Close::relative(1e-13).assert("ball", &got, &[time, by_x0, -time / 16.0]);
    }
}

#[test]
fn a_rate_that_depends_on_time_and_a_late_start() {
    let system = Derived::<_, 1, 1>::new(QuadraticInTime);
    let (k, x0, xc) = (0.7, 2.0, 0.3);
    let (time, by_k, by_x0) = QuadraticInTime::answer(k, x0, xc);
    let found = event_gradient(&system, &[k], &[x0], 0.0, xc, &TIGHT).unwrap();
    let got = [found.event.time, found.theta[0], found.x0[0]];
    Close::relative(1e-10).assert("from 0", &got, &[time, by_k, by_x0]);
    // From t0 on, where x rises first: 1/x_c = 1/x0 + k(T² − t0²)/2.
    let t0 = -0.5;
    let found = event_gradient(&system, &[k], &[x0], t0, xc, &TIGHT).unwrap();
    check_event(&found.event, t0, xc, 1);
    let late = (time * time + t0 * t0).sqrt();
    let got = [found.event.time, found.theta[0], found.x0[0]];
    Close::relative(1e-10).assert(
        "from t0",
        &got,
        &[late, by_k * time / late, by_x0 * time / late],
    );
}

/// J = θ₂·x·exp(t) with x′ = −θ₁x: T = ln(θ₂x0/ε)/(θ₁ − 1).
#[test]
fn a_criterion_that_depends_on_parameters_and_time() {
    let system = formula!(
        |theta: 2, x: 1, _t| [theta[0] * x[0]],
        |theta, x, t| theta[1] * x[0] * t.exp(),
    );
    let ([decay, factor], x0, epsilon) = ([3.0, 2.0], 0.7, 1e-2);
    let found = event_gradient(&system, &[decay, factor], &[x0], 0.0, epsilon, &TIGHT).unwrap();
    let fall = decay - 1.0;
    let time = (factor * x0 / epsilon).ln() / fall;
    let got = [found.event.time, found.slope, found.theta[0]];
    Close::relative(1e-10).assert("T", &got, &[time, -fall * epsilon, -time / fall]);
    let got = [found.theta[1], found.x0[0], found.epsilon];
    let by = |p: f64| 1.0 / (fall * p);
    Close::relative(1e-10).assert("dT", &got, &[by(factor), by(x0), -by(epsilon)]);
    // ∂J/∂t = ε against ∇J·A = 3ε.
    Close::relative(1e-10).assert("condition", &[found.condition.transversality], &[0.5]);
}

#[test]
fn figure_1_agrees_with_the_closed_form() {
    let system = Derived::<_, 2, 1>::new(Figure1);
    for (theta, epsilon) in [(0.25, 1e-4), (1.0, 1e-2), (0.2, 1e-8)] {
        let found = event_gradient(&system, &[theta], &[1.0, 1.0], 0.0, epsilon, &TIGHT).unwrap();
        check_event(&found.event, 0.0, epsilon, 1);
        let (time, by_theta, by_x0, by_epsilon) = Figure1::answer(theta, [1.0, 1.0], epsilon);
        let got = [
            found.event.time,
            found.theta[0],
            found.x0[0],
            found.x0[1],
            found.epsilon,
        ];
        let close = Close {
            rtol: 1e-8,
            atol: 1e-13,
        };
        close.assert(
            "figure 1",
            &got,
            &[time, by_theta, by_x0[0], by_x0[1], by_epsilon],
        );
    }
}

/// Central differences of T itself.
fn quotient(mut time: impl FnMut(f64) -> f64, at: f64) -> f64 {
    let d = 1e-3 * at.abs().max(0.1);
    let mut slope = |d: f64| (time(at + d) - time(at - d)) / (2.0 * d);
    // Richardson: the error is O(d⁴).
    (4.0 * slope(0.5 * d) - slope(d)) / 3.0
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    let system = Derived::<_, 2, 2>::new(Pendulum);
    let (theta, x0, epsilon) = ([1.0, 0.3], [1.2, -0.4], 0.05);
    let found = event_gradient(&system, &theta, &x0, 0.0, epsilon, &TIGHT).unwrap();
    let time = |theta: &[f64], x0: &[f64], epsilon: f64| {
        event_time(&system, theta, x0, 0.0, epsilon, &TIGHT)
            .unwrap()
            .time
    };
    let replaced = |v: [f64; 2], i: usize, value: f64| {
        let mut v = v;
        v[i] = value;
        v
    };
    let by_theta: Vec<f64> = (0..2)
        .map(|i| quotient(|p| time(&replaced(theta, i, p), &x0, epsilon), theta[i]))
        .collect();
    let by_x0: Vec<f64> = (0..2)
        .map(|i| quotient(|p| time(&theta, &replaced(x0, i, p), epsilon), x0[i]))
        .collect();
    let by_epsilon = quotient(|p| time(&theta, &x0, p), epsilon);
    Close::relative(1e-7).assert("theta", &found.theta, &by_theta);
    Close::relative(1e-7).assert("x0", &found.x0, &by_x0);
    Close::relative(1e-6).assert("epsilon", &[found.epsilon], &[by_epsilon]);
}

#[test]
fn the_engine_at_small_steps_agrees() {
    let system = Derived::<_, 2, 2>::new(Pendulum);
    let (theta, x0, epsilon) = ([1.0, 0.3], [1.2, -0.4], 0.05);
    let found = event_gradient(&system, &theta, &x0, 0.0, epsilon, &TIGHT).unwrap();
    let mut errors = Vec::new();
    for h in [0.04, 0.02, 0.01] {
        let plan = Rk4::new(h)
            .until(epsilon)
            .crossing(Crossing::Hermite)
            .mode(Mode::Adjoint);
        let mut memory = HeapMemory::new(&plan, &system, 20);
        let engine = plan.sensitivity(&system, &theta, &x0, &mut memory).unwrap();
        let distance = relative_distance(engine.time_gradient(), &found.theta)
            .max(relative_distance(engine.time_gradient_x0(), &found.x0));
        errors.push((engine.stop.time - found.event.time).abs().max(distance));
    }
    assert!(
        errors[2] < 2e-6 && errors[2] < errors[0] / 16.0,
        "{errors:?}"
    );
}

/// Relative error of dT/dθ on Figure 1, and evaluations.
fn figure_1_error(options: &Options) -> (f64, f64, usize) {
    let system = Derived::<_, 2, 1>::new(Figure1);
    let found = event_gradient(&system, &[0.25], &[1.0, 1.0], 0.0, 1e-4, options).unwrap();
    let (time, by_theta, ..) = Figure1::answer(0.25, [1.0, 1.0], 1e-4);
    let relative = |got: f64, exact: f64| ((got - exact) / exact).abs();
    (
        relative(found.event.time, time),
        relative(found.theta[0], by_theta),
        found.evaluations.forward,
    )
}

#[test]
fn the_error_falls_with_the_tolerance() {
    let mut before = (f64::INFINITY, f64::INFINITY, 0);
    for exponent in [4, 6, 8, 10, 12] {
        let rtol = 10f64.powi(-exponent);
        let now = figure_1_error(&with_tolerance(rtol));
        assert!(
            now.0 < 100.0 * rtol && now.1 < 1000.0 * rtol,
            "rtol {rtol:e}: {now:?}"
        );
        assert!(
            now.0 < before.0 && now.1 < before.1 && now.2 > before.2,
            "{before:?} then {now:?}"
        );
        before = now;
    }
}

/// The largest error of x = e^{−t} between the ends of the steps, and at them, with steps of about h.
#[test]
fn steps_have_order_five_and_the_dense_output_four() {
    let system = Derived::<_, 1, 1>::new(Decay);
    let errors = |h: f64| {
        // A tolerance that accepts everything, and one step only.
        let loose = Options {
            first_step: Some(h),
            max_steps: 1,
            ..with_tolerance(1.0)
        };
        let (mut end, mut inside) = (0.0_f64, 0.0_f64);
        let end_of_steps = trace(&system, &[1.0], &[1.0], 0.0, 1e-3, &loose, |segment| {
            if segment.index == 0 {
                let mut x = [0.0];
                for u in [0.2, 0.4, 0.6, 0.8] {
                    segment.at(u, &mut x);
                    inside = inside.max((x[0] - (-u * h).exp()).abs());
                }
                segment.at(1.0, &mut x);
                assert_eq!(x, segment.after);
                segment.at(0.0, &mut x);
                assert_eq!(x, segment.before);
                end = (segment.after[0] - (-h).exp()).abs();
            }
        });
        assert!(matches!(
            end_of_steps,
            Err(OdeError::NotReached { steps: 1, .. })
        ));
        (end, inside)
    };
    let (coarse, fine) = (errors(0.4), errors(0.2));
    let orders = ((coarse.0 / fine.0).log2(), (coarse.1 / fine.1).log2());
    // One step of a method of order p errs by h^{p+1}.
    assert!(
        (orders.0 - 6.0).abs() < 0.4 && (orders.1 - 5.0).abs() < 0.4,
        "{orders:?}"
    );
}

#[test]
fn the_whole_trajectory_can_be_drawn() {
    let system = Derived::<_, 2, 1>::new(Figure1);
    let options = with_tolerance(1e-8);
    let (mut worst, mut seen) = (0.0_f64, Vec::new());
    let event = trace(
        &system,
        &[0.25],
        &[1.0, 1.0],
        0.0,
        1e-4,
        &options,
        |segment| {
            seen.push((segment.step, segment.is_last));
            for i in 0..=10 {
                let (u, mut x) = (f64::from(i) / 10.0, [0.0; 2]);
                segment.at(u, &mut x);
                let t = segment.step.time + u * segment.step.length;
                worst = worst
                    .max((x[0] - (-t).exp()).abs())
                    .max((x[1] - (-t).exp()).abs());
            }
            assert!(segment.criterion.0 > segment.criterion.1);
        },
    )
    .unwrap();
    assert!(worst < 1e-6, "{worst:e}");
    let steps: Vec<Accepted> = seen.iter().map(|s| s.0).collect();
    assert_eq!(steps, event.steps);
    assert!(seen.iter().rev().skip(1).all(|s| !s.1) && seen.last().is_some_and(|s| s.1));
}

/// The forward steps of a schedule with this many slots over n steps.
fn forward_steps(n: usize, slots: usize) -> usize {
    let mut marks = vec![Mark::EMPTY; slots];
    let mut schedule = Schedule::new(marks.len());
    for k in 0..n - 1 {
        if schedule.next_save() == k {
            schedule.save(&mut marks);
        }
    }
    schedule.forward_steps(&marks, n)
}

#[test]
fn every_number_of_slots_gives_the_same_bits_at_the_promised_cost() {
    let network = Network::new(20, &Basis::Householder(3));
    let counts = Counts::default();
    let system = Counted {
        inner: &network,
        counts: &counts,
    };
    let mut first: Option<EventGradient> = None;
    for slots in [usize::MAX, 1, 2, 3, 5, 20, 1000] {
        let options = Options {
            slots,
            ..Options::default()
        };
        let before = (counts.rate.get(), counts.pullback.get());
        let found =
            event_gradient(&system, &network.theta, &network.x0, 0.0, 1e-3, &options).unwrap();
        check_event(&found.event, 0.0, 1e-3, 1);
        let n = found.event.steps.len();
        assert!(n > 30, "{n}");
        let e = found.evaluations;
        assert_eq!(e.forward, found.event.evaluations);
        assert_eq!(
            e.recomputed,
            6 * (forward_steps(n, slots.min(n)) - 1),
            "{slots} slots"
        );
        assert_eq!(e.pullbacks, 6 * n + 1);
        assert_eq!(counts.rate.get() - before.0, e.forward + e.recomputed);
        assert_eq!(counts.pullback.get() - before.1, e.pullbacks);
        let first = first.get_or_insert_with(|| found.clone());
        assert_eq!(
            (&first.event, &first.theta, &first.x0),
            (&found.event, &found.theta, &found.x0)
        );
    }
}

#[test]
fn an_event_at_the_end_of_a_step() {
    let system = Derived::<_, 1, 0>::new(Countdown);
    // The very first step ends at the event: nothing to be located.
    let options = Options {
        first_step: Some(0.5),
        ..Options::default()
    };
    let found = event_gradient(&system, &[], &[1.0], 0.0, 0.5, &options).unwrap();
    assert_eq!((found.event.time, found.x0[0]), (0.5, 1.0));
    assert_eq!(
        (
            found.event.probes,
            found.event.repeats,
            found.event.evaluations
        ),
        (0, 0, 7)
    );
    // A step ends a hair above ε: the next one is cut to almost nothing.
    let epsilon = 0.5 - 1e-13;
    let found = event_gradient(&system, &[], &[1.0], 0.0, epsilon, &options).unwrap();
    assert_eq!(found.event.steps.len(), 2);
    assert!(
        (found.event.time - 0.5 - 1e-13).abs() < 1e-15,
        "{:?}",
        found.event
    );
    assert!((found.x0[0] - 1.0).abs() < 1e-12, "{:?}", found.x0);
}

#[test]
fn stiff_but_finished() {
    // Eigenvalues 1 and 3000: stability, not accuracy, limits the steps.
    let system = formula!(
        |theta: 1, x: 2, _t| [x[0], theta[0] * (x[1] - x[0] * x[0])],
        |x| x[0] * x[0],
    );
    let options = Options {
        first_step: Some(1.0),
        ..with_tolerance(1e-5)
    };
    let found = event_gradient(&system, &[3000.0], &[1.0, 0.0], 0.0, 1e-2, &options).unwrap();
    check_event(&found.event, 0.0, 1e-2, 0);
    assert!(found.event.rejected > 5, "{}", found.event.rejected);
    Close::relative(1e-4).assert("T", &[found.event.time], &[10f64.ln()]);
    Close::relative(1e-4).assert("dT/dx0", &found.x0[..1], &[1.0]);
    // θ moves x₂ only, of which J knows nothing.
    assert!(found.theta[0].abs() < 1e-12, "{:e}", found.theta[0]);
}

#[test]
fn a_step_out_of_the_domain_is_shortened() {
    // √x with x′ = −√x: T = 2(1 − √ε); too long a step has no square root.
    let system = formula!(|_theta: 0, x: 1, _t| [x[0].sqrt()], |x| x[0]);
    let options = Options {
        first_step: Some(50.0),
        ..TIGHT
    };
    let found = event_gradient(&system, &[], &[1.0], 0.0, 0.01, &options).unwrap();
    assert!(found.event.rejected > 0);
    let got = [found.event.time, found.x0[0]];
    Close::relative(1e-9).assert("T", &got, &[1.8, 1.0]);
}

#[test]
fn other_programs_find_the_same_event() {
    // T of diffrax on the same problems.
    for (d, basis, time, most) in [
        (100, Basis::Haar, 20.8448, 800),
        (10_000, Basis::Householder(8), 44.5107, 1520),
    ] {
        let network = Network::new(d, &basis);
        let (theta, x0) = (&network.theta, &network.x0);
        let event = event_time(&network, theta, x0, 0.0, 1e-3, &Options::default()).unwrap();
        check_event(&event, 0.0, 1e-3, 1);
        assert!((event.time - time).abs() < 1e-4, "{d}: {}", event.time);
        // diffrax takes about 720 at d = 100, with an error estimate of two thirds the size.
        assert!(event.evaluations < most, "{d}: {}", event.evaluations);
    }
}

#[test]
fn other_programs_see_the_same_distance_to_the_iteration() {
    // ‖dN − dT‖/(‖dN‖ + ‖dT‖) of Definition 3 with Euler, as JAX and diffrax have it.
    let network = Network::new(100, &Basis::Haar);
    let (theta, x0) = (&network.theta, &network.x0);
    let truth = event_gradient(&network, theta, x0, 0.0, 1e-3, &Options::default()).unwrap();
    for (h, distance) in [
        (0.1, 4.71e-2),
        (0.05, 1.76e-2),
        (0.02, 6.48e-3),
        (0.01, 3.16e-3),
    ] {
        let plan = Euler::new(h)
            .until(1e-3)
            .crossing(Crossing::Paper)
            .mode(Mode::Adjoint);
        let mut memory = HeapMemory::new(&plan, &network, 100);
        let found = plan.sensitivity(&network, theta, x0, &mut memory).unwrap();
        let got = relative_distance(found.time_gradient(), &truth.theta);
        assert!(
            (got / distance - 1.0).abs() < 5e-3,
            "h = {h}: {got:e} against {distance:e}"
        );
    }
}

#[test]
fn the_gradient_of_a_network_is_that_of_finite_differences() {
    let network = Network::new(100, &Basis::Householder(8));
    let options = Options {
        slots: 6,
        ..with_tolerance(1e-10)
    };
    let found = event_gradient(&network, &network.theta, &network.x0, 0.0, 1e-3, &options).unwrap();
    check_event(&found.event, 0.0, 1e-3, 1);
    // Along a direction in all parameters and states at once.
    let direction = |i: usize| ((i * 37 % 101) as f64 / 50.0 - 1.0) * 0.1;
    let moved = |v: &[f64], by: f64| -> Vec<f64> {
        v.iter()
            .enumerate()
            .map(|(i, v)| v + by * direction(i))
            .collect()
    };
    let along = |gradient: &[f64]| -> f64 {
        gradient
            .iter()
            .enumerate()
            .map(|(i, g)| g * direction(i))
            .sum()
    };
    let time = |theta: &[f64], x0: &[f64]| {
        event_time(&network, theta, x0, 0.0, 1e-3, &options)
            .unwrap()
            .time
    };
    let by_theta = quotient(|d| time(&moved(&network.theta, d), &network.x0), 0.0);
    let by_x0 = quotient(|d| time(&network.theta, &moved(&network.x0, d)), 0.0);
    let got = [along(&found.theta), along(&found.x0)];
    Close::relative(1e-6).assert("along a direction", &got, &[by_theta, by_x0]);
    let rough = event_gradient(
        &network,
        &network.theta,
        &network.x0,
        0.0,
        1e-3,
        &Options::default(),
    )
    .unwrap();
    let distance = relative_distance(&rough.theta, &found.theta);
    assert!(distance < 1e-5, "rtol 1e-7: {distance:e}");
}
