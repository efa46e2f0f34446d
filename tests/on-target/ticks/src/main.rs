//! Tuned controllers: a safety filter and a quadrotor, each in closed loop with a simulated plant.
//!
//! Raw words instead of formatting, marks around every tick to count instructions, and nothing that can panic. A monitor takes the
//! outcome of every tick; its counts and its verdict are logged through defmt after the words, and xtask compares them with
//! `expected.log`.

#![no_std]
#![no_main]

use board::{Once, mark, stack};
use dst_core::mpc::{AdmmOutcome, Certificate, Monitor};
use dst_models::ticks::{self, BUDGET, Report, Room, TICKS};

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

/// Certificate of a run: at most one in a thousand has a tick beyond the budget.
const CERTIFIED: Certificate = Certificate {
    budget: BUDGET as u16,
    run: TICKS as u16,
    late: 1e-3,
};

/// Certificate that the quadrotor does not keep: eight iterations, every tick a run.
const TOO_STRICT: Certificate = Certificate {
    budget: 8,
    run: 1,
    late: 1e-3,
};

static MONITORS: Once<[Monitor<16>; 3]> = Once::new([
    Monitor::new(CERTIFIED),
    Monitor::new(CERTIFIED),
    Monitor::new(TOO_STRICT),
]);

/// Gives the outcome of a tick to a monitor.
fn watch(monitor: &mut Monitor<16>, budget: u16, outcome: AdmmOutcome<f32>) {
    let count = outcome.iterations.min(usize::from(u16::MAX)) as u16;
    monitor.observe_count(count, !outcome.solved || count > budget);
}

fn main() -> u32 {
    let (Some(room), Some(monitors)) = (ROOM.take(), MONITORS.take()) else {
        return 2;
    };
    let [of_safety, of_hover, strict] = monitors;
    let mut reports = [Report::EMPTY; 2];
    let [safety, hover] = &mut reports;
    let ((), used) = stack::measure(|| {
        ticks::safety(room, safety, |outcome| {
            around_safety(outcome.is_none());
            if let Some(outcome) = outcome {
                watch(of_safety, CERTIFIED.budget, outcome);
            }
        });
        ticks::hover(room, hover, |outcome| {
            around_hover(outcome.is_none());
            if let Some(outcome) = outcome {
                watch(of_hover, CERTIFIED.budget, outcome);
                watch(strict, TOO_STRICT.budget, outcome);
            }
        });
    });
    for report in &reports {
        board::write_words(&report.words());
    }
    board::write_words(&[used as u32, size_of::<Room>() as u32]);
    defmt::info!("safety filter: {}", of_safety);
    defmt::info!("quadrotor: {}", of_hover);
    defmt::warn!("quadrotor, {}: {}", TOO_STRICT, strict);
    0
}
