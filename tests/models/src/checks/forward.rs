//! Forward run: N, the iterate, the limit, and overflow.

use dst_core::system::Derived;
use dst_core::{Error, Euler, Scalar, Status, System};

use super::outcome::Outcome;
use super::setup::{Room, lit, with_slots};
use crate::Figure1;

pub(super) fn stops_at_the_first_small_criterion<S: Scalar>(out: &mut Outcome) {
    let (h, theta, epsilon) = (0.05, 0.7, 1e-2);
    let system: &dyn System<S> = &Derived::<_, 2, 1>::new(Figure1);
    let (theta_s, x0) = (lit([theta]), lit([1.0, 1.0]));
    let mut room = Room::new();
    let mut memory = with_slots(&mut room, 0);
    let plan = Euler::new(S::from_f64(h)).until(S::from_f64(epsilon));
    let Some(run) = out.value("a run", plan.on(system, &theta_s, &x0)) else {
        return;
    };
    out.value("a start", run.start(&mut memory));
    // x = ((1 − h)^n, (1 − 4hθ)^n)
    let (mut a, mut b, mut n) = (1.0, 1.0, 0);
    while a * a + 16.0 * b * b > epsilon {
        a *= 1.0 - h;
        b *= 1.0 - 4.0 * h * theta;
        n += 1;
    }
    let mut portions = 0;
    let stop = loop {
        match run.advance(&mut memory, 7) {
            Ok(Status::Running(_)) => portions += 1,
            other => break out.value("a status", other),
        }
    };
    let Some(Status::Reached(stop)) = stop else {
        return out.holds("the tolerance is reached", false);
    };
    out.holds("N", stop.steps == n && portions == (n - 1) / 7);
    out.count(stop.steps);
    out.near("x1", stop.state[0], a, [1e-5, 1e-13]);
    out.near("x2", stop.state[1], b, [1e-4, 1e-12]);
    out.near("t", stop.time, n as f64 * h, [1e-6, 1e-14]);
    out.numbers(&[stop.criterion, stop.previous, stop.best_criterion]);
}

pub(super) fn limit_and_best_iterate<S: Scalar>(out: &mut Outcome) {
    // Undamped spring that passes its best point and moves away again.
    let swing = dst_core::formula!(|_theta: 1, x: 2, _t| [-x[1], x[0] + 0.0], |x| x[0] * x[0]);
    let system: &dyn System<S> = &swing;
    let (theta, x0) = ([S::ZERO], lit([1.0, 0.0]));
    let mut room = Room::new();
    let mut memory = with_slots(&mut room, 0);
    let plan = Euler::new(S::from_f64(0.1))
        .until(S::from_f64(1e-9))
        .at_most(40);
    let Some(run) = out.value("a run", plan.on(system, &theta, &x0)) else {
        return;
    };
    out.value("a start", run.start(&mut memory));
    let Some(Status::StepLimit(i)) = out.value("a status", run.complete(&mut memory)) else {
        return out.holds("the limit is met", false);
    };
    out.holds("limit", i.steps == 40);
    out.holds(
        "best",
        i.best_criterion < S::from_f64(0.01) && i.criterion > i.best_criterion,
    );
    out.numbers(i.state);
    out.numbers(i.best);
    out.numbers(&[i.criterion, i.best_criterion]);
}

pub(super) fn divergence_has_a_step<S: Scalar>(out: &mut Outcome) {
    let away = dst_core::formula!(|theta: 1, x: 1, _t| [theta[0] * x[0]], |x| x[0] * x[0]);
    let system: &dyn System<S> = &away;
    let (theta, x0) = (lit([30.0]), lit([1.0]));
    let mut room = Room::new();
    let mut memory = with_slots(&mut room, 0);
    let plan = Euler::new(S::ONE).until(S::from_f64(1e-3));
    let Some(run) = out.value("a run", plan.on(system, &theta, &x0)) else {
        return;
    };
    out.value("a start", run.start(&mut memory));
    // J = 29^(2k) overflows first.
    let step = if super::outcome::is_double::<S>() {
        106
    } else {
        14
    };
    let found = run.complete(&mut memory).map(|_| ());
    out.error("overflow", found, Error::NonFinite { step });
    let again = run.advance(&mut memory, 1).map(|_| ());
    out.error("an error is final", again, Error::NonFinite { step });
    let last = out.value("an iterate", run.iterate(&memory));
    out.number(last.map_or(S::NAN, |last| last.best_criterion));
}
