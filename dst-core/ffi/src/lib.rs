//! [`dst_core`] from C: `libdst.a` and `dst.h`.
//!
//! The header is the manual (`include/dst.h`, generated from the comments here by `cargo xtask c-header`). This crate is thin:
//!
//! | module | content |
//! |---|---|
//! | `types`, `status` | the structs and enums of the header |
//! | `arguments` | pointers from C: NULL, alignment, overlap; then slices |
//! | `callbacks` | the C functions of a problem as a [`dst_core::System`], of an objective as a [`dst_core::Objective`] |
//! | `object` | the layout of a workspace: seal, copies of the arguments, cursor, marks, numbers |
//! | `run`, `method` | a run with its gradients |
//! | `ola`, `window` | the adaptive methods |
//! | `exports` | every `dst_*_f32` and `dst_*_f64`, from one macro |
//!
//! # Why the `unsafe` here is sound
//!
//! All of it follows one pattern. A pointer from C is checked as far as it can be (NULL, alignment, size, overlap) before
//! anything is written; that it points to memory of the size it claims is the caller's promise, as everywhere in C. The object
//! at the head of a workspace is plain data: between two calls no reference into the workspace exists, in it or anywhere, so
//! that the workspace may be moved. A call makes slices of the workspace from the address that it gets, and they end with the
//! call. The object begins with a seal of eight bytes. A call looks at nothing else before it has found the seal of its own
//! kind and precision there; and while a call is under way the seal refuses every other, so that a callback cannot
//! reach the slices of the call that made it.

#![no_std]

mod arguments;
mod callbacks;
#[allow(rustdoc::broken_intra_doc_links)] // written for the header, where [n] is a length
mod exports;
mod method;
mod object;
mod ola;
mod run;
mod status;
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
