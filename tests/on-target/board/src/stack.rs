//! Peak stack depth, by painting.
//!
//! The memory below the stack pointer is filled with a pattern; afterwards the lowest word that has changed tells how far
//! a call reached. A word that was overwritten by the pattern itself would hide: four bytes of doubt.

use core::arch::asm;

/// As much as is painted, if there is so much.
const DEPTH: usize = 12 * 1024;
const PATTERN: u32 = 0xC0DE_D57A;
/// Below the stack pointer, left for the painting itself.
const MARGIN: usize = 64;

#[allow(unsafe_code)]
unsafe extern "C" {
    /// End of the static memory, from the linker script.
    static mut __sheap: u32;
}

/// Runs `f` and returns the bytes of stack that it took, calls included.
#[allow(unsafe_code)]
#[inline(never)]
pub fn measure<R>(f: impl FnOnce() -> R) -> (R, usize) {
    let top = pointer();
    let floor = (&raw mut __sheap as usize + 3) & !3;
    let bottom = top.saturating_sub(DEPTH).max(floor);
    let mut word = bottom;
    while word < top - MARGIN {
        // SAFETY: between the static memory and the stack pointer of the deepest live frame, which is ours: nobody's.
        unsafe { (word as *mut u32).write_volatile(PATTERN) };
        word += 4;
    }
    let result = apart(f);
    let mut word = bottom;
    // SAFETY: the same memory, as far as the frame that is still ours.
    while word < top && unsafe { (word as *const u32).read_volatile() } == PATTERN {
        word += 4;
    }
    (result, top - word)
}

/// A frame of its own: inlined above, the frame of `f` would lie above the painted memory and not be counted.
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
