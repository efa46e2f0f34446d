//! Support for firmware on an emulated board: start, output, exit, and the depth of its stack.
//!
//! Semihosting is a service of the debugger: the emulator (or a probe) writes for the firmware and exits with its code.

#![no_std]

#[cfg(feature = "defmt")]
mod logger;
mod once;
mod semihosting;
pub mod stack;
pub mod timer;

pub use once::Once;
pub use semihosting::{Out, exit, write, write_words};

// Linked for their start-up code and the jump to the symbol `main`.
#[cfg(target_arch = "arm")]
use cortex_m_rt as _;
#[cfg(target_arch = "riscv32")]
use riscv_rt as _;

/// Makes `$main: fn() -> u32` the program; its return value is the exit code.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        #[allow(unsafe_code)]
        // SAFETY: the start-up code declares `main` with this signature and calls it once; no other symbol has this name.
        #[unsafe(export_name = "main")]
        extern "C" fn start() -> ! {
            $crate::exit($main())
        }
    };
}

/// Names the address of the next instruction, at no cost. The emulator traces the program to count the instructions between two
/// marks.
#[macro_export]
macro_rules! mark {
    ($name:literal) => {{
        #[allow(unsafe_code)]
        // SAFETY: defines a symbol and executes nothing.
        unsafe {
            core::arch::asm!(concat!(".global ", $name), concat!($name, ":"));
        }
    }};
}

/// Panic handler that prints the location, for firmware in which a panic is a failed test.
#[macro_export]
macro_rules! report_panics {
    () => {
        #[panic_handler]
        fn panic(info: &core::panic::PanicInfo<'_>) -> ! {
            use core::fmt::Write;
            let _ = writeln!($crate::Out, "FAIL {info}");
            $crate::exit(101)
        }
    };
}
