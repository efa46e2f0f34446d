//! The smallest program with one index that the compiler cannot prove in bounds: it can panic, and the symbol check must report
//! it. This shows that the check can fail.

#![no_std]
#![no_main]

use board::Once;
use dst_models::smallest::{self, Report};

board::entry!(main);

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
    smallest::run(memory, report, || {});
    let words = report.words();
    words[core::hint::black_box(Report::WORDS)]
}
