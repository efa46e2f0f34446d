//! All functions of the header, for both precisions, from one macro.
//!
//! All of them place the same obligations on the caller: a pointer is NULL or points to the object that its comment describes,
//! and nothing else uses a workspace during a call. Each body relies on this.

use core::ffi::c_void;

use crate::check;
use crate::descent::{self, Descent};
use crate::object;
use crate::ola::{self, Ola};
use crate::qp;
use crate::run::{self, Run};
use crate::status::{dst_status, status};
use crate::types::{
    Coordinate, DescentOptions, DescentState, Iterate, Objective, OlaOptions, OlaState, Options,
    Problem, QpProgram, Seeds, Sensitivity, WindowReport, dst_mismatch, dst_qp_outcome,
};
use crate::window::{self, Windowed};

/// Zeroes the first eight bytes of a workspace of any kind and size. Required once before the workspace is first initialised,
/// unless it is already zero (static, calloc), and again after a reset during a callback or a callback that did not return: until
/// then every call on it returns DST_ERROR_BUSY. The content of the workspace is lost. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dst_workspace_clear(workspace: *mut c_void) {
    // SAFETY: see the top of this file.
    unsafe { object::clear(workspace) };
}

macro_rules! exports {
    (
        $S:ty,
        $options_default:ident,
        $options_map:ident,
        $seeds_default:ident,
        $workspace_size:ident,
        $workspace_align:ident,
        $check:ident,
        $sensitivity:ident,
        $run_init:ident,
        $run_advance:ident,
        $run_iterate:ident,
        $gradient_advance:ident,
        $gradient_read:ident,
        $ola_options_default:ident,
        $ola_workspace_size:ident,
        $ola_init:ident,
        $ola_advance:ident,
        $ola_read:ident,
        $window_workspace_size:ident,
        $window_init:ident,
        $window_advance:ident,
        $window_read:ident,
        $descent_options_default:ident,
        $descent_workspace_size:ident,
        $descent_init:ident,
        $descent_read:ident,
        $descent_tell:ident,
        $descent_tell_value:ident,
        $descent_tell_failed:ident,
        $qp_constants:ident,
        $qp_numbers:ident,
        $qp_words:ident,
        $qp_prepare:ident,
        $qp_solve:ident,
    ) => {
        /// Default options for this step size and tolerance: first passage, Euler, automatic mode, 8 slots, at most a million
        /// steps.
        #[unsafe(no_mangle)]
        pub extern "C" fn $options_default(step: $S, epsilon: $S) -> Options<$S> {
            Options::new(step, epsilon)
        }

        /// Default options for an iteration x_{k+1} = F(theta, x_k, t_k) with this tolerance: DST_MAP with step size 1, otherwise
        /// those of dst_options_default.
        #[unsafe(no_mangle)]
        pub extern "C" fn $options_map(epsilon: $S) -> Options<$S> {
            Options::map(epsilon)
        }

        /// Default seeds: the stopping time, by the interpolated crossing.
        #[unsafe(no_mangle)]
        pub extern "C" fn $seeds_default() -> Seeds<$S> {
            Seeds::new()
        }

        /// Returns the workspace size in bytes for this problem and these options, or 0 if the arguments are invalid;
        /// dst_run_init returns the reason.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $workspace_size(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { object::workspace_size::<Run<$S>>(problem, options) }
        }

        /// Required alignment of every workspace, including those of dst_ola and dst_window.
        #[unsafe(no_mangle)]
        pub extern "C" fn $workspace_align() -> usize {
            object::align::<Run<$S>>()
        }

        /// Compares the pullback and the pushforward with differences of `rate`, at x0, beside it, and after 3 and 20 steps.
        ///
        /// Also finds a pullback that overwrites its sums, outputs that are added to or not written, and a derivative that does
        /// not follow the tape. Returns DST_OK if nothing is wrong. On DST_WRONG_DERIVATIVE, and only then, *mismatch names the
        /// callback, output and entry that differ most, with the expected value and the one found. The loss f is left out if
        /// `rate` does not write it. Differences say nothing at a kink of A, J or f; there, the other points count. Costs about
        /// 16*(state_dim + 3)*(state_dim + param_dim + 1) evaluations. The workspace is that of a run, and holds none afterwards.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $check(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
            theta: *const $S,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            mismatch: *mut dst_mismatch,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                check::check(
                    problem,
                    options,
                    theta,
                    x0,
                    workspace,
                    workspace_size,
                    mismatch,
                )
            })
        }

        /// Runs until the stop and differentiates the quantity given by the seeds, in one call; with `seeds` NULL, the stopping
        /// time.
        ///
        /// Reads theta [param_dim] and x0 [state_dim]; writes *result on success. The result has the same bits as that of the
        /// calls dst_run_init ... dst_gradient_read with any budgets. Afterwards the workspace holds the run, as if these calls
        /// had been made: its address is the handle.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $sensitivity(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
            theta: *const $S,
            x0: *const $S,
            seeds: *const Seeds<$S>,
            workspace: *mut c_void,
            workspace_size: usize,
            result: *mut Sensitivity<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                run::sensitivity(
                    problem,
                    options,
                    theta,
                    x0,
                    seeds,
                    workspace,
                    workspace_size,
                    result,
                )
            })
        }

        /// Prepares a run in the workspace and writes its handle to *run. Does not call a callback yet.
        ///
        /// Copies problem, options, theta and x0. The handle is the address of the workspace, which belongs to the run until you
        /// reuse it. Between two calls the workspace may be moved, or copied to make a second run, by memcpy to any address of
        /// the same alignment: the handle is then the new address. There is nothing to free.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run_init(
            problem: *const Problem<$S>,
            options: *const Options<$S>,
            theta: *const $S,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            run: *mut *mut Run<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                run::init(problem, options, theta, x0, workspace, workspace_size, run)
            })
        }

        /// Makes at most `budget` steps and writes a dst_progress to *progress. After a stop it only writes the same value again.
        /// A budget of SIZE_MAX runs to the end. An error is final; the best iterate is then still available through
        /// dst_run_iterate.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run_advance(
            run: *mut Run<$S>,
            budget: usize,
            progress: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::advance(run, budget, progress) })
        }

        /// Writes the current and the best iterate to *iterate. A gradient reuses their memory: once it has begun, they are
        /// available only while the last iterate is in memory and is the best, as after a first passage; otherwise
        /// DST_ERROR_ORDER.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $run_iterate(
            run: *mut Run<$S>,
            iterate: *mut Iterate<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::iterate(run, iterate) })
        }

        /// Makes at most `budget` operations of the gradient (one step recomputed or differentiated each) and writes to
        /// *remaining the number of steps still to be differentiated: 0 when it is complete.
        ///
        /// The first call begins a sweep, and may make three pullbacks and one evaluation beyond its budget; further calls with
        /// the same seeds continue it. A call after the sweep is complete, or after an error, begins another one over the same
        /// run, with other seeds if needed. If the run has not stopped, the stopping time gives DST_ERROR_NOT_STOPPED, and the
        /// run can continue. `seeds` may be NULL: the stopping time.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $gradient_advance(
            run: *mut Run<$S>,
            seeds: *const Seeds<$S>,
            budget: usize,
            remaining: *mut usize,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::differentiate(run, seeds, budget, remaining) })
        }

        /// Writes the gradient of the last sweep to *result; DST_ERROR_ORDER if it is not complete.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $gradient_read(
            run: *mut Run<$S>,
            result: *mut Sensitivity<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { run::gradient(run, result) })
        }

        /// Default options: those of the paper, with this learning rate, adaptation rate and descent.
        #[unsafe(no_mangle)]
        pub extern "C" fn $ola_options_default(alpha: $S, eta: $S, descent: $S) -> OlaOptions<$S> {
            OlaOptions::new(alpha, eta, descent)
        }

        /// Returns the workspace size in bytes for dst_ola_init, or 0 if the arguments are invalid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_workspace_size(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { object::workspace_size::<Ola<$S>>(objective, options) }
        }

        /// Prepares Adam with online adaptation of its learning rate (Algorithm 2 of the paper), starting from x0 [dim], and
        /// writes its handle to *ola. Evaluates the objective once. The rules for the workspace are those of dst_run_init.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_init(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            ola: *mut *mut Ola<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { ola::init(objective, options, x0, workspace, workspace_size, ola) })
        }

        /// Makes at most `budget` iterations, each with one evaluation of the objective, and writes a dst_progress to *progress:
        /// DST_RUNNING, or DST_REACHED when max |gradient| < tolerance. An error is final.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_advance(
            ola: *mut Ola<$S>,
            budget: usize,
            progress: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { ola::advance(ola, budget, progress) })
        }

        /// Writes the state of the adaptive run to *state.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $ola_read(
            ola: *mut Ola<$S>,
            state: *mut OlaState<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { ola::state(ola, state) })
        }

        /// Returns the workspace size in bytes for dst_window_init, or 0 if the arguments are invalid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_workspace_size(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { object::workspace_size::<Windowed<$S>>(objective, options) }
        }

        /// Prepares Adam with a learning rate adapted by the exact sensitivity of each window, backpropagated from the point at
        /// which f has fallen by the threshold to the previous adaptation. Writes its handle to *window.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_init(
            objective: *const Objective<$S>,
            options: *const OlaOptions<$S>,
            x0: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            window: *mut *mut Windowed<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                window::init(objective, options, x0, workspace, workspace_size, window)
            })
        }

        /// Runs one window: at most `budget` iterations and, if f falls by the threshold, the gradient and the adaptation. An
        /// abort is final; any other error leaves everything as it was before the call.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_advance(
            window: *mut Windowed<$S>,
            budget: usize,
            report: *mut WindowReport<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { window::advance(window, budget, report) })
        }

        /// Writes the state of the windowed run to *state.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $window_read(
            window: *mut Windowed<$S>,
            state: *mut OlaState<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { window::state(window, state) })
        }

        /// Default options of a descent over `param_dim` parameters with these coordinates [param_dim]: at most 1000 runs.
        #[unsafe(no_mangle)]
        pub extern "C" fn $descent_options_default(
            param_dim: usize,
            coordinates: *const Coordinate<$S>,
        ) -> DescentOptions<$S> {
            DescentOptions::new(param_dim, coordinates)
        }

        /// Returns the workspace size in bytes for dst_descent_init, or 0 if the options are invalid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $descent_workspace_size(
            options: *const DescentOptions<$S>,
        ) -> usize {
            // SAFETY: see the top of this file.
            unsafe { descent::size(options) }
        }

        /// Prepares a descent from theta [param_dim] and writes its handle to *descent. The rules for the workspace are those
        /// of dst_run_init. Then, until `finished` of dst_descent_read: run with `theta` of dst_descent_read, and call
        /// dst_descent_tell with the stopping time and its gradient, or dst_descent_tell_failed if the run has none.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $descent_init(
            options: *const DescentOptions<$S>,
            theta: *const $S,
            workspace: *mut c_void,
            workspace_size: usize,
            descent: *mut *mut Descent<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { descent::init(options, theta, workspace, workspace_size, descent) })
        }

        /// Writes the next theta, the best theta and the progress to *state.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $descent_read(
            descent: *mut Descent<$S>,
            state: *mut DescentState<$S>,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { descent::read(descent, state) })
        }

        /// Takes the value of the run at the next theta and its gradient [param_dim] with respect to theta, and writes a
        /// dst_verdict to *verdict. A number that is infinite or NaN counts as a failed run.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $descent_tell(
            descent: *mut Descent<$S>,
            value: $S,
            gradient: *const $S,
            verdict: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { descent::tell(descent, value, gradient, verdict) })
        }

        /// Takes the value alone: DST_GRADIENT_WANTED asks for dst_descent_tell with the same value; otherwise the run is
        /// judged, and the cost of its gradient saved.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $descent_tell_value(
            descent: *mut Descent<$S>,
            value: $S,
            verdict: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { descent::tell_value(descent, value, verdict) })
        }

        /// Reports that the run at the next theta has no value or no gradient: it did not stop, was not finite, or crossed
        /// epsilon too flatly. The best theta is kept, and the next one is closer to it or in another direction.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $descent_tell_failed(
            descent: *mut Descent<$S>,
            verdict: *mut i32,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { descent::tell_failed(descent, verdict) })
        }

        /// Length of the constants of this program for dst_qp_prepare, or 0 if a size is out of range.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $qp_constants(program: *const QpProgram<$S>) -> usize {
            // SAFETY: see the top of this file.
            let [constants, _, _] = unsafe { qp::lengths(program) };
            constants
        }

        /// Length of the numbers that dst_qp_solve needs, or 0 if a size is out of range.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $qp_numbers(program: *const QpProgram<$S>) -> usize {
            // SAFETY: see the top of this file.
            let [_, numbers, _] = unsafe { qp::lengths(program) };
            numbers
        }

        /// Length of the words that dst_qp_solve needs, or 0 if a size is out of range.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $qp_words(program: *const QpProgram<$S>) -> usize {
            // SAFETY: see the top of this file.
            let [_, _, words] = unsafe { qp::lengths(program) };
            words
        }

        /// Factors P, computes A*inv(P)*A', and writes the constants [dst_qp_constants]. Needed once, before any number of solves
        /// with other q and bounds. DST_ERROR_PROGRAM if P is not positive definite; the constants are then not valid.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $qp_prepare(
            program: *const QpProgram<$S>,
            constants: *mut $S,
            constants_len: usize,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe { qp::prepare(program, constants, constants_len) })
        }

        /// Solves with q [n], lower [m] and upper [m] in at most `budget` steps, and writes u [n] and *outcome.
        ///
        /// Starts from the active set of the last solve, which is in `words` [dst_qp_words]: zero them before the first solve,
        /// or for a cold start. `numbers` [dst_qp_numbers] is scratch. The program is that of dst_qp_prepare, with the same
        /// sizes, caps and lifts. Bounds may be infinite; NaN and an infinite q are refused. A lower bound above its upper one
        /// ends as DST_QP_INFEASIBLE.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $qp_solve(
            program: *const QpProgram<$S>,
            constants: *const $S,
            constants_len: usize,
            numbers: *mut $S,
            numbers_len: usize,
            words: *mut u16,
            words_len: usize,
            q: *const $S,
            lower: *const $S,
            upper: *const $S,
            budget: usize,
            u: *mut $S,
            outcome: *mut dst_qp_outcome,
        ) -> dst_status {
            // SAFETY: see the top of this file.
            status(unsafe {
                qp::solve(
                    program,
                    constants,
                    constants_len,
                    numbers,
                    numbers_len,
                    words,
                    words_len,
                    [q, lower, upper],
                    budget,
                    u,
                    outcome,
                )
            })
        }
    };
}

