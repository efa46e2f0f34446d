//! [`dst_core`] from C: `libdst.a` and `dst.h`.
//!
//! The header is the manual (`include/dst.h`, generated from the comments here by `cargo xtask c-header`). This crate is thin:
//!
//! | module | what |
//! |---|---|
//! | `types`, `status` | the structs and enums of the header |
//! | `arguments` | pointers from C: NULL, alignment, overlap; then slices |
//! | `callbacks` | the C functions of a problem as a [`dst_core::System`], of an objective as a [`dst_core::Objective`] |
//! | `memory` | what lies where in the caller's workspace |
//! | `run`, `engine`, `stepper` | a run with its gradient, inside the workspace |
//! | `ola`, `window` | the adaptive methods, inside the workspace |
//! | `exports` | every `dst_*_f32` and `dst_*_f64`, from one macro |
//!
//! # Why the `unsafe` here is sound
//!
//! All of it follows one pattern. A pointer from C is checked as far as it can be (NULL, alignment, size, overlap) before
//! anything is written; that it points to memory of the size it claims is the caller's promise, as everywhere in C. A run is
//! built inside the workspace, and its parts refer to each other with `'static` lifetimes that really mean "until the workspace
//! is initialised again": the caller promises to leave the workspace in place and alone until then, nothing owns anything,
//! nothing is dropped, and no reference leaves the crate but as a raw pointer. A mark at the head of the workspace tells
//! whether a run is there, and whether a call on it is under way, so that a callback cannot enter the same run again.

#![no_std]

mod arguments;
mod callbacks;
mod engine;
#[allow(rustdoc::broken_intra_doc_links)] // written for the header, where [n] is a length
mod exports;
mod memory;
mod ola;
mod run;
mod status;
mod stepper;
#[allow(rustdoc::broken_intra_doc_links)] // the same
mod types;
mod window;

pub use exports::*;
pub use ola::Ola;
pub use run::Run;
pub use status::{dst_status, dst_status_message, dst_version};
pub use types::*;
pub use window::Windowed;

/// A static library without std must have one. Never called: nothing here can panic, and `cargo xtask test-c` checks that
/// no linked program contains it. Were it ever linked, a loop is the one thing that needs nothing from the platform.
#[cfg(dst_staticlib)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// A panic on purpose, for the test of the test; see `cargo xtask test-c`.
#[cfg(dst_panics)]
#[unsafe(no_mangle)]
#[allow(clippy::indexing_slicing, missing_docs)]
pub extern "C" fn dst_panics(i: usize) -> u8 {
    [1, 2, 3][i]
}
