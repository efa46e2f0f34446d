//! Structs and enums of the header. Choices from C are plain integers here: an invalid value in a Rust enum would be undefined
//! behaviour; an invalid integer gives DST_ERROR_CHOICE.

use core::ffi::{c_int, c_void};

use dst_core::Scalar;
use dst_core::descent::{Coordinate as CoreCoordinate, Cursor as DescentCursor};

/// Integrator for one step of the iteration: for the field `integrator`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_integrator {
    /// x - h*A, the plain iteration. One evaluation per step.
    DST_EULER = 0,
    /// Second order, two evaluations per step.
    DST_HEUN = 1,
    /// The classical Runge-Kutta method: fourth order, four evaluations per step.
    DST_RK4 = 2,
    /// Semi-implicit Euler for x = (positions, velocities): velocity first, then position with the new velocity.
    DST_SYMPLECTIC = 3,
    /// x_{k+1} = F(theta, x_k, t_k): `rate` writes F itself, and pullback and pushforward are those of F. The step size must be
    /// 1, so that t_k = start_time + k and T is in steps: see dst_options_map_f32 (or _f64). One evaluation per step.
    DST_MAP = 4,
}

/// Definition of the stopping time within the last step: for the field `crossing` of dst_seeds.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_crossing {
    /// Definition 3 of the paper: -h*dJ_N/(J_N - J_{N-1}).
    DST_PAPER = 0,
    /// The exact gradient of the linearly interpolated stopping time: agrees with finite differences of it.
    DST_INTERPOLATED = 1,
    /// Interpolated numerator over the slope dJ/dt - grad(J)*A; second order with DST_HEUN.
    DST_SLOPE = 2,
    /// Cubic Hermite interpolation of J; third order with DST_RK4.
    DST_HERMITE = 3,
}

/// Method by which a gradient is computed: for the field `mode`.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_mode {
    /// The cheaper mode for this problem, these slots and the N at which the run stopped.
    DST_AUTO = 0,
    /// Backward sweep over checkpoints; needs the pullback. Its cost does not depend on the number of parameters.
    DST_ADJOINT = 1,
    /// One direction per parameter (and state) carried forward; needs the pushforward.
    DST_TANGENT = 2,
}

/// Progress of a run.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_progress {
    /// The budget of the call is exhausted: call again, or use the best iterate at the deadline.
    DST_RUNNING = 0,
    /// The run stopped: J <= epsilon and, if required, J has stayed there. In an adaptive run: max |gradient| < tolerance.
    DST_REACHED = 1,
    /// The step limit max_steps came first, or cut a stay short.
    DST_STEP_LIMIT = 2,
    /// A run that had to stay below epsilon met max_steps above it.
    DST_NEVER_SETTLED = 3,
}

/// Outcome of one window of the windowed adaptation.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_window_outcome {
    /// f fell by the threshold and alpha was adapted.
    DST_WINDOW_ADAPTED = 0,
    /// f fell by the threshold, but the crossing is too flat for a derivative: alpha is unchanged.
    DST_WINDOW_FLAT = 1,
    /// The budget ran out first; the next window continues with the same threshold.
    DST_WINDOW_OPEN = 2,
}

/// Callback that is wrong.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_check_function {
    /// `rate`
    DST_CHECK_RATE = 0,
    /// `pullback`
    DST_CHECK_PULLBACK = 1,
    /// `pushforward`
    DST_CHECK_PUSHFORWARD = 2,
}

/// Output of `rate` whose derivative is wrong.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_check_output {
    /// An entry of A.
    DST_CHECK_A = 0,
    /// J
    DST_CHECK_J = 1,
    /// f
    DST_CHECK_F = 2,
    /// A weighted sum of A, J and f: each of them alone is right.
    DST_CHECK_SUM = 3,
}

/// Entry with respect to which it is differentiated.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_check_entry {
    /// None: an output is not written, or added to.
    DST_CHECK_NO_ENTRY = 0,
    /// An entry of theta.
    DST_CHECK_THETA = 1,
    /// An entry of x.
    DST_CHECK_X = 2,
    /// Time.
    DST_CHECK_T = 3,
}

