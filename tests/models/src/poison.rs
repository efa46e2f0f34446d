//! Hostile user code: NaN or infinity from any call, at a chosen moment.

use core::cell::Cell;

use dst_core::{Bar, Cost, Dims, Direction, Point, Reading, Scalar, Seed, System};

/// Output that is poisoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poison {
    /// One entry of the rate.
    Rate,
    /// J.
    Criterion,
    /// f.
    Loss,
    /// The cotangent of x.
    PullbackX,
    /// The cotangent of θ.
    PullbackTheta,
    /// The pushed-forward rate and readings.
    Pushforward,
    /// The tape: only derivatives can see it.
    Tape,
}

/// A system that returns `value` where `poison` says, from call number `after` on.
#[derive(Debug)]
pub struct Poisoned<Y, S> {
    /// The system.
    pub inner: Y,
    /// Output that is poisoned.
    pub poison: Poison,
    /// NaN, ±∞.
    pub value: S,
    /// Calls that stay clean.
    pub after: usize,
    /// Calls so far.
    pub calls: Cell<usize>,
}

impl<Y, S: Scalar> Poisoned<Y, S> {
    fn due(&self, poison: Poison) -> bool {
        if self.poison != poison {
            return false;
        }
        self.calls.set(self.calls.get() + 1);
        self.calls.get() > self.after
    }

    fn spoil(&self, v: &mut [S]) {
        if let Some(entry) = v.last_mut() {
            *entry = self.value;
        }
    }
}

impl<S: Scalar, Y: System<S>> System<S> for Poisoned<Y, S> {
    fn dims(&self) -> Dims {
        self.inner.dims()
    }
    fn rate(
        &self,
        at: Point<'_, S>,
        rate: &mut [S],
        tape: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let mut reading = self.inner.rate(at, rate, tape, scratch);
        if self.due(Poison::Rate) {
            self.spoil(rate);
        }
        if self.due(Poison::Criterion) {
            reading.criterion = self.value;
        }
        if self.due(Poison::Loss) {
            reading.loss = self.value;
        }
        if self.due(Poison::Tape) {
            self.spoil(tape);
        }
        reading
    }
    fn pullback(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        seed: Seed<'_, S>,
        bar: Bar<'_, S>,
        scratch: &mut [S],
    ) {
        let Bar { theta, x, t } = bar;
        self.inner.pullback(
            at,
            tape,
            seed,
            Bar {
                theta: &mut *theta,
                x: &mut *x,
                t,
            },
            scratch,
        );
        if self.due(Poison::PullbackX) {
            self.spoil(x);
        }
        if self.due(Poison::PullbackTheta) {
            self.spoil(theta);
        }
    }
    fn pushforward(
        &self,
        at: Point<'_, S>,
        tape: &[S],
        along: Direction<'_, S>,
        rate: &mut [S],
        scratch: &mut [S],
    ) -> Reading<S> {
        let reading = self.inner.pushforward(at, tape, along, rate, scratch);
        if self.due(Poison::Pushforward) {
            self.spoil(rate);
            return Reading {
                criterion: self.value,
                loss: self.value,
            };
        }
        reading
    }
    fn cost(&self) -> Cost {
        self.inner.cost()
    }
}
