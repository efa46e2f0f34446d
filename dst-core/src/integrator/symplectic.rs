//! Semi-implicit (symplectic) Euler for position/velocity systems.
//!
//! The state is (q, v): all positions, then all velocities, with q′ = v. The velocity is updated first, and the position uses the
//! *new* velocity: v⁺ = v − h·A_v(q, v, t), q⁺ = q + h·v⁺. One evaluation per step, order 1. The energy of an oscillation stays
//! bounded, whereas it grows with forward Euler. The position part of A must be −v, because q′ = v; it is not used.
//!
//! Transpose: v̄ ← v̄ + h·q̄, then Ā_v = −h·v̄ is pulled back; q̄ and v̄ are kept.

use super::Integrator;
use crate::error::Error;
use crate::scalar::Scalar;
use crate::slices::{all_finite, split, split_mut};
use crate::solve::Plan;
use crate::system::{Bar, Dims, Direction, Point, Reading, Seed, System};

/// Semi-implicit Euler: velocity first, then position with the new velocity.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct SymplecticEuler<S> {
    h: S,
}

impl<S> SymplecticEuler<S> {
    /// Creates the method with step size h > 0, which [`Plan::on`] checks.
    pub const fn new(h: S) -> Self {
        Self { h }
    }
}

impl<S: Scalar> SymplecticEuler<S> {
    /// Plan that runs until the first J ≤ ε.
    pub fn until(self, epsilon: S) -> Plan<S, Self> {
        Plan::new(self, epsilon)
    }
}

/// Writes (q + h·v⁺, v⁺), v⁺ = v − h·a, from (q, v) and the velocity part of the rate.
fn kick_and_drift<S: Scalar>(h: S, from: &[S], rate: &[S], next: &mut [S]) {
    let half = from.len() >> 1;
    let ((q, v), (_, a)) = (split(from, half), split(rate, half));
    let (q_next, v_next) = split_mut(next, half);
    for ((v_next, &v), &a) in v_next.iter_mut().zip(v).zip(a) {
        *v_next = v - h * a;
    }
    for ((q_next, &q), &v) in q_next.iter_mut().zip(q).zip(v_next.iter()) {
        *q_next = q + h * v;
    }
}

impl<S: Scalar> Integrator<S> for SymplecticEuler<S> {
    #[inline(always)]
    fn stages(&self) -> usize {
        1
    }

    #[inline(always)]
    fn kind(&self) -> u8 {
        3
    }

    fn step_size(&self) -> S {
        self.h
    }

    fn check(&self, dims: Dims) -> Result<(), Error> {
        if dims.states & 1 == 0 {
            Ok(())
        } else {
            Err(Error::OddState {
                states: dims.states,
            })
        }
    }

    fn step<Y: System<S> + ?Sized>(
        &self,
        _: &Y,
        at: Point<'_, S>,
        rate: &mut [S],
        _: &mut [S],
        next: &mut [S],
        _: &mut [S],
    ) -> bool {
        kick_and_drift(self.h, at.x, rate, next);
        all_finite(next)
    }

    fn pull<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        reading: Reading<S>,
        lambda: &mut [S],
        theta_bar: &mut [S],
        [rate_bar, ..]: [&mut [S]; 3],
        scratch: &mut [S],
    ) {
        let half = lambda.len() >> 1;
        let (q_bar, v_bar) = split_mut(lambda, half);
        let (q_rate_bar, v_rate_bar) = split_mut(rate_bar, half);
        q_rate_bar.fill(S::ZERO);
        for ((v, &q), a) in v_bar.iter_mut().zip(q_bar.iter()).zip(v_rate_bar) {
            *v += self.h * q;
            *a = -self.h * *v;
        }
        let (seed, bar) = (Seed::new(rate_bar, reading), Bar::new(theta_bar, lambda));
        system.pullback(at, record, seed, bar, scratch);
    }

    fn push<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        [slope, _]: [&mut [S]; 2],
        scratch: &mut [S],
    ) -> Reading<S> {
        let reading = system.pushforward(at, record, along, slope, scratch);
        kick_and_drift(self.h, along.x, slope, next);
        reading
    }
}
