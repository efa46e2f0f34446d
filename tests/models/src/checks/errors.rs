//! Misuse: every case returns its own error.

use dst_core::checkpoint::{Mark, Slots, Store, StoreFault};
use dst_core::solve::{Borrowed, Cursor};
use dst_core::system::Derived;
use dst_core::{Argument, Cost, Crossing, Error, Euler, Mode, Plan, Rk4, Scalar, SymplecticEuler};

use super::outcome::Outcome;
use super::setup::{gradient, gradient_in, lit};
use crate::{Decay, Figure1, Opaque};

fn flow() -> Derived<Figure1, 2, 1> {
    Derived::new(Figure1)
}

fn plan<S: Scalar>() -> Plan<S, Euler<S>> {
    Euler::new(S::from_f64(0.05)).until(S::from_f64(1e-3))
}

pub(super) fn wrong_lengths<S: Scalar>(out: &mut Outcome) {
    let length = |argument, needed, given| Error::Length {
        argument,
        needed,
        given,
    };
    let (theta, x0) = (lit::<S, 2>([1.0, 2.0]), lit::<S, 2>([1.0, 1.0]));
    let long = gradient(plan(), &flow(), &theta, &x0, 4);
    out.error("theta", long, length(Argument::Theta, 1, 2));
    let short = gradient(plan(), &flow(), &theta[..1], &x0[..1], 4);
    out.error("x0", short, length(Argument::X0, 2, 1));
    // RK4 needs three stage states in each of two records: 13 rows of two numbers.
    let (mut rows, mut params) = ([S::ZERO; 26], [S::ZERO; 2]);
    let (mut marks, mut slots) = ([Mark::EMPTY; 3], [S::ZERO; 6]);
    let mut attempt = |r: usize, p: usize, s: usize| {
        let memory = Borrowed {
            rows: &mut rows[..r],
            params: &mut params[..p],
            slots: Slots::Memory(&mut slots[..s]),
            marks: &mut marks,
            cursor: &mut Cursor::new(),
        };
        let plan = Rk4::new(S::from_f64(0.05)).until(S::from_f64(1e-3));
        gradient_in(plan, &flow(), &theta[..1], &x0, memory).map(|_| ())
    };
    let results = [
        ("rows", attempt(25, 2, 6), length(Argument::Rows, 26, 25)),
        ("params", attempt(26, 1, 6), length(Argument::Params, 2, 1)),
        ("slots", attempt(26, 2, 5), length(Argument::Slots, 6, 5)),
    ];
    out.holds("enough", attempt(26, 2, 6).is_ok());
    for (what, result, error) in results {
        out.error(what, result, error);
    }
}

pub(super) fn no_slots<S: Scalar>(out: &mut Outcome) {
    let found = gradient::<S, _>(plan(), &flow(), &lit([1.0]), &lit([1.0, 1.0]), 0);
    out.error("no slots", found, Error::NoSlots);
}

pub(super) fn numbers_out_of_range<S: Scalar>(out: &mut Outcome) {
    let attempt = |h: S, epsilon: S, t0: S, theta: S, x: S| {
        let plan = Euler::new(h).until(epsilon).from_time(t0);
        gradient(plan, &flow(), &[theta], &[x, S::ONE], 4)
    };
    let (h, one, zero) = (S::from_f64(0.1), S::ONE, S::ZERO);
    for bad in [S::NAN, S::INFINITY, -S::INFINITY] {
        let step = attempt(bad, h, zero, one, one);
        out.error("h", step, Error::Invalid(Argument::StepSize));
        let tolerance = attempt(h, bad, zero, one, one);
        out.error("epsilon", tolerance, Error::Invalid(Argument::Epsilon));
        let start = attempt(h, h, bad, one, one);
        out.error("t0", start, Error::Invalid(Argument::StartTime));
        let theta = attempt(h, h, zero, bad, one);
        out.error("theta", theta, Error::Invalid(Argument::Theta));
        let x0 = attempt(h, h, zero, one, bad);
        out.error("x0", x0, Error::Invalid(Argument::X0));
    }
    let step = attempt(zero, h, zero, one, one);
    out.error("h = 0", step, Error::Invalid(Argument::StepSize));
    let odd = SymplecticEuler::new(h).until(S::HALF);
    let odd = gradient(odd, &Derived::<_, 1, 1>::new(Decay), &[one], &[one], 4);
    out.error("odd", odd, Error::OddState { states: 1 });
}

