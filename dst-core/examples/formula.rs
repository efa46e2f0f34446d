//! A formula without derivatives: a damped spring, and the damping with which it settles soonest.
//!
//! Prints:
//! ```text
//! damping 0.500: settles after 1663 steps; raising it by 0.1 changes that by -261.9
//! damping 0.642: settles after 1229 steps; raising it by 0.1 changes that by -37.6
//! damping 0.746: settles after 1071 steps; raising it by 0.1 changes that by -33.9
//! damping 0.873: settles after 917 steps; raising it by 0.1 changes that by -27.0
//! damping 1.178: settles after 630 steps; raising it by 0.1 changes that by -10.6
//! damping 1.655: settles after 475 steps; raising it by 0.1 changes that by -6.4
//! damping 3.015: settles after 226 steps; raising it by 0.1 changes that by -1.2
//! damping 3.033: settles after 226 steps; raising it by 0.1 changes that by +0.3
//! damping 3.032: settles after 226 steps; raising it by 0.1 changes that by +0.2
//! damping 3.027: settles after 226 steps; raising it by 0.1 changes that by -0.1
//! finished after 25 runs
//! ```
#![allow(clippy::indexing_slicing)] // θ and its gradient have one entry

use dst_core::descent::{Coordinate, Descent, Verdict};
use dst_core::{Crossing, Error, Heun, Memory, formula};

fn main() -> Result<(), Error> {
    // The iteration is x - h·A, so A is minus the derivative. θ = (damping), x = (position, velocity); settled when position² +
    // velocity² falls below ε and stays there.
    let spring = formula!(
        |theta: 1, x: 2, _t| [-x[1], 4.0 * x[0] + theta[0] * x[1]],
        |x| x[0] * x[0] + x[1] * x[1],
    );
    let plan = Heun::new(0.01)
        .until(1e-3)
        .at_most(2_000)
        .staying_to_the_end()
        .crossing(Crossing::Slope);
    let mut memory = Memory::<f64, 2, 1, 8>::new(); // 2 states, 1 parameter, 8 checkpoint slots
    let mut descent = Descent::new([0.5], [Coordinate::Log]); // steps are factors of the damping
    while !descent.finished() {
        let [damping] = *descent.theta();
        match plan.sensitivity(&spring, &[damping], &[1.0, 0.0], &mut memory) {
            Ok(s) => {
                let slope = s.steps_gradient()[0];
                if descent.tell(s.stop.time, s.time_gradient())? == Verdict::Accepted {
                    println!(
                        "damping {damping:.3}: settles after {} steps; raising it by 0.1 changes that by {:+.1}",
                        s.steps,
                        0.1 * slope
                    );
                }
            }
            Err(_) => {
                descent.tell_failed()?; // it did not settle
            }
        }
    }
    println!("finished after {} runs", descent.runs());
    Ok(())
}
