//! Checks of pointers from C, made before anything is written.

use crate::status::{Outcome, dst_status};

/// Checks that a pointer is not NULL and is aligned.
pub(crate) fn present<T>(pointer: *const T) -> Outcome<()> {
    if pointer.is_null() {
        Err(dst_status::DST_ERROR_NULL)
    } else if !pointer.is_aligned() {
        Err(dst_status::DST_ERROR_MISALIGNED)
    } else {
        Ok(())
    }
}

/// Performs the same check for a pointer that may be NULL.
pub(crate) fn optional<T>(pointer: *const T) -> Outcome<()> {
    if pointer.is_null() {
        Ok(())
    } else {
        present(pointer)
    }
}

/// Copies a struct of the caller: a callback may change the original.
///
/// # Safety
/// If not NULL, the pointer points to a `T` initialised by C.
pub(crate) unsafe fn read<T: Copy>(pointer: *const T) -> Outcome<T> {
    present(pointer)?;
    // SAFETY: not NULL, aligned, and initialised by the caller. Every field of our structs is an integer, a float, a raw pointer
    // or an optional function pointer: any bits of a C struct are a valid value.
    Ok(unsafe { pointer.read() })
}

/// Input vector; without entries, the pointer is not used.
///
/// # Safety
/// If not NULL, the pointer points to `len` numbers that do not change during `'a`; `len` numbers are at most `isize::MAX` bytes.
pub(crate) unsafe fn vector<'a, S>(pointer: *const S, len: usize) -> Outcome<&'a [S]> {
    if len == 0 {
        return Ok(&[]);
    }
    present(pointer)?;
    // SAFETY: not NULL, aligned, and `len` numbers long by the caller's contract.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Writes an output vector unless the pointer is NULL.
///
/// # Safety
/// If not NULL, the pointer is aligned and has room for `from.len()` numbers that do not overlap `from`.
pub(crate) unsafe fn hand_over<S: Copy>(to: *mut S, from: &[S]) {
    if !to.is_null() {
        // SAFETY: as required of the caller.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

/// Bytes of an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: usize,
    bytes: usize,
}

impl Span {
    /// Bytes of `count` values from this address; empty if NULL.
    pub(crate) fn of<T>(pointer: *const T, count: usize) -> Self {
        let bytes = if pointer.is_null() {
            0
        } else {
            count.saturating_mul(size_of::<T>())
        };
        Self {
            start: pointer.addr(),
            bytes,
        }
    }

    fn meets(self, other: Self) -> bool {
        self.bytes > 0
            && other.bytes > 0
            && self.start < other.start.saturating_add(other.bytes)
            && other.start < self.start.saturating_add(self.bytes)
    }
}

/// Checks that the outputs overlap neither each other nor any other argument.
pub(crate) fn apart(mut outputs: &[Span], others: &[Span]) -> Outcome<()> {
    while let Some((output, rest)) = outputs.split_first() {
        if rest.iter().chain(others).any(|other| output.meets(*other)) {
            return Err(dst_status::DST_ERROR_OVERLAP);
        }
        outputs = rest;
    }
    Ok(())
}
