//! Entry points of libFuzzer: one function per reader. The functions of `dst.h` are linked in for the targets in `c/`.
//!
//! A function takes any bytes. It returns, or it panics: then libFuzzer writes the bytes to a file. `cargo xtask fuzz` builds and
//! runs all of them.

mod checkpoint;
mod libsvm;
mod model;
mod problem;
mod tensors;
mod weights;

// Its functions are exported from this library.
use dst_ffi as _;

/// Exports a function of a module under the name that `c/reader.c` calls.
macro_rules! export {
    ($($name:ident: $module:ident),+) => {$(
        /// One input of libFuzzer.
        ///
        /// # Safety
        /// `data` points to `len` bytes.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(data: *const u8, len: usize) {
            let bytes = if len == 0 {
                &[]
            } else {
                // SAFETY: libFuzzer passes `len` bytes that nothing changes during the call.
                unsafe { std::slice::from_raw_parts(data, len) }
            };
            $module::run(bytes);
        }
    )+};
}

export!(
    fuzz_checkpoint: checkpoint,
    fuzz_libsvm: libsvm,
    fuzz_model: model,
    fuzz_problem: problem,
    fuzz_weights: weights
);
