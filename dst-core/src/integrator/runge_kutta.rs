//! Explicit Runge–Kutta methods in which each stage depends only on the previous one.
//!
//! k_0 = A(x, t),  X_i = x − h·c_i·k_{i−1},  k_i = A(X_i, t + c_i h),  x⁺ = x − h Σ b_i k_i.
//! Euler, Heun and the classical RK4 have this form, so one step, one transpose and one tangent serve all three.
//!
//! Transpose for λ, the cotangent of x⁺, from the last stage to the first:
//! k̄_i = −h·b_i·λ − h·c_{i+1}·X̄_{i+1},  X̄_i = (∂A/∂x)ᵀk̄_i,  θ̄ += (∂A/∂θ)ᵀk̄_i,  x̄ = λ + Σ X̄_i.

use super::Integrator;
use crate::scalar::Scalar;
use crate::slices::{add_scaled, all_finite, copy, split, split_mut};
use crate::solve::Plan;
use crate::system::{Bar, Direction, Point, Reading, Seed, System};

/// Forward Euler, the paper's iteration: x⁺ = x − h·A(θ, x, t). One evaluation per step, order 1.
pub type Euler<S> = RungeKutta<S, 1>;

/// Heun's method (explicit trapezoid): two evaluations per step, order 2.
pub type Heun<S> = RungeKutta<S, 2>;

/// The classical Runge–Kutta method: four evaluations per step, order 4.
pub type Rk4<S> = RungeKutta<S, 4>;

/// Runge–Kutta method with this many stages, and its step size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct RungeKutta<S, const STAGES: usize> {
    h: S,
}

impl<S, const STAGES: usize> RungeKutta<S, STAGES> {
    /// b_0
    const FIRST: f64 = match STAGES {
        1 => 1.0,
        2 => 0.5,
        4 => 1.0 / 6.0,
        _ => panic!("Euler, Heun and RK4 have 1, 2 and 4 stages"),
    };
    /// (c_i, b_i) of the later stages.
    const LATER: &'static [(f64, f64)] = match STAGES {
        2 => &[(1.0, 0.5)],
        4 => &[(0.5, 1.0 / 3.0), (0.5, 1.0 / 3.0), (1.0, 1.0 / 6.0)],
        _ => &[],
    };

    /// Creates the method with step size h > 0, which [`Plan::on`] checks.
    pub const fn new(h: S) -> Self {
        Self { h }
    }
}

impl<S: Scalar, const STAGES: usize> RungeKutta<S, STAGES> {
    /// Plan that runs until the first J ≤ ε.
    pub fn until(self, epsilon: S) -> Plan<S, Self> {
        Plan::new(self, epsilon)
    }
}

/// to ← x − h·k
#[inline(always)]
fn descend<S: Scalar>(to: &mut [S], x: &[S], h: S, k: &[S]) {
    // In pairs, both read before either is written, so that short unrolled loops also become packed instructions.
    let ((to, to_last), (x, x_last), (k, k_last)) = (
        to.as_chunks_mut::<2>(),
        x.as_chunks::<2>(),
        k.as_chunks::<2>(),
    );
    for ((to, &[x0, x1]), &[k0, k1]) in to.iter_mut().zip(x).zip(k) {
        *to = [x0 - h * k0, x1 - h * k1];
    }
    for ((to, &x), &k) in to_last.iter_mut().zip(x_last).zip(k_last) {
        *to = x - h * k;
    }
}

/// Point of a stage, `hc` later.
#[inline(always)]
fn stage_point<'a, S: Scalar>(at: Point<'a, S>, x: &'a [S], hc: S) -> Point<'a, S> {
    let t = at.t + hc;
    Point { x, t, ..at }
}

impl<S: Scalar, const STAGES: usize> Integrator<S> for RungeKutta<S, STAGES> {
    #[inline(always)]
    fn stages(&self) -> usize {
        STAGES
    }

    #[inline(always)]
    fn kind(&self) -> u8 {
        STAGES as u8
    }

    #[inline(always)]
    fn step_size(&self) -> S {
        self.h
    }

