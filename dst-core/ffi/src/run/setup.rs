//! What a run is made from: the problem and its options, checked, and their place in the workspace.

use core::ffi::c_void;

use dst_core::{
    Crossing, Euler, Heun, Integrator, Mode, Rk4, Scalar, Slots, SymplecticEuler, Workspace,
    params_len, rows_len, slots_len,
};

use super::{Run, run_kind};
use crate::arguments::{Span, apart, optional, read, vector};
use crate::callbacks::{Callbacks, Weighting};
use crate::engine::{self, Engine, HIGHER_ORDER, Question, Stages};
use crate::memory::{Area, Seal, copy, cut};
use crate::status::{Outcome, dst_status};
use crate::stepper::OneStage;
use crate::types::{Options, Problem, dst_crossing, dst_integrator, dst_mode};

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
pub(super) struct Setup<S> {
    pub(super) problem: Problem<S>,
    options: Options<S>,
    choice: Choice,
    crossing: Crossing,
    question: Question<S>,
    pub(super) area: Area,
}

impl<S: Scalar> Setup<S> {
    /// # Safety
    /// The pointers are NULL or lead to structs that C has initialised.
    #[inline(never)]
    pub(super) unsafe fn new(
        problem: *const Problem<S>,
        options: *const Options<S>,
    ) -> Outcome<Self> {
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
    /// As for [`init`](super::init).
    pub(super) unsafe fn place(
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
