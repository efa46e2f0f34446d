//! A run with its gradient, inside the caller's workspace.

mod setup;

use core::ffi::c_void;

use dst_core::{Dims, Gradient, Mark, Scalar};

use self::setup::Setup;
use crate::arguments::{Span, apart, hand_over, optional, present};
use crate::callbacks::Callbacks;
use crate::engine::{Engine, Question};
use crate::memory::{Open, Seal, kind};
use crate::status::Outcome;
use crate::types::{Iterate, Options, Problem, Sensitivity, dst_progress};

/// A run under way; it lives in the workspace, at its beginning.
#[derive(Debug)]
pub struct Run<S: Scalar> {
    seal: Seal,
    /// Of the workspace.
    span: Span,
    dims: Dims,
    question: Question<S>,
    /// Apart from `engine`, which refers to it.
    callbacks: Callbacks<S>,
    engine: Engine<S>,
}

const fn run_kind<S>() -> u32 {
    kind::<S>(b'r')
}

/// Bytes of workspace, or 0 if the problem or the options are refused.
///
/// # Safety
/// As for [`init`].
pub(crate) unsafe fn workspace_size<S: Scalar>(
    problem: *const Problem<S>,
    options: *const Options<S>,
) -> usize {
    // SAFETY: as promised.
    unsafe { Setup::new(problem, options) }.map_or(0, |setup| setup.area.bytes())
}

/// # Safety
/// Every pointer is NULL or leads to what the header says, and the workspace stays in place and alone while it is used.
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
    // SAFETY: as promised; `run` is present.
    unsafe {
        let setup = Setup::new(problem, options)?;
        let inputs = [Span::of(problem, 1), Span::of(options, 1)];
        let outputs = [Span::of(run, 1)];
        run.write(setup.place(theta, x0, workspace, workspace_size, &inputs, &outputs)?);
    }
    Ok(())
}

/// The parts of a run that a call works on.
struct Entered<'a, S: Scalar> {
    engine: &'a mut Engine<S>,
    callbacks: &'a Callbacks<S>,
    question: &'a Question<S>,
    dims: Dims,
    span: Span,
    _open: Open<'a>,
}

/// # Safety
/// The handle is NULL or leads to memory of the size of a run at least.
unsafe fn enter<'a, S: Scalar>(run: *mut Run<S>) -> Outcome<Entered<'a, S>> {
    present(run)?;
    // SAFETY: the seal is a plain word, readable whatever is there. Where it is that of a run, the other fields are a run's,
    // and no other call uses them: it would have found the seal open. The fields are borrowed one by one, because the
    // engine itself refers to the callbacks.
    unsafe {
        let seal = &(*run).seal;
        let open = seal.open(run_kind::<S>())?;
        Ok(Entered {
            engine: &mut (*run).engine,
            callbacks: &(*run).callbacks,
            question: &(*run).question,
            dims: (*run).dims,
            span: (*run).span,
            _open: open,
        })
    }
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn advance<S: Scalar>(
    run: *mut Run<S>,
    budget: usize,
    progress: *mut i32,
) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(run) }?;
    present(progress)?;
    apart(&[Span::of(progress, 1)], &[entered.span])?;
    let outcome = entered.engine.advance(budget);
    let now: dst_progress = entered.callbacks.abort.judge(outcome)?;
    // SAFETY: present, and apart from the run.
    unsafe { progress.write(now as i32) };
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn iterate<S: Scalar>(run: *mut Run<S>, iterate: *mut Iterate<S>) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(run) }?;
    present(iterate)?;
    apart(&[Span::of(iterate, 1)], &[entered.span])?;
    let now = entered.engine.iterate()?;
    // SAFETY: present, and apart from the run.
    unsafe { iterate.write(now) };
    Ok(())
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn start<S: Scalar>(run: *mut Run<S>) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(run) }?;
    let outcome = entered.engine.start(entered.question, entered.callbacks);
    entered.callbacks.abort.judge(outcome)
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn sweep<S: Scalar>(
    run: *mut Run<S>,
    budget: usize,
    remaining: *mut usize,
) -> Outcome<()> {
    // SAFETY: as promised.
    let entered = unsafe { enter(run) }?;
    present(remaining)?;
    apart(&[Span::of(remaining, 1)], &[entered.span])?;
    let outcome = entered.engine.sweep(budget);
    let left = entered.callbacks.abort.judge(outcome)?;
    // SAFETY: present, and apart from the run.
    unsafe { remaining.write(left) };
    Ok(())
}

