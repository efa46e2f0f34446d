//! Rosenbrock's function in 50 variables, from f alone: gradient and Hessian-vector products are derived, and Nesterov's method is tuned.
//!
//! Prints:
//! ```text
//!  1 runs: step 7.14e-4, momentum 0.9000, 2006 iterations
//! 20 runs: step 4.43e-4, momentum 0.9887, 635 iterations
//! 40 runs: step 4.92e-4, momentum 0.9890, 596 iterations
//! 60 runs: step 5.68e-4, momentum 0.9883, 553 iterations
//! 80 runs: step 7.35e-4, momentum 0.9805, 526 iterations
//! ```
use dst_core::descent::{Coordinate, Descent};
use dst_core::methods::Nesterov;
use dst_core::system::Number;
use dst_core::{Error, Euler, Memory, Optimality, objective};

fn main() -> Result<(), Error> {
    let valley = objective!(|x: 50| {
        let mut sum = Number::literal(0.0);
        for pair in x.windows(2) {
            if let [a, b] = *pair {
                sum += 100.0 * (b - a * a).powi(2) + (1.0 - a).powi(2);
            }
        }
        sum
    });
    let method = Nesterov::new(valley).stop_on(Optimality::ResidualMax); // max |∇f| ≤ 1e-4
    let plan = Euler::new(1.0).until(1e-4).at_most(20_000);
    let mut memory = Memory::<f64, 100, 2, 200, 50>::new(); // state (y, x), 200 slots; the trace needs 36 of the 50 rows
    let coordinates = [Coordinate::Log, Coordinate::Logit(0.0, 1.0)];
    let mut descent = Descent::new([1.0 / 1400.0, 0.9], coordinates).at_most(80);
    while !descent.finished() {
        match plan.sensitivity(&method, descent.theta(), &[0.8; 100], &mut memory) {
            Ok(s) => descent.tell(s.stop.steps, s.steps_gradient())?,
            Err(_) => descent.tell_failed()?, // beyond the edge of stability; the best θ is kept
        };
        let runs = descent.runs();
        if let Some(([step, momentum], steps)) = descent.best()
            && (runs == 1 || runs % 20 == 0)
        {
            println!(
                "{runs:2} runs: step {step:.2e}, momentum {momentum:.4}, {steps:.0} iterations"
            );
        }
    }
    Ok(())
}
