//! Flows with a stopping time in closed form.

use dst_core::system::{Arithmetic, Number};
use dst_core::{Formula, Scalar};

/// u′ = 1 until u = q, written for x = q − u: A = 1, J = x, ε = 0. dT/dx0 = 1 exactly.
#[derive(Clone, Copy, Debug)]
pub struct Countdown;

impl Formula<1, 0> for Countdown {
    fn rate<A: Arithmetic>(
        &self,
        _: &[Number<A>; 0],
        _: &[Number<A>; 1],
        _: Number<A>,
    ) -> [Number<A>; 1] {
        [Number::literal(1.0)]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 0],
        x: &[Number<A>; 1],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

/// x′ = −θx, J = x: T = ln(x0/ε)/θ, dT/dθ = −T/θ; with Euler x_N = x0(1 − hθ)^N.
#[derive(Clone, Copy, Debug)]
pub struct Decay;

impl Formula<1, 1> for Decay {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 1],
        _: Number<A>,
    ) -> [Number<A>; 1] {
        [theta[0] * x[0]]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 1],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

impl Decay {
    /// T
    pub fn time(theta: f64, x0: f64, epsilon: f64) -> f64 {
        Scalar::ln(x0 / epsilon) / theta
    }

    /// (dT/dθ, dT/dx0, dT/dε)
    pub fn gradient(theta: f64, x0: f64, epsilon: f64) -> (f64, f64, f64) {
        (
            -Self::time(theta, x0, epsilon) / theta,
            1.0 / (theta * x0),
            -1.0 / (theta * epsilon),
        )
    }

    /// Interpolated N* of the Euler iteration and dN*/dθ, in closed form.
    pub fn euler(theta: f64, x0: f64, epsilon: f64, h: f64) -> (f64, f64) {
        let q = 1.0 - h * theta;
        let mut n = 0.0;
        while x0 * Scalar::powf(q, n) > epsilon {
            n += 1.0;
        }
        let power = |k: f64| Scalar::powf(q, k);
        let (before, after) = (x0 * power(n - 1.0), x0 * power(n));
        let (d_before, d_after) = (
            -h * x0 * (n - 1.0) * power(n - 2.0),
            -h * x0 * n * power(n - 1.0),
        );
        let alpha = (before - epsilon) / (before - after);
        (
            n - 1.0 + alpha,
            ((1.0 - alpha) * d_before + alpha * d_after) / (before - after),
        )
    }
}

/// The map x⁺ = θx, J = x: x_N = x0·θ^N, which is [`Decay`] with h = 1 and 1 − θ for θ.
#[derive(Clone, Copy, Debug)]
pub struct Shrink;

impl Formula<1, 1> for Shrink {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 1],
        _: Number<A>,
    ) -> [Number<A>; 1] {
        [theta[0] * x[0]]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 1],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

/// Ball dropped under gravity θ: q′ = v, v′ = −θ, J = q, ε = 0. For θ = 8: T = √(q0/4), dT/dq0 = 1/√(16 q0).
#[derive(Clone, Copy, Debug)]
pub struct BouncingBall;

impl Formula<2, 1> for BouncingBall {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> [Number<A>; 2] {
        [-x[1], theta[0]]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

/// x′ = −k x² t, J = x: t* = √(2(x0 − x_c)/(k x0 x_c)).
#[derive(Clone, Copy, Debug)]
pub struct QuadraticInTime;

impl Formula<1, 1> for QuadraticInTime {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 1],
        t: Number<A>,
    ) -> [Number<A>; 1] {
        [theta[0] * x[0] * x[0] * t]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 1],
        _: Number<A>,
    ) -> Number<A> {
        x[0]
    }
}

impl QuadraticInTime {
    /// (t*, dt*/dk, dt*/dx0)
    pub fn answer(k: f64, x0: f64, xc: f64) -> (f64, f64, f64) {
        let t = Scalar::sqrt(2.0 * (x0 - xc) / (k * x0 * xc));
        (t, -t / (2.0 * k), 1.0 / (k * x0 * x0 * t))
    }
}

/// The paper's Figure 1: f = ½x₁² + 2x₂², A = diag(1, θ)∇f, J = ‖∇f‖², f as loss.
#[derive(Clone, Copy, Debug)]
pub struct Figure1;

impl Formula<2, 1> for Figure1 {
    #[inline(always)]
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> [Number<A>; 2] {
        [x[0], theta[0] * x[1] * 4.0]
    }
    #[inline(always)]
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> Number<A> {
        x[0] * x[0] + x[1] * x[1] * 16.0
    }
    #[inline(always)]
    fn loss<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
        _: Number<A>,
    ) -> Number<A> {
        x[0] * x[0] * 0.5 + x[1] * x[1] * 2.0
    }
}

impl Figure1 {
    /// (T, dT/dθ, dT/dx0, dT/dε) of the flow x₁ = a·e^{−t}, x₂ = b·e^{−4θt}, by bisection and implicit differentiation.
    pub fn answer(theta: f64, x0: [f64; 2], epsilon: f64) -> (f64, f64, [f64; 2], f64) {
        let parts = |t: f64| {
            (
                Scalar::exp(-2.0 * t) * x0[0] * x0[0],
                16.0 * Scalar::exp(-8.0 * theta * t) * x0[1] * x0[1],
            )
        };
        let (mut low, mut high) = (0.0, 1e3);
        for _ in 0..200 {
            let mid = 0.5 * (low + high);
            let (p, q) = parts(mid);
            if p + q > epsilon {
                low = mid;
            } else {
                high = mid;
            }
        }
        let t = 0.5 * (low + high);
        let (p, q) = parts(t);
        let slope = -2.0 * p - 8.0 * theta * q;
        (
            t,
            8.0 * t * q / slope,
            [-2.0 * p / x0[0] / slope, -2.0 * q / x0[1] / slope],
            1.0 / slope,
        )
    }
}

/// Damped pendulum, state (angle, velocity), θ = (stiffness, damping); stops when the energy is low.
#[derive(Clone, Copy, Debug)]
pub struct Pendulum;

impl Formula<2, 2> for Pendulum {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 2],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> [Number<A>; 2] {
        [-x[1], theta[0] * x[0].sin() + theta[1] * x[1]]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 2],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> Number<A> {
        x[1] * x[1] * 0.5 + 1.0 - x[0].cos()
    }
}
