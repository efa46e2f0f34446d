//! Adam-OLA in the caller's workspace.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::null;

use dst_core::adapt::{AdamOla, OlaCursor, OlaStatus};
use dst_core::checkpoint::Mark;
use dst_core::{Error, Scalar};

use crate::arguments::{Span, present};
use crate::callbacks::Calls;
use crate::object::{Entered, Kind, Setup};
use crate::status::{Outcome, dst_status};
use crate::types::{Objective, OlaOptions, OlaState, dst_progress};

/// Adaptive run in its workspace. The handle is the address of the workspace.
#[derive(Debug)]
pub struct Ola<S>(PhantomData<S>);

impl<S: Scalar> Kind for Ola<S> {
    const NAME: u8 = b'o';
    type S = S;
    type Given = Objective<S>;
    type Options = OlaOptions<S>;
    type Cursor = OlaCursor<S>;
    type Mark = Mark;
    const EMPTY: Mark = Mark::EMPTY;

    fn needs(objective: &Objective<S>, options: &OlaOptions<S>) -> Outcome<(usize, usize)> {
        checked(objective, options)?;
        let numbers = Calls::with(objective, |calls| AdamOla::memory_len(&calls));
        Ok((0, numbers))
    }

    fn lengths(objective: &Objective<S>) -> [usize; 2] {
        [0, objective.dim]
    }

    fn cursor(options: &OlaOptions<S>) -> OlaCursor<S> {
        OlaCursor::new(options.config())
    }
}

/// Rejects invalid arguments; shared with the windowed adaptation.
pub(crate) fn checked<S: Scalar>(objective: &Objective<S>, options: &OlaOptions<S>) -> Outcome<()> {
    if objective.value_gradient.is_none() {
        return Err(dst_status::DST_ERROR_NULL);
    }
    if objective.dim == 0 {
        return Err(dst_status::DST_ERROR_SIZE);
    }
    Ok(options.config().check()?)
}

/// # Safety
/// Every pointer is NULL or points to the object described in the header, and nothing else uses the workspace during the call.
pub(crate) unsafe fn init<S: Scalar>(
    objective: *const Objective<S>,
    options: *const OlaOptions<S>,
    x0: *const S,
    workspace: *mut c_void,
    workspace_size: usize,
    handle: *mut *mut Ola<S>,
) -> Outcome<()> {
    present(handle)?;
    // SAFETY: as required of the caller; the handle is present and does not overlap the workspace.
    unsafe {
        let setup = Setup::<Ola<S>>::new(objective, options)?;
        let outputs = [Span::of(handle, 1)];
        let (ola, [_, x0]) = setup.place([null(), x0], workspace, workspace_size, &outputs)?;
        let begun = AdamOla::new(ola.options.config(), ola.calls, x0, ola.numbers);
        match ola.calls.judge(begun) {
            Ok(begun) => *ola.cursor = begun.cursor(),
            Err(status) => {
                ola.open.discard();
                return Err(status);
            }
        }
        handle.write(workspace.cast());
    }
    Ok(())
}

type Running<'b, S> = AdamOla<'b, S, Calls<'b, Objective<S>>>;

/// Reconstructs the run.
fn ola<'b, S: Scalar>(entered: &'b mut Entered<'_, Ola<S>>) -> Result<Running<'b, S>, Error> {
    AdamOla::from_parts(*entered.cursor, entered.calls, entered.numbers)
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn advance<S: Scalar>(
    handle: *mut Ola<S>,
    budget: usize,
    progress: *mut i32,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `progress` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, progress)?;
        entered.calls.judge(Ok(()))?;
        let mut ola = ola(&mut entered)?;
        let outcome = ola.advance(budget);
        *entered.cursor = ola.cursor();
        let now = match entered.calls.judge(outcome)? {
            OlaStatus::Running => dst_progress::DST_RUNNING,
            OlaStatus::Converged => dst_progress::DST_REACHED,
        };
        progress.write(now as i32);
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn state<S: Scalar>(handle: *mut Ola<S>, state: *mut OlaState<S>) -> Outcome<()> {
    // SAFETY: as required of the caller; `state` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, state)?;
        let ola = ola(&mut entered)?;
        state.write(OlaState {
            x: ola.state().as_ptr(),
            value: ola.value(),
            gradient_max: ola.gradient_max(),
            alpha: ola.alpha(),
            iterations: ola.iterations(),
            adaptations: ola.adaptations(),
        });
    }
    Ok(())
}
