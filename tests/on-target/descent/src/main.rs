//! Descents of 4 and of 14 parameters, each in a `static`.
//!
//! Raw words instead of formatting, marks around every tell to count instructions, and nothing that can panic.

#![no_std]
#![no_main]

use board::{Once, mark, stack};
use dst_core::descent::Descent;
use dst_models::descents;

board::entry!(main);

/// Never called, and therefore not linked: see the symbol check.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

static FEW: Once<Descent<f32, 4>> = Once::new(descents::new());
static MANY: Once<Descent<f32, 14>> = Once::new(descents::new());

/// Not inlined, so that each mark has one address, however often the compiler copies a loop.
#[inline(never)]
fn around_few(begins: bool) {
    if begins {
        mark!("dst_tell4_begins");
    } else {
        mark!("dst_tell4_ends");
    }
}

#[inline(never)]
fn around_many(begins: bool) {
    if begins {
        mark!("dst_tell14_begins");
    } else {
        mark!("dst_tell14_ends");
    }
}

fn main() -> u32 {
    let (Some(few), Some(many)) = (FEW.take(), MANY.take()) else {
        return 2;
    };
    let (reports, used) = stack::measure(|| {
        [
            descents::run(few, around_few),
            descents::run(many, around_many),
        ]
    });
    for report in &reports {
        board::write_words(&report.words());
    }
    let (few, many) = (size_of::<Descent<f32, 4>>(), size_of::<Descent<f32, 14>>());
    board::write_words(&[used as u32, few as u32, many as u32]);
    0
}
