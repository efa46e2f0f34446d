//! Sum of losses, alone and together with the stopping time.

use dst_core::system::Derived;
use dst_core::{Crossing, Error, Euler, Plan, Reading, Scalar, Seeds, System};

use super::outcome::Outcome;
use super::setup::{Room, lit, with_slots};
use crate::Figure1;

const H: f64 = 0.05;
const THETA: f64 = 0.7;

/// Σ f(x_k) + μT of Figure 1: the loss and its derivative by θ.
#[inline(never)]
fn run<S: Scalar>(
    epsilon: f64,
    limit: usize,
    weight: f64,
    time: f64,
) -> Result<(S, S, usize), Error> {
    let system: &dyn System<S> = &Derived::<_, 2, 1>::new(Figure1);
    let mut room = Room::new();
    let mut memory = with_slots(&mut room, 6);
    let plan: Plan<S, _> = Euler::new(S::from_f64(H)).until(S::from_f64(epsilon));
    let (theta, x0) = (lit([THETA]), lit([1.0, 1.0]));
    let problem = plan.at_most(limit).on(system, &theta, &x0)?;
    let (weight, mut loss) = (S::from_f64(weight), S::ZERO);
    problem.start(&mut memory)?;
    problem.watch(&mut memory, usize::MAX, |_, reading| {
        loss += weight * reading.loss;
    })?;
    let stop = Seeds::stop(Crossing::Interpolated).times(S::from_f64(time));
    let seeds = stop + Seeds::weighted(|_| Reading::loss(weight));
    problem.differentiate(&mut memory, seeds, usize::MAX)?;
    let g = problem.gradient(&memory)?;
    Ok((loss, g.theta[0], g.steps))
}

/// f = ½x₁² + 2x₂² along x = (p^k, q^k), summed to N, with its derivative by θ.
fn sums(n: usize) -> (f64, f64) {
    let (p, q) = (1.0 - H, 1.0 - 4.0 * H * THETA);
    let (mut loss, mut slope, mut a, mut b, mut b_slope) = (0.0, 0.0, 1.0, 1.0, 0.0);
    for _ in 0..=n {
        loss += 0.5 * a * a + 2.0 * b * b;
        slope += 4.0 * b * b_slope;
        b_slope = b_slope * q - 4.0 * H * b;
        a *= p;
        b *= q;
    }
    (loss, slope)
}

pub(super) fn running_loss<S: Scalar>(out: &mut Outcome) {
    // Stopped by the limit: a loss does not need a stop.
    let Some((loss, slope, n)) = out.value("a gradient", run::<S>(1e-6, 40, 1.0, 0.0)) else {
        return;
    };
    out.count(n);
    let (expected, expected_slope) = sums(n);
    out.near("loss", loss, expected, [1e-5, 1e-13]);
    out.near("its gradient", slope, expected_slope, [1e-4, 1e-12]);
}

pub(super) fn loss_and_time_together<S: Scalar>(out: &mut Outcome) {
    let parts = [(0.5, 0.0), (0.0, 2.0), (0.5, 2.0)].map(|(w, t)| run::<S>(1e-2, 1000, w, t));
    let [Ok(loss), Ok(time), Ok(both)] = parts else {
        return out.holds("three gradients", false);
    };
    out.count(both.2);
    out.near("linear", both.1, (loss.1 + time.1).to_f64(), [1e-5, 1e-12]);
    let (expected, slope) = sums(both.2);
    out.near("loss", both.0, 0.5 * expected, [1e-5, 1e-13]);
    out.near("gradient of the loss", loss.1, 0.5 * slope, [1e-4, 1e-12]);
    out.number(time.1);
}
