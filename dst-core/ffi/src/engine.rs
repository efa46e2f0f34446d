//! A run through its stages: forward, then adjoint or tangent, then over.

use core::mem::replace;

use dst_core::{
    Adjoint, Gradient, Heun, Integrator, Mode, Progress, Recording, Rk4, Run, Scalar, Slots,
    Status, System, Tangent,
};

use crate::callbacks::{Callbacks, Weighting};
use crate::status::{Outcome, dst_status};
use crate::stepper::OneStage;
use crate::types::{Iterate, dst_progress};

/// What a small library leaves out. Constants, not `cfg` on the code: all of it is always compiled and checked, and what cannot
/// be reached is not linked.
pub(crate) const HIGHER_ORDER: bool = cfg!(feature = "higher-order");
pub(crate) const TANGENT: bool = cfg!(feature = "tangent");

type Store<S> = Slots<'static, S>;
type Forward<S, I> =
    Run<'static, 'static, S, Callbacks<S>, I, Weighting<S>, Recording<'static, Store<S>>>;
type Backward<S, I> = Adjoint<'static, 'static, S, Callbacks<S>, I, Weighting<S>, Store<S>>;
type Along<S, I> = Tangent<'static, 'static, S, Callbacks<S>, I, Weighting<S>, Store<S>>;

/// What decides about the gradient, apart from what the plan already knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<S> {
    pub(crate) mode: Mode,
    pub(crate) time_weight: S,
    pub(crate) theta_only: bool,
    pub(crate) keep_records: bool,
}

/// The stages with one integrator.
#[derive(Debug)]
pub(crate) enum Stages<S: Scalar, I: Integrator<S>> {
    Forward(Forward<S, I>, Option<dst_progress>),
    Adjoint(Backward<S, I>),
    Tangent(Along<S, I>),
    /// Nothing left to do; every call gets this status.
    Over(dst_status),
}

/// Not inlined into one another: the moves between the stages would add up on the stack.
impl<S: Scalar, I: Integrator<S>> Stages<S, I> {
    #[inline(never)]
    fn advance(&mut self, budget: usize) -> Outcome<dst_progress> {
        let Self::Forward(run, progress) = self else {
            return Err(self.out_of_order());
        };
        let now = match run.advance(budget)? {
            Status::Running(_) => dst_progress::DST_RUNNING,
            Status::Reached(_) => dst_progress::DST_REACHED,
            Status::StepLimit(_) => dst_progress::DST_STEP_LIMIT,
        };
        *progress = Some(now);
        Ok(now)
    }

    fn iterate(&self) -> Outcome<Iterate<S>> {
        let Self::Forward(run, _) = self else {
            return Err(self.out_of_order());
        };
        let now = run.iterate();
        Ok(Iterate {
            steps: now.steps,
            time: now.time,
            criterion: now.criterion,
            best_criterion: now.best_criterion,
            loss: now.loss,
            state: now.state.as_ptr(),
            best: now.best.as_ptr(),
        })
    }

    /// What is refused here leaves the run as it is; later failures end it.
    #[inline(never)]
    fn start(&mut self, question: &Question<S>, callbacks: &Callbacks<S>) -> Outcome<()> {
        let Self::Forward(run, progress) = self else {
            return Err(self.out_of_order());
        };
        let (steps, progress) = (run.iterate().steps, *progress);
        match progress {
            None => return Err(dst_status::DST_ERROR_NOT_STOPPED),
            _ if question.time_weight == S::ZERO => {}
            Some(dst_progress::DST_REACHED) if steps == 0 => {
                return Err(dst_status::DST_ERROR_STOPPED_AT_START);
            }
            Some(dst_progress::DST_REACHED) => {}
            Some(_) => return Err(dst_status::DST_ERROR_NOT_STOPPED),
        }
        let tangent = match question.mode {
            _ if !TANGENT => false,
            Mode::Adjoint => false,
            Mode::Tangent => true,
            Mode::Auto => run.tangent_is_cheaper(),
        };
        let cost = callbacks.cost();
        if tangent && cost.pushforward.is_none() {
            return Err(dst_status::DST_ERROR_NO_PUSHFORWARD);
        }
        if !tangent && cost.pullback.is_none() {
            return Err(dst_status::DST_ERROR_NO_PULLBACK);
        }
        let Self::Forward(run, _) = replace(self, Self::Over(dst_status::DST_ERROR_INTERNAL))
        else {
            return Err(dst_status::DST_ERROR_INTERNAL);
        };
        let started = if tangent {
            run.tangent().map(Self::Tangent)
        } else {
            run.adjoint().map(Self::Adjoint)
        };
        match started {
            Ok(stage) => {
                *self = stage;
                Ok(())
            }
            Err(error) => Err(self.end(error.into())),
        }
    }

