//! Run with its gradients, in the caller's workspace.

use core::ffi::c_void;
use core::marker::PhantomData;

use dst_core::checkpoint::{Mark, Slots};
use dst_core::solve::Gradient;
use dst_core::solve::check::CheckError;
use dst_core::solve::{Borrowed, Cursor, StopTime};
use dst_core::{Crossing, Error, Integrator, Plan, Progress, Scalar, Status};

use crate::arguments::{Span, apart, hand_over, optional, present, read};
use crate::callbacks::Calls;
use crate::method::Method;
use crate::object::{Entered, Kind, Setup, cut};
use crate::status::{Outcome, dst_status};
use crate::types::{
    Iterate, Options, Problem, Seeds, Sensitivity, dst_crossing, dst_integrator, dst_mode,
    dst_progress,
};

/// Parts that a small library leaves out. Constants, not `cfg` on the code: all of it is compiled and checked, and unreachable
/// code is not linked.
pub(crate) const HIGHER_ORDER: bool = cfg!(feature = "higher-order");
pub(crate) const WITH_MAP: bool = cfg!(feature = "map");
const WITH_TANGENT: bool = cfg!(feature = "tangent");

// Choices as passed by C.
pub(crate) const EULER: i32 = dst_integrator::DST_EULER as i32;
pub(crate) const HEUN: i32 = dst_integrator::DST_HEUN as i32;
pub(crate) const RK4: i32 = dst_integrator::DST_RK4 as i32;
pub(crate) const SYMPLECTIC: i32 = dst_integrator::DST_SYMPLECTIC as i32;
pub(crate) const MAP: i32 = dst_integrator::DST_MAP as i32;
const AUTO: i32 = dst_mode::DST_AUTO as i32;
const ADJOINT: i32 = dst_mode::DST_ADJOINT as i32;
const TANGENT: i32 = dst_mode::DST_TANGENT as i32;
const PAPER: i32 = dst_crossing::DST_PAPER as i32;
const INTERPOLATED: i32 = dst_crossing::DST_INTERPOLATED as i32;
const SLOPE: i32 = dst_crossing::DST_SLOPE as i32;
const HERMITE: i32 = dst_crossing::DST_HERMITE as i32;

/// Run in its workspace. The handle is the address of the workspace.
#[derive(Debug)]
pub struct Run<S>(PhantomData<S>);

impl<S: Scalar> Kind for Run<S> {
    const NAME: u8 = b'r';
    type S = S;
    type Given = Problem<S>;
    type Options = Options<S>;
    type Cursor = Cursor<S>;
    type Mark = Mark;
    const EMPTY: Mark = Mark::EMPTY;

    fn needs(problem: &Problem<S>, options: &Options<S>) -> Outcome<(usize, usize)> {
        lengths(problem, options)?
            .into_iter()
            .try_fold(0, usize::checked_add)
            .map(|numbers| (options.slots, numbers))
            .ok_or(dst_status::DST_ERROR_SIZE)
    }

    fn lengths(problem: &Problem<S>) -> [usize; 2] {
        [problem.param_dim, problem.state_dim]
    }

    fn cursor(_: &Options<S>) -> Cursor<S> {
        Cursor::new()
    }
}

/// Lengths of rows, params, slots, θ and x0, if the arguments are valid.
fn lengths<S: Scalar>(problem: &Problem<S>, options: &Options<S>) -> Outcome<[usize; 5]> {
    let Options {
        step,
        epsilon,
        start_time,
        slots,
        ..
    } = *options;
    match options.integrator {
        EULER | SYMPLECTIC => {}
        HEUN | RK4 if HIGHER_ORDER => {}
        MAP if WITH_MAP => {}
        _ => return Err(dst_status::DST_ERROR_CHOICE),
    }
    let stages = Method::new(options.integrator, step).stages();
    match options.mode {
        AUTO | ADJOINT => {}
        TANGENT if WITH_TANGENT => {}
        _ => return Err(dst_status::DST_ERROR_CHOICE),
    }
    if problem.rate.is_none() {
        return Err(dst_status::DST_ERROR_NULL);
    }
    if problem.state_dim == 0 {
        return Err(dst_status::DST_ERROR_SIZE);
    }
    if options.integrator == SYMPLECTIC && problem.state_dim & 1 == 1 {
        return Err(dst_status::DST_ERROR_ODD_STATE);
    }
    if !(step.is_finite() && step > S::ZERO) {
        return Err(dst_status::DST_ERROR_STEP_SIZE);
    }
    // A map has no step size. Another value would be a mistake in the unit of time: rejected, not ignored.
    if options.integrator == MAP && step != S::ONE {
        return Err(dst_status::DST_ERROR_STEP_SIZE);
    }
    if !epsilon.is_finite() {
        return Err(dst_status::DST_ERROR_EPSILON);
    }
    if !start_time.is_finite() {
        return Err(dst_status::DST_ERROR_START_TIME);
    }
    if slots == 0 {
        return Err(dst_status::DST_ERROR_NO_SLOTS);
    }
    let dims = problem.dims();
    Ok([
        dims.rows_len(stages),
        dims.params_len(),
        dims.slots_len(stages, slots, options.keep_records != 0),
        dims.params,
        dims.states,
    ])
}

