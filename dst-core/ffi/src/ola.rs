//! Adam-OLA, inside the caller's workspace.

use core::ffi::c_void;

use dst_core::Scalar;
use dst_core::adapt::{AdamOla, OlaStatus};

use crate::arguments::{Span, apart, optional, present, read, vector};
use crate::callbacks::ObjectiveCallbacks;
use crate::memory::{Area, Open, Seal, kind};
use crate::status::{Outcome, dst_status};
use crate::types::{Objective, OlaOptions, OlaState, dst_progress};

/// An adaptive run under way; it lives in the workspace, at its beginning.
#[derive(Debug)]
pub struct Ola<S: Scalar> {
    seal: Seal,
    /// Of the workspace.
    span: Span,
    /// Apart from `body`, which refers to it.
    callbacks: ObjectiveCallbacks<S>,
    body: Body<S>,
}

#[derive(Debug)]
struct Body<S: Scalar> {
    ola: AdamOla<'static, S, &'static ObjectiveCallbacks<S>>,
    /// The first failure, which is final.
    failed: Option<dst_status>,
}

const fn ola_kind<S>() -> u32 {
    kind::<S>(b'o')
}

/// The objective and the options, checked; shared with the windowed adaptation.
///
/// # Safety
/// The pointers are NULL or lead to structs that C has initialised.
pub(crate) unsafe fn checked<S: Scalar>(
    objective: *const Objective<S>,
    options: *const OlaOptions<S>,
) -> Outcome<(Objective<S>, OlaOptions<S>)> {
    // SAFETY: as promised.
    let (objective, options) = unsafe { (read(objective)?, read(options)?) };
    if objective.value_gradient.is_none() {
        return Err(dst_status::DST_ERROR_NULL);
    }
    optional(objective.abort_code)?;
    if objective.dim == 0 {
        return Err(dst_status::DST_ERROR_SIZE);
    }
    // Refused here, before anything is written.
    options.config().check()?;
    Ok((objective, options))
}

/// The arguments of an init, checked: x0 as a slice. Nothing has been written yet.
///
/// # Safety
/// Every pointer is NULL or leads to what the header says.
pub(crate) unsafe fn starting_point<'a, S: Scalar>(
    objective: (*const Objective<S>, &Objective<S>),
    options: *const OlaOptions<S>,
    x0: *const S,
    workspace: (*const c_void, usize),
    area: &Area,
    output: Span,
) -> Outcome<&'a [S]> {
    area.check(workspace.0, workspace.1)?;
    // SAFETY: as promised. The area has more numbers than x0, so that its size can be counted.
    let x0 = unsafe { vector(x0, objective.1.dim) }?;
    let inputs = [
        Span::of(objective.0, 1),
        Span::of(options, 1),
        Span::of(x0.as_ptr(), x0.len()),
    ];
    let outputs = [
        output,
        area.span(workspace.0),
        Span::of(objective.1.abort_code, 1),
    ];
    apart(&outputs, &inputs)?;
    if S::all_finite(x0) {
        Ok(x0)
    } else {
        Err(dst_status::DST_ERROR_X0)
    }
}

fn area<S: Scalar>(objective: &Objective<S>) -> Outcome<Area> {
    let numbers = AdamOla::memory_len(&ObjectiveCallbacks::new(*objective));
    Area::new::<Ola<S>, S>(0, numbers)
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
        .and_then(|(objective, _)| area(&objective))
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
    handle: *mut *mut Ola<S>,
) -> Outcome<()> {
    present(handle)?;
    // SAFETY: as promised. The object is written part by part; its callbacks first, which then stay where they are until the
    // workspace is lent again, so that the rest may refer to them; its seal last.
    unsafe {
        let (given, chosen) = checked(objective, options)?;
        let area = area(&given)?;
        let x0 = starting_point(
            (objective, &given),
            options,
            x0,
            (workspace, workspace_size),
            &area,
            Span::of(handle, 1),
        )?;
        let (ola, _, numbers) = area.lend::<Ola<S>, S>(workspace);
        (&raw mut (*ola).seal).write(Seal::BROKEN);
        (&raw mut (*ola).callbacks).write(ObjectiveCallbacks::new(given));
        let callbacks: &'static ObjectiveCallbacks<S> = &(*ola).callbacks;
        let begun = AdamOla::new(chosen.config(), callbacks, x0, numbers);
        let begun = callbacks.abort.judge(begun.map_err(dst_status::from))?;
        (&raw mut (*ola).span).write(area.span(workspace));
        (&raw mut (*ola).body).write(Body {
            ola: begun,
            failed: None,
        });
        (&raw mut (*ola).seal).write(Seal::new(ola_kind::<S>()));
        handle.write(ola);
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
unsafe fn enter<'a, S: Scalar>(ola: *mut Ola<S>) -> Outcome<Entered<'a, S>> {
    present(ola)?;
    // SAFETY: the seal is a plain word, readable whatever is there. Where it is ours, so are the other fields, and no other
    // call uses them: it would have found the seal open.
    unsafe {
        let seal = &(*ola).seal;
        let open = seal.open(ola_kind::<S>())?;
        Ok(Entered {
            body: &mut (*ola).body,
            callbacks: &(*ola).callbacks,
            span: (*ola).span,
            _open: open,
        })
    }
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn advance<S: Scalar>(
    ola: *mut Ola<S>,
    budget: usize,
    progress: *mut i32,
) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(ola) }?;
    present(progress)?;
    apart(&[Span::of(progress, 1)], &[entered.span])?;
    let body = entered.body;
    if let Some(status) = body.failed {
        return Err(status);
    }
    let outcome = body.ola.advance(budget).map_err(dst_status::from);
    let outcome = entered.callbacks.abort.judge(outcome);
    let now = match outcome {
        Ok(OlaStatus::Running) => dst_progress::DST_RUNNING,
        Ok(OlaStatus::Converged) => dst_progress::DST_REACHED,
        Err(status) => {
            body.failed = Some(status);
            return Err(status);
        }
    };
    // SAFETY: present, and apart from the object.
    unsafe { progress.write(now as i32) };
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn state<S: Scalar>(ola: *mut Ola<S>, state: *mut OlaState<S>) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(ola) }?;
    present(state)?;
    apart(&[Span::of(state, 1)], &[entered.span])?;
    let ola = &entered.body.ola;
    let now = OlaState {
        x: ola.state().as_ptr(),
        value: ola.value(),
        gradient_max: ola.gradient_max(),
        alpha: ola.alpha(),
        iterations: ola.iterations(),
        adaptations: ola.adaptations(),
    };
    // SAFETY: present, and apart from the object.
    unsafe { state.write(now) };
    Ok(())
}