/// Likely reason of a mismatch.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_check_kind {
    /// A wrong value.
    DST_CHECK_VALUE = 0,
    /// The right value times `factor`.
    DST_CHECK_FACTOR = 1,
    /// The right value with the wrong sign.
    DST_CHECK_SIGN = 2,
    /// Zero: the term is missing.
    DST_CHECK_MISSING = 3,
    /// The right value is zero.
    DST_CHECK_SUPERFLUOUS = 4,
    /// Infinite or NaN.
    DST_CHECK_NOT_FINITE = 5,
    /// A pullback overwrites its sums: `=` instead of `+=`.
    DST_CHECK_OVERWRITES = 6,
    /// A rate or a pushforward adds to its outputs: `+=` instead of `=`.
    DST_CHECK_ADDS = 7,
    /// An output is not written.
    DST_CHECK_NOT_WRITTEN = 8,
    /// The result depends on the last call of `rate`, not on the tape.
    DST_CHECK_STALE_TAPE = 9,
    /// The result depends on `tape[tape_index]`, which `rate` does not write.
    DST_CHECK_UNWRITTEN_TAPE = 10,
    /// Two calls with the same arguments give different values.
    DST_CHECK_NOT_REPEATABLE = 11,
}

/// Wrong derivative, found by dst_check. dst_mismatch_message() writes it as a sentence.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct dst_mismatch {
    /// A dst_check_function.
    pub function: i32,
    /// A dst_check_output.
    pub output: i32,
    /// Index of the entry of A.
    pub output_index: usize,
    /// A dst_check_entry.
    pub entry: i32,
    /// Index of the entry of theta or x.
    pub entry_index: usize,
    /// Expected value, in double precision in either case.
    pub expected: f64,
    /// Value of the callback.
    pub found: f64,
    /// 0 if the expected value comes from differences of `rate`; 1 if from the pushforward; 2 if from another call.
    pub reference: i32,
    /// A dst_check_kind.
    pub kind: i32,
    /// Factor of DST_CHECK_FACTOR; otherwise 0.
    pub factor: f64,
    /// Entry of the tape of DST_CHECK_UNWRITTEN_TAPE; otherwise 0.
    pub tape_index: usize,
    /// Step of the run at which they differ; SIZE_MAX for a point beside x0.
    pub step: usize,
}

/// The iteration x_{k+1} = x_k - h*A(theta, x_k, t_k) with its criterion J(theta, x, t) and a loss f(theta, x, t), as callbacks.
///
/// Every callback returns 0 to continue. Any other value aborts the run: the calling function returns DST_ABORTED, the value goes
/// to *abort_code, and no callback of this run is called again. Callbacks must return (no longjmp, no C++ exception). A call from
/// a callback on the workspace of its own run returns DST_ERROR_BUSY.
///
/// Set the fields by name and leave the others zero: `dst_problem_f32 p = { .state_dim = 2, ... };`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Problem<S> {
    /// Number of states, entries of x. At least 1.
    pub state_dim: usize,
    /// Number of parameters, entries of theta. May be 0.
    pub param_dim: usize,
    /// Number of values that `rate` leaves on `tape` for the derivatives. May be 0.
    pub tape_len: usize,
    /// Writes A(theta, x, t), or F with DST_MAP, to `rate` [state_dim], J to *criterion and, if it is used, f to *loss; may
    /// leave intermediate results on `tape` [tape_len]. Must depend on its arguments only, because steps are recomputed.
    pub rate: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            theta: *const S,
            x: *const S,
            t: S,
            rate: *mut S,
            tape: *mut S,
            criterion: *mut S,
            loss: *mut S,
        ) -> c_int,
    >,
    /// ADDS rate_bar*dA/dtheta + criterion_bar*dJ/dtheta + loss_bar*df/dtheta to `theta_bar` [param_dim], and the same with d/dx
    /// to `x_bar` [state_dim]; `tape` was written by `rate` at this point. If `t_bar` is not NULL, add criterion_bar*dJ/dt to
    /// *t_bar; this happens once or twice per sweep with DST_SLOPE or DST_HERMITE, and a J that does not depend on t may ignore
    /// it. NULL if there is a pushforward, or no gradient is needed.
    pub pullback: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            theta: *const S,
            x: *const S,
            t: S,
            tape: *const S,
            rate_bar: *const S,
            criterion_bar: S,
            loss_bar: S,
            theta_bar: *mut S,
            x_bar: *mut S,
            t_bar: *mut S,
        ) -> c_int,
    >,
    /// WRITES the derivatives along (theta_dot, x_dot, t_dot): of A to `rate_dot` [state_dim], of J to *criterion_dot and, if f
    /// has weights, of f to *loss_dot. `t_dot` is 0, or 1 when DST_SLOPE or DST_HERMITE needs dJ/dt, in *criterion_dot only. NULL
    /// if there is a pullback.
    pub pushforward: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            theta: *const S,
            x: *const S,
            t: S,
            tape: *const S,
            theta_dot: *const S,
            x_dot: *const S,
            t_dot: S,
            rate_dot: *mut S,
            criterion_dot: *mut S,
            loss_dot: *mut S,
        ) -> c_int,
    >,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Receives the code of an aborting callback; may be NULL. The only output that is written on failure.
    pub abort_code: *mut c_int,
}

