//! Smallest useful program: a run with Euler until it stops, then its gradient, in `f32`.
//!
//! Its size is the cost for a user. It prints its results as raw words, because formatting would be most of the program. The
//! symbol check proves that nothing in it can panic.

#![no_std]
#![no_main]

use board::{Once, mark, stack};
use dst_models::smallest::{self, Report};

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static MEMORY: Once<smallest::Room> = Once::new(smallest::Room::new());
static REPORT: Once<Report> = Once::new(Report::EMPTY);

fn main() -> u32 {
    let (Some(memory), Some(report)) = (MEMORY.take(), REPORT.take()) else {
        return 2;
    };
    let ((), used) = stack::measure(|| {
        mark!("dst_mark_start");
        smallest::run(memory, report, || mark!("dst_mark_stopped"));
        mark!("dst_mark_done");
    });
    report.stack = used as u32;
    board::write_words(&report.words());
    0
}
