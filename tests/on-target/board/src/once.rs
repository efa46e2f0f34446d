//! Memory in a `static` that can be borrowed once.

use core::cell::{Cell, UnsafeCell};

/// A value that the program takes once, and keeps.
#[derive(Debug)]
pub struct Once<T> {
    taken: Cell<bool>,
    value: UnsafeCell<T>,
}

#[allow(unsafe_code)]
// SAFETY: the firmware has one core and no interrupt handlers, so there is one thread.
unsafe impl<T> Sync for Once<T> {}

impl<T> Once<T> {
    /// For a `static`.
    pub const fn new(value: T) -> Self {
        Self {
            taken: Cell::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// The value, the first time.
    #[allow(unsafe_code, clippy::mut_from_ref)]
    pub fn take(&self) -> Option<&mut T> {
        if self.taken.replace(true) {
            return None;
        }
        // SAFETY: `taken` was false, so this is the only reference that is ever made.
        Some(unsafe { &mut *self.value.get() })
    }
}