/// Memory, θ and x0 from the numbers of the workspace.
fn parts<'b, S: Scalar>(
    entered: &'b mut Entered<'_, Run<S>>,
) -> (&'b Calls<'b, Problem<S>>, Borrowed<'b, S>, [&'b mut [S]; 2]) {
    let Entered {
        calls,
        options,
        cursor,
        marks,
        numbers,
        ..
    } = entered;
    // The arguments were valid when the run was initialised.
    let [rows, params, slots, theta, _] = lengths(calls.given, options).unwrap_or_default();
    let (rows, rest) = cut(numbers, rows);
    let (params, rest) = cut(rest, params);
    let (slots, rest) = cut(rest, slots);
    let (theta, x0) = cut(rest, theta);
    let memory = Borrowed {
        rows,
        params,
        slots: Slots::Memory(slots),
        marks,
        cursor,
    };
    (calls, memory, [theta, x0])
}

type On<'b, S> = dst_core::Problem<'b, S, Calls<'b, Problem<S>>, Method<S>>;

/// Reconstructs the problem and its memory.
#[inline(never)]
fn problem<'b, S: Scalar>(
    entered: &'b mut Entered<'_, Run<S>>,
) -> Result<(On<'b, S>, Borrowed<'b, S>), Error> {
    let options = entered.options;
    let method = Method::new(options.integrator, options.step);
    let mut plan = Plan::new(method, options.epsilon)
        .at_most(options.max_steps)
        .staying(options.staying)
        .from_time(options.start_time);
    if options.theta_only != 0 {
        plan = plan.theta_only();
    }
    let (calls, memory, [theta, x0]) = parts(entered);
    Ok((plan.on(calls, theta, x0)?, memory))
}

fn start<S: Scalar>(entered: &mut Entered<'_, Run<S>>) -> Result<(), Error> {
    let (problem, mut memory) = problem(entered)?;
    problem.start(&mut memory)
}

#[inline(never)]
fn forward<S: Scalar>(
    entered: &mut Entered<'_, Run<S>>,
    budget: usize,
) -> Result<dst_progress, Error> {
    let (problem, mut memory) = problem(entered)?;
    Ok(match problem.advance(&mut memory, budget)? {
        Status::Running(_) => dst_progress::DST_RUNNING,
        Status::Reached(_) => dst_progress::DST_REACHED,
        Status::StepLimit(_) => dst_progress::DST_STEP_LIMIT,
        Status::NeverSettled(_) => dst_progress::DST_NEVER_SETTLED,
    })
}

/// Checks the derivatives of the problem, in the memory of the run, which ends with it.
#[inline(never)]
pub(crate) fn compare<S: Scalar>(entered: &mut Entered<'_, Run<S>>) -> Result<(), CheckError> {
    entered.open.discard();
    let (problem, mut memory) = problem(entered)?;
    problem.check(&mut memory).map(|_| ())
}

fn look<S: Scalar>(entered: &mut Entered<'_, Run<S>>) -> Result<Iterate<S>, Error> {
    let (problem, memory) = problem(entered)?;
    let now = problem.iterate(&memory)?;
    Ok(Iterate {
        steps: now.steps,
        time: now.time,
        criterion: now.criterion,
        best_criterion: now.best_criterion,
        loss: now.loss,
        state: now.state.as_ptr(),
        best: now.best.as_ptr(),
        entry: now.entry.unwrap_or(usize::MAX),
        exits: now.exits,
    })
}

