//! User code that returns NaN or infinity from any call: the result is an error, never a gradient.

use core::cell::Cell;

use dst_core::system::Derived;
use dst_core::{Error, Euler, Mode, Scalar};

use super::outcome::Outcome;
use super::setup::{FixedGradient, gradient, lit};
use crate::{Figure1, Poison, Poisoned};

#[inline(never)]
fn attempt<S: Scalar>(
    poison: Poison,
    value: S,
    after: usize,
    mode: Mode,
) -> Result<FixedGradient<S>, Error> {
    let system = Poisoned {
        inner: Derived::<_, 2, 1>::new(Figure1),
        poison,
        value,
        after,
        calls: Cell::new(0),
    };
    let plan = Euler::new(S::from_f64(0.05)).until(S::from_f64(1e-2));
    gradient(plan.mode(mode), &system, &lit([0.7]), &lit([1.0, 1.0]), 3)
}

pub(super) fn not_finite_on_the_way<S: Scalar>(out: &mut Outcome) {
    for value in [S::NAN, S::INFINITY, -S::INFINITY] {
        for poison in [Poison::Rate, Poison::Criterion] {
            for after in [0, 1, 20] {
                // A bad rate at x_k affects x_{k+1}; a bad criterion at x_k is detected at once.
                let step = after + usize::from(poison == Poison::Rate);
                let found = attempt(poison, value, after, Mode::Adjoint);
                out.error("NaN", found, Error::NonFinite { step });
            }
        }
    }
}

pub(super) fn not_finite_on_the_way_back<S: Scalar>(out: &mut Outcome) {
    let places = [
        (Poison::PullbackX, Mode::Adjoint),
        (Poison::PullbackTheta, Mode::Adjoint),
        (Poison::Pushforward, Mode::Tangent),
    ];
    for (poison, mode) in places {
        for after in [0, 1, 9] {
            let found = attempt(poison, S::NAN, after, mode).map(|a| a.steps);
            let refused = matches!(
                found,
                Err(Error::NonFiniteGradient { .. } | Error::FlatCrossing { .. })
            );
            out.holds("refused", refused);
            if let Err(Error::NonFiniteGradient { step }) = found {
                out.count(step);
            }
        }
    }
    // A run without a bad value succeeds: there is no false alarm.
    let clean = attempt(Poison::PullbackX, S::NAN, 10_000, Mode::Adjoint);
    out.holds("clean", clean.is_ok());
}
