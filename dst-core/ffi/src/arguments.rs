//! Pointers from C: checked as far as they can be, before anything is written.

use crate::status::{Outcome, dst_status};

/// Is there something, where it can be read?
pub(crate) fn present<T>(pointer: *const T) -> Outcome<()> {
    if pointer.is_null() {
        Err(dst_status::DST_ERROR_NULL)
    } else if !pointer.is_aligned() {
        Err(dst_status::DST_ERROR_MISALIGNED)
    } else {
        Ok(())
    }
}

/// The same where NULL means "not wanted".
pub(crate) fn optional<T>(pointer: *const T) -> Outcome<()> {
    if pointer.is_null() {
        Ok(())
    } else {
        present(pointer)
    }
}

/// A copy of a struct of the caller's: a callback may change the original.
///
/// # Safety
/// If not NULL, the pointer leads to a `T` that C has initialised.
pub(crate) unsafe fn read<T: Copy>(pointer: *const T) -> Outcome<T> {
    present(pointer)?;
    // SAFETY: not NULL, aligned, and initialised as the caller promises. Every field of our structs is an integer, a float,
    // a raw pointer or an optional function pointer: any bits of a C struct are a value.
    Ok(unsafe { pointer.read() })
}

/// An input vector; where it has no entries the pointer does not matter.
///
/// # Safety
/// If not NULL, the pointer leads to `len` numbers that stay as they are for `'a`; `len` numbers are at most
/// `isize::MAX` bytes.
pub(crate) unsafe fn vector<'a, S>(pointer: *const S, len: usize) -> Outcome<&'a [S]> {
    if len == 0 {
        return Ok(&[]);
    }
    present(pointer)?;
    // SAFETY: not NULL, aligned, and `len` numbers long as the caller promises.
    Ok(unsafe { core::slice::from_raw_parts(pointer, len) })
}

/// Writes an output vector, if it is wanted.
///
/// # Safety
/// If not NULL, the pointer is aligned and leads to room for `from.len()` numbers, apart from `from`.
pub(crate) unsafe fn hand_over<S: Copy>(to: *mut S, from: &[S]) {
    if !to.is_null() {
        // SAFETY: as promised.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }
}

/// The bytes of an argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    start: usize,
    bytes: usize,
}

impl Span {
    /// `count` values from here on; nowhere if NULL.
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

/// Do the outputs overlap neither each other nor anything else?
pub(crate) fn apart(mut outputs: &[Span], others: &[Span]) -> Outcome<()> {
    while let Some((output, rest)) = outputs.split_first() {
        if rest.iter().chain(others).any(|other| output.meets(*other)) {
            return Err(dst_status::DST_ERROR_OVERLAP);
        }
        outputs = rest;
    }
    Ok(())
}
