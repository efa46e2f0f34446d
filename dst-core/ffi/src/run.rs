//! A run with its gradient, inside the caller's workspace.

use core::ffi::c_void;

use dst_core::{
    Crossing, Dims, Euler, Gradient, Heun, Integrator, Mark, Mode, Rk4, Scalar, Slots,
    SymplecticEuler, Workspace, params_len, rows_len, slots_len,
};

use crate::arguments::{Span, apart, hand_over, optional, present, read, vector};
use crate::callbacks::{Callbacks, Weighting};
use crate::engine::{self, Engine, HIGHER_ORDER, Question, Stages};
use crate::memory::{Area, Open, Seal, copy, cut, kind};
use crate::status::{Outcome, dst_status};
use crate::stepper::OneStage;
use crate::types::{
    Iterate, Options, Problem, Sensitivity, dst_crossing, dst_integrator, dst_mode, dst_progress,
};

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

/// A choice of integrator, with the memory that it needs.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Euler,
    Symplectic,
    Heun,
    Rk4,
}

impl Choice {
    fn new(integrator: i32) -> Outcome<Self> {
        const EULER: i32 = dst_integrator::DST_EULER as i32;
        const HEUN: i32 = dst_integrator::DST_HEUN as i32;
        const RK4: i32 = dst_integrator::DST_RK4 as i32;
        const SYMPLECTIC: i32 = dst_integrator::DST_SYMPLECTIC as i32;
        match integrator {
            EULER => Ok(Self::Euler),
            HEUN if HIGHER_ORDER => Ok(Self::Heun),
            RK4 if HIGHER_ORDER => Ok(Self::Rk4),
            SYMPLECTIC => Ok(Self::Symplectic),
            _ => Err(dst_status::DST_ERROR_CHOICE),
        }
    }

    fn stages(self) -> usize {
        match self {
            Self::Euler | Self::Symplectic => 1,
            Self::Heun => 2,
            Self::Rk4 => 4,
        }
    }
}

fn crossing(crossing: i32) -> Outcome<Crossing> {
    const PAPER: i32 = dst_crossing::DST_PAPER as i32;
    const INTERPOLATED: i32 = dst_crossing::DST_INTERPOLATED as i32;
    const SLOPE: i32 = dst_crossing::DST_SLOPE as i32;
    const HERMITE: i32 = dst_crossing::DST_HERMITE as i32;
    match crossing {
        PAPER => Ok(Crossing::Paper),
        INTERPOLATED => Ok(Crossing::Interpolated),
        SLOPE => Ok(Crossing::Slope),
        HERMITE => Ok(Crossing::Hermite),
        _ => Err(dst_status::DST_ERROR_CHOICE),
    }
}

fn mode(mode: i32) -> Outcome<Mode> {
    const AUTO: i32 = dst_mode::DST_AUTO as i32;
    const ADJOINT: i32 = dst_mode::DST_ADJOINT as i32;
    const TANGENT: i32 = dst_mode::DST_TANGENT as i32;
    match mode {
        AUTO => Ok(Mode::Auto),
        ADJOINT => Ok(Mode::Adjoint),
        TANGENT if engine::TANGENT => Ok(Mode::Tangent),
        _ => Err(dst_status::DST_ERROR_CHOICE),
    }
}

/// A problem and its options, checked.
#[derive(Clone, Copy, Debug)]
struct Setup<S> {
    problem: Problem<S>,
    options: Options<S>,
    choice: Choice,
    crossing: Crossing,
    question: Question<S>,
    area: Area,
}

impl<S: Scalar> Setup<S> {
    /// # Safety
    /// The pointers are NULL or lead to structs that C has initialised.
    #[inline(never)]
    unsafe fn new(problem: *const Problem<S>, options: *const Options<S>) -> Outcome<Self> {
        // SAFETY: as promised.
        let (problem, options) = unsafe { (read(problem)?, read(options)?) };
        let Options {
            step,
            epsilon,
            start_time,
            slots,
            ..
        } = options;
        let choice = Choice::new(options.integrator)?;
        let crossing = crossing(options.crossing)?;
        let question = Question {
            mode: mode(options.mode)?,
            time_weight: options.time_weight,
            theta_only: options.theta_only != 0,
            keep_records: options.keep_records != 0,
        };
        if problem.rate.is_none() {
            return Err(dst_status::DST_ERROR_NULL);
        }
        optional(problem.abort_code)?;
        if problem.state_dim == 0 {
            return Err(dst_status::DST_ERROR_SIZE);
        }
        if matches!(choice, Choice::Symplectic) && problem.state_dim & 1 == 1 {
            return Err(dst_status::DST_ERROR_ODD_STATE);
        }
        if !(step.is_finite() && step > S::ZERO) {
            return Err(dst_status::DST_ERROR_STEP_SIZE);
        }
        if !epsilon.is_finite() {
            return Err(dst_status::DST_ERROR_EPSILON);
        }
        if !start_time.is_finite() {
            return Err(dst_status::DST_ERROR_START_TIME);
        }
        if !(options.time_weight.is_finite() && options.loss_weight.is_finite()) {
            return Err(dst_status::DST_ERROR_WEIGHT);
        }
        if slots == 0 {
            return Err(dst_status::DST_ERROR_NO_SLOTS);
        }
        let (dims, stages) = (problem.dims(), choice.stages());
        let numbers = [
            params_len(dims),
            slots_len(dims, stages, slots, question.keep_records),
            dims.params,
            dims.states,
        ]
        .into_iter()
        .fold(rows_len(dims, stages), usize::saturating_add);
        let area = Area::new::<Run<S>, S>(slots, numbers)?;
        Ok(Self {
            problem,
            options,
            choice,
            crossing,
            question,
            area,
        })
    }