/// Options of a run. Start from dst_options_default_f32 (or _f64) and change fields as needed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Options<S> {
    /// Step size h > 0; with DST_MAP, 1.
    pub step: S,
    /// Tolerance of J.
    pub epsilon: S,
    /// Step limit.
    pub max_steps: usize,
    /// Number of steps for which J has to stay at or below epsilon. 0: the run stops at the first passage, the first J <=
    /// epsilon, whatever J does later. m: it stops when J has stayed for m further steps; a stay that max_steps cuts short does
    /// not count. SIZE_MAX: it continues to max_steps, and J must stay to the end; the safe choice if J may oscillate. The
    /// stopping time is always the crossing at which the stay began.
    pub staying: usize,
    /// Time at x0.
    pub start_time: S,
    /// A dst_integrator; default DST_EULER.
    pub integrator: i32,
    /// A dst_mode; default DST_AUTO.
    pub mode: i32,
    /// Checkpoint slots, at least 1: more memory, less recomputation. Their number does not change the bits of the gradient.
    pub slots: usize,
    /// If not 0, every slot also keeps the tape and the stages of its step, which are then not recomputed.
    pub keep_records: i32,
    /// If not 0, the gradient with respect to x0 is left out: the tangent mode then carries fewer directions.
    pub theta_only: i32,
}

/// Quantity to differentiate, chosen after the run:  time_weight*T + sum_k (criterion_weight*J(x_k) + loss_weight*f(x_k)),  for k
/// = 0 to N; if time_weight is 0, to the last step of the run, which need not have stopped. Start from dst_seeds_default_f32 (or
/// _f64): T alone, by the interpolated crossing. NULL means the same.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Seeds<S> {
    /// A dst_crossing; default DST_INTERPOLATED.
    pub crossing: i32,
    /// Factor of the stopping time T; default 1.
    pub time_weight: S,
    /// Weight of J at every step; default 0.
    pub criterion_weight: S,
    /// Weight of f at every step; default 0.
    pub loss_weight: S,
    /// If not NULL, called for the weights at a step, in any order of steps. On entry *criterion_weight and *loss_weight are the
    /// two weights above; it may overwrite them. Returns 0, or aborts like every callback.
    pub weight: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            step: usize,
            criterion_weight: *mut S,
            loss_weight: *mut S,
        ) -> c_int,
    >,
    /// Passed to `weight`.
    pub user: *mut c_void,
    /// Restricts the sweep to the last `window` steps (adjoint mode): the gradient "with respect to x0" is then with respect to
    /// the state at the start of this window; default SIZE_MAX.
    pub window: usize,
}

