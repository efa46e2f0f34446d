//! Slots and budgets do not change the gradient, and the tangent mode agrees with it.

use dst_core::{Crossing, Error, Euler, Mode, Plan, Progress, Scalar, Seeds, Status, System};

use super::outcome::Outcome;
use super::setup::{FixedGradient, Room, exact, gradient, lit, recorded, with_slots};
use crate::Suspension;

fn suspension<S: Scalar>() -> (Plan<S, Euler<S>>, [S; 2], [S; 4]) {
    (
        exact(Euler::new(S::from_f64(0.02)), 1e-2),
        lit([3.0, 1.5]),
        lit([1.0, 0.1, 0.0, 0.0]),
    )
}

fn same<S: Scalar>(a: &FixedGradient<S>, b: &FixedGradient<S>) -> bool {
    a.theta == b.theta && a.x0 == b.x0 && a.steps == b.steps && a.time == b.time
}

pub(super) fn any_number_gives_the_same_bits<S: Scalar>(out: &mut Outcome) {
    let (plan, theta, x0) = suspension::<S>();
    let plan = plan.mode(Mode::Adjoint);
    let Some(four) = recorded(out, plan, &Suspension, &theta, &x0) else {
        return;
    };
    out.holds("long enough to recompute", four.steps > 100);
    for slots in [1, 2, 3, 5, 6] {
        let other = gradient(plan, &Suspension, &theta, &x0, slots);
        out.holds(
            "the same bits",
            other.is_ok_and(|other| same(&four, &other)),
        );
    }
}

pub(super) fn any_budget_gives_the_same_bits<S: Scalar>(out: &mut Outcome) {
    let (plan, theta, x0) = suspension::<S>();
    let Ok(whole) = gradient(plan.mode(Mode::Adjoint), &Suspension, &theta, &x0, 3) else {
        return out.holds("there is a gradient", false);
    };
    let mut room = Room::new();
    let system: &dyn System<S> = &Suspension;
    let mut portions = || -> Result<bool, Error> {
        let mut memory = with_slots(&mut room, 3);
        let problem = plan.on(system, &theta, &x0)?;
        problem.start(&mut memory)?;
        while let Status::Running(_) = problem.advance(&mut memory, 9)? {}
        let seeds = Seeds::stop(Crossing::Interpolated);
        let mut left = usize::MAX;
        while let Progress::Running { remaining } = problem.adjoint(&mut memory, seeds, 5)? {
            if remaining > left {
                return Ok(false);
            }
            left = remaining;
        }
        let found = problem.gradient(&memory)?;
        out.numbers(found.theta);
        out.numbers(found.x0);
        out.count(found.evaluations.rate);
        out.count(found.evaluations.pullback);
        Ok(found.theta == &whole.theta[..2] && found.x0 == &whole.x0[..4])
    };
    let equal = portions();
    out.holds("the same bits", equal == Ok(true));
}

/// A control loop that keeps only its memory between the ticks, at a different address each time.
pub(super) fn moved_between_ticks<S: Scalar>(out: &mut Outcome) {
    let (plan, theta, x0) = suspension::<S>();
    let Ok(whole) = gradient(plan.mode(Mode::Adjoint), &Suspension, &theta, &x0, 3) else {
        return out.holds("there is a gradient", false);
    };
    let mut rooms = [Room::new(), Room::new()];
    let system: &dyn System<S> = &Suspension;
    let mut ticks = || -> Result<bool, Error> {
        plan.on(system, &theta, &x0)?
            .start(&mut with_slots(&mut rooms[0], 3))?;
        let mut stopped = false;
        while !stopped {
            rooms[1] = rooms[0].clone();
            rooms.swap(0, 1);
            rooms[1] = Room::new();
            let problem = plan.on(system, &theta, &x0)?;
            let mut memory = with_slots(&mut rooms[0], 3);
            stopped = problem.advance(&mut memory, 13)?.is_reached();
        }
        let seeds = Seeds::stop(Crossing::Interpolated);
        let mut progress = Progress::Running { remaining: 0 };
        while progress != Progress::Done {
            rooms[1] = rooms[0].clone();
            rooms.swap(0, 1);
            rooms[1] = Room::new();
            let problem = plan.on(system, &theta, &x0)?;
            progress = problem.adjoint(&mut with_slots(&mut rooms[0], 3), seeds, 7)?;
        }
        let memory = with_slots(&mut rooms[0], 3);
        let found = plan.on(system, &theta, &x0)?.gradient(&memory)?;
        out.numbers(found.theta);
        out.numbers(found.x0);
        Ok(found.theta == &whole.theta[..2] && found.x0 == &whole.x0[..4])
    };
    let equal = ticks();
    out.holds("the same bits", equal == Ok(true));
}

pub(super) fn tangent_agrees_with_adjoint<S: Scalar>(out: &mut Outcome) {
    let (plan, theta, x0) = suspension::<S>();
    for crossing in Crossing::ALL {
        let plan = plan.crossing(crossing);
        let adjoint = gradient(plan.mode(Mode::Adjoint), &Suspension, &theta, &x0, 4);
        let Some(adjoint) = out.value("adjoint", adjoint) else {
            return;
        };
        let Some(tangent) = recorded(out, plan.mode(Mode::Tangent), &Suspension, &theta, &x0)
        else {
            return;
        };
        let pairs = tangent.theta.iter().chain(&tangent.x0);
        for (&t, a) in pairs.zip(adjoint.theta.iter().chain(&adjoint.x0)) {
            out.near("tangent and adjoint", t, a.to_f64(), [2e-3, 1e-10]);
        }
    }
}

pub(super) fn truncated_sweep<S: Scalar>(out: &mut Outcome) {
    let (plan, theta, x0) = suspension::<S>();
    let mut room = Room::new();
    let system: &dyn System<S> = &Suspension;
    let mut last_step = || -> Result<[S; 2], Error> {
        let mut memory = with_slots(&mut room, 3);
        let problem = plan.on(system, &theta, &x0)?;
        problem.start(&mut memory)?;
        problem.complete(&mut memory)?;
        let seeds = Seeds::stop(Crossing::Paper).through(1);
        problem.adjoint(&mut memory, seeds, usize::MAX)?;
        let found = problem.gradient(&memory)?;
        out.count(found.evaluations.pullback);
        Ok([found.theta[0], found.theta[1]])
    };
    let Some(found) = last_step().ok() else {
        return out.holds("there is a gradient", false);
    };
    out.numbers(&found);
    let whole = gradient(plan.crossing(Crossing::Paper), &Suspension, &theta, &x0, 3);
    out.holds("a part", whole.is_ok_and(|whole| whole.theta[..2] != found));
}
