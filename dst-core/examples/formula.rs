//! A formula without derivatives: a damped spring, and the damping with which it settles soonest.
//!
//! Prints:
//! ```text
//! damping 0.500: settles after 1663 steps; raising it by 0.1 changes that by -261.9
//! damping 1.354: settles after 608 steps; raising it by 0.1 changes that by -16.6
//! damping 1.802: settles after 464 steps; raising it by 0.1 changes that by -9.6
//! damping 2.141: settles after 344 steps; raising it by 0.1 changes that by -1.6
//! damping 2.211: settles after 343 steps; raising it by 0.1 changes that by -1.2
//! ```
#![allow(clippy::indexing_slicing)] // θ and its gradient have one entry

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
    let mut damping = [0.5];
    for round in 0..=40 {
        let s = plan.sensitivity(&spring, &damping, &[1.0, 0.0], &mut memory)?;
        let slope = s.steps_gradient()[0];
        if round % 10 == 0 {
            println!(
                "damping {:.3}: settles after {} steps; raising it by 0.1 changes that by {:+.1}",
                damping[0],
                s.steps,
                0.1 * slope
            );
        }
        damping[0] -= (5e-4 * slope).clamp(-0.1, 0.1);
    }
    Ok(())
}
