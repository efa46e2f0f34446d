//! The only module that depends on the engine: it turns a request into an answer. To port the golden test to another engine,
//! change only this file.

use dst_core::adapt::{
    AdamOla, GuardedConfig, GuardedOla, NewtonConfig, NewtonOla, OlaConfig, OlaStatus, Window,
    WindowedOla,
};
use dst_core::checkpoint::Mark;
use dst_core::methods::Decrease;
use dst_core::mpc::{AdmmController, Tuner, TunerStage};
use dst_core::qp::{Admm, Instance, Inversion, Knobs, ProjectedMomentum, Qp, Shape, Tolerance};
use dst_core::solve::{Gradient, Iterate};
use dst_core::system::{Arithmetic, Number};
use dst_core::{Error, HeapMemory, Plan, Reading, Seeds, Status};

pub(crate) use dst_core::methods::{
    Adam, Constant, Exponential, GradientFlow, HeavyBall, Nesterov, Preconditioned, Projected,
};
pub(crate) use dst_core::system::Derived;
pub(crate) use dst_core::{
    Crossing, Euler, Formula, Heun, Integrator, Map, Objective, Optimality, Rk4, Scalar,
    SymplecticEuler, System,
};

use crate::program::{Program, STAGES};

/// Method by which the gradient is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A backward sweep.
    Adjoint,
    /// Directions carried forward.
    Tangent,
    /// The mode that the engine estimates to be cheaper.
    Auto,
}

/// Running loss Σ w_k f(x_k) + μ·T.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    /// w_k
    pub(crate) weight: fn(usize) -> f64,
    /// μ
    pub(crate) time: f64,
}

/// Request for a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    /// Definition of the stopping time within the last step.
    pub(crate) crossing: Crossing,
    /// Method by which the gradient is computed.
    pub(crate) mode: Mode,
    /// Checkpoint slots.
    pub(crate) slots: usize,
    /// True if the slots have room for the records of the steps.
    pub(crate) keep_records: bool,
    /// True if the gradient with respect to x0 is left out.
    pub(crate) theta_only: bool,
    /// Running loss; if there is none, only T is differentiated.
    pub(crate) loss: Option<Loss>,
    /// Number of last steps that the backward sweep covers.
    pub(crate) window: Option<usize>,
    /// Step limit.
    pub(crate) max_steps: usize,
    /// Start time of the run.
    pub(crate) t0: f64,
}

impl Request {
    /// Default request: adjoint, one slot, no records, exact crossing, at most 5000 steps from t = 0.
    pub(crate) const PLAIN: Self = Self {
        crossing: Crossing::Interpolated,
        mode: Mode::Adjoint,
        slots: 1,
        keep_records: false,
        theta_only: false,
        loss: None,
        window: None,
        max_steps: 5000,
        t0: 0.0,
    };
}

/// Stop, as determined by the crossing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stop<S> {
    /// T
    pub(crate) time: S,
    /// Interpolated N.
    pub(crate) steps: S,
    /// dT/dε
    pub(crate) epsilon: S,
    /// Decrease of J, in rounding errors.
    pub(crate) rounding: S,
    /// Steepness of the crossing.
    pub(crate) transversality: S,
}

/// Result of a differentiated run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GoldenRun<S> {
    /// N
    pub(crate) steps: usize,
    /// `None` if the stopping time is not part of the objective.
    pub(crate) stop: Option<Stop<S>>,
    /// Gradient with respect to θ.
    pub(crate) theta: Vec<S>,
    /// Gradient with respect to x0.
    pub(crate) x0: Vec<S>,
    /// Final state.
    pub(crate) state: Vec<S>,
    /// Number of rates, pullbacks and pushforwards.
    pub(crate) evaluations: [usize; 3],
}