    #[inline(always)]
    fn step<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        rate: &mut [S],
        record: &mut [S],
        next: &mut [S],
        scratch: &mut [S],
    ) -> bool {
        let h = self.h;
        let (_, mut stages) = split_mut(record, system.dims().tape);
        let hb = h * S::from_f64(Self::FIRST);
        descend(next, at.x, hb, rate);
        for &(c, b) in Self::LATER {
            let (hc, hb) = (h * S::from_f64(c), h * S::from_f64(b));
            let (state, rest) = split_mut(stages, at.x.len());
            let (tape, rest) = split_mut(rest, system.dims().tape);
            stages = rest;
            descend(state, at.x, hc, rate);
            system.rate(stage_point(at, state, hc), rate, tape, scratch);
            add_scaled(next, -hb, rate);
        }
        all_finite(next)
    }

    #[inline(always)]
    fn in_place(&self) -> bool {
        STAGES == 1
    }

    #[inline(always)]
    fn step_in_place(&self, x: &mut [S], rate: &[S]) {
        for (x, &rate) in x.iter_mut().zip(rate) {
            *x -= self.h * rate;
        }
    }

    #[inline]
    fn pull<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        reading: Reading<S>,
        lambda: &mut [S],
        theta_bar: &mut [S],
        [k_bar, stage_bar, sum]: [&mut [S]; 3],
        scratch: &mut [S],
    ) {
        let h = self.h;
        let dims = system.dims();
        let (tape, mut stages) = split(record, dims.tape);
        let mut hc_later = S::ZERO;
        if !Self::LATER.is_empty() {
            sum.fill(S::ZERO);
            stage_bar.fill(S::ZERO);
        }
        for &(c, b) in Self::LATER.iter().rev() {
            let (hc, hb) = (h * S::from_f64(c), h * S::from_f64(b));
            let (earlier, stage) =
                split(stages, stages.len().saturating_sub(dims.states + dims.tape));
            let (state, tape) = split(stage, dims.states);
            stages = earlier;
            for ((k, &l), &s) in k_bar.iter_mut().zip(lambda.iter()).zip(stage_bar.iter()) {
                *k = -hb * l - hc_later * s;
            }
            stage_bar.fill(S::ZERO);
            let (seed, bar) = (
                Seed::new(k_bar, Reading::ZERO),
                Bar::new(theta_bar, stage_bar),
            );
            system.pullback(stage_point(at, state, hc), tape, seed, bar, scratch);
            add_scaled(sum, S::ONE, stage_bar);
            hc_later = hc;
        }
        let hb = h * S::from_f64(Self::FIRST);
        if Self::LATER.is_empty() {
            for (k, &l) in k_bar.iter_mut().zip(lambda.iter()) {
                *k = -hb * l;
            }
        } else {
            for ((k, &l), &s) in k_bar.iter_mut().zip(lambda.iter()).zip(stage_bar.iter()) {
                *k = -hb * l - hc_later * s;
            }
            add_scaled(lambda, S::ONE, sum);
        }
        // θ first, with the old λ (in k̄); then x̄ is added to λ in place.
        let (seed, bar) = (Seed::new(k_bar, reading), Bar::new(theta_bar, lambda));
        system.pullback(at, tape, seed, bar, scratch);
    }

    #[inline]
    fn push<Y: System<S> + ?Sized>(
        &self,
        system: &Y,
        at: Point<'_, S>,
        record: &[S],
        along: Direction<'_, S>,
        next: &mut [S],
        [slope, stage_direction]: [&mut [S]; 2],
        scratch: &mut [S],
    ) -> Reading<S> {
        let h = self.h;
        let dims = system.dims();
        let (tape, mut stages) = split(record, dims.tape);
        let reading = system.pushforward(at, tape, along, slope, scratch);
        copy(next, along.x);
        add_scaled(next, -(h * S::from_f64(Self::FIRST)), slope);
        for &(c, b) in Self::LATER {
            let (hc, hb) = (h * S::from_f64(c), h * S::from_f64(b));
            let (state, rest) = split(stages, dims.states);
            let (tape, rest) = split(rest, dims.tape);
            stages = rest;
            copy(stage_direction, along.x);
            add_scaled(stage_direction, -hc, slope);
            let along = Direction {
                theta: along.theta,
                x: stage_direction,
                t: along.t,
            };
            system.pushforward(stage_point(at, state, hc), tape, along, slope, scratch);
            add_scaled(next, -hb, slope);
        }
        reading
    }
}
