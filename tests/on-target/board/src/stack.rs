//! Depth of the stack, measured by painting it.
//!
//! The memory below the stack pointer is filled with a pattern; afterwards the lowest changed word shows how deep a call went. A
//! word overwritten with the pattern itself is not detected: an uncertainty of four bytes.

use core::arch::asm;

/// Bytes to paint, if available.
const DEPTH: usize = 12 * 1024;
const PATTERN: u32 = 0xC0DE_D57A;
/// Bytes below the stack pointer, reserved for the painting itself.
const MARGIN: usize = 64;

#[allow(unsafe_code)]
unsafe extern "C" {
    /// End of the static memory, from the linker script.
    static mut __sheap: u32;
}

/// Runs `f` and returns its stack depth in bytes, including calls.
#[allow(unsafe_code)]
#[inline(never)]
pub fn measure<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let top = pointer();
    let floor = (&raw mut __sheap as usize + 3) & !3;
    let bottom = top.saturating_sub(DEPTH).max(floor);
    let mut word = bottom;
    while word < top - MARGIN {
        // SAFETY: unused memory, between the static memory and the stack pointer of the deepest live frame, which is this one.
        unsafe { (word as *mut u32).write_volatile(PATTERN) };
        word += 4;
    }
    let result = apart(f);
    let mut word = bottom;
    // SAFETY: the same memory, up to this frame.
    while word < top && unsafe { (word as *const u32).read_volatile() } == PATTERN {
        word += 4;
    }
    (result, top - word)
}

/// Separate frame: if `f` were inlined above, its frame would be above the painted memory and not counted.
#[inline(never)]
fn apart<R>(f: impl FnOnce() -> R) -> R {
    f()
}

/// The stack pointer, rounded down to a word.
#[allow(unsafe_code)]
#[inline(always)]
fn pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "arm")]
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(target_arch = "riscv32")]
        asm!("mv {}, sp", out(reg) pointer, options(nomem, nostack, preserves_flags));
        #[cfg(not(any(target_arch = "arm", target_arch = "riscv32")))]
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack, preserves_flags));
    }
    pointer & !3
}
