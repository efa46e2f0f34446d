//! A user-defined objective with heavy ball: descends the number of iterations in step size and momentum.
//!
//! Prints:
//! ```text
//!  1 runs: step 0.100, momentum 0.500, 519.0 iterations
//! 20 runs: step 0.573, momentum 0.579, 44.8 iterations
//! 40 runs: step 0.676, momentum 0.543, 38.9 iterations
//! 60 runs: step 0.676, momentum 0.543, 38.9 iterations
//! ```
#![allow(clippy::indexing_slicing)] // the state has twenty entries

use std::error::Error;
use std::iter::once;

use dst_core::descent::{Coordinate, Descent};
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
        .at_most(10_000)
        .crossing(Crossing::Interpolated);
    let mut memory = Memory::<f64, 20, 2, 12>::new();
    plan.check(&method, &[0.1, 0.5], &x0, &mut memory)?; // names a wrong entry of the gradient or of the Hessian-vector product
    // The step size by factors, the momentum by factors of its distance to 0 and to 1.
    let coordinates = [Coordinate::Log, Coordinate::Logit(0.0, 1.0)];
    let mut descent = Descent::new([0.1, 0.5], coordinates);
    while !descent.finished() {
        match plan.sensitivity(&method, descent.theta(), &x0, &mut memory) {
            Ok(s) => descent.tell(s.stop.steps, s.steps_gradient())?,
            Err(_) => descent.tell_failed()?, // too large a step diverges; the descent keeps the best θ
        };
        let runs = descent.runs();
        if let Some(([step, momentum], iterations)) = descent.best()
            && (runs == 1 || runs % 20 == 0)
        {
            println!(
                "{runs:2} runs: step {step:.3}, momentum {momentum:.3}, {iterations:.1} iterations"
            );
        }
    }
    Ok(())
}
