//! Descent in the caller's workspace.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use core::ptr::null;

use dst_core::descent::{Coordinate, Cursor, Verdict, View, numbers_len};
use dst_core::{Error, Scalar};

use crate::arguments::{Span, apart, present, vector};
use crate::object::{Entered, Given, Kind, Setup, workspace_size};
use crate::status::{Outcome, dst_status};
use crate::types::{DescentOptions, DescentState, dst_verdict};

/// Descent in its workspace. The handle is the address of the workspace.
#[derive(Debug)]
pub struct Descent<S>(PhantomData<S>);

impl<S: Scalar> Given for DescentOptions<S> {
    fn abort_code(&self) -> *mut c_int {
        core::ptr::null_mut() // no callbacks
    }
}

impl<S: Scalar> Kind for Descent<S> {
    const NAME: u8 = b'd';
    type S = S;
    type Given = DescentOptions<S>;
    type Options = ();
    type Cursor = Cursor<S>;
    type Mark = Coordinate<S>;
    const EMPTY: Coordinate<S> = Coordinate::Log;

    fn needs(options: &DescentOptions<S>, (): &()) -> Outcome<(usize, usize)> {
        if options.param_dim == 0 {
            return Err(dst_status::DST_ERROR_SIZE);
        }
        Ok((options.param_dim, numbers_len(options.param_dim)))
    }

    fn lengths(options: &DescentOptions<S>) -> [usize; 2] {
        [options.param_dim, 0]
    }

    fn cursor((): &()) -> Cursor<S> {
        Cursor::new()
    }
}

/// # Safety
/// The pointer is NULL or points to options initialised by C.
pub(crate) unsafe fn size<S: Scalar>(options: *const DescentOptions<S>) -> usize {
    // SAFETY: as required of the caller.
    unsafe { workspace_size::<Descent<S>>(options, &()) }
}

/// # Safety
/// Every pointer is NULL or points to the object described in the header, and nothing else uses the workspace during the call.
pub(crate) unsafe fn init<S: Scalar>(
    options: *const DescentOptions<S>,
    theta: *const S,
    workspace: *mut c_void,
    bytes: usize,
    handle: *mut *mut Descent<S>,
) -> Outcome<()> {
    present(handle)?;
    // SAFETY: as required of the caller; the handle is present and does not overlap the workspace. The area has more numbers than
    // the coordinates, so their bytes do not overflow.
    unsafe {
        let setup = Setup::<Descent<S>>::new(options, &())?;
        let given = setup.given;
        setup.check(workspace, bytes)?;
        let coordinates = vector(given.coordinates, given.param_dim)?;
        // Before the workspace is written: it must not hold them.
        let list = Span::of(given.coordinates, given.param_dim);
        apart(
            &[Span::of(workspace.cast::<u8>(), bytes), Span::of(handle, 1)],
            &[list],
        )?;
        if coordinates.iter().any(|c| c.core().is_none()) {
            return Err(dst_status::DST_ERROR_CHOICE);
        }
        let outputs = [Span::of(handle, 1)];
        let (mut entered, [theta, _]) = setup.place([theta, null()], workspace, bytes, &outputs)?;
        for (to, from) in entered.marks.iter_mut().zip(coordinates) {
            *to = from.core().unwrap_or(Coordinate::Log);
        }
        *entered.cursor = given.cursor();
        if let Err(error) = view(&mut entered).and_then(|mut view| view.start(theta)) {
            entered.open.discard();
            return Err(error.into());
        }
        handle.write(workspace.cast());
    }
    Ok(())
}

/// Reconstructs the descent.
fn view<'b, S: Scalar>(entered: &'b mut Entered<'_, Descent<S>>) -> Result<View<'b, S>, Error> {
    View::new(entered.cursor, entered.marks, entered.numbers)
}

fn code(verdict: Verdict) -> i32 {
    let verdict = match verdict {
        Verdict::Accepted => dst_verdict::DST_ACCEPTED,
        Verdict::Rejected => dst_verdict::DST_REJECTED,
        Verdict::GradientWanted => dst_verdict::DST_GRADIENT_WANTED,
        Verdict::Finished => dst_verdict::DST_FINISHED,
        _ => dst_verdict::DST_FAILED,
    };
    verdict as i32
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn tell<S: Scalar>(
    handle: *mut Descent<S>,
    value: S,
    gradient: *const S,
    verdict: *mut i32,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `verdict` is present and does not overlap the object, and neither does the gradient.
    unsafe {
        let mut entered = Entered::open(handle, verdict)?;
        let params = entered.marks.len();
        apart(
            &[entered.span, Span::of(verdict, 1)],
            &[Span::of(gradient, params)],
        )?;
        let gradient = vector(gradient, params)?;
        verdict.write(code(view(&mut entered)?.tell(value, gradient)?));
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn tell_value<S: Scalar>(
    handle: *mut Descent<S>,
    value: S,
    verdict: *mut i32,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `verdict` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, verdict)?;
        verdict.write(code(view(&mut entered)?.tell_value(value)?));
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn tell_failed<S: Scalar>(
    handle: *mut Descent<S>,
    verdict: *mut i32,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `verdict` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, verdict)?;
        verdict.write(code(view(&mut entered)?.tell_failed()?));
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn read<S: Scalar>(
    handle: *mut Descent<S>,
    state: *mut DescentState<S>,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `state` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, state)?;
        let (runs, finished) = (entered.cursor.runs(), entered.cursor.finished());
        let view = view(&mut entered)?;
        let (best, value) = match view.best() {
            Some((best, value)) => (best.as_ptr(), value),
            None => (null(), S::NAN),
        };
        state.write(DescentState {
            theta: view.theta().as_ptr(),
            best,
            value,
            runs,
            finished: c_int::from(finished),
        });
    }
    Ok(())
}