/// Name of an error, without spaces.
fn name(error: Error) -> String {
    match error {
        Error::NotStopped { steps } => format!("not-stopped-{steps}"),
        Error::StoppedAtStart => "stopped-at-start".into(),
        Error::FlatCrossing { step } => format!("flat-crossing-{step}"),
        Error::NonFinite { step } => format!("not-finite-{step}"),
        Error::NonFiniteGradient { step } => format!("gradient-not-finite-{step}"),
        other => format!("{other:?}").replace(' ', ""),
    }
}

/// Runs until J ≤ ε and differentiates the requested quantity.
pub(crate) fn solve<S, I, Y>(
    integrator: I,
    epsilon: S,
    system: &Y,
    theta: &[S],
    x0: &[S],
    request: &Request,
) -> Result<GoldenRun<S>, String>
where
    S: Scalar,
    I: Integrator<S>,
    Y: System<S> + ?Sized,
{
    let plan = plan(integrator, epsilon, request);
    differentiate(plan, &system, theta, x0, request).map_err(name)
}

fn plan<S: Scalar, I: Integrator<S>>(integrator: I, epsilon: S, request: &Request) -> Plan<S, I> {
    let mode = match request.mode {
        Mode::Adjoint => dst_core::Mode::Adjoint,
        Mode::Tangent => dst_core::Mode::Tangent,
        Mode::Auto => dst_core::Mode::Auto,
    };
    let plan = Plan::new(integrator, epsilon)
        .at_most(request.max_steps)
        .from_time(S::from_f64(request.t0))
        .crossing(request.crossing)
        .mode(mode);
    if request.theta_only {
        plan.theta_only()
    } else {
        plan
    }
}

/// One copy per scalar and integrator: systems are passed as trait objects.
fn differentiate<S, I>(
    plan: Plan<S, I>,
    system: &dyn System<S>,
    theta: &[S],
    x0: &[S],
    request: &Request,
) -> Result<GoldenRun<S>, Error>
where
    S: Scalar,
    I: Integrator<S>,
{
    let mut memory = if request.keep_records {
        HeapMemory::with_records(&plan, system, request.slots)
    } else {
        HeapMemory::new(&plan, system, request.slots)
    };
    let problem = plan.on(system, theta, x0)?;
    problem.start(&mut memory)?;
    problem.complete(&mut memory)?;
    let window = request.window.unwrap_or(usize::MAX);
    let stop = Seeds::stop(request.crossing).through(window);
    match request.loss {
        None => problem.differentiate(&mut memory, stop, usize::MAX)?,
        Some(Loss { weight, time }) => {
            let weights = move |k: usize| Reading::loss(S::from_f64(weight(k)));
            let seeds = stop.times(S::from_f64(time)) + Seeds::weighted(weights);
            problem.differentiate(&mut memory, seeds, usize::MAX)?
        }
    };
    Ok(answer(&problem.gradient(&memory)?))
}

fn answer<S: Scalar>(found: &Gradient<'_, S>) -> GoldenRun<S> {
    let work = found.evaluations;
    GoldenRun {
        steps: found.steps,
        stop: found.stop.map(|stop| Stop {
            time: stop.time,
            steps: stop.steps,
            epsilon: stop.epsilon_gradient,
            rounding: stop.condition.rounding,
            // The old engine wrote 1 for an unknown transversality, that is, in the tangent mode.
            transversality: if work.pushforward > 0 && stop.condition.transversality.is_nan() {
                S::ONE
            } else {
                stop.condition.transversality
            },
        }),
        theta: found.theta.to_vec(),
        x0: found.x0.to_vec(),
        state: found.state.to_vec(),
        evaluations: [work.rate, work.pullback, work.pushforward],
    }
}

/// State of a forward run after one budget.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standing<S> {
    /// `running`, `reached` or `limit`.
    pub(crate) status: &'static str,
    /// k
    pub(crate) steps: usize,
    /// t_k
    pub(crate) time: S,
    /// J(x_k)
    pub(crate) criterion: S,
    /// J(x_{k−1})
    pub(crate) previous: S,
    /// x_k
    pub(crate) state: Vec<S>,
    /// Visited iterate with the least J.
    pub(crate) best: Vec<S>,
    /// Its J.
    pub(crate) best_criterion: S,
}

