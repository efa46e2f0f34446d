//! Pullback of a formula with 12 states and 8 parameters, by dual numbers and by the trace, beside a plain evaluation.
//!
//! Raw words instead of formatting, marks to count instructions, and nothing that can panic.

#![no_std]
#![no_main]

use board::{Once, mark, stack};
use dst_models::airframe::{self, Scratch, TRACE};

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static SCRATCH: Once<Scratch> = Once::new([0.0; 5 * TRACE + 21]);
static THETA: Once<[f32; 8]> = Once::new(airframe::THETA);
static X: Once<[f32; 12]> = Once::new(airframe::X);

fn main() -> u32 {
    let (Some(scratch), Some(theta), Some(x)) = (SCRATCH.take(), THETA.take(), X.take()) else {
        return 2;
    };
    mark!("dst_plain");
    let plain = airframe::plain(theta, x);
    mark!("dst_dual");
    let dual = airframe::dual(theta, x);
    mark!("dst_trace");
    let traced = airframe::traced(theta, x, scratch);
    mark!("dst_end");
    let (again, dual_stack) = stack::measure(|| airframe::dual(theta, x));
    let (once_more, trace_stack) = stack::measure(|| airframe::traced(theta, x, scratch));
    if (again, once_more) != (dual, traced) {
        return 3;
    }
    let bytes = size_of::<Scratch>() as u32;
    board::write_words(&[
        plain,
        dual,
        traced,
        dual_stack as u32,
        trace_stack as u32,
        bytes,
    ]);
    0
}
