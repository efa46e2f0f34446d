//! Output of defmt frames to the standard output of the emulator.

use core::cell::UnsafeCell;

use defmt::Encoder;

/// Encoder state between the parts of a frame.
struct State(UnsafeCell<Encoder>);

#[allow(unsafe_code)]
// SAFETY: the firmware has one core and no interrupt handlers, so log calls never overlap.
unsafe impl Sync for State {}

static STATE: State = State(UnsafeCell::new(Encoder::new()));

#[defmt::global_logger]
struct Semihosting;

#[allow(unsafe_code)]
fn encoder() -> &'static mut Encoder {
    // SAFETY: as above; each of the functions below drops it before it returns.
    unsafe { &mut *STATE.0.get() }
}

#[allow(unsafe_code)]
// SAFETY: defmt calls `acquire`, `write` and `release` in this order; there are no interrupts, so no lock is needed.
unsafe impl defmt::Logger for Semihosting {
    fn acquire() {
        encoder().start_frame(crate::write);
    }
    unsafe fn flush() {}
    unsafe fn release() {
        encoder().end_frame(crate::write);
    }
    unsafe fn write(bytes: &[u8]) {
        encoder().write(bytes, crate::write);
    }
}
