//! C interface of [`dst_core`]: `libdst.a` and `dst.h`.
//!
//! The header is the manual (`include/dst.h`, generated from the comments here by `cargo xtask c-header`). This crate is thin:
//!
//! | module | content |
//! |---|---|
//! | `types`, `status` | the structs and enums of the header |
//! | `arguments` | pointers from C: NULL, alignment, overlap; then slices |
//! | `callbacks` | adapters from C callbacks to [`dst_core::System`] and [`dst_core::Objective`] |
//! | `object` | layout of a workspace: seal, copies of the arguments, cursor, marks, numbers |
//! | `run`, `method` | a run with its gradients |
//! | `check` | the check of a problem's derivatives |
//! | `ola`, `window` | the adaptive methods |
//! | `descent` | the descent |
//! | `qp` | quadratic programs |
//! | `exports` | every `dst_*_f32` and `dst_*_f64`, from one macro |
//!
//! # Soundness of `unsafe`
//!
//! All of it follows one pattern. Before anything is written, a pointer from C is checked as far as possible (NULL, alignment,
//! size, overlap); as everywhere in C, the caller guarantees that it points to memory of the stated size. The object at the head
//! of a workspace is plain data: between two calls there is no reference into the workspace, so it may be moved. A call creates
//! slices of the workspace from the address that it gets, and they end with the call. The object begins with a seal of eight
//! bytes. A call reads nothing else until it has found the seal of its own kind and precision. During a call the seal rejects
//! every other call, so a callback cannot reach the slices of the call that made it.

#![no_std]

mod arguments;
mod callbacks;
mod check;
mod descent;
#[allow(rustdoc::broken_intra_doc_links)] // written for the header, where [n] is a length
mod exports;
mod method;
mod object;
mod ola;
mod qp;
mod run;
mod status;
#[allow(rustdoc::broken_intra_doc_links)] // the same
mod types;
mod window;

pub use check::dst_mismatch_message;
pub use descent::Descent;
pub use exports::*;
pub use ola::Ola;
pub use run::Run;
pub use status::{dst_status, dst_status_message, dst_version};
pub use types::*;
pub use window::Windowed;

/// Panic handler, required in a static library without std. Never called: nothing here can panic, and `cargo xtask test-c` checks
/// that no linked program contains it. A loop needs nothing from the platform.
#[cfg(dst_staticlib)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Deliberate panic, to test the panic check; see `cargo xtask test-c`.
#[cfg(dst_panics)]
#[unsafe(no_mangle)]
#[allow(clippy::indexing_slicing, missing_docs)]
pub extern "C" fn dst_panics(i: usize) -> u8 {
    [1, 2, 3][i]
}