/// Gradient of the quantity given by the seeds. The caller sets the first three pointers before the call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sensitivity<S> {
    /// [param_dim] Gradient with respect to theta; by default dT/dtheta, in units of time: divide by the step size for steps. May
    /// be NULL.
    pub theta_gradient: *mut S,
    /// [state_dim] Gradient with respect to x0. May be NULL; not written with theta_only.
    pub x0_gradient: *mut S,
    /// [state_dim] State x_N at which the sweep began. May be NULL.
    pub state: *mut S,
    /// Step at which the sweep began: N, with J <= epsilon there and J > epsilon one step before. With time_weight 0, the last
    /// step of the run.
    pub steps: usize,
    /// T, as defined by the crossing. This and the next four fields are NaN with time_weight 0.
    pub time: S,
    /// T in steps, not an integer: N - 1 + (T - t_{N-1})/h. With DST_PAPER it is N.
    pub steps_interpolated: S,
    /// dT/depsilon
    pub epsilon_gradient: S,
    /// Decrease of J over the last step in units of its rounding error. The reciprocal is the relative error of the division by
    /// this decrease, if J is correct to its last bit. It is not a bound on the error of the gradient: it includes neither the
    /// rounding errors of the trajectory nor those of J itself. A J formed by cancellation, such as x - 1e8 with x near 1e8, has
    /// far fewer correct bits: shift the state instead.
    pub rounding: S,
    /// |dJ/dt - grad(J)*A| / (|dJ/dt| + sum_i |dJ/dx_i*A_i|) at x_N: 1 if every state reduces J, 0 if the flow grazes the level
    /// set and the slope is pure cancellation. DST_PAPER and DST_INTERPOLATED leave dJ/dt out. NaN if unknown: the tangent mode
    /// never forms grad(J).
    pub transversality: S,
    /// Number of calls of `rate`, by the run and this sweep together.
    pub rate_evaluations: usize,
    /// Number of calls of `pullback`.
    pub pullbacks: usize,
    /// Number of calls of `pushforward`.
    pub pushforwards: usize,
}

/// View of a run between two calls. The pointers point into the workspace and are valid until the next call on this run, or until
/// it is moved.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Iterate<S> {
    /// Number of steps, k; at a first passage, N.
    pub steps: usize,
    /// t_k
    pub time: S,
    /// J at x_k; NaN before the first dst_run_advance.
    pub criterion: S,
    /// Least J so far.
    pub best_criterion: S,
    /// f at x_k; NaN if `rate` does not write it.
    pub loss: S,
    /// [state_dim] x_k
    pub state: *const S,
    /// [state_dim] Visited iterate with the least J: the one to use at a deadline before the stop.
    pub best: *const S,
    /// Step at which J fell to epsilon without leaving since; SIZE_MAX while J is above.
    pub entry: usize,
    /// Number of times that J rose above epsilon again.
    pub exits: usize,
}

/// Function f to minimise, for dst_ola and dst_window. Callbacks as in dst_problem: 0 continues, any other value aborts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Objective<S> {
    /// Number of variables. At least 1.
    pub dim: usize,
    /// Number of values that `value_gradient` leaves on `tape` for `hessian_vector`. May be 0.
    pub tape_len: usize,
    /// Writes f(x) to *value and its gradient to `gradient` [dim].
    pub value_gradient: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            x: *const S,
            value: *mut S,
            gradient: *mut S,
            tape: *mut S,
        ) -> c_int,
    >,
    /// ADDS the Hessian of f at x times v to `out` [dim]. Required by dst_window; may be NULL for dst_ola.
    pub hessian_vector: Option<
        unsafe extern "C" fn(
            user: *mut c_void,
            x: *const S,
            v: *const S,
            tape: *const S,
            out: *mut S,
        ) -> c_int,
    >,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Receives the code of an aborting callback; may be NULL.
    pub abort_code: *mut c_int,
}

/// Parameters of Adam with online adaptation of its learning rate. Start from dst_ola_options_default_f32 (or _f64).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OlaOptions<S> {
    /// Initial learning rate.
    pub alpha: S,
    /// Decay of the first moment; default 0.9.
    pub beta1: S,
    /// Decay of the second moment; default 0.999.
    pub beta2: S,
    /// Small constant in Adam's denominator; default 1e-8.
    pub stability: S,
    /// Adaptation rate: alpha changes by -eta times the sensitivity of the stopping time.
    pub eta: S,
    /// Decrease of f that triggers an adaptation, per adaptation so far.
    pub descent: S,
    /// Convergence threshold of dst_ola: max |gradient| < tolerance; default 1e-4.
    pub tolerance: S,
    /// dst_window only: backpropagation over at most this many steps; default SIZE_MAX.
    pub window: usize,
    /// dst_window only: checkpoint slots, at least 1; default 8.
    pub slots: usize,
}