/// Returns the remaining work, or zero if there is none.
#[inline(never)]
fn backward<S: Scalar>(
    entered: &mut Entered<'_, Run<S>>,
    (seeds, crossing): (&Seeds<S>, Crossing),
    budget: usize,
) -> Result<usize, Error> {
    let (calls, mode) = (entered.calls, entered.options.mode);
    let (problem, mut memory) = problem(entered)?;
    // Only the adjoint supports a window.
    let tangent = WITH_TANGENT
        && match mode {
            AUTO => seeds.window == usize::MAX && problem.tangent_is_cheaper(&memory),
            mode => mode == TANGENT,
        };
    let weights = |step| calls.weights(seeds, step);
    let seeds = dst_core::Seeds::stop(crossing)
        .times(seeds.time_weight)
        .through(seeds.window)
        + dst_core::Seeds::weighted(weights);
    let progress = if tangent {
        problem.tangent(&mut memory, seeds, budget)?
    } else {
        problem.adjoint(&mut memory, seeds, budget)?
    };
    Ok(match progress {
        Progress::Done => 0,
        // Zero tells C that the gradient is complete, so a pending call counts as one step.
        Progress::Running { remaining } => remaining.max(1),
    })
}

/// # Safety
/// The pointers of the result have been checked.
unsafe fn deliver<S: Scalar>(
    entered: &mut Entered<'_, Run<S>>,
    result: *mut Sensitivity<S>,
) -> Result<(), Error> {
    let (problem, memory) = problem(entered)?;
    let Gradient {
        steps,
        state,
        theta,
        x0,
        stop,
        evaluations,
    } = problem.gradient(&memory)?;
    let number = |of: fn(StopTime<S>) -> S| stop.map_or(S::NAN, of);
    // SAFETY: present and disjoint from the workspace, which holds the gradient. Fields one by one: the three pointers stay.
    unsafe {
        hand_over((*result).theta_gradient, theta);
        hand_over((*result).x0_gradient, x0);
        hand_over((*result).state, state);
        result.write(Sensitivity {
            theta_gradient: (*result).theta_gradient,
            x0_gradient: (*result).x0_gradient,
            state: (*result).state,
            steps,
            time: number(|stop| stop.time),
            steps_interpolated: number(|stop| stop.steps),
            epsilon_gradient: number(|stop| stop.epsilon_gradient),
            rounding: number(|stop| stop.condition.rounding),
            transversality: number(|stop| stop.condition.transversality),
            rate_evaluations: evaluations.rate,
            pullbacks: evaluations.pullback,
            pushforwards: evaluations.pushforward,
        });
    }
    Ok(())
}

/// Vectors of a result, checked for overlap with each other.
///
/// # Safety
/// The pointer is NULL or points to a struct whose three pointers are set by C.
unsafe fn outputs<S: Scalar>(
    result: *mut Sensitivity<S>,
    problem: &Problem<S>,
) -> Outcome<[Span; 4]> {
    present(result)?;
    // SAFETY: present; the three pointers are set by the caller. The other fields may be uninitialised and are not read.
    let (theta, x0, state) = unsafe {
        (
            (*result).theta_gradient,
            (*result).x0_gradient,
            (*result).state,
        )
    };
    optional(theta)?;
    optional(x0)?;
    optional(state)?;
    let spans = [
        Span::of(result, 1),
        Span::of(theta, problem.param_dim),
        Span::of(x0, problem.state_dim),
        Span::of(state, problem.state_dim),
    ];
    apart(&spans, &[])?;
    Ok(spans)
}

/// Checked seeds; those of the stopping time if the pointer is NULL.
///
/// # Safety
/// The pointer is NULL or points to a struct initialised by C.
unsafe fn checked<S: Scalar>(seeds: *const Seeds<S>, mode: i32) -> Outcome<(Seeds<S>, Crossing)> {
    let seeds = if seeds.is_null() {
        Seeds::new()
    } else {
        // SAFETY: as required of the caller.
        unsafe { read(seeds) }?
    };
    let crossing = match seeds.crossing {
        PAPER => Crossing::Paper,
        INTERPOLATED => Crossing::Interpolated,
        SLOPE => Crossing::Slope,
        HERMITE => Crossing::Hermite,
        _ => return Err(dst_status::DST_ERROR_CHOICE),
    };
    if mode == TANGENT && seeds.window != usize::MAX {
        return Err(dst_status::DST_ERROR_CHOICE);
    }
    let weights = [seeds.time_weight, seeds.criterion_weight, seeds.loss_weight];
    if !S::all_finite(&weights) {
        return Err(dst_status::DST_ERROR_WEIGHT);
    }
    Ok((seeds, crossing))
}

