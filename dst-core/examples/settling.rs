//! A PID loop tuned twice: by the first passage through the band, which makes it unstable, and by the settling time, after which
//! the error stays in the band, which keeps it stable.
//!
//! Prints:
//! ```text
//! before: settles after 5.90 s
//! tuned by first passage: kp = 5.00, ki = 3.00, kd = -2.89, margin -4.0
//!   never settles
//! tuned by last entry: kp = 5.00, ki = 2.63, kd = 2.18, margin 5.1
//!   settles after 3.37 s
//! ```
#![allow(clippy::indexing_slicing)] // the types fix all lengths

use dst_core::descent::{Coordinate, Descent};
use dst_core::{Error, Euler, Memory, Plan, System, formula};

/// Step size and horizon, in seconds; the final check runs three times as long.
const H: f64 = 0.01;
const HORIZON: usize = 2000;
/// Friction of the plant.
const DRAG: f64 = 0.5;

fn main() -> Result<(), Error> {
    // A mass with friction under PID control: error e, velocity v, integral i of e; θ = (kp, ki, kd).
    let motor = formula!(
        |theta: 3, x: 3, _t| [
            x[1],
            (theta[2] + DRAG) * x[1] - theta[0] * x[0] - theta[1] * x[2],
            -x[0],
        ],
        |x| x[0] * x[0],
    );
    let start = [2.0, 0.8, 1.5];
    let band = Euler::new(H).until(4e-4).at_most(HORIZON);
    if let Some(seconds) = settling_time(band, &motor, start)? {
        println!("before: settles after {seconds:.2} s");
    }
    for (name, plan) in [
        ("first passage", band),
        ("last entry", band.staying_to_the_end()),
    ] {
        let tuned = tune(plan, &motor, start)?;
        let [kp, ki, kd] = tuned;
        // Routh's condition for s³ + (kd + DRAG)s² + kp·s + ki: stable if this is above 1 and all coefficients are positive.
        let margin = (kd + DRAG) * kp / ki;
        println!("tuned by {name}: kp = {kp:.2}, ki = {ki:.2}, kd = {kd:.2}, margin {margin:.1}");
        match settling_time(band, &motor, tuned)? {
            Some(seconds) => println!("  settles after {seconds:.2} s"),
            None => println!("  never settles"),
        }
    }
    Ok(())
}

/// Descent on the stopping time of the plan, within the gains that the motor allows. A loop that does not stop counts as failed.
fn tune(
    plan: Plan<f64, Euler<f64>>,
    plant: &impl System<f64>,
    start: [f64; 3],
) -> Result<[f64; 3], Error> {
    let mut memory = Memory::<f64, 3, 3, 20>::new();
    let gains = [
        Coordinate::Between(0.0, 5.0),
        Coordinate::Between(0.0, 3.0),
        Coordinate::Between(-3.0, 3.0),
    ];
    let mut descent = Descent::new(start, gains).at_most(60);
    while !descent.finished() {
        match plan.sensitivity(plant, descent.theta(), &[1.0, 0.0, 0.0], &mut memory) {
            Ok(s) => descent.tell(s.stop.time, s.time_gradient())?,
            Err(_) => descent.tell_failed()?,
        };
    }
    Ok(*descent.theta())
}

/// Settling time over three horizons, in seconds; `None` if the error does not stay in the band.
fn settling_time(
    plan: Plan<f64, Euler<f64>>,
    plant: &impl System<f64>,
    theta: [f64; 3],
) -> Result<Option<f64>, Error> {
    let problem = plan.staying_to_the_end().at_most(3 * HORIZON);
    let problem = problem.on(plant, &theta, &[1.0, 0.0, 0.0])?;
    let mut memory = Memory::<f64, 3, 3, 0>::new();
    problem.start(&mut memory)?;
    let status = problem.complete(&mut memory)?;
    Ok(status.iterate().entry.map(|entry| entry as f64 * H))
}
