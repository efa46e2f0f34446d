//! Recorded ticks of the quadrotor.

#![no_std]
#![no_main]

use board::Once;
use dst_core::Error;
use dst_core::mpc::Tick;
use dst_core::qp::Outcome;
use dst_models::active_set::quadrotor;

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// File that `cargo xtask` writes before it builds this program.
static TICKS: &[u8] = include_bytes!(env!("DST_QUADROTOR_TICKS"));

type Room = ([f32; quadrotor::NUMBERS], [u16; quadrotor::WORDS]);

static ROOM: Once<Room> = Once::new(([0.0; quadrotor::NUMBERS], [0; quadrotor::WORDS]));

fn main() -> u32 {
    let Some((numbers, entries)) = ROOM.take() else {
        return 2;
    };
    u32::from(count::run(TICKS, &quadrotor::CONTROLLER, numbers, entries, tick).is_err())
}

/// Not inlined, so that the count does not depend on what surrounds a tick.
#[inline(never)]
fn tick(memory: &mut Tick<'_, f32>, p: &[f32], extra: &[f32]) -> Result<Outcome, Error> {
    quadrotor::CONTROLLER.tick(memory, p, extra, count::BUDGET)
}
