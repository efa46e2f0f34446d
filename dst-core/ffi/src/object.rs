//! Objects in the caller's workspaces: a run, an adaptive run, a windowed adaptive run, a descent.
//!
//! A workspace holds the object, the marks of its checkpoints (a descent: its coordinates), then all its numbers. The object is plain data: copies of the
//! caller's structs and a cursor, without pointers into the workspace. Every call locates the parts from the given address, so a
//! workspace may be moved between two calls.

use core::alloc::Layout;
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::slice::from_raw_parts_mut;

use dst_core::Scalar;

use crate::arguments::{Span, apart, optional, present, read, vector};
use crate::callbacks::Calls;
use crate::status::{Outcome, dst_status};

/// First eight bytes of every workspace: the kind of the object, and a flag for a call in progress. All zero after
/// `dst_workspace_clear`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Seal {
    kind: Cell<u32>,
    call: Cell<u32>,
}

const IDLE: u32 = 0x6473_7449;
const BUSY: u32 = 0x6473_7442;

impl Seal {
    /// Returns the seal of a workspace.
    ///
    /// # Safety
    /// Eight bytes can be read and written there during `'a`.
    unsafe fn of<'a>(workspace: *const c_void) -> Outcome<&'a Self> {
        let seal = workspace.cast::<Self>();
        present(seal)?;
        // SAFETY: not NULL, aligned, and readable by the caller's contract. Any bits are two valid words, only accessed through
        // cells.
        Ok(unsafe { &*seal })
    }

    /// Rejects a workspace with a call in progress.
    fn refuse_busy(&self) -> Outcome<()> {
        if self.call.get() == BUSY {
            Err(dst_status::DST_ERROR_BUSY)
        } else {
            Ok(())
        }
    }

    /// Begins a call: no other can begin until the guard is dropped.
    fn open(&self, kind: u32) -> Open<'_> {
        self.kind.set(kind);
        self.call.set(BUSY);
        Open(self)
    }
}

/// Call in progress.
#[derive(Debug)]
pub(crate) struct Open<'a>(&'a Seal);

impl Open<'_> {
    /// Invalidates the object: no further call accepts it.
    pub(crate) fn discard(&self) {
        self.0.kind.set(0);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.call.set(IDLE);
    }
}

/// Zeroes the seal.
///
/// # Safety
/// The pointer is NULL, or eight bytes there can be written.
pub(crate) unsafe fn clear(workspace: *mut c_void) {
    if !workspace.is_null() {
        // SAFETY: as required of the caller; bytes have no alignment.
        unsafe { workspace.cast::<u8>().write_bytes(0, size_of::<Seal>()) };
    }
}

/// Kind of object; the type of its handle in C.
pub(crate) trait Kind {
    /// Distinguishes the kinds.
    const NAME: u8;
    type S: Scalar;
    /// Struct of callbacks.
    type Given: Given;
    type Options: Copy;
    /// Position of the object's run.
    type Cursor;
    /// Entry of the array between object and numbers.
    type Mark: Copy;
    const EMPTY: Self::Mark;

    /// Checks the arguments; returns the required number of marks and of numbers.
    fn needs(given: &Self::Given, options: &Self::Options) -> Outcome<(usize, usize)>;
    /// Lengths of the input vectors θ and x0.
    fn lengths(given: &Self::Given) -> [usize; 2];
    fn cursor(options: &Self::Options) -> Self::Cursor;
}

/// Struct of callbacks.
pub(crate) trait Given: Copy {
    /// Address for the code of an aborting callback, or NULL.
    fn abort_code(&self) -> *mut c_int;
}

/// Object at the head of its workspace.
#[repr(C)]
struct Object<K: Kind> {
    seal: Seal,
    /// Code of the callback that aborted, or zero.
    abort: Cell<c_int>,
    given: K::Given,
    options: K::Options,
    cursor: K::Cursor,
}

/// Seal of an object; its low byte is the precision.
const fn kind<K: Kind>() -> u32 {
    u32::from_be_bytes([b'd', b's', K::NAME, size_of::<K::S>() as u8])
}

/// Alignment of every workspace of this precision.
pub(crate) const fn align<K: Kind>() -> usize {
    let (object, mark) = (align_of::<Object<K>>(), align_of::<K::Mark>());
    if object > mark { object } else { mark }
}

