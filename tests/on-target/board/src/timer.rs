//! Instructions by the system timer of a Cortex-M: exact in an emulator whose time is the number of instructions.

/// Control and status, reload value, current value.
#[cfg(target_arch = "arm")]
const REGISTERS: [*mut u32; 3] = [
    0xE000_E010 as *mut u32,
    0xE000_E014 as *mut u32,
    0xE000_E018 as *mut u32,
];

/// Bits of the counter, which counts down.
#[cfg(target_arch = "arm")]
const MASK: u32 = 0x00FF_FFFF;

/// Runs `work` and returns the number of instructions, with those of the timer itself: run something empty for these. Under QEMU's
/// `-icount shift=6` an instruction is 64 ns long, and the timer of a 25 MHz board counts 40 ns. At most 10 million instructions.
#[cfg(target_arch = "arm")]
#[allow(unsafe_code)]
#[inline(never)]
pub fn instructions<T>(work: impl FnOnce() -> T) -> (T, u32) {
    let [control, reload, current] = REGISTERS;
    // SAFETY: these are the registers of the system timer, present on every Cortex-M; the firmware has one thread, which alone uses
    // them.
    let begin = unsafe {
        reload.write_volatile(MASK);
        current.write_volatile(0);
        // Enabled, with the clock of the processor, without interrupts.
        control.write_volatile(5);
        current.read_volatile()
    };
    let result = work();
    // SAFETY: as above; a read without side effects.
    let end = unsafe { current.read_volatile() };
    let ticks = begin.wrapping_sub(end) & MASK;
    (result, (u64::from(ticks) * 5 / 8) as u32)
}

/// No timer of this kind on other targets; the program that counts is built for Cortex-M alone.
#[cfg(not(target_arch = "arm"))]
pub fn instructions<T>(work: impl FnOnce() -> T) -> (T, u32) {
    (work(), 0)
}
