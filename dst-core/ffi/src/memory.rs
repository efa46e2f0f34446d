//! What lies where in the caller's workspace: the object, the marks of its checkpoints, then all its numbers.

use core::alloc::Layout;
use core::cell::Cell;
use core::ffi::c_void;

use dst_core::{Mark, Scalar};

use crate::arguments::Span;
use crate::status::{Outcome, dst_status};

/// Tells whether an object is there, and whether a call on it is under way. Scratched memory hardly ever looks like it.
#[derive(Debug)]
pub(crate) struct Seal(Cell<u32>);

/// "A call is under way."
const BUSY: u32 = 0x6473_7442;

impl Seal {
    /// Nothing is here.
    #[allow(clippy::declare_interior_mutable_const)] // a value to write, never a place
    pub(crate) const BROKEN: Self = Self(Cell::new(0));

    pub(crate) const fn new(kind: u32) -> Self {
        Self(Cell::new(kind))
    }

    /// Begins a call: until the guard goes, no other can begin.
    pub(crate) fn open(&self, kind: u32) -> Outcome<Open<'_>> {
        match self.0.get() {
            BUSY => Err(dst_status::DST_ERROR_BUSY),
            found if found == kind => {
                self.0.set(BUSY);
                Ok(Open { seal: self, kind })
            }
            _ => Err(dst_status::DST_ERROR_NOT_INITIALISED),
        }
    }
}

/// A call under way.
#[derive(Debug)]
pub(crate) struct Open<'a> {
    seal: &'a Seal,
    kind: u32,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.seal.0.set(self.kind);
    }
}

/// The kinds of objects; the low byte tells the precision.
pub(crate) const fn kind<S>(name: u8) -> u32 {
    u32::from_be_bytes([b'd', b's', name, size_of::<S>() as u8])
}

/// The division of a workspace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    layout: Layout,
    marks: usize,
    marks_at: usize,
    numbers: usize,
    numbers_at: usize,
}

impl Area {
    /// For an object `C`, so many marks and so many numbers; fails if the bytes cannot be counted.
    pub(crate) fn new<C, S: Scalar>(marks: usize, numbers: usize) -> Outcome<Self> {
        let sized = || {
            let (layout, marks_at) = Layout::new::<C>()
                .extend(Layout::array::<Mark>(marks).ok()?)
                .ok()?;
            let (layout, numbers_at) = layout.extend(Layout::array::<S>(numbers).ok()?).ok()?;
            Some(Self {
                layout,
                marks,
                marks_at,
                numbers,
                numbers_at,
            })
        };
        sized().ok_or(dst_status::DST_ERROR_SIZE)
    }

    pub(crate) fn bytes(&self) -> usize {
        self.layout.size()
    }

    pub(crate) fn span(&self, workspace: *const c_void) -> Span {
        Span::of(workspace.cast::<u8>(), self.bytes())
    }

    /// Is this workspace large enough, and aligned?
    pub(crate) fn check(&self, workspace: *const c_void, size: usize) -> Outcome<()> {
        if workspace.is_null() {
            Err(dst_status::DST_ERROR_NULL)
        } else if workspace.addr() & (self.layout.align() - 1) != 0 {
            Err(dst_status::DST_ERROR_MISALIGNED)
        } else if size < self.bytes() {
            Err(dst_status::DST_ERROR_WORKSPACE_TOO_SMALL)
        } else {
            Ok(())
        }
    }

    /// The parts: room for the object, the marks and the numbers, all zero.
    ///
    /// # Safety
    /// The workspace has passed [`check`](Self::check), for an area of the same `C` and `S`; nothing else uses it until it is
    /// lent again.
    pub(crate) unsafe fn lend<C, S: Scalar>(
        &self,
        workspace: *mut c_void,
    ) -> (*mut C, &'static mut [Mark], &'static mut [S]) {
        let base = workspace.cast::<u8>();
        // SAFETY: the workspace has `bytes()` bytes and the alignment of all its parts; the offsets come from the layout, so
        // that the parts are aligned, inside, and apart. The numbers are initialised (zero bits are the number
        // zero) and so are the marks before slices of them are made.
        unsafe {
            let marks = base.add(self.marks_at).cast::<Mark>();
            let numbers = base.add(self.numbers_at).cast::<S>();
            for i in 0..self.marks {
                marks.add(i).write(Mark::EMPTY);
            }
            numbers.write_bytes(0, self.numbers);
            (
                base.cast::<C>(),
                core::slice::from_raw_parts_mut(marks, self.marks),
                core::slice::from_raw_parts_mut(numbers, self.numbers),
            )
        }
    }
}

/// The first `len` numbers and the rest; the lengths fit by construction.
pub(crate) fn cut<S>(
    numbers: &'static mut [S],
    len: usize,
) -> (&'static mut [S], &'static mut [S]) {
    numbers.split_at_mut_checked(len).unwrap_or_default()
}

/// Copies as much as fits; the lengths agree by construction.
pub(crate) fn copy<S: Copy>(to: &mut [S], from: &[S]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from;
    }
}