/// The vectors of a result, checked.
///
/// # Safety
/// The pointer is NULL or leads to a struct whose pointers C has set.
unsafe fn outputs<S: Scalar>(result: *mut Sensitivity<S>, dims: Dims) -> Outcome<[Span; 4]> {
    present(result)?;
    // SAFETY: present; the three pointers are set, as promised. The other fields may be anything and are not read.
    let (theta, x0, state) = unsafe {
        (
            (&raw const (*result).theta_gradient).read(),
            (&raw const (*result).x0_gradient).read(),
            (&raw const (*result).state).read(),
        )
    };
    optional(theta)?;
    optional(x0)?;
    optional(state)?;
    let spans = [
        Span::of(result, 1),
        Span::of(theta, dims.params),
        Span::of(x0, dims.states),
        Span::of(state, dims.states),
    ];
    apart(&spans, &[])?;
    Ok(spans)
}

/// Writes the result.
///
/// # Safety
/// The pointers of the result have been checked.
unsafe fn deliver<S: Scalar>(gradient: &Gradient<'_, S>, result: *mut Sensitivity<S>) {
    // A Gradient without stop has a time weight of zero.
    let stop = gradient.stop;
    let (nan, evaluations) = (S::NAN, gradient.evaluations);
    // SAFETY: present and apart from the workspace, in which the gradient lies.
    unsafe {
        let (theta_gradient, x0_gradient, state) = (
            (&raw const (*result).theta_gradient).read(),
            (&raw const (*result).x0_gradient).read(),
            (&raw const (*result).state).read(),
        );
        hand_over(theta_gradient, gradient.theta);
        hand_over(x0_gradient, gradient.x0);
        hand_over(state, gradient.state);
        result.write(Sensitivity {
            theta_gradient,
            x0_gradient,
            state,
            steps: gradient.steps,
            time: stop.map_or(nan, |s| s.time),
            steps_interpolated: stop.map_or(nan, |s| s.steps),
            epsilon_gradient: stop.map_or(nan, |s| s.epsilon_gradient),
            rounding: stop.map_or(nan, |s| s.condition.rounding),
            transversality: stop.map_or(nan, |s| s.condition.transversality),
            loss: gradient.loss,
            rate_evaluations: evaluations.rate,
            pullbacks: evaluations.pullback,
            pushforwards: evaluations.pushforward,
        });
    }
}

/// # Safety
/// As for [`init`].
pub(crate) unsafe fn finish<S: Scalar>(
    run: *mut Run<S>,
    result: *mut Sensitivity<S>,
) -> Outcome<()> {
    // SAFETY: as promised; what is delivered has been checked.
    unsafe {
        let entered = enter(run)?;
        apart(&outputs(result, entered.dims)?, &[entered.span])?;
        let outcome = entered.engine.finish();
        let gradient = entered.callbacks.abort.judge(outcome)?;
        deliver(&gradient, result);
    }
    Ok(())
}

/// All of it at once.
///
/// # Safety
/// As for [`init`].
pub(crate) unsafe fn sensitivity<S: Scalar>(
    problem: *const Problem<S>,
    options: *const Options<S>,
    theta: *const S,
    x0: *const S,
    workspace: *mut c_void,
    workspace_size: usize,
    result: *mut Sensitivity<S>,
) -> Outcome<()> {
    // SAFETY: as promised; what is delivered has been checked.
    unsafe {
        // The sizes first: those of the outputs follow from them.
        let setup = Setup::new(problem, options)?;
        setup.area.check(workspace, workspace_size)?;
        let outputs = outputs(result, setup.problem.dims())?;
        let inputs = [Span::of(problem, 1), Span::of(options, 1)];
        let run = setup.place(theta, x0, workspace, workspace_size, &inputs, &outputs)?;
        let entered = enter(run)?;
        let (engine, abort) = (entered.engine, &entered.callbacks.abort);
        abort.judge(engine.advance(usize::MAX))?;
        abort.judge(engine.start(entered.question, entered.callbacks))?;
        let gradient = abort.judge(engine.finish())?;
        deliver(&gradient, result);
    }
    Ok(())
}

/// What a workspace must be aligned to, for any of its objects.
pub(crate) const fn align<S: Scalar>() -> usize {
    let (run, mark) = (align_of::<Run<S>>(), align_of::<Mark>());
    if run > mark { run } else { mark }
}
