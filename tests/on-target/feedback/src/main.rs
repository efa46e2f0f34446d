//! Twelve states under state feedback: a run until it stops, then its gradient, in `f32`; beside hand-written C.
//!
//! It prints its results as raw words: an exit code, N, evaluations, pullbacks, T, and the gradient.

#![no_std]
#![no_main]

use board::{Once, mark};
use dst_models::feedback::{self, Feedback, Report, Room};

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static MEMORY: Once<Room> = Once::new(Room::new());
static REPORT: Once<Report> = Once::new(Report::EMPTY);

fn main() -> u32 {
    let (Some(memory), Some(report)) = (MEMORY.take(), REPORT.take()) else {
        return 2;
    };
    let system = Feedback::new();
    let (theta, x0) = (system.gains(), feedback::start());
    mark!("dst_mark_start");
    let outcome = feedback::run(&system, memory, &theta, &x0, report, || {
        mark!("dst_mark_stopped");
    });
    mark!("dst_mark_done");
    board::write_words(&[u32::from(outcome.is_err())]);
    board::write_words(&report.counts);
    board::write_words(&report.results.map(f32::to_bits));
    0
}