fn standing<S: Scalar>(status: &'static str, now: Iterate<'_, S>) -> Standing<S> {
    Standing {
        status,
        steps: now.steps,
        time: now.time,
        criterion: now.criterion,
        previous: now.previous,
        state: now.state.to_vec(),
        best: now.best.to_vec(),
        best_criterion: now.best_criterion,
    }
}

/// Runs without a gradient, this many steps at a time, and returns the state after each call. Of the request, only the limit and
/// the start are used.
pub(crate) fn forward<S, I, Y>(
    integrator: I,
    epsilon: S,
    system: &Y,
    theta: &[S],
    x0: &[S],
    request: &Request,
    portion: usize,
) -> Result<Vec<Standing<S>>, String>
where
    S: Scalar,
    I: Integrator<S>,
    Y: System<S> + ?Sized,
{
    let plan = plan(integrator, epsilon, request);
    let system: &dyn System<S> = &system;
    let mut memory = HeapMemory::new(&plan, system, 0);
    let problem = plan.on(system, theta, x0).map_err(name)?;
    problem.start(&mut memory).map_err(name)?;
    let mut seen = Vec::new();
    loop {
        match problem.advance(&mut memory, portion).map_err(name)? {
            Status::Running(now) => seen.push(standing("running", now)),
            Status::Reached(now) => {
                seen.push(standing("reached", now));
                return Ok(seen);
            }
            Status::StepLimit(now) | Status::NeverSettled(now) => {
                seen.push(standing("limit", now));
                return Ok(seen);
            }
        }
    }
}

/// ADMM on a program; θ are the knobs of every phase. Stops at J = 0.
pub(crate) fn admm<S: Scalar>(
    program: &Program<S>,
    knobs: &[S],
    switches: &[usize],
    request: &Request,
) -> Result<GoldenRun<S>, String> {
    let shape = shape(program);
    let qp = Qp::new(shape, &program.columns).map_err(name)?;
    let mut inverses = vec![S::ZERO; (switches.len() + 1) * shape.prepared_entries()];
    let mut row = [S::ZERO; STAGES];
    if !Inversion::of_phases(&qp, &program.hessian, knobs, &mut inverses, &mut row) {
        return Err("no-inverse".into());
    }
    let system = Admm::new(qp, instance(program), tolerance(), &inverses, switches);
    let system = system.map_err(name)?;
    let start = vec![S::ZERO; shape.states()];
    solve(Map, S::ZERO, &system, knobs, &start, request)
}

/// Runs the tuner on one program, observed `times` times, with `portion` operations per call: N* and θ after each.
pub(crate) fn tuner<S: Scalar>(
    program: &Program<S>,
    switches: &[usize],
    times: usize,
    portion: usize,
) -> Result<Vec<(S, Vec<S>)>, String> {
    let (shape, slots) = (shape(program), 3);
    let qp = Qp::new(shape, &program.columns).map_err(name)?;
    let (base, mut basis) = (vec![S::ONE; 12], vec![S::ZERO; 36]);
    for (i, entry) in basis.iter_mut().enumerate() {
        if i % 3 == (i / 12) % 3 {
            *entry = S::ONE;
        }
    }
    let knobs = Knobs::new(&base, &basis, switches.len() + 1).map_err(name)?;
    let theta = vec![S::ZERO; knobs.len()];
    let mut memory = vec![S::ZERO; Tuner::len(&qp, &knobs, slots)];
    let mut marks = vec![Mark::EMPTY; slots];
    // The tuner only uses the sizes, C, the switches and the tolerance.
    let controller = AdmmController {
        shape,
        states: 2,
        outputs: &program.columns,
        linear: &[],
        free: &[],
        lower: &[],
        upper: &[],
        params: &[],
        inverses: &[],
        switches,
        tolerance: tolerance(),
    };
    let hessian = &program.hessian;
    let tuner = Tuner::new(&controller, hessian, knobs, &theta, &mut memory, &mut marks);
    let mut tuner = tuner.map_err(name)?.rate(S::from_f64(0.05));
    let mut seen = Vec::new();
    for _ in 0..times {
        tuner.observe(instance(program), &[]).map_err(name)?;
        while tuner.advance(portion).map_err(name)? != TunerStage::Idle {}
        seen.push((tuner.iterations(), tuner.theta().to_vec()));
    }
    Ok(seen)
}