/// View of an adaptive run. `x` points into the workspace and is valid until the next call, or until it is moved.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OlaState<S> {
    /// [dim] x_k
    pub x: *const S,
    /// f(x_k); dst_window: NaN before the first window.
    pub value: S,
    /// max |gradient of f at x_k|; NaN in dst_window, which does not use it.
    pub gradient_max: S,
    /// Current learning rate.
    pub alpha: S,
    /// Number of iterations.
    pub iterations: usize,
    /// Number of adaptations.
    pub adaptations: usize,
}

/// Report of one window.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WindowReport<S> {
    /// A dst_window_outcome.
    pub outcome: i32,
    /// Steps since the window began.
    pub steps: usize,
    /// dN/dalpha over the window; 0 unless alpha was adapted.
    pub sensitivity: S,
}

impl<S: Scalar> Options<S> {
    pub(crate) fn new(step: S, epsilon: S) -> Self {
        Self {
            step,
            epsilon,
            max_steps: dst_core::solve::DEFAULT_MAX_STEPS,
            staying: 0,
            start_time: S::ZERO,
            integrator: dst_integrator::DST_EULER as i32,
            mode: dst_mode::DST_AUTO as i32,
            slots: 8,
            keep_records: 0,
            theta_only: 0,
        }
    }

    pub(crate) fn map(epsilon: S) -> Self {
        Self {
            integrator: dst_integrator::DST_MAP as i32,
            ..Self::new(S::ONE, epsilon)
        }
    }
}

impl<S: Scalar> Seeds<S> {
    pub(crate) fn new() -> Self {
        Self {
            crossing: dst_crossing::DST_INTERPOLATED as i32,
            time_weight: S::ONE,
            criterion_weight: S::ZERO,
            loss_weight: S::ZERO,
            weight: None,
            user: core::ptr::null_mut(),
            window: usize::MAX,
        }
    }
}

impl<S: Scalar> OlaOptions<S> {
    pub(crate) fn new(alpha: S, eta: S, descent: S) -> Self {
        let config = dst_core::adapt::OlaConfig::new(alpha, eta, descent);
        Self {
            alpha,
            beta1: config.beta1,
            beta2: config.beta2,
            stability: config.stability,
            eta,
            descent,
            tolerance: config.tolerance,
            window: usize::MAX,
            slots: 8,
        }
    }

    pub(crate) fn config(&self) -> dst_core::adapt::OlaConfig<S> {
        dst_core::adapt::OlaConfig {
            alpha: self.alpha,
            beta1: self.beta1,
            beta2: self.beta2,
            stability: self.stability,
            eta: self.eta,
            descent: self.descent,
            tolerance: self.tolerance,
        }
    }
}

/// Coordinate of a parameter in a descent: for the field `kind` of dst_coordinate.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_coordinate_kind {
    /// Any real number; `scale` is its typical size.
    DST_FREE = 0,
    /// Closed interval from `lower` to `upper`, whose ends may be reached.
    DST_BETWEEN = 1,
    /// Positive number; steps are factors.
    DST_LOG = 2,
    /// Open interval from `lower` to `upper`; near an end steps are factors of the distance to it.
    DST_LOGIT = 3,
}

/// Answer of a descent to a run.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_verdict {
    /// The value is the least so far, and its theta is the best.
    DST_ACCEPTED = 0,
    /// The value is not less than the least so far.
    DST_REJECTED = 1,
    /// The run failed, or a number was infinite or NaN.
    DST_FAILED = 2,
    /// Answer to a value alone: call dst_descent_tell with the same value and its gradient. Nothing was changed.
    DST_GRADIENT_WANTED = 3,
    /// The descent had finished before. Nothing was changed.
    DST_FINISHED = 4,
}

/// Coordinate of one parameter, in which a descent measures its steps.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Coordinate<S> {
    /// A dst_coordinate_kind.
    pub kind: i32,
    /// For DST_FREE: typical size of the parameter, positive.
    pub scale: S,
    /// For DST_BETWEEN and DST_LOGIT.
    pub lower: S,
    /// For DST_BETWEEN and DST_LOGIT.
    pub upper: S,
}