    /// Steps still to be differentiated.
    fn sweep(&mut self, budget: usize) -> Outcome<usize> {
        let progress = match self {
            Self::Adjoint(sweep) => sweep.advance(budget),
            Self::Tangent(sweep) if TANGENT => sweep.advance(budget),
            _ => return Err(self.out_of_order()),
        };
        match progress {
            Ok(Progress::Done) => Ok(0),
            // "Nothing left" is how C learns that the work is done: a call that is still to come counts as one step.
            Ok(Progress::Running { remaining }) => Ok(remaining.max(1)),
            Err(error) => Err(self.end(error.into())),
        }
    }

    #[inline(never)]
    fn finish(&mut self) -> Outcome<Gradient<'static, S>> {
        if let Self::Forward(..) | Self::Over(_) = self {
            return Err(self.out_of_order());
        }
        let gradient = match replace(self, Self::Over(dst_status::DST_ERROR_ORDER)) {
            Self::Adjoint(sweep) => sweep.finish(),
            Self::Tangent(sweep) if TANGENT => sweep.finish(),
            _ => return Err(dst_status::DST_ERROR_INTERNAL),
        };
        gradient.map_err(|error| self.end(error.into()))
    }

    fn end(&mut self, status: dst_status) -> dst_status {
        *self = Self::Over(status);
        status
    }

    fn out_of_order(&self) -> dst_status {
        match self {
            Self::Over(status) => *status,
            _ => dst_status::DST_ERROR_ORDER,
        }
    }
}

/// The stages with any integrator: one engine for each number of stages.
#[derive(Debug)]
pub(crate) enum Engine<S: Scalar> {
    One(Stages<S, OneStage<S>>),
    Two(Stages<S, Heun<S>>),
    Four(Stages<S, Rk4<S>>),
}

macro_rules! any {
    ($self:ident, $method:ident($($argument:expr),*)) => {
        match $self {
            Self::One(stages) => stages.$method($($argument),*),
            Self::Two(stages) if HIGHER_ORDER => stages.$method($($argument),*),
            Self::Four(stages) if HIGHER_ORDER => stages.$method($($argument),*),
            _ => Err(dst_status::DST_ERROR_INTERNAL),
        }
    };
}

impl<S: Scalar> Engine<S> {
    /// Makes at most so many steps.
    pub(crate) fn advance(&mut self, budget: usize) -> Outcome<dst_progress> {
        any!(self, advance(budget))
    }

    /// Where the forward run stands.
    pub(crate) fn iterate(&self) -> Outcome<Iterate<S>> {
        any!(self, iterate())
    }

    /// Begins the gradient.
    pub(crate) fn start(
        &mut self,
        question: &Question<S>,
        callbacks: &Callbacks<S>,
    ) -> Outcome<()> {
        any!(self, start(question, callbacks))
    }

    /// Does so many operations of the gradient; returns what is left.
    pub(crate) fn sweep(&mut self, budget: usize) -> Outcome<usize> {
        any!(self, sweep(budget))
    }

    /// Does the rest of the gradient and gives it back.
    pub(crate) fn finish(&mut self) -> Outcome<Gradient<'static, S>> {
        any!(self, finish())
    }
}