    /// Checks the rest of the arguments, then builds the run.
    ///
    /// # Safety
    /// As for [`init`].
    unsafe fn place(
        &self,
        theta: *const S,
        x0: *const S,
        workspace: *mut c_void,
        workspace_size: usize,
        structs: &[Span],
        outputs: &[Span],
    ) -> Outcome<*mut Run<S>> {
        self.area.check(workspace, workspace_size)?;
        // SAFETY: as promised. The area has more numbers than θ and x0 together, so that their sizes can be counted.
        let (theta, x0) = unsafe {
            (
                vector(theta, self.problem.param_dim)?,
                vector(x0, self.problem.state_dim)?,
            )
        };
        let vectors = [
            Span::of(theta.as_ptr(), theta.len()),
            Span::of(x0.as_ptr(), x0.len()),
        ];
        let written = [
            self.area.span(workspace),
            Span::of(self.problem.abort_code, 1),
        ];
        apart(&written, structs)?;
        apart(&written, &vectors)?;
        apart(outputs, structs)?;
        apart(outputs, &vectors)?;
        apart(outputs, &written)?;
        if !S::all_finite(theta) {
            return Err(dst_status::DST_ERROR_THETA);
        }
        if !S::all_finite(x0) {
            return Err(dst_status::DST_ERROR_X0);
        }
        // SAFETY: the workspace has just been checked.
        unsafe { self.build(theta, x0, workspace) }
    }

    /// Builds the run in the workspace.
    ///
    /// # Safety
    /// The workspace has passed the check of the area, and is the run's until it is lent again.
    #[inline(never)]
    unsafe fn build(&self, theta: &[S], x0: &[S], workspace: *mut c_void) -> Outcome<*mut Run<S>> {
        let Self {
            problem, options, ..
        } = self;
        let (dims, stages) = (problem.dims(), self.choice.stages());
        // SAFETY: as promised.
        let (run, marks, numbers) = unsafe { self.area.lend::<Run<S>, S>(workspace) };
        let (rows, rest) = cut(numbers, rows_len(dims, stages));
        let (params, rest) = cut(rest, params_len(dims));
        let (slots, rest) = cut(
            rest,
            slots_len(dims, stages, self.options.slots, self.question.keep_records),
        );
        // Copies: the caller may change its θ between two calls.
        let (own_theta, own_x0) = cut(rest, dims.params);
        copy(own_theta, theta);
        copy(own_x0, x0);
        let lent = Workspace {
            rows,
            params,
            marks,
            store: Slots::new(slots),
        };
        // SAFETY: `run` is aligned and has room for a Run, apart from the slices above. Whatever was here before is gone, so
        // its seal goes first. The callbacks stay where they are until the workspace is lent again, so that the engine
        // may refer to them.
        let callbacks: &'static Callbacks<S> = unsafe {
            (&raw mut (*run).seal).write(Seal::BROKEN);
            (&raw mut (*run).callbacks).write(Callbacks::new(*problem, options));
            &(*run).callbacks
        };
        let parts = (callbacks, &*own_theta, &*own_x0, lent);
        let h = options.step;
        // SAFETY: as above; the seal comes last, when all that it vouches for is there.
        unsafe {
            let engine = &raw mut (*run).engine;
            match self.choice {
                Choice::Euler => {
                    self.begin(OneStage::Euler(Euler::new(h)), parts, Engine::One, engine)?;
                }
                Choice::Symplectic => {
                    let method = OneStage::Symplectic(SymplecticEuler::new(h));
                    self.begin(method, parts, Engine::One, engine)?;
                }
                Choice::Heun if HIGHER_ORDER => {
                    self.begin(Heun::new(h), parts, Engine::Two, engine)?;
                }
                Choice::Rk4 if HIGHER_ORDER => {
                    self.begin(Rk4::new(h), parts, Engine::Four, engine)?;
                }
                _ => return Err(dst_status::DST_ERROR_CHOICE),
            }
            (&raw mut (*run).span).write(self.area.span(workspace));
            (&raw mut (*run).dims).write(dims);
            (&raw mut (*run).question).write(self.question);
            (&raw mut (*run).seal).write(Seal::new(run_kind::<S>()));
        }
        Ok(run)
    }

    /// Begins the run and writes it to its place: passed back by value, it would take that much stack in every caller.
    ///
    /// # Safety
    /// `to` is aligned and has room for an engine.
    #[inline(never)]
    unsafe fn begin<I: Integrator<S>>(
        &self,
        integrator: I,
        parts: Parts<S>,
        engine: fn(Stages<S, I>) -> Engine<S>,
        to: *mut Engine<S>,
    ) -> Outcome<()> {
        let (callbacks, theta, x0, lent) = parts;
        let options = &self.options;
        let plan = integrator
            .until(options.epsilon)
            .at_most(options.max_steps)
            .from_time(options.start_time)
            .crossing(self.crossing)
            .running_loss(Weighting::new(callbacks, options), options.time_weight);
        let plan = if self.question.theta_only {
            plan.theta_only()
        } else {
            plan
        };
        let run = plan.record(callbacks, theta, x0, lent)?;
        // SAFETY: as promised.
        unsafe { to.write(engine(Stages::Forward(run, None))) };
        Ok(())
    }
}

/// What a run refers to: the callbacks, θ, x0 and its memory.
type Parts<S> = (
    &'static Callbacks<S>,
    &'static [S],
    &'static [S],
    Workspace<'static, S, Slots<'static, S>>,
);

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
