//! Windowed adaptation in the caller's workspace.

use core::ffi::c_void;
use core::marker::PhantomData;
use core::ptr::null;

use dst_core::adapt::{OlaCursor, Window, WindowedOla, windowed_state_len};
use dst_core::checkpoint::{Mark, Slots};
use dst_core::solve::{Borrowed, Cursor};
use dst_core::{Dims, Error, Scalar};

use crate::arguments::{Span, present};
use crate::callbacks::Calls;
use crate::object::{Entered, Kind, Setup, cut};
use crate::ola::checked;
use crate::status::{Outcome, dst_status};
use crate::types::{Objective, OlaOptions, OlaState, WindowReport, dst_window_outcome};

/// Windowed adaptive run in its workspace. The handle is the address of the workspace.
#[derive(Debug)]
pub struct Windowed<S>(PhantomData<S>);

/// Number of stages: Adam runs with Euler's method.
const STAGES: usize = 1;

/// Dimensions of Adam on this objective: state (x, m, v), θ = (α, β₁, β₂), ∇f before the tape of the objective. Computed here
/// because the method itself does not expect lengths that overflow.
fn dims<S>(objective: &Objective<S>) -> Dims {
    let dim = objective.dim;
    Dims::new(windowed_state_len(dim), 3)
        .with_tape(dim.saturating_add(objective.tape_len))
        .with_scratch(dim.saturating_mul(2))
}

impl<S: Scalar> Kind for Windowed<S> {
    const NAME: u8 = b'w';
    type S = S;
    type Given = Objective<S>;
    type Options = OlaOptions<S>;
    /// The second is that of the run in a window, and has no meaning between two calls.
    type Cursor = (OlaCursor<S>, Cursor<S>);
    type Mark = Mark;
    const EMPTY: Mark = Mark::EMPTY;

    fn needs(objective: &Objective<S>, options: &OlaOptions<S>) -> Outcome<(usize, usize)> {
        checked(objective, options)?;
        if objective.hessian_vector.is_none() {
            return Err(dst_status::DST_ERROR_NO_HESSIAN_VECTOR);
        }
        if options.slots == 0 {
            return Err(dst_status::DST_ERROR_NO_SLOTS);
        }
        let dims = dims(objective);
        let numbers = windowed_state_len(objective.dim)
            .saturating_add(dims.rows_len(STAGES))
            .saturating_add(dims.params_len())
            .saturating_add(dims.slots_len(STAGES, options.slots, false));
        Ok((options.slots, numbers))
    }

    fn lengths(objective: &Objective<S>) -> [usize; 2] {
        [0, objective.dim]
    }

    fn cursor(options: &OlaOptions<S>) -> Self::Cursor {
        (OlaCursor::new(options.config()), Cursor::new())
    }
}

/// # Safety
/// Every pointer is NULL or points to the object described in the header, and nothing else uses the workspace during the call.
pub(crate) unsafe fn init<S: Scalar>(
    objective: *const Objective<S>,
    options: *const OlaOptions<S>,
    x0: *const S,
    workspace: *mut c_void,
    workspace_size: usize,
    handle: *mut *mut Windowed<S>,
) -> Outcome<()> {
    present(handle)?;
    // SAFETY: as required of the caller; the handle is present and does not overlap the workspace.
    unsafe {
        let setup = Setup::<Windowed<S>>::new(objective, options)?;
        let outputs = [Span::of(handle, 1)];
        let (window, [_, x0]) = setup.place([null(), x0], workspace, workspace_size, &outputs)?;
        let OlaOptions { window: steps, .. } = *window.options;
        let (z, _) = cut(window.numbers, windowed_state_len(x0.len()));
        WindowedOla::new(window.options.config(), window.calls, steps, x0, z)?;
        handle.write(workspace.cast());
    }
    Ok(())
}

type Running<'b, S> = WindowedOla<'b, S, Calls<'b, Objective<S>>>;

/// Reconstructs the run and the memory of its windows.
fn windowed<'b, S: Scalar>(
    entered: &'b mut Entered<'_, Windowed<S>>,
) -> Result<(Running<'b, S>, Borrowed<'b, S>), Error> {
    let dims = dims(entered.calls.given);
    let (ola, cursor) = entered.cursor;
    let (z, rest) = cut(entered.numbers, windowed_state_len(entered.calls.given.dim));
    let (rows, rest) = cut(rest, dims.rows_len(STAGES));
    let (params, slots) = cut(rest, dims.params_len());
    let memory = Borrowed {
        rows,
        params,
        slots: Slots::Memory(slots),
        marks: entered.marks,
        cursor,
    };
    let window = entered.options.window;
    let ola = WindowedOla::from_parts(*ola, entered.calls, window, z)?;
    Ok((ola, memory))
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn advance<S: Scalar>(
    handle: *mut Windowed<S>,
    budget: usize,
    report: *mut WindowReport<S>,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `report` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, report)?;
        let calls = entered.calls;
        calls.judge(Ok(()))?;
        let (mut ola, mut memory) = windowed(&mut entered)?;
        let outcome = ola.advance(budget, &mut memory);
        entered.cursor.0 = ola.cursor();
        let (outcome, steps, sensitivity) = match calls.judge(outcome)? {
            Window::Adapted { steps, sensitivity } => {
                (dst_window_outcome::DST_WINDOW_ADAPTED, steps, sensitivity)
            }
            Window::Flat { steps } => (dst_window_outcome::DST_WINDOW_FLAT, steps, S::ZERO),
            Window::Open { steps } => (dst_window_outcome::DST_WINDOW_OPEN, steps, S::ZERO),
        };
        report.write(WindowReport {
            outcome: outcome as i32,
            steps,
            sensitivity,
        });
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn state<S: Scalar>(
    handle: *mut Windowed<S>,
    state: *mut OlaState<S>,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `state` is present and does not overlap the object.
    unsafe {
        let mut entered = Entered::open(handle, state)?;
        let (ola, _) = windowed(&mut entered)?;
        state.write(OlaState {
            x: ola.state().as_ptr(),
            value: ola.value(),
            gradient_max: S::NAN,
            alpha: ola.alpha(),
            iterations: ola.iterations(),
            adaptations: ola.adaptations(),
        });
    }
    Ok(())
}