/// Writes the run into its workspace.
///
/// # Safety
/// As for [`init`].
pub(crate) unsafe fn begin<'a, S: Scalar>(
    setup: &Setup<Run<S>>,
    vectors: [*const S; 2],
    workspace: *mut c_void,
    workspace_size: usize,
    outputs: &[Span],
) -> Outcome<Entered<'a, Run<S>>> {
    // SAFETY: as required of the caller.
    let placed = unsafe { setup.place(vectors, workspace, workspace_size, outputs) };
    let (mut run, vectors) = placed?;
    let (_, _, own) = parts(&mut run);
    // Copies: the caller may change its θ between two calls.
    for (own, given) in own.into_iter().zip(vectors) {
        own.iter_mut()
            .zip(given)
            .for_each(|(own, given)| *own = *given);
    }
    let entered = &mut run;
    start(entered)?;
    Ok(run)
}

/// # Safety
/// Every pointer is NULL or points to the object described in the header, and nothing else uses the workspace during the call.
pub(crate) unsafe fn init<S: Scalar>(
    problem: *const Problem<S>,
    options: *const Options<S>,
    theta: *const S,
    x0: *const S,
    workspace: *mut c_void,
    workspace_size: usize,
    run: *mut *mut Run<S>,
) -> Outcome<()> {
    present(run)?;
    // SAFETY: as required of the caller; `run` is present.
    unsafe {
        let setup = Setup::<Run<S>>::new(problem, options)?;
        let outputs = [Span::of(run, 1)];
        begin(&setup, [theta, x0], workspace, workspace_size, &outputs)?;
        run.write(workspace.cast());
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn advance<S: Scalar>(
    run: *mut Run<S>,
    budget: usize,
    progress: *mut i32,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `progress` is present and does not overlap the run.
    unsafe {
        let entered = &mut Entered::open(run, progress)?;
        entered.calls.judge(Ok(()))?;
        let outcome = forward(entered, budget);
        progress.write(entered.calls.judge(outcome)? as i32);
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn iterate<S: Scalar>(run: *mut Run<S>, iterate: *mut Iterate<S>) -> Outcome<()> {
    // SAFETY: as required of the caller; `iterate` is present and does not overlap the run.
    unsafe {
        let entered = &mut Entered::open(run, iterate)?;
        iterate.write(look(entered)?);
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn differentiate<S: Scalar>(
    run: *mut Run<S>,
    seeds: *const Seeds<S>,
    budget: usize,
    remaining: *mut usize,
) -> Outcome<()> {
    // SAFETY: as required of the caller; `remaining` is present and does not overlap the run.
    unsafe {
        let entered = &mut Entered::open(run, remaining)?;
        apart(&[Span::of(remaining, 1)], &[Span::of(seeds, 1)])?;
        let (seeds, crossing) = checked(seeds, entered.options.mode)?;
        entered.calls.judge(Ok(()))?;
        let outcome = backward(entered, (&seeds, crossing), budget);
        remaining.write(entered.calls.judge(outcome)?);
    }
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn gradient<S: Scalar>(
    run: *mut Run<S>,
    result: *mut Sensitivity<S>,
) -> Outcome<()> {
    // SAFETY: as required of the caller; the result is checked before it is written.
    unsafe {
        let entered = &mut Entered::open(run, result)?;
        apart(&outputs(result, entered.calls.given)?, &[entered.span])?;
        deliver(entered, result)?;
    }
    Ok(())
}

/// Runs and differentiates in one call.
///
/// # Safety
/// As for [`init`].
pub(crate) unsafe fn sensitivity<S: Scalar>(
    problem: *const Problem<S>,
    options: *const Options<S>,
    theta: *const S,
    x0: *const S,
    seeds: *const Seeds<S>,
    workspace: *mut c_void,
    workspace_size: usize,
    result: *mut Sensitivity<S>,
) -> Outcome<()> {
    // SAFETY: as required of the caller; the result is checked before it is written.
    unsafe {
        // Sizes first: those of the outputs depend on them.
        let setup = Setup::<Run<S>>::new(problem, options)?;
        setup.check(workspace, workspace_size)?;
        let outputs = outputs(result, &setup.given)?;
        apart(&outputs, &[Span::of(seeds, 1)])?;
        let (seeds, crossing) = checked(seeds, setup.options.mode)?;
        let entered = &mut begin(&setup, [theta, x0], workspace, workspace_size, &outputs)?;
        let outcome = forward(entered, usize::MAX);
        entered.calls.judge(outcome)?;
        let outcome = backward(entered, (&seeds, crossing), usize::MAX);
        entered.calls.judge(outcome)?;
        deliver(entered, result)?;
    }
    Ok(())
}
