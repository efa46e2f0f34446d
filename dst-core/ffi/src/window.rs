//! The windowed adaptation, inside the caller's workspace.

use core::ffi::c_void;

use dst_core::adapt::{Window, WindowedOla, windowed_state_len};
use dst_core::{Dims, Mark, Scalar, Slots, Workspace, params_len, rows_len, slots_len};

use crate::arguments::{Span, apart, present};
use crate::callbacks::ObjectiveCallbacks;
use crate::memory::{Area, Open, Seal, cut, kind};
use crate::ola::{checked, starting_point};
use crate::status::{Outcome, dst_status};
use crate::types::{Objective, OlaOptions, OlaState, WindowReport, dst_window_outcome};

/// A windowed adaptive run under way; it lives in the workspace, at its beginning.
#[derive(Debug)]
pub struct Windowed<S: Scalar> {
    seal: Seal,
    /// Of the workspace.
    span: Span,
    /// Apart from `body`, which refers to it.
    callbacks: ObjectiveCallbacks<S>,
    body: Body<S>,
}

#[derive(Debug)]
struct Body<S: Scalar> {
    ola: WindowedOla<'static, S, &'static ObjectiveCallbacks<S>>,
    /// An abort is final.
    failed: Option<dst_status>,
    // Lent to each window.
    rows: &'static mut [S],
    params: &'static mut [S],
    slots: &'static mut [S],
    marks: &'static mut [Mark],
}

const fn window_kind<S>() -> u32 {
    kind::<S>(b'w')
}

/// Of Adam over this objective: state (x, m, v), θ = (α, β₁, β₂), ∇f before the objective's own tape.
fn dims<S>(objective: &Objective<S>) -> Dims {
    let dim = objective.dim;
    Dims::new(windowed_state_len(dim), 3)
        .with_tape(dim.saturating_add(objective.tape_len))
        .with_scratch(dim.saturating_mul(2))
}

/// Adam is run by Euler's method.
const STAGES: usize = 1;

fn area<S: Scalar>(objective: &Objective<S>, options: &OlaOptions<S>) -> Outcome<Area> {
    if objective.hessian_vector.is_none() {
        return Err(dst_status::DST_ERROR_NO_HESSIAN_VECTOR);
    }
    if options.slots == 0 {
        return Err(dst_status::DST_ERROR_NO_SLOTS);
    }
    let dims = dims(objective);
    let numbers = [
        rows_len(dims, STAGES),
        params_len(dims),
        slots_len(dims, STAGES, options.slots, false),
    ]
    .into_iter()
    .fold(windowed_state_len(objective.dim), usize::saturating_add);
    Area::new::<Windowed<S>, S>(options.slots, numbers)
}

/// Bytes of workspace, or 0 if the arguments are refused.
///
/// # Safety
/// As for [`init`].
pub(crate) unsafe fn workspace_size<S: Scalar>(
    objective: *const Objective<S>,
    options: *const OlaOptions<S>,
) -> usize {
    // SAFETY: as promised.
    unsafe { checked(objective, options) }
        .and_then(|(objective, options)| area(&objective, &options))
        .map_or(0, |area| area.bytes())
}