exports!(
    f32,
    dst_options_default_f32,
    dst_options_map_f32,
    dst_seeds_default_f32,
    dst_workspace_size_f32,
    dst_workspace_align_f32,
    dst_check_f32,
    dst_sensitivity_f32,
    dst_run_init_f32,
    dst_run_advance_f32,
    dst_run_iterate_f32,
    dst_gradient_advance_f32,
    dst_gradient_read_f32,
    dst_ola_options_default_f32,
    dst_ola_workspace_size_f32,
    dst_ola_init_f32,
    dst_ola_advance_f32,
    dst_ola_read_f32,
    dst_window_workspace_size_f32,
    dst_window_init_f32,
    dst_window_advance_f32,
    dst_window_read_f32,
    dst_descent_options_default_f32,
    dst_descent_workspace_size_f32,
    dst_descent_init_f32,
    dst_descent_read_f32,
    dst_descent_tell_f32,
    dst_descent_tell_value_f32,
    dst_descent_tell_failed_f32,
    dst_qp_constants_f32,
    dst_qp_numbers_f32,
    dst_qp_words_f32,
    dst_qp_prepare_f32,
    dst_qp_solve_f32,
);

exports!(
    f64,
    dst_options_default_f64,
    dst_options_map_f64,
    dst_seeds_default_f64,
    dst_workspace_size_f64,
    dst_workspace_align_f64,
    dst_check_f64,
    dst_sensitivity_f64,
    dst_run_init_f64,
    dst_run_advance_f64,
    dst_run_iterate_f64,
    dst_gradient_advance_f64,
    dst_gradient_read_f64,
    dst_ola_options_default_f64,
    dst_ola_workspace_size_f64,
    dst_ola_init_f64,
    dst_ola_advance_f64,
    dst_ola_read_f64,
    dst_window_workspace_size_f64,
    dst_window_init_f64,
    dst_window_advance_f64,
    dst_window_read_f64,
    dst_descent_options_default_f64,
    dst_descent_workspace_size_f64,
    dst_descent_init_f64,
    dst_descent_read_f64,
    dst_descent_tell_f64,
    dst_descent_tell_value_f64,
    dst_descent_tell_failed_f64,
    dst_qp_constants_f64,
    dst_qp_numbers_f64,
    dst_qp_words_f64,
    dst_qp_prepare_f64,
    dst_qp_solve_f64,
);