/// Layout of a workspace.
#[derive(Clone, Copy, Debug)]
struct Area {
    layout: Layout,
    marks: usize,
    marks_at: usize,
    numbers: usize,
    numbers_at: usize,
}

impl Area {
    /// Computes the layout; fails if its size overflows.
    #[inline(never)]
    fn new<K: Kind>(given: &K::Given, options: &K::Options) -> Outcome<Self> {
        let (marks, numbers) = K::needs(given, options)?;
        let sized = || {
            let object = Layout::new::<Object<K>>();
            let (layout, marks_at) = object.extend(Layout::array::<K::Mark>(marks).ok()?).ok()?;
            let (layout, numbers_at) = layout.extend(Layout::array::<K::S>(numbers).ok()?).ok()?;
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
}

/// Checked arguments of a new object, before anything is written.
pub(crate) struct Setup<K: Kind> {
    pub(crate) given: K::Given,
    pub(crate) options: K::Options,
    area: Area,
    structs: [Span; 2],
}

impl<K: Kind> Setup<K> {
    /// # Safety
    /// The pointers are NULL or point to structs initialised by C.
    #[inline(never)]
    pub(crate) unsafe fn new(given: *const K::Given, options: *const K::Options) -> Outcome<Self> {
        let structs = [Span::of(given, 1), Span::of(options, 1)];
        // SAFETY: as required of the caller.
        let (given, options) = unsafe { (read(given)?, read(options)?) };
        optional(given.abort_code())?;
        Ok(Self {
            given,
            options,
            area: Area::new::<K>(&given, &options)?,
            structs,
        })
    }

    /// Workspace size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.area.layout.size()
    }

    /// Rejects a workspace that is too small, not aligned, or in use.
    ///
    /// # Safety
    /// The pointer is NULL, or the seal of the workspace can be read.
    pub(crate) unsafe fn check(&self, workspace: *const c_void, size: usize) -> Outcome<()> {
        let layout = self.area.layout;
        if workspace.is_null() {
            return Err(dst_status::DST_ERROR_NULL);
        }
        if workspace.addr() & (layout.align() - 1) != 0 {
            return Err(dst_status::DST_ERROR_MISALIGNED);
        }
        if size < layout.size() {
            return Err(dst_status::DST_ERROR_WORKSPACE_TOO_SMALL);
        }
        // SAFETY: as required of the caller.
        unsafe { Seal::of(workspace) }?.refuse_busy()
    }

    /// Checks the remaining arguments, then writes the object. Returns it with θ and x0.
    ///
    /// # Safety
    /// The pointers are NULL or point to the objects described in the header; nothing else uses the workspace during `'a`.
    #[inline(never)]
    pub(crate) unsafe fn place<'a>(
        &self,
        [theta, x0]: [*const K::S; 2],
        workspace: *mut c_void,
        size: usize,
        outputs: &[Span],
    ) -> Outcome<(Entered<'a, K>, [&'a [K::S]; 2])> {
        let [params, states] = K::lengths(&self.given);
        // SAFETY: as required of the caller. The area has more numbers than θ and x0 together, so their bytes do not overflow.
        let (theta, x0) = unsafe {
            self.check(workspace, size)?;
            (vector(theta, params)?, vector(x0, states)?)
        };
        let vectors = [
            Span::of(theta.as_ptr(), params),
            Span::of(x0.as_ptr(), states),
        ];
        let written = [
            Span::of(workspace.cast::<u8>(), self.bytes()),
            Span::of(self.given.abort_code(), 1),
        ];
        for outputs in [written.as_slice(), outputs] {
            apart(outputs, &self.structs)?;
            apart(outputs, &vectors)?;
        }
        apart(outputs, &written)?;
        if !K::S::all_finite(theta) {
            return Err(dst_status::DST_ERROR_THETA);
        }
        if !K::S::all_finite(x0) {
            return Err(dst_status::DST_ERROR_X0);
        }
        let object = workspace.cast::<Object<K>>();
        let Area {
            marks,
            marks_at,
            numbers,
            numbers_at,
            ..
        } = self.area;
        // SAFETY: the workspace is aligned and large enough for object, marks and numbers at their offsets, as checked. Zero bits
        // are the number zero. The seal is already there, and is not overwritten.
        unsafe {
            let open = Seal::of(workspace)?.open(kind::<K>());
            (&raw mut (*object).abort).write(Cell::new(0));
            (&raw mut (*object).given).write(self.given);
            (&raw mut (*object).options).write(self.options);
            (&raw mut (*object).cursor).write(K::cursor(&self.options));
            for i in 0..marks {
                let mark = workspace.byte_add(marks_at).cast::<K::Mark>().add(i);
                mark.write(K::EMPTY);
            }
            let zeros = workspace.byte_add(numbers_at).cast::<K::S>();
            zeros.write_bytes(0, numbers);
            Ok((Entered::new(object, &self.area, open), [theta, x0]))
        }
    }
}

