//! Position controller of a motor. A tick measures the state, solves a quadratic program and applies its input.
//!
//! `motor.rs` is written by `dst control export`. The plant is simulated here.

#![no_std]
#![no_main]

mod motor;

use cortex_m_rt::entry;
use cortex_m_semihosting::{debug, hprintln};
use dst_core::Error;
use panic_halt as _;

/// Steps that a tick may take: the number that the certificate in `motor.rs` is about.
const BUDGET: usize = 44;

/// Next state of the motor: position in turns, speed. Replace it by your sensors and your actuator.
fn plant(x: [f32; 2], u: f32) -> [f32; 2] {
    let ([a, b, c, d], [e, f]) = (motor::A, motor::B);
    [a * x[0] + b * x[1] + e * u, c * x[0] + d * x[1] + f * u]
}

/// Runs 100 ticks and prints how far the motor came.
fn run() -> Result<(), Error> {
    let mut memory = motor::Memory::new();
    let mut tick = memory.start()?;
    let mut x = [1.0, 0.0];
    let (mut fastest, mut most) = (0.0f32, 0);
    for _ in 0..100 {
        let outcome = motor::CONTROLLER.tick(&mut tick, &x, &[], BUDGET)?;
        most = most.max(outcome.steps);
        // A late tick is not an error: its input is within the bounds.
        let u = tick.inputs().first().copied().unwrap_or(0.0);
        x = plant(x, u);
        fastest = fastest.max(-x[1]);
    }
    hprintln!(
        "position {:.4}, highest speed {:.4}, at most {} steps in a tick",
        x[0],
        fastest,
        most
    );
    Ok(())
}

#[entry]
fn main() -> ! {
    if let Err(reason) = run() {
        hprintln!("refused: {}", reason);
        debug::exit(debug::EXIT_FAILURE);
    }
    debug::exit(debug::EXIT_SUCCESS);
    loop {}
}
