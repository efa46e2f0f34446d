//! defmt's frames, written to the standard output of the emulator.

use core::cell::UnsafeCell;

use defmt::Encoder;

/// The encoder between the parts of a frame.
struct State(UnsafeCell<Encoder>);

#[allow(unsafe_code)]
// SAFETY: the firmware has one core and no interrupt handlers: nobody logs while somebody logs.
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
// SAFETY: defmt calls `acquire`, `write`s and `release` in this order; nothing interrupts, so nothing is to be locked.
unsafe impl defmt::Logger for Semihosting {
    fn acquire() {
        encoder().start_frame(board::write);
    }
    unsafe fn flush() {}
    unsafe fn release() {
        encoder().end_frame(board::write);
    }
    unsafe fn write(bytes: &[u8]) {
        encoder().write(bytes, board::write);
    }
}