/// # Safety
/// Every pointer is NULL or leads to what the header says, and the workspace stays in place and alone while it is used.
pub(crate) unsafe fn init<S: Scalar>(
    objective: *const Objective<S>,
    options: *const OlaOptions<S>,
    x0: *const S,
    workspace: *mut c_void,
    workspace_size: usize,
    handle: *mut *mut Windowed<S>,
) -> Outcome<()> {
    present(handle)?;
    // SAFETY: as promised. The object is written part by part; its callbacks first, which then stay where they are until the
    // workspace is lent again, so that the rest may refer to them; its seal last.
    unsafe {
        let (given, chosen) = checked(objective, options)?;
        let area = area(&given, &chosen)?;
        let x0 = starting_point(
            (objective, &given),
            options,
            x0,
            (workspace, workspace_size),
            &area,
            Span::of(handle, 1),
        )?;
        let (windowed, marks, numbers) = area.lend::<Windowed<S>, S>(workspace);
        (&raw mut (*windowed).seal).write(Seal::BROKEN);
        (&raw mut (*windowed).callbacks).write(ObjectiveCallbacks::new(given));
        let callbacks: &'static ObjectiveCallbacks<S> = &(*windowed).callbacks;
        let dims = dims(&given);
        let (z, rest) = cut(numbers, windowed_state_len(given.dim));
        let (rows, rest) = cut(rest, rows_len(dims, STAGES));
        let (params, slots) = cut(rest, params_len(dims));
        let ola = WindowedOla::new(chosen.config(), callbacks, chosen.window, x0, z)?;
        (&raw mut (*windowed).span).write(area.span(workspace));
        (&raw mut (*windowed).body).write(Body {
            ola,
            failed: None,
            rows,
            params,
            slots,
            marks,
        });
        (&raw mut (*windowed).seal).write(Seal::new(window_kind::<S>()));
        handle.write(windowed);
    }
    Ok(())
}

/// The parts that a call works on.
struct Entered<'a, S: Scalar> {
    body: &'a mut Body<S>,
    callbacks: &'a ObjectiveCallbacks<S>,
    span: Span,
    _open: Open<'a>,
}

/// # Safety
/// The handle is NULL or leads to memory of the size of the object at least.
unsafe fn enter<'a, S: Scalar>(windowed: *mut Windowed<S>) -> Outcome<Entered<'a, S>> {
    present(windowed)?;
    // SAFETY: the seal is a plain word, readable whatever is there. Where it is ours, so are the other fields, and no other
    // call uses them: it would have found the seal open.
    unsafe {
        let seal = &(*windowed).seal;
        let open = seal.open(window_kind::<S>())?;
        Ok(Entered {
            body: &mut (*windowed).body,
            callbacks: &(*windowed).callbacks,
            span: (*windowed).span,
            _open: open,
        })
    }
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn advance<S: Scalar>(
    windowed: *mut Windowed<S>,
    budget: usize,
    report: *mut WindowReport<S>,
) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(windowed) }?;
    present(report)?;
    apart(&[Span::of(report, 1)], &[entered.span])?;
    let Body {
        ola,
        failed,
        rows,
        params,
        slots,
        marks,
    } = entered.body;
    if let Some(status) = *failed {
        return Err(status);
    }
    let lent = Workspace {
        rows,
        params,
        marks,
        store: Slots::new(slots),
    };
    let outcome = ola.advance(budget, lent).map_err(dst_status::from);
    let outcome = entered.callbacks.abort.judge(outcome);
    if let Err(dst_status::DST_ABORTED) = outcome {
        *failed = Some(dst_status::DST_ABORTED);
    }
    let (outcome, steps, sensitivity) = match outcome? {
        Window::Adapted { steps, sensitivity } => {
            (dst_window_outcome::DST_WINDOW_ADAPTED, steps, sensitivity)
        }
        Window::Flat { steps } => (dst_window_outcome::DST_WINDOW_FLAT, steps, S::ZERO),
        Window::Open { steps } => (dst_window_outcome::DST_WINDOW_OPEN, steps, S::ZERO),
    };
    // SAFETY: present, and apart from the object.
    unsafe {
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
    windowed: *mut Windowed<S>,
    state: *mut OlaState<S>,
) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(windowed) }?;
    present(state)?;
    apart(&[Span::of(state, 1)], &[entered.span])?;
    let ola = &entered.body.ola;
    let now = OlaState {
        x: ola.state().as_ptr(),
        value: ola.value(),
        gradient_max: S::NAN,
        alpha: ola.alpha(),
        iterations: ola.iterations(),
        adaptations: ola.adaptations(),
    };
    // SAFETY: present, and apart from the object.
    unsafe { state.write(now) };
    Ok(())
}
