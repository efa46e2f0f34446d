//! Tuned controllers: a safety filter and a quadrotor, each in closed loop with a simulated plant.
//!
//! Raw words instead of formatting, marks around every tick to count instructions, and nothing that can panic.

#![no_std]
#![no_main]

use board::{Once, mark, stack};
use dst_models::ticks::{self, Report, Room};

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static ROOM: Once<Room> = Once::new(Room::new());

/// Not inlined, so that each mark has one address, however often the compiler copies a loop.
#[inline(never)]
fn around_safety(begins: bool) {
    if begins {
        mark!("dst_safety_begins");
    } else {
        mark!("dst_safety_ends");
    }
}

#[inline(never)]
fn around_hover(begins: bool) {
    if begins {
        mark!("dst_hover_begins");
    } else {
        mark!("dst_hover_ends");
    }
}

fn main() -> u32 {
    let Some(room) = ROOM.take() else { return 2 };
    let mut reports = [Report::EMPTY; 2];
    let [safety, hover] = &mut reports;
    let ((), used) = stack::measure(|| {
        ticks::safety(room, safety, around_safety);
        ticks::hover(room, hover, around_hover);
    });
    for report in &reports {
        board::write_words(&report.words());
    }
    board::write_words(&[used as u32, size_of::<Room>() as u32]);
    0
}