/// Parts of an object that a call uses.
pub(crate) struct Entered<'a, K: Kind> {
    pub(crate) calls: Calls<'a, K::Given>,
    pub(crate) options: &'a K::Options,
    pub(crate) cursor: &'a mut K::Cursor,
    pub(crate) marks: &'a mut [K::Mark],
    pub(crate) numbers: &'a mut [K::S],
    /// Bytes of the workspace.
    pub(crate) span: Span,
    pub(crate) open: Open<'a>,
}

impl<'a, K: Kind> Entered<'a, K> {
    /// # Safety
    /// The workspace holds an object of this kind and area, and no other call uses it during `'a`.
    unsafe fn new(object: *mut Object<K>, area: &Area, open: Open<'a>) -> Self {
        // SAFETY: object, marks and numbers are initialised, aligned, in bounds and disjoint, by the layout of the area. Fields
        // are borrowed one by one, because a callback may read the seal.
        unsafe {
            Self {
                calls: Calls::new(&(*object).given, &(*object).abort),
                options: &(*object).options,
                cursor: &mut (*object).cursor,
                marks: from_raw_parts_mut(object.byte_add(area.marks_at).cast(), area.marks),
                numbers: from_raw_parts_mut(object.byte_add(area.numbers_at).cast(), area.numbers),
                span: Span::of(object.cast::<u8>(), area.layout.size()),
                open,
            }
        }
    }

    /// Begins a call on a handle, with `output` as the output.
    ///
    /// # Safety
    /// The handle is NULL or points to a workspace of any kind. The output is not read.
    pub(crate) unsafe fn open<T>(handle: *mut K, output: *mut T) -> Outcome<Self> {
        // SAFETY: as required of the caller.
        unsafe { Self::open_for(handle, present(output), Span::of(output, 1)) }
    }

    /// Does the same for an output of any type: compiled once for all of them.
    ///
    /// # Safety
    /// As for [`open`](Self::open).
    #[inline(never)]
    unsafe fn open_for(handle: *mut K, is_present: Outcome<()>, output: Span) -> Outcome<Self> {
        let object = handle.cast::<Object<K>>();
        // SAFETY: the seal of a workspace of any kind can be read. If it is the seal of this kind, and no call is in progress,
        // the rest is as `place` wrote it.
        unsafe {
            let seal = Seal::of(object.cast())?;
            seal.refuse_busy()?;
            if (seal.kind.get(), seal.call.get()) != (kind::<K>(), IDLE) {
                return Err(dst_status::DST_ERROR_NOT_INITIALISED);
            }
            present(object)?;
            is_present?;
            let area = Area::new::<K>(&(*object).given, &(*object).options)?;
            let entered = Self::new(object, &area, seal.open(kind::<K>()));
            apart(&[output], &[entered.span])?;
            Ok(entered)
        }
    }
}

/// Workspace size in bytes for an object, or 0 if the arguments are invalid.
///
/// # Safety
/// As for [`Setup::new`].
pub(crate) unsafe fn workspace_size<K: Kind>(
    given: *const K::Given,
    options: *const K::Options,
) -> usize {
    // SAFETY: as required of the caller.
    unsafe { Setup::<K>::new(given, options) }.map_or(0, |setup| setup.bytes())
}

/// Splits off the first `len` numbers; the lengths match by construction.
pub(crate) fn cut<S>(numbers: &mut [S], len: usize) -> (&mut [S], &mut [S]) {
    numbers.split_at_mut_checked(len).unwrap_or_default()
}