pub(super) fn no_gradient_without_a_stop<S: Scalar>(out: &mut Outcome) {
    let theta = lit::<S, 1>([1.0]);
    for mode in [Mode::Adjoint, Mode::Tangent, Mode::Auto] {
        let plan = plan().at_most(10).mode(mode);
        let late = gradient(plan, &flow(), &theta, &lit([1.0, 1.0]), 4);
        out.error("late", late, Error::NotStopped { steps: 10 });
        let at_once = gradient(plan, &flow(), &theta, &lit([1e-3, 1e-3]), 4);
        out.error("at once", at_once, Error::StoppedAtStart);
    }
}

pub(super) fn flat_crossing<S: Scalar>(out: &mut Outcome) {
    // J falls by a few units in the last place per step.
    let decay = Derived::<_, 1, 1>::new(Decay);
    let few = S::EPSILON * S::from_f64(4.0);
    let plan = Euler::new(few).until(S::ONE - few * S::from_f64(3.0));
    for mode in [Mode::Adjoint, Mode::Tangent] {
        let slow = gradient(plan.mode(mode), &decay, &[S::ONE], &[S::ONE], 3);
        let flat = matches!(slow, Err(Error::FlatCrossing { .. }));
        out.holds("flat", flat);
    }
    // J rises at x_N although it fell over the step: the slope has the wrong sign.
    let bounce = dst_core::formula!(|_theta: 1, x: 1, _t| [1.0 + x[0] * 0.0], |x| x[0] * x[0]);
    let plan = Euler::new(S::ONE)
        .until(S::from_f64(0.05))
        .crossing(Crossing::Slope);
    let found = gradient(plan, &bounce, &[S::ONE], &[S::from_f64(0.8)], 3);
    out.error("rising", found, Error::FlatCrossing { step: 1 });
}

pub(super) fn missing_derivatives<S: Scalar>(out: &mut Outcome) {
    let attempt = |pullback, mode| {
        let system = Opaque(Cost {
            pullback,
            pushforward: None,
        });
        let plan = Euler::new(S::from_f64(0.1)).until(S::HALF).mode(mode);
        gradient(plan, &system, &[], &[S::ONE], 3)
    };
    let auto = attempt(Some(1), Mode::Auto);
    out.holds("auto takes the adjoint", auto.is_ok());
    let tangent = attempt(Some(1), Mode::Tangent);
    out.error("no pushforward", tangent, Error::NoPushforward);
    let adjoint = attempt(None, Mode::Adjoint);
    out.error("no pullback", adjoint, Error::NoPullback);
}

/// Slot that fails after this many operations.
struct Tired<S> {
    kept: [S; 2],
    left: usize,
}

impl<S: Scalar> Tired<S> {
    fn access(&mut self) -> Result<(), StoreFault> {
        self.left = self.left.checked_sub(1).ok_or(StoreFault)?;
        Ok(())
    }
}

impl<S: Scalar> Store<S> for Tired<S> {
    fn save(&mut self, _: usize, state: &[S]) -> Result<(), StoreFault> {
        self.kept.copy_from_slice(state);
        self.access()
    }
    fn load(&mut self, _: usize, state: &mut [S]) -> Result<(), StoreFault> {
        state.copy_from_slice(&self.kept);
        self.access()
    }
}

pub(super) fn failing_store<S: Scalar>(out: &mut Outcome) {
    let (mut rows, mut params) = ([S::ZERO; 14], [S::ZERO; 2]);
    let mut attempt = |left| {
        let mut marks = [Mark::EMPTY; 1];
        let mut store = Tired {
            kept: [S::ZERO; 2],
            left,
        };
        let memory = Borrowed {
            rows: &mut rows,
            params: &mut params,
            slots: Slots::Store(&mut store),
            marks: &mut marks,
            cursor: &mut Cursor::new(),
        };
        let plan = plan().mode(Mode::Adjoint);
        let found = gradient_in(plan, &flow(), &lit([1.0]), &lit([1.0, 1.0]), memory);
        found.map(|answer| (answer.steps, store.left))
    };
    let Ok((steps, left)) = attempt(10_000) else {
        return out.holds("a store that works", false);
    };
    out.count(steps);
    out.count(left);
    // Fails at the first save, the first load, and the last.
    for fail in [0, 1, 10_000 - left - 1] {
        let broken = attempt(fail);
        out.error("broken", broken, Error::Store { slot: 0 });
    }
}