/// Projected gradient with momentum on a program; θ = (a, β). Stops at J = 0.
pub(crate) fn momentum<S: Scalar>(
    program: &Program<S>,
    theta: &[S],
    request: &Request,
) -> Result<GoldenRun<S>, String> {
    let (shape, instance) = (shape(program), instance(program));
    let system = ProjectedMomentum::new(shape, &program.hessian, instance, tolerance());
    let system = system.map_err(name)?;
    let start = vec![S::ZERO; 2 * shape.blocks * shape.variables()];
    solve(Map, S::ZERO, &system, theta, &start, request)
}

/// Runs a method by Euler with step h until f hardly decreases any more. The initial state is followed by f(x_{−1}).
pub(crate) fn decrease<S: Scalar, Y: System<S>>(
    inner: Y,
    h: S,
    epsilon: S,
    theta: &[S],
    x0: &[S],
    request: &Request,
) -> Result<GoldenRun<S>, String> {
    let system = Decrease::new(inner, h);
    // Time in units of steps of length h.
    let mut answer = solve(Map, epsilon, &system, theta, x0, request)?;
    if let Some(stop) = &mut answer.stop {
        stop.time *= h;
        stop.epsilon *= h;
    }
    for value in answer.theta.iter_mut().chain(&mut answer.x0) {
        *value *= h;
    }
    Ok(answer)
}

fn shape<S>(program: &Program<S>) -> Shape {
    Shape {
        inputs: program.inputs,
        outputs: program.outputs,
        stages: program.stages,
        blocks: program.blocks,
    }
}

fn instance<S>(program: &Program<S>) -> Instance<'_, S> {
    Instance {
        linear: &program.linear,
        lower: &program.lower,
        upper: &program.upper,
    }
}

fn tolerance<S: Scalar>() -> Tolerance<S> {
    Tolerance {
        primal: S::from_f64(1e-4),
        dual: S::from_f64(1e-4),
        dual_relative: S::ZERO,
    }
}

/// Algorithm that adapts its learning rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Ola {
    /// Adam-OLA, with η and the triggering descent.
    Adam {
        /// η
        eta: f64,
        /// ε_desc
        descent: f64,
    },
    /// G-OLA
    Guarded,
    /// N-OLA
    Newton,
    /// Adam-OLA with the exact sensitivity of a window of this many steps.
    Windowed {
        /// η
        eta: f64,
        /// ε_desc
        descent: f64,
        /// Steps.
        window: usize,
    },
}

/// State of an adaptive run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Adapted<S> {
    /// Number of iterations so far.
    pub(crate) iterations: usize,
    /// Number of adaptations so far.
    pub(crate) adaptations: usize,
    /// Learning rate and f.
    pub(crate) alpha_f: [S; 2],
    /// x
    pub(crate) state: Vec<S>,
    /// ∂N/∂α over the last window, if there is one.
    pub(crate) sensitivity: Option<S>,
}

