//! Output and exit through the debugger.

use core::fmt;
use core::sync::atomic::{AtomicUsize, Ordering};

#[cfg(target_arch = "arm")]
use cortex_m_semihosting::{nr, syscall as call};
#[cfg(target_arch = "riscv32")]
use riscv_semihosting::{nr, syscall as call};

/// Not supported on other targets; editors check this crate for the host.
#[cfg(not(any(target_arch = "arm", target_arch = "riscv32")))]
mod nowhere {
    pub(super) mod nr {
        pub(crate) const OPEN: usize = 1;
        pub(crate) const WRITE: usize = 5;
    }
    pub(super) unsafe fn call<T>(_: usize, _: &T) -> usize {
        0
    }
}
#[cfg(not(any(target_arch = "arm", target_arch = "riscv32")))]
use nowhere::{call, nr};

/// SYS_EXIT_EXTENDED, which carries the exit code on 32-bit targets, too.
const EXIT_EXTENDED: usize = 0x20;
/// ADP_Stopped_ApplicationExit
const APPLICATION_EXIT: usize = 0x2_0026;
/// "w": the standard output, if the name is `:tt`.
const WRITE: usize = 4;

/// Writes to the standard output of the emulator.
pub fn write(bytes: &[u8]) {
    write_raw(bytes.as_ptr() as usize, bytes.len());
}

/// Writes words as they lie in memory.
pub fn write_words(words: &[u32]) {
    write_raw(words.as_ptr() as usize, size_of_val(words));
}

/// The standard output, once it is open; semihosting never gives handle 0.
static HANDLE: AtomicUsize = AtomicUsize::new(0);

#[allow(unsafe_code)]
fn write_raw(address: usize, length: usize) {
    const TERMINAL: &[u8; 4] = b":tt\0";
    let mut handle = HANDLE.load(Ordering::Relaxed);
    if handle == 0 {
        // SAFETY: the arguments are those of SYS_OPEN: name, mode, length without the zero.
        handle = unsafe { call(nr::OPEN, &[TERMINAL.as_ptr() as usize, WRITE, 3]) };
        HANDLE.store(handle, Ordering::Relaxed);
    }
    // SAFETY: those of SYS_WRITE: handle, address, length; it only reads, from a slice that the callers borrow.
    unsafe { call(nr::WRITE, &[handle, address, length]) };
}

/// Ends the emulator with this code.
#[allow(unsafe_code)]
pub fn exit(code: u32) -> ! {
    // SAFETY: the arguments are those of SYS_EXIT_EXTENDED: reason, code.
    unsafe { call(EXIT_EXTENDED, &[APPLICATION_EXIT, code as usize]) };
    // Without a debugger there is nobody to tell.
    #[allow(clippy::empty_loop)]
    loop {}
}

/// The standard output, for `write!`.
#[derive(Debug)]
pub struct Out;

impl fmt::Write for Out {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        write(text.as_bytes());
        Ok(())
    }
}
