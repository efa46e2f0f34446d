//! A user-defined objective with heavy ball: descends the number of iterations in step size and momentum.
//!
//! Prints:
//! ```text
//! step 0.100, momentum 0.500: 519 iterations
//! step 0.227, momentum 0.722: 97 iterations
//! step 0.267, momentum 0.707: 81 iterations
//! step 0.291, momentum 0.698: 72 iterations
//! ```
#![allow(clippy::indexing_slicing)] // θ and its gradient have two entries

use std::error::Error;
use std::iter::once;

use dst_core::methods::HeavyBall;
use dst_core::{Crossing, Euler, Memory, Objective};

/// Chain of hardening springs between two walls: f = ½Σ(x_{i+1} − x_i)² + ¼Σx_i⁴.
struct Chain;

/// Twice each entry minus its neighbours; the walls are at zero.
fn pull(x: &[f64]) -> impl Iterator<Item = f64> {
    let left = once(&0.0).chain(x);
    let right = x.iter().skip(1).chain(once(&0.0));
    x.iter()
        .zip(left.zip(right))
        .map(|(x, (l, r))| 2.0 * x - l - r)
}

impl Objective<f64> for Chain {
    fn dim(&self) -> usize {
        10
    }

    fn value_gradient(&self, x: &[f64], g: &mut [f64], _: &mut [f64], _: &mut [f64]) -> f64 {
        let mut f = 0.0;
        for ((g, x), pull) in g.iter_mut().zip(x).zip(pull(x)) {
            *g = pull + x * x * x;
            f += 0.5 * x * pull + 0.25 * x * x * x * x;
        }
        f
    }

    fn add_hessian_vector(&self, x: &[f64], v: &[f64], _: &[f64], out: &mut [f64], _: &mut [f64]) {
        for (((out, x), v), pull) in out.iter_mut().zip(x).zip(v).zip(pull(v)) {
            *out += pull + 3.0 * x * x * v;
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let method = HeavyBall::new(Chain); // θ = (step size, momentum); the state is x, then the velocity
    let mut x0 = [0.0; 20];
    x0[..10].fill(1.0);
    // Stop at ‖∇f‖² ≤ 1e-10; the gradient is exact for the interpolated number of iterations.
    let plan = Euler::new(1.0)
        .until(1e-10)
        .crossing(Crossing::Interpolated);
    let mut memory = Memory::<f64, 20, 2, 12>::new();
    let mut theta = [0.1, 0.5];
    plan.check(&method, &theta, &x0, &mut memory)?; // names a wrong entry of the gradient or of the Hessian-vector product
    for round in 0..=60 {
        let s = plan.sensitivity(&method, &theta, &x0, &mut memory)?;
        if round % 20 == 0 {
            println!(
                "step {:.3}, momentum {:.3}: {} iterations",
                theta[0], theta[1], s.steps
            );
        }
        // Descent in ln α and ln(1 − β). The step length does not depend on N, which spans orders of magnitude.
        let [a, b] = [s.steps_gradient()[0], s.steps_gradient()[1]];
        let (a, b) = (theta[0] * a, (theta[1] - 1.0) * b);
        let length = a.hypot(b) * (10.0 + round as f64);
        theta[0] *= (-2.0 * a / length).exp();
        theta[1] = 1.0 - (1.0 - theta[1]) * (-2.0 * b / length).exp();
    }
    Ok(())
}