impl<S: Scalar> Coordinate<S> {
    /// The same in Rust; `None` if the kind is not in the list.
    pub(crate) fn core(self) -> Option<CoreCoordinate<S>> {
        const FREE: i32 = dst_coordinate_kind::DST_FREE as i32;
        const BETWEEN: i32 = dst_coordinate_kind::DST_BETWEEN as i32;
        const LOG: i32 = dst_coordinate_kind::DST_LOG as i32;
        const LOGIT: i32 = dst_coordinate_kind::DST_LOGIT as i32;
        match self.kind {
            FREE => Some(CoreCoordinate::Free(self.scale)),
            BETWEEN => Some(CoreCoordinate::Between(self.lower, self.upper)),
            LOG => Some(CoreCoordinate::Log),
            LOGIT => Some(CoreCoordinate::Logit(self.lower, self.upper)),
            _ => None,
        }
    }
}

/// Options of a descent; start from dst_descent_options_default.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DescentOptions<S> {
    /// Number of parameters.
    pub param_dim: usize,
    /// Coordinates [param_dim]; copied by dst_descent_init.
    pub coordinates: *const Coordinate<S>,
    /// Limit of the runs.
    pub max_runs: usize,
    /// Length of the first step in the coordinates: 0.25. In DST_LOG this is a factor of 1.28.
    pub radius: S,
    /// Length below which the descent is finished.
    pub least_radius: S,
}

impl<S: Scalar> DescentOptions<S> {
    pub(crate) fn new(param_dim: usize, coordinates: *const Coordinate<S>) -> Self {
        Self {
            param_dim,
            coordinates,
            max_runs: 1000,
            radius: S::from_f64(0.25),
            least_radius: S::from_f64(0.25 / 64.0),
        }
    }

    /// Cursor of a new descent.
    pub(crate) fn cursor(&self) -> DescentCursor<S> {
        let cursor = DescentCursor::new().at_most(self.max_runs);
        // Zero would stand for the default.
        let set = |radius: S| if radius > S::ZERO { radius } else { S::NAN };
        cursor
            .radius(set(self.radius))
            .least_radius(set(self.least_radius))
    }
}

/// State of a descent. The vectors lie in the workspace and are valid until the next call on it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DescentState<S> {
    /// theta of the next run [param_dim]; after the end, the best.
    pub theta: *const S,
    /// Best theta [param_dim]; NULL before the first run with a value and a gradient.
    pub best: *const S,
    /// Value of the best theta; NaN if `best` is NULL.
    pub value: S,
    /// Number of runs so far.
    pub runs: usize,
    /// 1 if the descent is over, otherwise 0.
    pub finished: c_int,
}

/// Result of a quadratic program: for the field `status` of dst_qp_outcome.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_camel_case_types)]
pub enum dst_qp_status {
    /// All rows are within their bounds.
    DST_QP_SOLVED = 0,
    /// Solved, and at least one soft row is beyond its bound.
    DST_QP_SOFTENED = 1,
    /// The budget or the capacity was reached. The point is optimal for the rows of its active set.
    DST_QP_LATE = 2,
    /// No u satisfies the hard rows.
    DST_QP_INFEASIBLE = 3,
}

/// Quadratic program: minimises u'Pu/2 + q'u subject to lower <= Au <= upper; q and the bounds are given at every solve.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct QpProgram<S> {
    /// Number of variables n, at most 16383.
    pub variables: usize,
    /// Number of rows m of A, at most 16383.
    pub rows: usize,
    /// Most rows that the active set can hold. min(n, m) + 1 is always enough; a solve that needs more ends as DST_QP_LATE.
    pub capacity: usize,
    /// P [n*n], row by row; symmetric and positive definite. Only dst_qp_prepare reads it.
    pub hessian: *const S,
    /// A [m*n], row by row. Only dst_qp_prepare reads it. If the first rows are those of the identity, their bounds are those of
    /// the variables, and every result is within them exactly.
    pub matrix: *const S,
    /// Weight c of the penalty c|v| on the violation v of each row [m], infinity for a hard row. NULL if there is none.
    pub caps: *const S,
    /// 1/rho of the penalty rho/2*v*v of each row [m], 0 for a hard row. NULL if there is none.
    pub lifts: *const S,
    /// Violation that counts as zero, relative to the terms of the row; 0 stands for 8 machine epsilons.
    pub tolerance: S,
}

/// Outcome of dst_qp_solve.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types)]
pub struct dst_qp_outcome {
    /// A dst_qp_status.
    pub status: i32,
    /// Number of solutions with the factor: one per change of the active set.
    pub steps: usize,
}