/// Adapts from `alpha`, this many iterations per call (for windows: this many windows of at most 60 iterations), and returns the
/// state after each call.
pub(crate) fn adapt<S: Scalar>(
    ola: Ola,
    objective: &dyn Objective<S>,
    alpha: f64,
    x0: &[S],
    portions: &[usize],
) -> Result<Vec<Adapted<S>>, String> {
    let alpha = S::from_f64(alpha);
    let config = |eta, descent| OlaConfig::new(alpha, S::from_f64(eta), S::from_f64(descent));
    // The three independent types have the same methods, but no common trait.
    macro_rules! trace {
        ($made:ident, $config:expr) => {{
            let mut memory = vec![S::ZERO; $made::memory_len(&objective)];
            let mut ola = $made::new($config, objective, x0, &mut memory).map_err(name)?;
            let mut seen = Vec::new();
            for &portion in portions {
                let status = ola.advance(portion).map_err(name)?;
                seen.push(Adapted {
                    iterations: ola.iterations(),
                    adaptations: ola.adaptations(),
                    alpha_f: [ola.alpha(), ola.value()],
                    state: ola.state().to_vec(),
                    sensitivity: None,
                });
                if status == OlaStatus::Converged {
                    break;
                }
            }
            Ok(seen)
        }};
    }
    match ola {
        Ola::Adam { eta, descent } => trace!(AdamOla, config(eta, descent)),
        Ola::Guarded => trace!(GuardedOla, GuardedConfig::new(alpha)),
        Ola::Newton => trace!(NewtonOla, NewtonConfig::new(alpha)),
        Ola::Windowed {
            eta,
            descent,
            window,
        } => {
            let mut z = vec![S::ZERO; 3 * x0.len()];
            let config = config(eta, descent);
            let ola = WindowedOla::new(config, objective, window, x0, &mut z);
            let mut ola = ola.map_err(name)?;
            let plan = Euler::new(S::ONE).until(S::ZERO);
            let mut memory = HeapMemory::new(&plan, ola.method(), 3);
            let mut seen = Vec::new();
            for &portion in portions {
                let mut sensitivity = None;
                for _ in 0..portion {
                    let window = ola.advance(60, &mut memory).map_err(name)?;
                    sensitivity = match window {
                        Window::Adapted { sensitivity, .. } => Some(sensitivity),
                        Window::Flat { .. } | Window::Open { .. } => None,
                    };
                }
                seen.push(Adapted {
                    iterations: ola.iterations(),
                    adaptations: ola.adaptations(),
                    alpha_f: [ola.alpha(), ola.value()],
                    state: ola.state().to_vec(),
                    sensitivity,
                });
            }
            Ok(seen)
        }
    }
}

/// Driven, damped spring with position and velocity, which covers every feature of an integrator, time included.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Driven;

impl Formula<2, 2> for Driven {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 2],
        x: &[Number<A>; 2],
        t: Number<A>,
    ) -> [Number<A>; 2] {
        let push = theta[0] * x[0] + theta[1] * x[1] + x[0] * x[0] * x[0] * 0.1;
        [-x[1], push + (t * 0.7).cos() * 0.05]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 2],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> Number<A> {
        x[0] * x[0] + x[1] * x[1] * 0.5
    }
    fn loss<A: Arithmetic>(
        &self,
        _: &[Number<A>; 2],
        x: &[Number<A>; 2],
        _: Number<A>,
        criterion: Number<A>,
    ) -> Number<A> {
        criterion * 0.5 + x[0] * 0.1
    }
}

/// Spiral whose criterion rises and falls, so that the best iterate is saved repeatedly.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spiral;

impl Formula<2, 1> for Spiral {
    fn rate<A: Arithmetic>(
        &self,
        theta: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> [Number<A>; 2] {
        [theta[0] * x[0] - x[1], theta[0] * x[1] + x[0]]
    }
    fn criterion<A: Arithmetic>(
        &self,
        _: &[Number<A>; 1],
        x: &[Number<A>; 2],
        _: Number<A>,
    ) -> Number<A> {
        x[0] * x[0]
    }
}
